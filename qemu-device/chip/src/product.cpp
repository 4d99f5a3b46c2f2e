// SPDX-License-Identifier: MIT
#include "product.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace sidra::chip {
namespace {

constexpr uint64_t kAccurateTileNs = 1'500;  // per vector and tile, on one core, at level `accurate`
constexpr uint64_t kPlaneBytesPerNs = 64;    // that one core reads of planes, at most

// This object must have programmed all of its tiles.
Fault check_programmed(const Env& env, Weights& w) {
    const uint64_t epoch = env.array.epoch();
    if (w.verified.load(std::memory_order_acquire) == epoch) return {};
    for (uint32_t i = 0; i < w.tile_rows; i++)
        for (uint32_t j = 0; j < w.tile_cols; j++) {
            const uint32_t xbar = w.xbars[size_t{i} * w.tile_cols + j];
            if (!env.array.programmed(xbar, w.uid, w.tile_inputs(i))) return {SIDRA_FAULT_UNPROGRAMMED, xbar};
        }
    w.verified.store(epoch, std::memory_order_release);
    return {};
}

sidra_encoding encoding_of(const Weights& w) { return static_cast<sidra_encoding>(w.encoding); }

int32_t rounded(float value) { return static_cast<int32_t>(value + (value < 0 ? -0.5f : 0.5f)); }

// Computes the same sums as Engine::multiply(), as read by the ADCs, for a whole column of tiles.
void analog_mvm(const Env& env, const ProductPlan& plan, Worker& worker, uint32_t column, uint64_t first_vector,
                const engine::ColumnMvm& mvm) {
    const Weights& w = *plan.weights;
    const uint64_t first = plan.products.first + first_vector;
    Analog& analog = *env.array.analog();
    for (uint32_t b = 0; b < mvm.batch; b++) {
        int32_t* const acc = mvm.acc + b * mvm.acc_stride;
        if (mvm.init) std::copy_n(mvm.init, mvm.cols, acc);
        else std::fill_n(acc, mvm.cols, 0);
    }
    // Padded input for a last tile with fewer rows; and the sums of one tile.
    uint8_t* const padded = worker.scratch.take(uint64_t{mvm.batch} * SIDRA_XBAR_ROWS);
    auto* const tile_sums = worker.scratch.take_array<int32_t>(uint64_t{mvm.batch} * w.tile_width);
    for (uint32_t i = 0; i < w.tile_rows; i++) {
        const uint32_t number = i * w.tile_cols + column, xbar = w.xbars[number];
        const TileReadout& tile = plan.readouts->made(number);
        const uint8_t* in = mvm.in + size_t{i} * SIDRA_XBAR_ROWS;
        size_t in_stride = mvm.in_stride;
        if (const uint32_t rows = w.tile_inputs(i); rows < SIDRA_XBAR_ROWS) {  // the other rows are not driven
            std::fill_n(padded, size_t{mvm.batch} * SIDRA_XBAR_ROWS, uint8_t{0});
            for (uint32_t b = 0; b < mvm.batch; b++)
                std::copy_n(in + b * in_stride, rows, padded + size_t{b} * SIDRA_XBAR_ROWS);
            in = padded;
            in_stride = SIDRA_XBAR_ROWS;
        }
        const uint32_t outputs = tile.readout.outputs();
        // While calibrating, the range is adaptive.
        double needed = 0;
        const uint64_t clipped =
            tile.readout.multiply(env.engine, first, in, in_stride, mvm.batch, tile_sums, outputs, &worker.readout,
                                  plan.calibrates ? 0 : analog.range(xbar), plan.calibrates ? &needed : nullptr);
        if (plan.calibrates) analog.widen(xbar, needed);
        analog.count_clipped(xbar, clipped);
        for (uint32_t b = 0; b < mvm.batch; b++) {
            auto* const acc = reinterpret_cast<uint32_t*>(mvm.acc + b * mvm.acc_stride);  // modulo 2^32
            const int32_t* const sums = tile_sums + size_t{b} * outputs;
            uint32_t total = 0;
            for (uint32_t r = 0; r < SIDRA_XBAR_ROWS; r++) total += in[b * in_stride + r];
            const auto inputs = static_cast<float>(total);
            for (uint32_t c = 0; c < mvm.cols; c++)
                acc[c] += static_cast<uint32_t>(sums[c] - rounded(inputs * tile.excess[c]));
        }
    }
}

}  // namespace

