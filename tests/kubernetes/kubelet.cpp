// SPDX-License-Identifier: MIT
#include "kubelet.h"
#include "paths.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

namespace sidra::test {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);  // of a test on a machine that others load

}  // namespace

Kubelet::Kubelet(const std::string& folder, bool refuse) : refuse_(refuse) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + folder + "/kubelet.sock", grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    EXPECT_NE(server_, nullptr);
}

Kubelet::~Kubelet() { server_->Shutdown(std::chrono::system_clock::now()); }

grpc::Status Kubelet::Register(grpc::ServerContext*, const v1beta1::RegisterRequest* request, v1beta1::Empty*) {
    const std::lock_guard lock(mutex_);
    requests_.push_back(*request);
    arrived_.notify_all();
    return refuse_ ? grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no such version") : grpc::Status::OK;
}

std::optional<v1beta1::RegisterRequest> Kubelet::registration() {
    std::unique_lock lock(mutex_);
    if (!arrived_.wait_for(lock, kPatience, [&] { return !requests_.empty(); })) return std::nullopt;
    const v1beta1::RegisterRequest first = requests_.front();
    requests_.erase(requests_.begin());
    return first;
}

Program::Program(const Tree& tree, const std::string& folder, const std::vector<std::string>& more)
    : log_(tree.path("log")) {
    std::vector<std::string> words = {device_plugin_program(), "--root",         tree.root(),  "--kubelet", folder,
                                      "--cdi-folder",          tree.path("cdi"), "--interval", "0.05"};
    words.insert(words.end(), more.begin(), more.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_ = fork();
    if (pid_ != 0) return;
    dup2(open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600), STDERR_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
}

Program::~Program() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
}

int Program::end(int signal) {
    kill(pid_, signal);
    return wait();
}

int Program::wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string Program::said() const {
    std::ifstream stream(log_);
    return {std::istreambuf_iterator<char>(stream), {}};
}

bool Program::says(const std::string& text) const {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < deadline) {
        if (said().find(text) != std::string::npos) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
}

Connection::Connection(const std::string& socket)
    : stub_(v1beta1::DevicePlugin::NewStub(grpc::CreateChannel("unix:" + socket, grpc::InsecureChannelCredentials()))) {
    context_.set_deadline(std::chrono::system_clock::now() + kPatience);
    context_.set_wait_for_ready(true);
    reader_ = stub_->ListAndWatch(&context_, {});
}

Connection::~Connection() {
    context_.TryCancel();
    reader_->Finish();
}

std::optional<std::map<std::string, std::string>> Connection::list() {
    if (!reader_->Read(&latest_)) return std::nullopt;
    std::map<std::string, std::string> health;
    for (const v1beta1::Device& device : latest_.devices()) health[device.id()] = device.health();
    return health;
}

grpc::Status Connection::allocate(const std::vector<std::string>& ids, v1beta1::AllocateResponse* answer) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    v1beta1::AllocateRequest request;
    auto& container = *request.add_container_requests();
    for (const std::string& id : ids) container.add_devices_ids(id);
    return stub_->Allocate(&context, request, answer);
}

}  // namespace sidra::test
