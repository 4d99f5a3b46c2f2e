// SPDX-License-Identifier: MIT
// What the values of a tensor are in many runs, and the range that 8 bits should stand for.
#ifndef SIDRA_COMPILER_OBSERVER_H
#define SIDRA_COMPILER_OBSERVER_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sidra::compiler {

enum class Method {
    kMinMax,      // the smallest and the largest value
    kMoving,      // the same of each run, averaged exponentially: each new run counts one tenth
    kPercentile,  // all but 0.01 % of the values on either side
    kMse,         // the range with the smallest mean square of errors
    kEntropy,  // that whose codes have the distribution of the values: the smallest divergence of Kullback and Leibler
};
// "minmax", "moving", "percentile", "mse", "entropy"
std::string_view name_of(Method method);
std::optional<Method> method_named(std::string_view name);

struct Range {
    float low = 0, high = 0;  // contains 0
};

class Observer {
   public:
    // The values of one run. Those that are not finite are left out.
    void add(std::span<const float> values);

    Range range(Method method) const;

   private:
    static constexpr size_t kBins = 4096;  // an even number

    void widen(float magnitude);
    double centre(size_t bin) const { return (static_cast<double>(bin) - kBins / 2 + 0.5) * width_; }
    double noise(Range range) const;
    double divergence(Range range) const;
    Range percentile(double share) const;
    template <typename Loss>
    Range smallest(Loss loss) const;

    // Bin i has the values from (i - kBins / 2) * width_ to below the next one.
    std::vector<uint64_t> bins_ = std::vector<uint64_t>(kBins);
    double width_ = 0;  // 0: no values yet
    uint64_t count_ = 0;
    float low_ = 0, high_ = 0;
    Range moving_;
};

}  // namespace sidra::compiler

#endif
