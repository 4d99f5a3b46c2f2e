// SPDX-License-Identifier: MIT
#include "cut.h"

#include <algorithm>
#include <map>
#include <utility>

namespace sidra::compiler {
namespace {

constexpr uint64_t kNever = UINT64_MAX;

class Cutting {
   public:
    Cutting(std::span<const CallCost> calls, uint32_t stages, const ChipLimits& limits)
        : calls_(calls), stages_(stages), limits_(limits), next_(calls.size(), SIZE_MAX) {
        std::map<int64_t, size_t> later;
        for (size_t i = calls.size(); i-- > 0;) {
            if (calls[i].matrix < 0) continue;
            const auto [at, is_new] = later.try_emplace(calls[i].matrix, i);
            if (!is_new) next_[i] = std::exchange(at->second, i);
        }
    }

    std::optional<Cut> run() {
        Cut result;
        result.time = best([](uint64_t before, uint64_t time, uint64_t) { return std::max(before, time); }, kNever);
        if (result.time == kNever) return std::nullopt;
        result.bytes = best([](uint64_t before, uint64_t, uint64_t bytes) { return before + bytes; }, result.time);
        result.begins.resize(stages_);
        size_t end = calls_.size();
        for (uint32_t s = stages_; s-- > 0;) result.begins[s] = end = from_[s][end];
        return result;
    }

   private:
    uint64_t transfer(size_t begin) const {
        return begin == 0 ? 0 : calls_[begin].before * 1'000 / limits_.bytes_per_ns;
    }

    // The smallest value of all calls in all stages, none of which takes longer than `most`. add(value of the stages
    // before, time of the stage and the cut in front of it, bytes of that cut): the value with this stage.
    template <typename Add>
    uint64_t best(Add add, uint64_t most) {
        const size_t count = calls_.size();
        std::vector<uint64_t> before(count + 1, kNever);  // of the calls up to here, in the stages so far
        before[0] = 0;
        from_.assign(stages_, std::vector<size_t>(count + 1, 0));
        for (uint32_t s = 0; s < stages_; s++) {
            std::vector<uint64_t> with(count + 1, kNever);
            for (size_t end = s + 1; end <= count; end++) {
                uint64_t time = 0, crossbars = 0;
                for (size_t begin = end; begin-- > s;) {
                    const CallCost& call = calls_[begin];
                    time += call.time;
                    if (call.matrix >= 0 && next_[begin] >= end) crossbars += call.crossbars;
                    if ((call.stages >> s & 1) == 0 || crossbars > limits_.crossbars || time > most) break;
                    const uint64_t slower = std::max(time, transfer(begin));
                    if (before[begin] == kNever || slower > most) continue;
                    const uint64_t value = add(before[begin], slower, begin == 0 ? 0 : call.before);
                    if (value < with[end]) with[end] = value, from_[s][end] = begin;
                }
            }
            before.swap(with);
        }
        return before[count];
    }

    const std::span<const CallCost> calls_;
    const uint32_t stages_;
    const ChipLimits limits_;
    std::vector<size_t> next_;               // call with the same matrix
    std::vector<std::vector<size_t>> from_;  // of each stage and end: where the stage begins
};

}  // namespace

std::optional<Cut> cut(std::span<const CallCost> calls, uint32_t stages, const ChipLimits& limits) {
    if (stages == 0 || stages > kStagesMax || calls.size() < stages) return std::nullopt;
    return Cutting(calls, stages, limits).run();
}

}  // namespace sidra::compiler
