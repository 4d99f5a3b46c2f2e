// SPDX-License-Identifier: MIT
// A profiler for Kineto, which is PyTorch's: it hands over what a profile has recorded. Rows of the device are of the
// type that PyTorch counts as time of the device; what the host does is time of the CPU.
#include <IActivityProfiler.h>
#include <libkineto.h>
#include <output_base.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "profiler/profile.h"

namespace sidra::pytorch {
namespace {

using libkineto::ActivityType;
using libkineto::GenericTraceActivity;

// Rows of a device in a trace: those of its streams have the streams' numbers; each of these kinds begins at its
// number.
enum Kind : int32_t { kStreams = 0, kProgramming = 1000, kFallbacks = 2000, kCopies = 3000 };

std::string row_name(int32_t row) {
    static constexpr const char* kNames[] = {"programming of weights", "fallbacks to the CPU", "copies by the host"};
    if (row < kProgramming) return "stream " + std::to_string(row);
    const int32_t number = row % kProgramming;
    return kNames[row / kProgramming - 1] + (number == 0 ? "" : " (" + std::to_string(number + 1) + ")");
}

// Ids of PyTorch's operations count from 1, and those of other activities must not be among them. Arrows are numbered
// apart: PyTorch 2.6 has 27 bits for that.
constexpr int32_t kFirstId = 1 << 30, kIdsPerDevice = (1 << 27) / kDevicesMax;

// In PyTorch 2.6 it has a constructor, which takes the fields in another order.
template <typename Info>
Info row_info(int64_t device, int64_t row, const std::string& name) {
    if constexpr (std::is_aggregate_v<Info>) return {.id = row, .sortIndex = row, .deviceId = device, .name = name};
    else return Info(device, row, row, name);
}

// A profile of one device: Kineto asks each session for the name of its device.
class Session final : public libkineto::IActivityProfilerSession {
   public:
    explicit Session(c10::DeviceIndex index) : index_(index) {}
    ~Session() override { stop(); }

    void start() override {
        if (start_profile(index_)) {
            status_ = libkineto::TraceStatus::RECORDING;
            return;
        }
        profile_.errors.push_back(name() + ": another profile runs, so this one has nothing of the device");
        TORCH_WARN(profile_.errors.back());
    }
    void stop() override {
        if (status_ != libkineto::TraceStatus::RECORDING) return;
        status_ = libkineto::TraceStatus::PROCESSING;
        profile_ = stop_profile(index_);
        for (const std::string& error : profile_.errors) TORCH_WARN(error);
    }

    std::vector<std::string> errors() override { return profile_.errors; }

    void processTrace(libkineto::ActivityLogger& logger) override {
        processTrace(
            logger, [](int32_t) { return nullptr; }, 0, 0);
    }
    void processTrace(libkineto::ActivityLogger& logger, libkineto::getLinkedActivityCallback linked, int64_t begin,
                      int64_t end) override {
        buffer_ = std::make_unique<libkineto::CpuTraceBuffer>();
        buffer_->span = libkineto::TraceSpan(begin, end, "sidra");
        int32_t number = index_ * kIdsPerDevice;
        const auto earlier = [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; };
        std::sort(profile_.device.begin(), profile_.device.end(), earlier);
        std::sort(profile_.host.begin(), profile_.host.end(), earlier);
        for (const DeviceSpan& span : profile_.device) {
            GenericTraceActivity& queued =
                add(ActivityType::PRIVATEUSE1_RUNTIME, "sidra::queue", span.queued_begin_ns, span.queued_end_ns);
            GenericTraceActivity& work = add(type_of(span.name), span.name, span.begin_ns, span.end_ns);
            on_thread(queued, span.thread);
            work.device = index_;
            work.resource = row_of(std::string_view(span.name) == "sidra::program" ? kProgramming : kStreams,
                                   span.stream, span.begin_ns, span.end_ns);
            work.addMetadata("stream", span.stream);
            work.addMetadata("device_ps", span.device_ps);
            work.addMetadata("energy_pj", span.energy_pj);
            work.addMetadata("packets", span.packets);
            if (span.bytes != 0) work.addMetadata("bytes", span.bytes);
            queued.flow.start = 1;
            ++number;
            for (GenericTraceActivity* activity : {&queued, &work}) {
                activity->id = kFirstId + number;
                activity->flow.id = static_cast<uint32_t>(number);
                activity->flow.type = libkineto::kLinkAsyncCpuGpu;
                link(*activity, span.operation, linked);
            }
        }
        for (const HostSpan& span : profile_.host) {
            static constexpr const char* kNames[] = {"sidra::fallback", "sidra::host_copy", "sidra::synchronize"};
            GenericTraceActivity& work = add(ActivityType::PRIVATEUSE1_RUNTIME, kNames[static_cast<size_t>(span.work)],
                                             span.begin_ns, span.end_ns);
            if (span.work == HostWork::kSynchronize) {
                on_thread(work, span.thread);
            } else {
                const Kind kind = span.work == HostWork::kFallback ? kFallbacks : kCopies;
                work.device = index_, work.resource = row_of(kind, 0, span.begin_ns, span.end_ns);
                work.threadId = span.thread;
                work.addMetadataQuoted(kind == kFallbacks ? "operator" : "direction", span.detail);
                if (span.bytes != 0) work.addMetadata("bytes", span.bytes);
            }
            work.id = kFirstId + ++number;
            link(work, span.operation, linked);
        }
        for (const auto& activity : buffer_->activities) activity->log(logger);
    }

