// SPDX-License-Identifier: MIT
// The plugin's side of the kubelet's protocol (deviceplugin.proto).
#ifndef SIDRA_DEVICE_PLUGIN_PLUGIN_H
#define SIDRA_DEVICE_PLUGIN_PLUGIN_H

#include <grpcpp/grpcpp.h>
#include <sys/stat.h>

#include <memory>
#include <string>

#include "deviceplugin.grpc.pb.h"
#include "devices.h"

namespace sidra::device_plugin {

// How containers get their cards.
enum class Way {
    kCdi,    // by names of devices, which the container runtime finds in the CDI file
    kNodes,  // by nodes, for kubelets and runtimes without CDI
};

class Service final : public v1beta1::DevicePlugin::Service {
   public:
    Service(const Board& board, Way way) : board_(board), way_(way) {}

    grpc::Status GetDevicePluginOptions(grpc::ServerContext* context, const v1beta1::Empty* request,
                                        v1beta1::DevicePluginOptions* options) override;
    grpc::Status ListAndWatch(grpc::ServerContext* context, const v1beta1::Empty* request,
                              grpc::ServerWriter<v1beta1::ListAndWatchResponse>* writer) override;
    grpc::Status GetPreferredAllocation(grpc::ServerContext* context,
                                        const v1beta1::PreferredAllocationRequest* request,
                                        v1beta1::PreferredAllocationResponse* response) override;
    grpc::Status Allocate(grpc::ServerContext* context, const v1beta1::AllocateRequest* request,
                          v1beta1::AllocateResponse* response) override;
    grpc::Status PreStartContainer(grpc::ServerContext* context, const v1beta1::PreStartContainerRequest* request,
                                   v1beta1::PreStartContainerResponse* response) override;

   private:
    const Board& board_;
    const Way way_;
};

// A socket file, told from another one in the same place.
class SocketFile {
   public:
    explicit SocketFile(std::string path) : path_(std::move(path)) {}
    const std::string& path() const { return path_; }
    bool present() const;
    // Takes the file that is there now.
    void remember();
    // Whether the file is the one that was remembered.
    bool same() const;

   private:
    std::string path_;
    struct stat known_ = {};
};

// Serves devices in the kubelet's folder, and registers them, again after each restart of the kubelet, which removes
// all sockets in its folder.
class Plugin {
   public:
    Plugin(const std::string& folder, std::string resource, Board& board, Way way);
    ~Plugin();
    Plugin(const Plugin&) = delete;
    Plugin& operator=(const Plugin&) = delete;

    // Does what is necessary to be registered; call it regularly. Reports changes on standard error.
    void tend();

   private:
    void serve();
    void shut_down();
    bool enrol();
    void report(const std::string& what);

    SocketFile ours_, kubelets_;
    const std::string resource_;
    Board& board_;
    Service service_;
    std::unique_ptr<grpc::Server> server_;
    bool registered_ = false;
    std::string reported_;  // so that nothing is repeated
};

}  // namespace sidra::device_plugin

#endif
