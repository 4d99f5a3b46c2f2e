// SPDX-License-Identifier: MIT
// A kubelet that only registers plugins, and the plugin's program as it is shipped.
#ifndef SIDRA_TEST_KUBERNETES_KUBELET_H
#define SIDRA_TEST_KUBERNETES_KUBELET_H

#include <grpcpp/grpcpp.h>
#include <sys/types.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "deviceplugin.grpc.pb.h"
#include "tree.h"

namespace sidra::test {

// Serves Registration on FOLDER/kubelet.sock until it is destroyed.
class Kubelet final : public v1beta1::Registration::Service {
   public:
    // `refuse`: the answer to each registration is an error.
    explicit Kubelet(const std::string& folder, bool refuse = false);
    ~Kubelet() override;

    // Waits for the next registration. Nothing: there was none in time.
    std::optional<v1beta1::RegisterRequest> registration();

   private:
    grpc::Status Register(grpc::ServerContext* context, const v1beta1::RegisterRequest* request,
                          v1beta1::Empty* response) override;

    const bool refuse_;
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::vector<v1beta1::RegisterRequest> requests_;
    std::unique_ptr<grpc::Server> server_;
};

// sidra-device-plugin on a tree of files. Its standard error goes to a file.
class Program {
   public:
    Program(const Tree& tree, const std::string& folder, const std::vector<std::string>& more = {});
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    // Sends a signal and waits for the end; returns the exit status, or -1.
    int end(int signal);
    // The exit status of a program that ends by itself.
    int wait();
    std::string said() const;
    // Waits until it has said this.
    bool says(const std::string& text) const;

   private:
    pid_t pid_;
    std::string log_;
};

// A connection to a plugin, as the kubelet has one.
class Connection {
   public:
    explicit Connection(const std::string& socket);
    ~Connection();
    v1beta1::DevicePlugin::Stub& stub() { return *stub_; }
    // The next list: health by device. Nothing: the stream has ended, or there was none in time.
    std::optional<std::map<std::string, std::string>> list();
    const v1beta1::ListAndWatchResponse& latest() const { return latest_; }
    // Answer to a request for devices.
    grpc::Status allocate(const std::vector<std::string>& ids, v1beta1::AllocateResponse* answer);

   private:
    std::unique_ptr<v1beta1::DevicePlugin::Stub> stub_;
    grpc::ClientContext context_;
    std::unique_ptr<grpc::ClientReader<v1beta1::ListAndWatchResponse>> reader_;
    v1beta1::ListAndWatchResponse latest_;
};

}  // namespace sidra::test

#endif