Fault find_product(const Env& env, Job& job, uint32_t weights, uint8_t flags, ProductPlan* plan) {
    Weights* w;
    if (Fault fault = find_weights(env, job, weights, &w)) return fault;
    if (!(w->flags & SIDRA_HW_WEIGHTS_COMPUTE)) return {SIDRA_FAULT_WEIGHTS_RIGHTS, weights};
    if (Fault fault = check_programmed(env, *w)) return fault;
    if (flags & SIDRA_CMD_MVM_CALIBRATE && !(w->flags & SIDRA_HW_WEIGHTS_PROGRAM))
        return {SIDRA_FAULT_WEIGHTS_RIGHTS, weights};
    plan->weights = w;
    return {};
}

uint64_t product_macs(const Weights& w, uint32_t columns) {
    return uint64_t{w.rows} * std::min(w.cols, w.tile_width * columns);
}

uint64_t product_speed(const Env& env, const Weights& w) {
    if (!env.array.analog()) return env.engine.can().mvm_macs_per_ns;
    return std::max<uint64_t>(product_macs(w, 1) / (kAccurateTileNs * w.tile_rows), 1);
}

uint64_t product_ns(const Env& env, const Weights& w, uint32_t columns, uint64_t vectors) {
    const uint64_t macs = product_macs(w, columns);
    return std::max(macs * vectors / product_speed(env, w), macs / kPlaneBytesPerNs) + 1;  // a weight is a byte
}

void begin_products(const Env& env, Job& job, uint64_t vectors, uint64_t unit_vectors, uint8_t flags,
                    ProductPlan* plan) {
    const Weights& w = *plan->weights;
    job.cost += mvm_cost(w.xbars.size(), vectors, env.clock_level);
    job.work.mvms = w.xbars.size() * vectors;
    job.work.macs = uint64_t{w.rows} * w.cols * vectors;
    if (const uint64_t slow = env.knobs.slow_tile_ns.load(std::memory_order_relaxed)) {
        job.cost.device_ps += job.work.mvms * slow * 1000;
        job.unit_work += slow * w.tile_rows * unit_vectors;
    }
    if (!env.array.analog()) return;
    plan->vectors = vectors;
    plan->calibrates = flags & SIDRA_CMD_MVM_CALIBRATE;
    plan->numbered = env.loaded != nullptr;
    if (env.loaded) plan->products = *env.loaded;
}

bool take_readouts(const Env& env, Job& job, uint32_t* next) {
    ProductPlan& plan = *product_of(job);
    const Weights& w = *plan.weights;
    Analog& analog = *env.array.analog();
    const double now = plan.numbered ? plan.products.now : env.now;
    if (!analog.share(w.xbars, encoding_of(w), now, &job.readouts)) return false;
    plan.readouts = &job.readouts;
    job.makes = static_cast<uint32_t>(job.readouts.unmade().size());
    job.units += job.makes;
    job.done = *next;
    if (job.makes > 0) *next = 0;
    // A loaded job has already begun its calibration.
    if (plan.numbered) return true;
    plan.numbered = true;
    plan.products = {analog.take_products(w.xbars[0], plan.vectors), now};
    if (plan.calibrates)
        for (const uint32_t xbar : w.xbars) analog.let_follow(xbar);
    return true;
}

