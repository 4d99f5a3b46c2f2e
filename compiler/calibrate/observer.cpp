// SPDX-License-Identifier: MIT
#include "observer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace sidra::compiler {
namespace {

constexpr int kCodes = 256;
constexpr float kNewest = 0.1f;    // the weight of a run in the moving range
constexpr double kShare = 0.9999;  // of the values, inside the range by percentiles
constexpr int kSteps = 64;         // of the search for the best end of a range
constexpr double kShortest = 0.2;  // of an end, as a part of the largest value

constexpr std::pair<std::string_view, Method> kMethods[] = {{"minmax", Method::kMinMax},
                                                            {"moving", Method::kMoving},
                                                            {"percentile", Method::kPercentile},
                                                            {"mse", Method::kMse},
                                                            {"entropy", Method::kEntropy}};

}  // namespace

std::string_view name_of(Method method) {
    return std::ranges::find(kMethods, method, &std::pair<std::string_view, Method>::second)->first;
}

std::optional<Method> method_named(std::string_view name) {
    const auto* const found = std::ranges::find(kMethods, name, &std::pair<std::string_view, Method>::first);
    return found == std::end(kMethods) ? std::nullopt : std::optional(found->second);
}

void Observer::widen(float magnitude) {
    if (width_ == 0) width_ = magnitude > 0 ? 2.0 * magnitude / (kBins - 2) : 1e-30;
    while (static_cast<double>(magnitude) >= width_ * (kBins / 2)) {
        std::vector<uint64_t> wider(kBins);
        for (size_t i = 0; i < kBins; i++) wider[kBins / 4 + i / 2] += bins_[i];
        bins_ = std::move(wider);
        width_ *= 2;
    }
}

void Observer::add(std::span<const float> values) {
    float low = 0, high = 0;
    for (const float value : values) {
        if (!std::isfinite(value)) continue;
        low = std::min(low, value);
        high = std::max(high, value);
    }
    widen(std::max(-low, high));
    const bool first = count_ == 0;
    const double scale = 1 / width_;
    for (const float value : values) {
        if (!std::isfinite(value)) continue;
        const double bin = std::floor(static_cast<double>(value) * scale) + kBins / 2;
        bins_[static_cast<size_t>(std::clamp(bin, 0.0, kBins - 1.0))]++;
        count_++;
    }
    low_ = std::min(low_, low);
    high_ = std::max(high_, high);
    moving_ = first
                  ? Range{low, high}
                  : Range{moving_.low + kNewest * (low - moving_.low), moving_.high + kNewest * (high - moving_.high)};
}

Range Observer::range(Method method) const {
    if (count_ == 0) return {};
    switch (method) {
        case Method::kMinMax:
            return {low_, high_};
        case Method::kMoving:
            return moving_;
        case Method::kPercentile:
            return percentile(kShare);
        case Method::kMse:
            return smallest([&](Range range) { return noise(range); });
        case Method::kEntropy:
            return smallest([&](Range range) { return divergence(range); });
    }
    return {};
}

Range Observer::percentile(double share) const {
    const auto outside = static_cast<uint64_t>(static_cast<double>(count_) * (1 - share));
    size_t first = 0, last = kBins - 1;
    for (uint64_t sum = bins_[first]; first + 1 < kBins && sum <= outside; sum += bins_[++first]) {
    }
    for (uint64_t sum = bins_[last]; last > 0 && sum <= outside; sum += bins_[--last]) {
    }
    return {std::min(0.0f, std::max(low_, static_cast<float>(centre(first) - width_ / 2))),
            std::max(0.0f, std::min(high_, static_cast<float>(centre(last) + width_ / 2)))};
}

// One end after the other, twice, since the best of one depends on the other.
template <typename Loss>
Range Observer::smallest(Loss loss) const {
    Range best{low_, high_};
    double least = loss(best);
    for (int round = 0; round < 2; round++)
        for (float Range::*end : {&Range::low, &Range::high}) {
            const float largest = end == &Range::low ? low_ : high_;
            if (largest == 0) continue;
            for (int step = 0; step <= kSteps; step++) {
                Range range = best;
                range.*end = static_cast<float>(largest * (kShortest + (1 - kShortest) * step / kSteps));
                const double now = loss(range);
                if (now < least) least = now, best = range;
            }
        }
    return best;
}

// The mean square of errors: within the range they are spread evenly over a step, outside it they are the distance.
double Observer::noise(Range range) const {
    const double step = (static_cast<double>(range.high) - range.low) / (kCodes - 1);
    double sum = 0;
    for (size_t i = 0; i < kBins; i++) {
        if (bins_[i] == 0) continue;
        const double value = centre(i), inside = std::clamp<double>(value, range.low, range.high);
        sum += static_cast<double>(bins_[i]) * (step * step / 12 + (value - inside) * (value - inside));
    }
    return sum / static_cast<double>(count_);
}

double Observer::divergence(Range range) const {
    const double step = (static_cast<double>(range.high) - range.low) / (kCodes - 1);
    if (!(step > 0)) return INFINITY;
    // The codes of the bins; what lies outside goes to the first or last code.
    std::array<double, kCodes> mass{};
    std::array<int, kCodes> used{};
    const auto code_of = [&](size_t bin) {
        return static_cast<size_t>(std::clamp(std::nearbyint((centre(bin) - range.low) / step), 0.0, kCodes - 1.0));
    };
    const auto is_inside = [&](size_t bin) {
        return centre(bin) >= range.low - width_ && centre(bin) <= range.high + width_;
    };
    for (size_t i = 0; i < kBins; i++) {
        if (bins_[i] == 0 || !is_inside(i)) continue;
        mass[code_of(i)] += static_cast<double>(bins_[i]);
        used[code_of(i)]++;
    }
    // The values' own distribution keeps what lies outside, so cutting much off is a divergence.
    double below = 0, above = 0;
    for (size_t i = 0; i < kBins; i++)
        if (!is_inside(i)) (centre(i) < 0 ? below : above) += static_cast<double>(bins_[i]);
    double sum = 0, total = 0;
    for (const double m : mass) total += m;
    if (total == 0) return INFINITY;
    bool first = true;
    size_t last = 0;
    for (size_t i = 0; i < kBins; i++)
        if (bins_[i] != 0 && is_inside(i)) last = i;
    for (size_t i = 0; i < kBins; i++) {
        if (bins_[i] == 0 || !is_inside(i)) continue;
        double p = static_cast<double>(bins_[i]);
        if (first) p += below;
        if (i == last) p += above;
        first = false;
        p /= static_cast<double>(count_);
        const double q = mass[code_of(i)] / used[code_of(i)] / total;
        sum += p * std::log(p / q);
    }
    return sum;
}

}  // namespace sidra::compiler
