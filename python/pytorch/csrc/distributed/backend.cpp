// SPDX-License-Identifier: MIT
// torch.distributed between processes that have a device each. The memory of a tensor is the host's, so gloo sends it
// and receives into it: this backend waits for the stream, and gives gloo tensors of the CPU on the same pages. What
// fails says which rank did what, also if it is the device.
#ifdef USE_C10D_GLOO  // PyTorch's own flag, if it has torch.distributed with gloo
#include <ATen/ops/from_blob.h>
#include <c10/util/ScopeExit.h>
#include <torch/library.h>
#include <torch/version.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <atomic>
#include <sstream>

#include "aten/alias.h"
#include "distributed/context.h"
#include "distributed/peers.h"
#include "runtime/block.h"
#include "runtime/device.h"
#include "runtime/rethrow.h"

namespace sidra::pytorch {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;
using WorkPtr = c10::intrusive_ptr<c10d::Work>;

// Work of the current streams is done, so the host may touch the tensors.
void synchronize(const Tensors& tensors) {
    for (const Tensor& tensor : tensors) {
        if (tensor.defined() && is_sidra(tensor)) synchronize_current_stream(tensor.device().index());
    }
}

// A tensor of the CPU on the same pages, which keeps them.
Tensor host_of(const Tensor& tensor) {
    if (!tensor.defined() || !is_sidra(tensor)) return tensor;
    TORCH_CHECK_NOT_IMPLEMENTED(tensor.layout() == c10::kStrided,
                                "torch.distributed: sidra has dense tensors only, not ", tensor.layout());
    return at::from_blob(
        tensor.mutable_data_ptr(), tensor.sizes(), tensor.strides(), [storage = tensor.storage()](void*) {},
        at::TensorOptions(tensor.scalar_type()));
}
Tensors host_of(const Tensors& tensors) {
    Tensors all;
    all.reserve(tensors.size());
    for (const Tensor& tensor : tensors) all.push_back(host_of(tensor));
    return all;
}
std::vector<Tensors> host_of(const std::vector<Tensors>& lists) {
    std::vector<Tensors> all;
    all.reserve(lists.size());
    for (const Tensors& tensors : lists) all.push_back(host_of(tensors));
    return all;
}

// Results may be used only when the operation is over, so what is on crossbars may be out of date from its beginning.
void will_be_written(const Tensors& tensors) {
    for (const Tensor& tensor : tensors) {
        if (tensor.defined() && is_sidra(tensor)) mark_written(tensor);
    }
}

Tensors flat(const std::vector<Tensors>& lists) {
    Tensors all;
    for (const Tensors& tensors : lists) all.insert(all.end(), tensors.begin(), tensors.end());
    return all;
}

std::string shapes(const Tensors& tensors) {
    std::ostringstream text;
    for (size_t i = 0; i < tensors.size() && i < 4; ++i) {
        if (tensors[i].defined())
            text << (i ? ", " : "") << c10::toString(tensors[i].scalar_type()) << tensors[i].sizes();
    }
    if (tensors.size() > 4) text << " and " << tensors.size() - 4 << " more";
    return text.str();
}

using Peers = std::shared_ptr<const std::vector<Peer>>;

// An operation, for errors.
struct Operation {
    int64_t rank;
    std::string what;
    Peers others;
};

std::string failed(const Operation& operation, const std::string& stage) {
    return c10::str("torch.distributed: rank ", operation.rank, ": ", stage, operation.what, " failed: ");
}

// Throws what gloo threw, with the operation before it, and the ranks that are gone behind it. What PyTorch threw is
// about the arguments. stage: of the calling thread, if it is one that Python knows.
template <typename F>
auto named(const Operation& operation, F&& call, std::string (*stage)() = pipeline_stage) {
    try {
        return call();
    } catch (const c10::Error&) {
        throw;
    } catch (const std::exception& error) {
        TORCH_CHECK_WITH(DistBackendError, false, failed(operation, stage()), error.what(),
                         about_peers(*operation.others),
                         "\nThe first error of all ranks has the reason. This process group cannot go on: start its "
                         "ranks again.");
    }
}

// An operation under way.
class HostWork final : public c10d::Work {
   public:
    HostWork(WorkPtr work, c10d::OpType type, Operation operation, Tensors outputs)
        : Work(-1, type), work_(std::move(work)), operation_(std::move(operation)), outputs_(std::move(outputs)) {}

