// SPDX-License-Identifier: MIT
// Level `accurate` of one crossbar: what its ADCs make of a vector of inputs, with the conductances that its cells
// really have, the wires between them (wires.h), and noise.
//
// Conductances are cut to 16 bits, and deviations to 7, once for each programming; sums over them are integers, exact
// in any order. What follows is single precision in the order written, and noise is keyed by (seed, crossbar, number of
// the product, column). So the same bits come from every engine, instruction set, batch and number of threads.
//
// "Public" is what is published of the Y1 chip; "ours" is a decision of this model, where nothing is published.
#ifndef SIDRA_PHYSICS_READOUT_H
#define SIDRA_PHYSICS_READOUT_H

#include <cstdint>
#include <memory>
#include <vector>

#include "engine.h"
#include "instruction_set.h"
#include "sidra_hw.h"

namespace sidra::physics {

struct ReadoutParameters {
    double on_off = 100;  // as the cells'

    // Deviation of a cell's conductance from one product to the next, as a share of it. Drawn for a column as a whole,
    // which is the same: a sum of independent normal numbers is one. Ours; "about 5 % RMS" is public, not of what.
    double cell_noise = 0.01;
    // Deviation of what arrives at an ADC, as a share of its full scale. Ours.
    double adc_noise = 0.002;

    // Inputs have 8 bits; fewer are what a DAC leaves of them, rounded. Public: 8.
    uint32_t dac_bits = 8;
    // Public: 8. 0: no ADC. Differential: the pair is subtracted first, codes are signed and 0 is one of them. Offset:
    // codes from 0 on, from one end of the range to the other.
    uint32_t adc_bits = 8;
    // False: one range for all products, that of set_range(). True: it follows the product, by a peak detector and an
    // amplifier: of the widest range, its half, its quarter ... the smallest that holds what arrives, without noise,
    // from the column that differs most from the middle; offset: the middle is what the middle level makes of these
    // inputs. So no vectors are needed to set it by, but it can be held: multiply(). Ours.
    bool adc_follows = false;
    // What the best range for the vectors that it is set by, or what arrives, is multiplied by.
    double adc_margin = 1.25;
};
// std::invalid_argument, naming parameter, value and range.
void check(const ReadoutParameters& parameters);

struct SenseFunctions;
struct SensePlan;

class Readout {
   public:
    static constexpr uint32_t kRows = SIDRA_XBAR_ROWS, kColumns = SIDRA_XBAR_COLS;

    // `effective`: kRows x kColumns, row by row, what each cell counts for (G_eff), in units of G_max. The ADCs take
    // the range that no input exceeds, until it is set. std::invalid_argument: parameters, or a conductance that is not
    // from 0 to 4; or this CPU does not have these instructions.
    Readout(const double* effective, sidra_encoding encoding, const ReadoutParameters& parameters, uint64_t seed,
            uint32_t crossbar, InstructionSet set = best_instruction_set());
    ~Readout();
    Readout(const Readout&) = delete;
    Readout& operator=(const Readout&) = delete;

    uint32_t outputs() const { return outputs_; }  // 128 or 256
    // What an input of 1 in each of the first `rows` rows makes of outputs() columns, without noise.
    void weight_sums(uint32_t rows, float* sums) const;

    // Of batch vectors of kRows bytes, number `first` and following of this crossbar's life: outputs() sums each, in
    // units of (input * weight), as exact sums of level `fast` are. Returns how many were out of an ADC's range, and
    // so cut to it. Any thread; `scratch` is the caller's, and grows as needed.
    using Scratch = std::vector<uint8_t>;
    // With adc_follows: `held`, if not 0, is half of the range that the ADCs keep instead; to *needed, if given, goes
    // half of the one that holds all of these vectors, with the margin, if that is more.
    uint64_t multiply(const engine::Engine& engine, uint64_t first, const uint8_t* in, size_t in_stride, uint32_t batch,
                      int32_t* out, size_t out_stride, Scratch* scratch, double held = 0,
                      double* needed = nullptr) const;

    // Sets the ADCs' range, one for all columns: that with the least mean square of what codes and cutting make of
    // these vectors without noise, and the margin. Differential: about 0; offset: about the middle of what is met. Not
    // while others call multiply(), and not with adc_follows.
    void set_range(const engine::Engine& engine, const uint8_t* in, size_t in_stride, uint32_t batch, Scratch* scratch);
    // Half of that range, in the same units; with adc_follows of the widest.
    double full_scale() const { return full_scale_; }

   private:
    struct Sums;
    Sums sums(const engine::Engine& engine, const uint8_t* in, size_t in_stride, uint32_t batch,
              Scratch* scratch) const;
    // What follows from half of an ADC's range, but for where it lies.
    struct Range {
        double half;
        float adc_variance, step, inverse;
    };
    Range range(double half) const;
    void apply(const Range& range, double middle, SensePlan* plan) const;
    void set_fixed_range(double middle, double half);
    void set_following_ranges(double widest);
    double arrives(int32_t peak) const;
    const Range& range_for(double arrives) const;

    ReadoutParameters parameters_;
    sidra_encoding encoding_;
    double full_scale_ = 0;
    uint32_t outputs_;
    std::unique_ptr<SensePlan> plan_;
    std::vector<Range> ranges_;    // that the ADCs follow products with, each half as wide as the one before
    const SenseFunctions* sense_;  // for the instruction set
    std::vector<int8_t> planes_;   // high and low bytes of conductances, squares of deviations
    const int8_t *high_, *low_, *variance_;
};

}  // namespace sidra::physics

#endif
