// SPDX-License-Identifier: MIT
#include "readout.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "check.h"

namespace sidra::physics {
namespace {

using engine::SensePlan;

constexpr double kMostConductance = 4;  // in units of G_max; the stored format ends at 2
constexpr size_t kPlane = size_t{Readout::kRows} * Readout::kColumns;
constexpr size_t kAlignment = 64;  // of planes
constexpr double kCells = 32512;   // the largest 16-bit value whose rounded high byte fits: 127 * 256
constexpr double kVariances = 127;
constexpr double kInputSquares = 256;  // squares of inputs keep their upper 8 bits

template <class T>
T* aligned(T* pointer) {
    const auto at = reinterpret_cast<uintptr_t>(pointer);
    return pointer + (kAlignment - at % kAlignment) % kAlignment / sizeof(T);
}

}  // namespace

void check(const ReadoutParameters& parameters) {
    check_range("on_off", parameters.on_off, 1.001, 1e6);
    check_range("cell_noise", parameters.cell_noise, 0, 1);
    check_range("adc_noise", parameters.adc_noise, 0, 1);
    check_range("dac_bits", parameters.dac_bits, 1, 8);
    check_range("adc_bits", parameters.adc_bits, parameters.adc_bits == 0 ? 0 : 2, 16);
    check_range("adc_margin", parameters.adc_margin, 1, 100);
}

Readout::Readout(const double* effective, sidra_encoding encoding, const ReadoutParameters& parameters, uint64_t seed,
                 uint32_t crossbar)
    : parameters_(parameters),
      encoding_(encoding),
      outputs_(encoding == SIDRA_ENCODING_DIFFERENTIAL ? kColumns / 2 : kColumns),
      plan_(std::make_unique<SensePlan>()),
      planes_(3 * kPlane + kAlignment) {
    check(parameters);
    for (size_t i = 0; i < kPlane; i++) check_range("conductance", effective[i], 0, kMostConductance);
    // In units of (input * weight): the conductance of a level; the weight of a pair is half the difference of its
    // levels.
    const double levels = 255 / (1 - 1 / parameters.on_off);
    const double per_g = encoding == SIDRA_ENCODING_DIFFERENTIAL ? levels / 2 : levels;
    const double middle = encoding == SIDRA_ENCODING_OFFSET ? 128 : 0;
    std::vector<double> weight(kPlane), variance(kPlane);  // of outputs_ columns
    double largest = 0, most_variance = 0;
    for (uint32_t row = 0; row < kRows; row++) {
        for (uint32_t column = 0; column < outputs_; column++) {
            const size_t at = size_t{row} * kColumns + column;
            const double* cell = effective + size_t{row} * kColumns;
            double& w = weight[at];
            double& v = variance[at];
            if (encoding == SIDRA_ENCODING_DIFFERENTIAL) {
                const double up = cell[2 * column] * per_g, down = cell[2 * column + 1] * per_g;
                w = up - down;
                v = (up * up + down * down) * parameters.cell_noise * parameters.cell_noise;
            } else {
                const double g = cell[column] * per_g;
                w = g - middle;
                v = g * g * parameters.cell_noise * parameters.cell_noise;
            }
            largest = std::max(largest, std::fabs(w));
            most_variance = std::max(most_variance, v);
        }
    }

    int8_t* const planes = aligned(planes_.data());
    int8_t *const high = planes, *const low = planes + kPlane, *const squares = planes + 2 * kPlane;
    high_.packed = high, low_.packed = low, variance_.packed = squares;
    const double per_unit = largest > 0 ? kCells / largest : 1;
    const double per_variance = most_variance > 0 ? kVariances / most_variance : 0;
    for (uint32_t row = 0; row < kRows; row++) {
        for (uint32_t column = 0; column < outputs_; column++) {
            const size_t from = size_t{row} * kColumns + column;
            const size_t to = engine::packed_offset(row, column);
            const auto whole = static_cast<int32_t>(std::lround(weight[from] * per_unit));
            const int32_t upper = (whole + 128) >> 8;
            high[to] = static_cast<int8_t>(upper);
            low[to] = static_cast<int8_t>(whole - upper * 256);
            squares[to] = static_cast<int8_t>(std::lround(variance[from] * per_variance));
        }
    }

    plan_->seed = seed;
    plan_->crossbar = crossbar;
    plan_->outputs = outputs_;
    plan_->noisy = parameters.cell_noise > 0 || parameters.adc_noise > 0;
    plan_->unit = static_cast<float>(1 / per_unit);
    plan_->variance_unit = static_cast<float>(most_variance / kVariances * kInputSquares);
    // An ADC reads the whole current. The middle, and the current of cells at level 0, are subtracted exactly after it.
    plan_->before = static_cast<float>(middle);
    plan_->after = static_cast<float>(middle == 0 ? 0 : middle + levels / parameters.on_off);
    const double codes = std::ldexp(1, static_cast<int>(parameters.adc_bits));
    plan_->lowest_code = middle == 0 ? static_cast<float>(1 - codes / 2) : 0;
    plan_->highest_code = static_cast<float>((middle == 0 ? codes / 2 : codes) - 1);
    const double most = (largest + middle) * 255 * kRows;
    if (parameters.adc_follows) set_following_ranges(largest * 255 * kRows);
    else if (middle == 0) set_fixed_range(0, most);
    else set_fixed_range(most / 2, most / 2);
}

Readout::~Readout() = default;

void Readout::weight_sums(uint32_t rows, float* sums) const {
    const double cut = static_cast<double>(plan_->before) - static_cast<double>(plan_->after);
    for (uint32_t column = 0; column < outputs_; column++) {
        int64_t whole = 0;
        for (uint32_t row = 0; row < rows; row++) {
            const size_t at = engine::packed_offset(row, column);
            whole += high_.packed[at] * 256 + low_.packed[at];
        }
        sums[column] = static_cast<float>(static_cast<double>(whole) * static_cast<double>(plan_->unit) + rows * cut);
    }
}

void Readout::set_fixed_range(double middle, double half) {
    full_scale_ = half;
    apply(range(half), middle, plan_.get());
}

void Readout::set_following_ranges(double widest) {
    full_scale_ = widest * parameters_.adc_margin;
    double half = full_scale_;
    do ranges_.push_back(range(half));
    while ((half /= 2) >= arrives(1));
}

// The range for a peak, with the margin.
double Readout::arrives(int32_t peak) const {
    return peak * 256.0 * static_cast<double>(plan_->unit) * parameters_.adc_margin;
}

Readout::Range Readout::range(double half) const {
    const double noise = parameters_.adc_noise * half;
    Range range{half, static_cast<float>(noise * noise), 0, 0};
    if (parameters_.adc_bits == 0) return range;
    const double width = encoding_ == SIDRA_ENCODING_DIFFERENTIAL ? half : 2 * half;
    range.step = static_cast<float>(width / static_cast<double>(plan_->highest_code));
    range.inverse = 1 / range.step;
    return range;
}

void Readout::apply(const Range& range, double middle, SensePlan* plan) const {
    plan->adc_variance = range.adc_variance;
    plan->step = range.step;
    plan->inverse = range.inverse;
    plan->origin =
        static_cast<float>(range.step == 0 || encoding_ == SIDRA_ENCODING_DIFFERENTIAL ? 0 : middle - range.half);
}

const Readout::Range& Readout::range_for(double arrives) const {
    size_t halvings = 0;
    while (halvings + 1 < ranges_.size() && ranges_[halvings + 1].half >= arrives) halvings++;
    return ranges_[halvings];
}

struct Readout::Sums {
    const int32_t *high, *low, *variance;  // outputs_ each, vector by vector
    const uint32_t* inputs;                // of each vector, the sum
};

Readout::Sums Readout::sums(engine::Engine& engine, const uint8_t* in, size_t in_stride, uint32_t batch,
                            Scratch* scratch) const {
    const size_t sums = size_t{batch} * outputs_, inputs = size_t{batch} * kRows;
    const size_t need = (3 * sums + batch) * sizeof(int32_t) + 2 * inputs + kAlignment;
    if (scratch->size() < need) scratch->resize(need);
    uint8_t* const base = aligned(scratch->data());
    auto* const acc = reinterpret_cast<int32_t*>(base);
    auto* const total = reinterpret_cast<uint32_t*>(acc + 3 * sums);
    auto* const driven = reinterpret_cast<uint8_t*>(total + batch);
    uint8_t* const squares = driven + inputs;

    const engine::SenseKernels& sense = *engine.kernels().sense;
    for (uint32_t b = 0; b < batch; b++)
        total[b] = sense.drive(in + b * in_stride, 8 - parameters_.dac_bits, driven + size_t{b} * kRows,
                               squares + size_t{b} * kRows);
    const auto multiply = [&](const Plane& plane, const uint8_t* inputs_of, int32_t* to) {
        const engine::PlaneVersion* const version = &plane.version;
        engine.multiply(
            {&plane.packed, 1, kRows, outputs_, inputs_of, kRows, to, outputs_, nullptr, batch, nullptr, &version});
    };
    multiply(high_, driven, acc);
    multiply(low_, driven, acc + sums);
    if (plan_->noisy) multiply(variance_, squares, acc + 2 * sums);
    return {acc, acc + sums, acc + 2 * sums, total};
}

uint64_t Readout::multiply(engine::Engine& engine, uint64_t first, const uint8_t* in, size_t in_stride, uint32_t batch,
                           int32_t* out, size_t out_stride, Scratch* scratch, double held, double* needed) const {
    const engine::SenseKernels& sense = *engine.kernels().sense;
    const Range kept = range(held);
    // Few at a time, so that the result of one step is still in the cache for the next.
    constexpr uint32_t kStep = 64;
    uint64_t clipped = 0;
    for (uint32_t b = 0; b < batch; b += kStep) {
        const uint32_t some = std::min(kStep, batch - b);
        const Sums found = sums(engine, in + b * in_stride, in_stride, some, scratch);
        for (uint32_t i = 0; i < some; i++) {
            const size_t at = size_t{i} * outputs_;
            SensePlan plan = *plan_;
            if (parameters_.adc_follows) {
                const Range* now = &kept;
                if (held == 0 || needed) {
                    const double widest = arrives(sense.peak(found.high + at, found.low + at, outputs_) + 1);
                    if (held == 0) now = &range_for(widest);
                    if (needed) *needed = std::max(*needed, widest);
                }
                apply(*now, static_cast<double>(plan.before) * found.inputs[i], &plan);
            }
            sense.sense(plan, first + b + i, found.high + at, found.low + at, found.variance + at, found.inputs[i],
                        out + (b + i) * out_stride, &clipped);
        }
    }
    return clipped;
}

void Readout::set_range(engine::Engine& engine, const uint8_t* in, size_t in_stride, uint32_t batch, Scratch* scratch) {
    std::vector<double> met;  // currents at the ADCs
    for (uint32_t b = 0; b < batch; b++) {
        const Sums found = sums(engine, in + b * in_stride, in_stride, 1, scratch);
        for (uint32_t c = 0; c < outputs_; c++) {
            const double sum = (found.high[c] * 256.0 + found.low[c]) * static_cast<double>(plan_->unit);
            met.push_back(sum + static_cast<double>(plan_->before) * found.inputs[0]);
        }
    }
    if (met.empty()) return;
    const auto [least, most] = std::minmax_element(met.begin(), met.end());
    const double middle = encoding_ == SIDRA_ENCODING_DIFFERENTIAL ? 0 : (*least + *most) / 2;
    for (double& each : met) each = std::fabs(each - middle);
    std::sort(met.begin(), met.end());
    const double widest = met.back();
    if (widest == 0) return;

    // A code has a uniform error of up to half a step; a clipped value has the error of the clipped part.
    constexpr int kRanges = 128;
    const double codes = std::ldexp(1, static_cast<int>(parameters_.adc_bits));
    double best = widest, least_error = std::numeric_limits<double>::infinity();
    for (int i = kRanges / 8; i <= kRanges && parameters_.adc_bits != 0; i++) {
        const double half = widest * i / kRanges, step = 2 * half / (codes - 1);
        const auto first_cut = std::upper_bound(met.begin(), met.end(), half);
        double error = static_cast<double>(first_cut - met.begin()) * step * step / 12;
        for (auto cut = first_cut; cut != met.end(); ++cut) error += (*cut - half) * (*cut - half);
        if (error > least_error) continue;
        least_error = error;
        best = half;
    }
    set_fixed_range(middle, best * parameters_.adc_margin);
}

}  // namespace sidra::physics
