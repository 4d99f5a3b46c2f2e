// SPDX-License-Identifier: MIT
// Level `accurate` of one crossbar: the ADC codes for a vector of inputs, from the true conductances of the cells, the
// wires between them (wires.h), and noise.
//
// The arithmetic is that of an engine, from inputs to codes: Engine::multiply() and SenseKernels.
//
// Conductances are quantised to 16 bits, and their deviations to 7, once for each programming; sums over them are exact
// integers in any order. Everything after that is single precision in the order written, and noise is keyed by (seed,
// crossbar, number of the product, column). So every engine, instruction set, batch and number of threads gives the
// same bits.
//
// "Public" means published for the Y1 chip; "ours" is a decision of this model, where nothing is published.
#ifndef SIDRA_PHYSICS_READOUT_H
#define SIDRA_PHYSICS_READOUT_H

#include <cstdint>
#include <memory>
#include <vector>

#include "engine.h"
#include "sidra_hw.h"

namespace sidra::physics {

struct ReadoutParameters {
    double on_off = 100;  // as the cells'

    // Standard deviation of a cell's conductance from one product to the next, relative to it. One draw for a column is
    // equivalent, because a sum of independent normal numbers is normal. Ours; "about 5 % RMS" is public, without
    // saying of what.
    double cell_noise = 0.01;
    // Standard deviation of the noise of an ADC, relative to its full scale. Ours.
    double adc_noise = 0.002;

    // Inputs have 8 bits; a DAC with fewer bits rounds them. Public: 8.
    uint32_t dac_bits = 8;
    // Public: 8. 0 means no ADC. Differential encoding: the pair is subtracted first, and codes are signed and include
    // 0. Offset encoding: codes count from 0, from one end of the range to the other.
    uint32_t adc_bits = 8;
    // False: one range for all products, set by set_range(). True: the range adapts to each product, by a peak detector
    // and an amplifier. Of the widest range, its half, its quarter and so on it is the smallest that holds the
    // noise-free current of the column that differs most from the middle; in offset encoding the middle is the current
    // of the middle level for these inputs. So no calibration vectors are needed, but a range can be kept: multiply().
    // Ours.
    bool adc_follows = false;
    // The factor on the range that the calibration vectors, or the product, need.
    double adc_margin = 1.25;
};
// Throws std::invalid_argument that names parameter, value and range.
void check(const ReadoutParameters& parameters);

class Readout {
   public:
    static constexpr uint32_t kRows = SIDRA_XBAR_ROWS, kColumns = SIDRA_XBAR_COLS;

    // `effective` has the effective conductance of each cell (G_eff) in units of G_max, kRows x kColumns, row by row.
    // The ADCs have the range that no input exceeds, until it is set. Throws std::invalid_argument for invalid
    // parameters, or a conductance outside 0 to 4.
    Readout(const double* effective, sidra_encoding encoding, const ReadoutParameters& parameters, uint64_t seed,
            uint32_t crossbar);
    ~Readout();
    Readout(const Readout&) = delete;
    Readout& operator=(const Readout&) = delete;

    uint32_t outputs() const { return outputs_; }  // 128 or 256
    // The outputs() noise-free sums for an input of 1 in each of the first `rows` rows.
    void weight_sums(uint32_t rows, float* sums) const;

    // Multiplies `batch` vectors of kRows bytes, which are products number `first` and following of this crossbar. Each
    // gives outputs() sums in units of (input * weight), like the exact sums of level `fast`. Returns the number of
    // sums that an ADC clipped. Any thread; `scratch` belongs to the caller and grows as needed.
    using Scratch = std::vector<uint8_t>;
    // With adc_follows, a nonzero `held` is half of a fixed range to use instead. *needed, if given, is raised to half
    // of the range that holds all of these vectors, with the margin.
    uint64_t multiply(engine::Engine& engine, uint64_t first, const uint8_t* in, size_t in_stride, uint32_t batch,
                      int32_t* out, size_t out_stride, Scratch* scratch, double held = 0,
                      double* needed = nullptr) const;

    // Sets one range for all columns: that with the least mean square error of quantisation and clipping for these
    // vectors without noise, times the margin. It is centred on 0 in differential encoding, and on the middle of the
    // currents in offset encoding. Not while others call multiply(), and not with adc_follows.
    void set_range(engine::Engine& engine, const uint8_t* in, size_t in_stride, uint32_t batch, Scratch* scratch);
    // Half of that range in the same units; with adc_follows, half of the widest range.
    double full_scale() const { return full_scale_; }

   private:
    struct Sums;
    Sums sums(engine::Engine& engine, const uint8_t* in, size_t in_stride, uint32_t batch, Scratch* scratch) const;
    // Constants that depend on the width of an ADC's range, but not on its position.
    struct Range {
        double half;
        float adc_variance, step, inverse;
    };
    Range range(double half) const;
    void apply(const Range& range, double middle, engine::SensePlan* plan) const;
    void set_fixed_range(double middle, double half);
    void set_following_ranges(double widest);
    double arrives(int32_t peak) const;
    const Range& range_for(double arrives) const;

    ReadoutParameters parameters_;
    sidra_encoding encoding_;
    double full_scale_ = 0;
    uint32_t outputs_;
    std::unique_ptr<engine::SensePlan> plan_;
    std::vector<Range> ranges_;   // the ranges of adc_follows, each half as wide as the one before
    std::vector<int8_t> planes_;  // high and low bytes of conductances, squares of deviations
    struct Plane {
        const int8_t* packed;
        engine::PlaneVersion version;
    };
    Plane high_, low_, variance_;
};

}  // namespace sidra::physics

#endif