    // Null: the device did nothing.
    std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override {
        if (rows_.empty()) return nullptr;
        return std::unique_ptr<libkineto::DeviceInfo>(
            new libkineto::DeviceInfo{index_, libkineto::kExceedMaxPid + index_, name(), "memristor crossbars"});
    }
    std::vector<libkineto::ResourceInfo> getResourceInfos() override {
        std::vector<libkineto::ResourceInfo> infos;
        for (const auto& [row, end_ns] : rows_)
            infos.push_back(row_info<libkineto::ResourceInfo>(index_, row, row_name(row)));
        return infos;
    }
    std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override { return std::move(buffer_); }

    void pushCorrelationId(uint64_t id) override { push_operation(id); }
    void popCorrelationId() override { pop_operation(); }

   private:
    std::string name() const { return "sidra:" + std::to_string(index_); }
    // PyTorch counts all but annotations as time in which the device works.
    static ActivityType type_of(std::string_view name) {
        if (name == "sidra::wait" || name == "sidra::peer_copy") return ActivityType::GPU_USER_ANNOTATION;
        return name == "sidra::copy" ? ActivityType::GPU_MEMCPY : ActivityType::CONCURRENT_KERNEL;
    }
    GenericTraceActivity& add(ActivityType type, const char* name, int64_t begin_ns, int64_t end_ns) {
        buffer_->emplace_activity(buffer_->span, type, name);
        GenericTraceActivity& made = *buffer_->activities.back();
        made.startTime = begin_ns, made.endTime = std::max(begin_ns, end_ns);
        return made;
    }
    // Streams, and threads, work at the same time; viewers expect events of a row one after another.
    int32_t row_of(Kind kind, c10::StreamId stream, int64_t begin_ns, int64_t end_ns) {
        auto row = static_cast<int32_t>(kind + (kind == kStreams ? stream : 0));
        while (kind != kStreams && rows_.contains(row) && rows_[row] > begin_ns) ++row;
        rows_[row] = end_ns;
        return row;
    }
    static void on_thread(GenericTraceActivity& activity, int32_t thread) {
        activity.device = getpid(), activity.resource = activity.threadId = thread;
    }
    static void link(GenericTraceActivity& activity, uint64_t operation,
                     const libkineto::getLinkedActivityCallback& linked) {
        if (operation != 0) activity.linked = linked(static_cast<int32_t>(operation));
    }

    const c10::DeviceIndex index_;
    Profile profile_;
    std::map<int32_t, int64_t> rows_;  // and when the last event there ends
    std::unique_ptr<libkineto::CpuTraceBuffer> buffer_;
};

class Profiler final : public libkineto::IActivityProfiler {
   public:
    explicit Profiler(c10::DeviceIndex index) : index_(index) {}
    const std::string& name() const override {
        static const std::string name = "sidra";
        return name;
    }
    const std::set<ActivityType>& availableActivities() const override {
        static const std::set<ActivityType> all = {ActivityType::GPU_MEMCPY, ActivityType::GPU_USER_ANNOTATION,
                                                   ActivityType::CONCURRENT_KERNEL, ActivityType::PRIVATEUSE1_RUNTIME};
        return all;
    }
    // Null: there is no such device, or nothing that devices do is wanted.
    std::unique_ptr<libkineto::IActivityProfilerSession> configure(const std::set<ActivityType>& wanted,
                                                                   const libkineto::Config&) override {
        if (!wanted.contains(ActivityType::CONCURRENT_KERNEL) || index_ >= device_count()) return nullptr;
        return std::make_unique<Session>(index_);
    }
    std::unique_ptr<libkineto::IActivityProfilerSession> configure(int64_t, int64_t,
                                                                   const std::set<ActivityType>& wanted,
                                                                   const libkineto::Config& config) override {
        return configure(wanted, config);
    }

   private:
    const c10::DeviceIndex index_;
};

const bool registered = [] {
    for (c10::DeviceIndex index = 0; index < kDevicesMax; ++index)
        libkineto::api().registerProfilerFactory([index] { return std::make_unique<Profiler>(index); });
    return true;
}();

}  // namespace
}  // namespace sidra::pytorch