    bool isCompleted() override {
        const bool done = work_->isCompleted();
        if (done && !end_is_marked_.exchange(true)) will_be_written(outputs_);  // as in wait()
        return done;
    }
    bool isSuccess() const override { return work_->isSuccess(); }
    std::exception_ptr exception() const override { return renamed(operation_, work_->exception()); }
    int sourceRank() const override { return work_->sourceRank(); }
    Tensors result() override { return outputs_; }
    void synchronize() override { wait(kNoTimeout); }
    bool wait(std::chrono::milliseconds timeout) override {
        // Marked again: who has programmed them meanwhile has half of the new content.
        const auto mark = c10::make_scope_exit([this] { will_be_written(outputs_); });
        return named(operation_, [&] { return work_->wait(timeout); });
    }
    void abort() override { work_->abort(); }
    uint64_t getSequencenumber() const override { return work_->getSequencenumber(); }

    // With the device's tensors. Called by any thread.
    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
        std::vector<c10::Device> devices;
        for (const Tensor& output : outputs_) {
            if (is_sidra(output)) devices.push_back(output.device());
        }
        auto future = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()), devices);
        work_->getFuture()->addCallback(
            [future, outputs = outputs_, operation = operation_](c10::ivalue::Future& done) {
                if (done.hasError()) future->setError(renamed(operation, done.exception_ptr()));
                else {
                    will_be_written(outputs);
                    future->markCompleted(c10::IValue(outputs));
                }
            });
        return future;
    }

   private:
    static std::exception_ptr renamed(const Operation& operation, const std::exception_ptr& thrown) {
        if (!thrown) return thrown;
        try {
            named(
                operation, [&] { std::rethrow_exception(thrown); }, [] { return std::string(); });
        } catch (...) {
            return std::current_exception();
        }
        return thrown;
    }

    const WorkPtr work_;
    const Operation operation_;
    const Tensors outputs_;
    std::atomic<bool> end_is_marked_{false};  // by isCompleted(), which is called again and again
};

class HostBackend final : public c10d::Backend {
   public:
    HostBackend(c10::intrusive_ptr<Backend> host, std::vector<int64_t> global_ranks, std::vector<Peer> others)
        : Backend(host->getRank(), host->getSize()),
          host_(std::move(host)),
          global_ranks_(std::move(global_ranks)),
          others_(std::make_shared<const std::vector<Peer>>(std::move(others))) {
        ++distributed_groups;
        own_rank = number(getRank());
    }
    ~HostBackend() override {
        if (--distributed_groups == 0) own_rank = -1;
    }

    const std::string getBackendName() const override { return "sidra"; }
    void setSequenceNumberForGroup() override { host_->setSequenceNumberForGroup(); }
    uint64_t getSequenceNumberForGroup() override { return host_->getSequenceNumberForGroup(); }
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 9
    void abort() override { host_->abort(); }
    void shutdown() override { host_->shutdown(); }
    void setTimeout(std::chrono::milliseconds timeout) override { host_->setTimeout(timeout); }
#endif

    WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
        return begin(c10d::OpType::BROADCAST, "broadcast from rank " + name(options.rootRank), tensors, tensors,
                     [&](Tensors& host) { return host_->broadcast(host, options); });
    }
    WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
        return begin(c10d::OpType::ALLREDUCE, "all_reduce", tensors, tensors,
                     [&](Tensors& host) { return host_->allreduce(host, options); });
    }
    WorkPtr allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override {
        return begin(c10d::OpType::ALLREDUCE_COALESCED, "all_reduce_coalesced", tensors, tensors,
                     [&](Tensors& host) { return host_->allreduce_coalesced(host, options); });
    }
    WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& options) override {
        return begin(c10d::OpType::REDUCE, "reduce to rank " + name(options.rootRank), tensors, tensors,
                     [&](Tensors& host) { return host_->reduce(host, options); });
    }
    WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override {
        return begin(c10d::OpType::ALLGATHER, "all_gather", inputs, flat(outputs), [&](Tensors& host) {
            std::vector<Tensors> into = host_of(outputs);
            return host_->allgather(into, host, options);
        });
    }
    WorkPtr _allgather_base(Tensor& output, Tensor& input, const c10d::AllgatherOptions& options) override {
        return begin(c10d::OpType::_ALLGATHER_BASE, "all_gather_into_tensor", {input}, {output}, [&](Tensors& host) {
            Tensor into = host_of(output);
            return host_->_allgather_base(into, host[0], options);
        });
    }
    WorkPtr allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                const c10d::AllgatherOptions& options) override {
        return begin(c10d::OpType::ALLGATHER_COALESCED, "all_gather_coalesced", inputs, flat(outputs),
                     [&](Tensors& host) {
                         std::vector<Tensors> into = host_of(outputs);
                         return host_->allgather_coalesced(into, host, options);
                     });
    }
    WorkPtr allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                            const c10d::AllgatherOptions& options) override {
        return begin(c10d::OpType::COALESCED, "all_gather_into_tensor_coalesced", inputs, outputs, [&](Tensors& host) {
            Tensors into = host_of(outputs);
            return host_->allgather_into_tensor_coalesced(into, host, options);
        });
    }
    WorkPtr gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& options) override {
        return begin(c10d::OpType::GATHER, "gather to rank " + name(options.rootRank), inputs, flat(outputs),
                     [&](Tensors& host) {
                         std::vector<Tensors> into = host_of(outputs);
                         return host_->gather(into, host, options);
                     });
    }
    WorkPtr scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& options) override {
        return begin(
            c10d::OpType::SCATTER, "scatter from rank " + name(options.rootRank), outputs, outputs,
            [&](Tensors& host) {
                std::vector<Tensors> from = host_of(inputs);
                return host_->scatter(host, from, options);
            },
            flat(inputs));
    }
    WorkPtr reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                           const c10d::ReduceScatterOptions& options) override {
        return begin(
            c10d::OpType::REDUCE_SCATTER, "reduce_scatter", outputs, outputs,
            [&](Tensors& host) {
                std::vector<Tensors> from = host_of(inputs);
                return host_->reduce_scatter(host, from, options);
            },
            flat(inputs));
    }
    WorkPtr _reduce_scatter_base(Tensor& output, Tensor& input, const c10d::ReduceScatterOptions& options) override {
        return begin(c10d::OpType::_REDUCE_SCATTER_BASE, "reduce_scatter_tensor", {input}, {output},
                     [&](Tensors& host) {
                         Tensor into = host_of(output);
                         return host_->_reduce_scatter_base(into, host[0], options);
                     });
    }
    WorkPtr reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                            const c10d::ReduceScatterOptions& options) override {
        return begin(c10d::OpType::COALESCED, "reduce_scatter_tensor_coalesced", inputs, outputs, [&](Tensors& host) {
            Tensors into = host_of(outputs);
            return host_->reduce_scatter_tensor_coalesced(into, host, options);
        });
    }
    WorkPtr alltoall_base(Tensor& output, Tensor& input, std::vector<int64_t>& output_sizes,
                          std::vector<int64_t>& input_sizes, const c10d::AllToAllOptions& options) override {
        return begin(c10d::OpType::ALLTOALL_BASE, "all_to_all_single", {input}, {output}, [&](Tensors& host) {
            Tensor into = host_of(output);
            return host_->alltoall_base(into, host[0], output_sizes, input_sizes, options);
        });
    }
    WorkPtr alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override {
        return begin(c10d::OpType::ALLTOALL, "all_to_all", inputs, outputs, [&](Tensors& host) {
            Tensors into = host_of(outputs);
            return host_->alltoall(into, host, options);
        });
    }
    WorkPtr send(Tensors& tensors, int to, int tag) override {
        return begin(c10d::OpType::SEND, "send to rank " + name(to) + tagged(tag), tensors, {},
                     [&](Tensors& host) { return host_->send(host, to, tag); });
    }
    WorkPtr recv(Tensors& tensors, int from, int tag) override {
        return begin(c10d::OpType::RECV, "recv from rank " + name(from) + tagged(tag), tensors, tensors,
                     [&](Tensors& host) { return host_->recv(host, from, tag); });
    }
    WorkPtr recvAnysource(Tensors& tensors, int tag) override {
        return begin(c10d::OpType::RECVANYSOURCE, "recv from any rank" + tagged(tag), tensors, tensors,
                     [&](Tensors& host) { return host_->recvAnysource(host, tag); });
    }
    WorkPtr barrier(const c10d::BarrierOptions& options) override {
        return begin(c10d::OpType::BARRIER, "barrier", {}, {}, [&](Tensors&) { return host_->barrier(options); });
    }
    void monitoredBarrier(const c10d::BarrierOptions& options, bool all_ranks) override {
        named(Operation{number(getRank()), "monitored_barrier", others_},
              [&] { host_->monitoredBarrier(options, all_ranks); });
    }

   private:
    // The rank in the default group, by which its user knows it.
    int64_t number(int64_t rank) const {
        const auto at = static_cast<size_t>(rank);
        return rank >= 0 && at < global_ranks_.size() ? global_ranks_[at] : rank;
    }
    std::string name(int64_t rank) const { return std::to_string(number(rank)); }
    static std::string tagged(int tag) { return tag == 0 ? "" : ", tag " + std::to_string(tag); }

    // more: tensors that the call uses beside these.
    template <typename F>
    WorkPtr begin(c10d::OpType type, std::string what, const Tensors& given, const Tensors& outputs, F&& call,
                  const Tensors& more = {}) {
        if (!given.empty()) what += " (" + shapes(given) + ")";
        Operation operation{number(getRank()), std::move(what), others_};
        try {
            for (const Tensors* tensors : {&given, &outputs, &more}) synchronize(*tensors);
        } catch (const c10::Error&) {  // of the device: this rank is the one that the others will miss
            rethrow_behind(failed(operation, pipeline_stage()));
        }
        Tensors host = host_of(given);
        WorkPtr work = named(operation, [&] { return call(host); });
        will_be_written(outputs);
        return c10::make_intrusive<HostWork>(std::move(work), type, std::move(operation), outputs);
    }

    const c10::intrusive_ptr<Backend> host_;
    const std::vector<int64_t> global_ranks_;
    const Peers others_;
};

// Gives the group a backend for the device, over the one that it has for the CPU. hosts and ports: where the other
// ranks listen, whose numbers are in `ranks`.
void use_host_backend(const c10::intrusive_ptr<c10d::ProcessGroup>& group, c10::IntArrayRef global_ranks,
                      c10::IntArrayRef ranks, const std::vector<std::string>& hosts, c10::IntArrayRef ports) {
    std::vector<Peer> others;
    for (size_t i = 0; i < ranks.size(); ++i)
        others.push_back({ranks[i], hosts.at(i), static_cast<uint16_t>(ports[i])});
    group->setBackend(c10::DeviceType::PrivateUse1, c10d::ProcessGroup::BackendType::CUSTOM,
                      c10::make_intrusive<HostBackend>(group->getBackend(c10::DeviceType::CPU), global_ranks.vec(),
                                                       std::move(others)));
}

TORCH_LIBRARY_FRAGMENT(sidra, m) { m.def("use_host_backend", use_host_backend); }

}  // namespace
}  // namespace sidra::pytorch

#endif
