// SPDX-License-Identifier: MIT
#include "plugin.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "cdi_document.h"

namespace sidra::device_plugin {
namespace {

constexpr const char* kVersion = "v1beta1";
constexpr const char* kSocket = "sidra.sock";
constexpr auto kPatience = std::chrono::seconds(5);  // for the kubelet's answer

grpc::Status unknown(const std::string& id) {
    return {grpc::StatusCode::NOT_FOUND,
            fmt::format("no SIDRA card has the UUID '{}' on this node; sidra-smi list shows its cards", id)};
}

void fill(const Devices& devices, v1beta1::ListAndWatchResponse& list) {
    for (const auto& [uuid, device] : devices) {
        v1beta1::Device& entry = *list.add_devices();
        entry.set_id(uuid);
        entry.set_health(device.healthy ? "Healthy" : "Unhealthy");
        if (device.numa) entry.mutable_topology()->add_nodes()->set_id(*device.numa);
    }
}

template <typename List>
std::vector<std::string> texts(const List& list) {
    return {list.begin(), list.end()};
}

void give(const std::string& uuid, const Device& device, Way way, v1beta1::ContainerAllocateResponse& answer) {
    if (way == Way::kCdi) {
        answer.add_cdi_devices()->set_name(fmt::format("{}={}", smi_tool::kCdiKind, uuid));
        return;
    }
    v1beta1::DeviceSpec& spec = *answer.add_devices();
    spec.set_container_path(device.node);
    spec.set_host_path(device.node);
    spec.set_permissions("rw");
}

}  // namespace

grpc::Status Service::GetDevicePluginOptions(grpc::ServerContext*, const v1beta1::Empty*,
                                             v1beta1::DevicePluginOptions* options) {
    options->set_get_preferred_allocation_available(true);
    return grpc::Status::OK;
}

grpc::Status Service::ListAndWatch(grpc::ServerContext* context, const v1beta1::Empty*,
                                   grpc::ServerWriter<v1beta1::ListAndWatchResponse>* writer) {
    uint64_t sent = 0;
    while (!context->IsCancelled()) {
        const uint64_t number = board_.wait(sent);
        if (board_.stopped()) break;
        if (number == sent) continue;
        sent = number;
        v1beta1::ListAndWatchResponse list;
        fill(board_.get(), list);
        if (!writer->Write(list)) break;  // the kubelet has gone
    }
    return grpc::Status::OK;
}

grpc::Status Service::GetPreferredAllocation(grpc::ServerContext*, const v1beta1::PreferredAllocationRequest* request,
                                             v1beta1::PreferredAllocationResponse* response) {
    const Devices devices = board_.get();
    for (const auto& container : request->container_requests()) {
        if (container.allocation_size() < 0)
            return {grpc::StatusCode::INVALID_ARGUMENT,
                    fmt::format("allocation_size is {}: it must not be negative", container.allocation_size())};
        auto& answer = *response->add_container_responses();
        for (const std::string& id :
             prefer(devices, texts(container.available_deviceids()), texts(container.must_include_deviceids()),
                    static_cast<size_t>(container.allocation_size())))
            answer.add_deviceids(id);
    }
    return grpc::Status::OK;
}

grpc::Status Service::Allocate(grpc::ServerContext*, const v1beta1::AllocateRequest* request,
                               v1beta1::AllocateResponse* response) {
    const Devices devices = board_.get();
    for (const auto& container : request->container_requests()) {
        auto& answer = *response->add_container_responses();
        for (const std::string& id : container.devices_ids()) {
            const auto found = devices.find(id);
            if (found == devices.end()) return unknown(id);
            if (!found->second.healthy)
                return {grpc::StatusCode::FAILED_PRECONDITION,
                        fmt::format("the card {} ({}) is gone, unhealthy or not in the CDI file; sidra-smi health or "
                                    "the messages of the plugin explain it",
                                    id, found->second.node)};
            give(id, found->second, way_, answer);
        }
    }
    return grpc::Status::OK;
}

grpc::Status Service::PreStartContainer(grpc::ServerContext*, const v1beta1::PreStartContainerRequest*,
                                        v1beta1::PreStartContainerResponse*) {
    return grpc::Status::OK;  // a card needs no preparation, as the options say
}

bool SocketFile::present() const {
    struct stat now;
    return stat(path_.c_str(), &now) == 0 && S_ISSOCK(now.st_mode);
}

void SocketFile::remember() {
    if (stat(path_.c_str(), &known_) != 0) known_ = {};
}

bool SocketFile::same() const {
    struct stat now;
    return stat(path_.c_str(), &now) == 0 && now.st_ino == known_.st_ino && now.st_dev == known_.st_dev &&
           now.st_ctim.tv_sec == known_.st_ctim.tv_sec && now.st_ctim.tv_nsec == known_.st_ctim.tv_nsec;
}

Plugin::Plugin(const std::string& folder, std::string resource, Board& board, Way way)
    : ours_(fmt::format("{}/{}", folder, kSocket)),
      kubelets_(fmt::format("{}/kubelet.sock", folder)),
      resource_(std::move(resource)),
      board_(board),
      service_(board, way) {}

Plugin::~Plugin() {
    if (server_ == nullptr) return;
    shut_down();
    unlink(ours_.path().c_str());
}

void Plugin::report(const std::string& what) {
    if (what == reported_) return;
    reported_ = what;
    std::fputs(fmt::format("sidra-device-plugin: {}\n", what).c_str(), stderr);
}

void Plugin::shut_down() {
    board_.stop();
    server_->Shutdown(std::chrono::system_clock::now() + kPatience);
    server_.reset();
    board_.start();
}

void Plugin::serve() {
    unlink(ours_.path().c_str());  // of a plugin that was killed
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + ours_.path(), grpc::InsecureServerCredentials());
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr)
        throw std::runtime_error(
            fmt::format("cannot listen on {}: check that the folder exists, that it is the "
                        "kubelet's, and that root runs this program",
                        ours_.path()));
    ours_.remember();
}

bool Plugin::enrol() {
    const auto stub = v1beta1::Registration::NewStub(
        grpc::CreateChannel("unix:" + kubelets_.path(), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    v1beta1::RegisterRequest request;
    request.set_version(kVersion);
    request.set_endpoint(kSocket);
    request.set_resource_name(resource_);
    request.mutable_options()->set_get_preferred_allocation_available(true);
    v1beta1::Empty answer;
    kubelets_.remember();
    const grpc::Status status = stub->Register(&context, request, &answer);
    if (status.ok()) report(fmt::format("registered {} at {}", resource_, kubelets_.path()));
    else report(fmt::format("the kubelet refuses to register {}: {}", resource_, status.error_message()));
    return status.ok();
}

void Plugin::tend() {
    if (server_ != nullptr && (!ours_.same() || (registered_ && !kubelets_.same()))) {
        report("the kubelet has restarted");
        registered_ = false;
        shut_down();
    }
    if (!kubelets_.present()) return report(fmt::format("waiting for the kubelet: there is no {}", kubelets_.path()));
    if (server_ == nullptr) serve();
    if (!registered_) registered_ = enrol();
}

}  // namespace sidra::device_plugin