bool readouts_are_due(const Env& env, Job& job, uint32_t next) {
    // The driver may have stored other crossbars of the same object.
    if (!std::ranges::equal(job.readouts.crossbars(), product_of(job)->weights->xbars)) return true;
    // Not before they were worth making, else jobs that take turns would make them again and again.
    const uint64_t ran = next - std::min(next, job.makes + job.done);
    return ran > 0 && ran * job.unit_work >= job.makes * Analog::kTileNs && env.array.analog()->wanted(&job.readouts);
}

void give_back_readouts(Job& job, uint32_t* next) {
    *next = finished_units(job, *next);
    job.units -= job.makes;
    job.makes = job.done = 0;
    job.readouts.unwant();
    job.readouts = {};
}

uint32_t finished_units(const Job& job, uint32_t next) { return next <= job.makes ? job.done : next - job.makes; }

uint64_t product_scratch(const Env& env, const Weights& w, uint64_t vectors) {
    if (!env.array.analog()) return 0;
    return Rows::scratch_of(vectors, w.tile_width * 4) + Rows::scratch_of(vectors, SIDRA_XBAR_ROWS);
}

void make_readout(const Env& env, const Job& job, const ProductPlan& plan, uint32_t unit) {
    const Weights& w = *plan.weights;
    const uint32_t tile = job.readouts.unmade()[unit], xbar = w.xbars[tile];
    env.array.analog()->make({xbar, w.tile_inputs(tile / w.tile_cols), w.tile_outputs(tile % w.tile_cols),
                              encoding_of(w), env.array.sums(xbar)},
                             plan.products.now, &job.readouts.shared(tile));
}

void multiply(const Env& env, const ProductPlan& plan, Worker& worker, uint32_t column, const Vectors& vectors,
              int32_t zero, const int32_t* bias, int32_t* acc, size_t acc_stride) {
    const Weights& w = *plan.weights;
    const uint32_t outputs = w.tile_outputs(column);
    // Initial values: bias, the input's zero point (using the sums of the programmed weights), offsets of the ADCs.
    int32_t init[SIDRA_XBAR_COLS] = {};
    const int32_t* start = bias;
    if (bias && (zero || !env.adcs.exact())) std::copy_n(bias, outputs, init);
    if (zero) {
        for (uint32_t i = 0; i < w.tile_rows; i++) {
            const uint32_t number = i * w.tile_cols + column;
            const int32_t* const sums =
                env.array.analog() ? plan.readouts->made(number).sums : env.array.sums(w.xbars[number]);
            for (uint32_t c = 0; c < outputs; c++)
                init[c] = static_cast<int32_t>(static_cast<uint32_t>(init[c]) -
                                               static_cast<uint32_t>(zero) * static_cast<uint32_t>(sums[c]));
        }
        start = init;
    }
    if (!env.adcs.exact()) {
        uint32_t off = 0;
        for (uint32_t i = 0; i < w.tile_rows; i++) off += env.adcs.off(w.xbars[size_t{i} * w.tile_cols + column]);
        for (uint32_t c = 0; c < outputs; c++) init[c] = static_cast<int32_t>(static_cast<uint32_t>(init[c]) + off);
        start = init;
    }

    engine::ColumnMvm mvm{};
    mvm.packed = w.planes.data() + size_t{column} * w.tile_rows;
    mvm.versions = w.versions.data() + size_t{column} * w.tile_rows;
    mvm.tiles = w.tile_rows;
    mvm.rows = w.rows;
    mvm.cols = outputs;
    mvm.in = vectors.codes;
    mvm.in_stride = vectors.stride;
    mvm.init = start;
    mvm.batch = vectors.count;
    mvm.steps = vectors.steps;
    mvm.acc = acc;
    mvm.acc_stride = acc_stride;
    if (env.array.analog()) analog_mvm(env, plan, worker, column, vectors.first, mvm);
    else env.engine.multiply(mvm);
    if (const uint64_t slow = env.knobs.slow_tile_ns.load(std::memory_order_relaxed))
        std::this_thread::sleep_for(std::chrono::nanoseconds(slow * w.tile_rows * vectors.count));
}

}  // namespace sidra::chip
