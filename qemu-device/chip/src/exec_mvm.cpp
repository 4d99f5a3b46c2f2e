// SPDX-License-Identifier: MIT
// MVM. A unit is one column of tiles (all inputs, up to 256 outputs) for a block of vectors.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <thread>

#include "job.h"

namespace sidra::chip {
namespace {

constexpr uint32_t kBlockMax = 256;         // vectors per unit
constexpr uint64_t kBlockBytes = 1u << 20;  // converted input per unit
constexpr uint64_t kUnitNs = 128'000;  // target duration: long compared to the start, short enough to share the chip
constexpr uint64_t kMacsPerOperation = 512;    // UnitLoad
constexpr uint64_t kConvertBytes = 64u << 10;  // of input gathered for conversion

// Approximate speed of an engine on one core, for the size of units and for slices.
uint64_t macs_per_ns(sidra_chip_engine engine) {
    switch (engine) {
        case SIDRA_CHIP_ENGINE_AMX:
            return 1000;
        case SIDRA_CHIP_ENGINE_AVX512:
            return 250;
        case SIDRA_CHIP_ENGINE_AVX2:
            return 60;
        case SIDRA_CHIP_ENGINE_NEON:
            return 40;
        default:
            return 1;
    }
}

constexpr uint64_t kAccurateTileNs = 1'500;  // per vector and tile, on one core, at level `accurate`

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

Fault find(const Env& env, Job& job) {
    Weights* w;
    if (Fault fault = env.context.find_weights(env.bus, env.array, job.cmd.mvm.weights, &job.own_weights, &w))
        return fault;
    if (!(w->flags & SIDRA_HW_WEIGHTS_COMPUTE)) return {SIDRA_FAULT_WEIGHTS_RIGHTS, job.cmd.mvm.weights};
    if (Fault fault = check_programmed(env, *w)) return fault;
    if (job.cmd.mvm.flags & SIDRA_CMD_MVM_CALIBRATE && !(w->flags & SIDRA_HW_WEIGHTS_PROGRAM))
        return {SIDRA_FAULT_WEIGHTS_RIGHTS, job.cmd.mvm.weights};
    job.mvm.weights = w;
    return {};
}

Fault check_vectors(uint64_t va, uint32_t stride, uint32_t batch, uint32_t elements, uint32_t type,
                    Rectangle* vectors) {
    const uint32_t size = type_size(type);
    const uint64_t bytes = uint64_t{elements} * size;
    if (va % size || stride % size) return {SIDRA_FAULT_ALIGNMENT, va};
    if (stride < bytes) return {SIDRA_FAULT_FIELD, stride};
    *vectors = Rectangle(va, stride, batch, bytes);
    return vectors->valid() ? Fault{} : Fault{SIDRA_FAULT_LIMIT, va};
}

// N values of 4 bytes, one for each column.
Fault check_columns(uint64_t va, uint32_t columns, Range* values) {
    *values = Range(Space::kDevice, va, va ? uint64_t{columns} * 4 : 0);
    if (va % 4) return {SIDRA_FAULT_ALIGNMENT, va};
    return values->valid() ? Fault{} : Fault{SIDRA_FAULT_LIMIT, va};
}

Fault mvm_prepare(const Env& env, Job& job) {
    const sidra_cmd_mvm& m = job.cmd.mvm;
    MvmPlan& plan = job.mvm;
    plan = {};
    plan.in_type = m.types & 15;
    plan.out_type = m.types >> 4;
    const bool float_in = plan.in_type == SIDRA_TYPE_F32;
    const bool sums_out = plan.out_type == SIDRA_TYPE_S32;
    if (m.flags & ~SIDRA_CMD_MVM_CALIBRATE) return {SIDRA_FAULT_FIELD, m.flags};
    if (plan.in_type != SIDRA_TYPE_U8 && plan.in_type != SIDRA_TYPE_S8 && !float_in)
        return {SIDRA_FAULT_FIELD, plan.in_type};
    if (plan.out_type > SIDRA_TYPE_F32) return {SIDRA_FAULT_FIELD, plan.out_type};
    if (plan.in_type == SIDRA_TYPE_S8 ? m.in_zero < -128 || m.in_zero > 127 : m.in_zero < 0 || m.in_zero > 255)
        return {SIDRA_FAULT_FIELD, static_cast<uint16_t>(m.in_zero)};
    if (m.out_zero && plan.out_type != SIDRA_TYPE_S8 && plan.out_type != SIDRA_TYPE_U8)
        return {SIDRA_FAULT_FIELD, m.out_zero};
    if (sums_out && (m.scale || m.out_factor || (m.in_scale && !float_in))) return {SIDRA_FAULT_FIELD};
    float out_factor;
    if (!positive_or_one(m.in_scale, &plan.in_scale)) return {SIDRA_FAULT_FIELD, m.in_scale};
    if (!positive_or_one(m.out_factor, &out_factor)) return {SIDRA_FAULT_FIELD, m.out_factor};
    plan.gain = plan.in_scale * out_factor;
    if (m.batch == 0) return {SIDRA_FAULT_FIELD};
    if (m.batch > SIDRA_CMD_BATCH_MAX) return {SIDRA_FAULT_LIMIT, m.batch};
    if (Fault fault = find(env, job)) return fault;

    const Weights& w = *plan.weights;
    if (Fault fault = check_vectors(m.in, m.in_stride, m.batch, w.rows, plan.in_type, &plan.in)) return fault;
    if (Fault fault = check_vectors(m.out, m.out_stride, m.batch, w.cols, plan.out_type, &plan.out)) return fault;
    if (Fault fault = check_columns(m.scale, w.cols, &plan.scale)) return fault;
    if (Fault fault = check_columns(m.bias, w.cols, &plan.bias)) return fault;

    const uint64_t vector_macs = uint64_t{w.rows} * std::min(w.cols, w.tile_width);
    Analog* const analog = env.array.analog();
    const uint64_t speed =
        analog ? std::max<uint64_t>(vector_macs / (kAccurateTileNs * w.tile_rows), 1) : macs_per_ns(env.engine.id);
    uint64_t block = std::clamp<uint64_t>(kUnitNs * speed / vector_macs, 1, kBlockMax);
    block = std::min(block, std::max<uint64_t>(kBlockBytes / w.rows, 1));
    uint64_t blocks = (m.batch + block - 1) / block;
    block = (m.batch + blocks - 1) / blocks;                   // of equal size;
    if (block > 6 && blocks > 1) block = (block + 5) / 6 * 6;  // engines process six vectors at a time
    blocks = (m.batch + block - 1) / block;
    plan.block = static_cast<uint32_t>(block);
    job.units = static_cast<uint32_t>(blocks * w.tile_cols);
    const auto pieces = [&](const Rectangle& vectors) { return vectors.dense() ? 1 : block; };
    const uint64_t sums = Rows::scratch_of(block, w.tile_width * 4);
    job.unit_load = {vector_macs * block / kMacsPerOperation + 1, pieces(plan.in) + block + 2,
                     Rows::scratch_of(plan.in_type == SIDRA_TYPE_U8 ? block : 0, w.rows) + kConvertBytes + 3 * sums +
                         Rows::scratch_of(analog ? block : 0, SIDRA_XBAR_ROWS)};
    job.unit_work = vector_macs * block / speed + 1;
    job.cost = mvm_cost(w.xbars.size(), m.batch, env.clock_level);
    job.work.mvms = w.xbars.size() * m.batch;
    job.work.macs = uint64_t{w.rows} * w.cols * m.batch;
    if (const uint64_t slow = env.knobs.slow_tile_ns.load(std::memory_order_relaxed)) {
        job.cost.device_ps += job.work.mvms * slow * 1000;
        job.unit_work += slow * w.tile_rows * block;
    }
    if (analog) {
        plan.products = env.loaded ? *env.loaded : Products{analog->take_products(w.xbars[0], m.batch), env.now};
        const auto made = [&](uint32_t xbar) { return analog->has_tile(xbar, plan.products.now); };
        if (!std::all_of(w.xbars.begin(), w.xbars.end(), made)) {
            plan.makes = static_cast<uint32_t>(w.xbars.size());
            job.units += plan.makes;
            job.unit_work = std::max(job.unit_work, Analog::kTileNs);
        }
        plan.calibrates = m.flags & SIDRA_CMD_MVM_CALIBRATE;
        // A loaded job has already begun its calibration.
        if (plan.calibrates && !env.loaded)
            for (const uint32_t xbar : w.xbars) analog->let_follow(xbar);
    }
    return {};
}

std::shared_ptr<const TileReadout> analog_tile(const Env& env, const MvmPlan& plan, uint32_t i, uint32_t column) {
    const Weights& w = *plan.weights;
    const uint32_t xbar = w.xbars[size_t{i} * w.tile_cols + column];
    return env.array.analog()->tile(
        {xbar, w.tile_inputs(i), w.tile_outputs(column), static_cast<sidra_encoding>(w.encoding), env.array.sums(xbar)},
        plan.products.now);
}

int32_t rounded(float value) { return static_cast<int32_t>(value + (value < 0 ? -0.5f : 0.5f)); }

// Computes the same sums as Engine::mvm(), as read by the ADCs, for a whole column of tiles.
void analog_mvm(const Env& env, const MvmPlan& plan, Worker& worker, uint32_t column, uint64_t first_vector,
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
        const auto tile = analog_tile(env, plan, i, column);
        const uint32_t xbar = w.xbars[size_t{i} * w.tile_cols + column];
        const uint8_t* in = mvm.in + size_t{i} * SIDRA_XBAR_ROWS;
        size_t in_stride = mvm.in_stride;
        if (const uint32_t rows = w.tile_inputs(i); rows < SIDRA_XBAR_ROWS) {  // the other rows are not driven
            std::fill_n(padded, size_t{mvm.batch} * SIDRA_XBAR_ROWS, uint8_t{0});
            for (uint32_t b = 0; b < mvm.batch; b++)
                std::copy_n(in + b * in_stride, rows, padded + size_t{b} * SIDRA_XBAR_ROWS);
            in = padded;
            in_stride = SIDRA_XBAR_ROWS;
        }
        const uint32_t outputs = tile->readout.outputs();
        // While calibrating, the range is adaptive.
        double needed = 0;
        const uint64_t clipped =
            tile->readout.multiply(env.engine, first, in, in_stride, mvm.batch, tile_sums, outputs, &worker.readout,
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
                acc[c] += static_cast<uint32_t>(sums[c] - rounded(inputs * tile->excess[c]));
        }
    }
}

// The vectors of a block as u8 rows, converted once for all columns of tiles that this thread computes.
Fault input_block(const Env& env, const Job& job, Worker& worker, Dma& dma, uint32_t block, uint32_t vectors,
                  Rows* rows) {
    const sidra_cmd_mvm& m = job.cmd.mvm;
    const MvmPlan& plan = job.mvm;
    const Rectangle raw = plan.in.rows(uint64_t{block} * plan.block, vectors);
    if (plan.in_type == SIDRA_TYPE_U8) return rows->map_in(dma, worker.scratch, raw);

    const uint32_t k = plan.weights->rows;
    rows->stride = k;
    // Engines only read it.
    if ((rows->data = const_cast<uint8_t*>(worker.converted.find(job.serial, block)))) return {};
    uint8_t* const converted = worker.converted.replace(uint64_t{vectors} * k);
    const uint64_t size = type_size(plan.in_type);
    const auto convert = [&](const uint8_t* from, uint8_t* to, uint64_t elements) {
        if (plan.in_type == SIDRA_TYPE_S8) env.engine.bias_u8(reinterpret_cast<const int8_t*>(from), to, elements);
        else env.engine.quantize_u8(reinterpret_cast<const float*>(from), to, elements, plan.in_scale, m.in_zero);
    };
    Rows in_place;
    if (Fault fault = in_place.direct(dma, raw, false)) return fault;
    uint8_t* const gathered = in_place.data ? nullptr : worker.scratch.take(kConvertBytes);
    for (uint32_t v = 0; v < vectors; v++) {
        uint8_t* to = converted + uint64_t{v} * k;
        if (in_place.data) {
            convert(in_place.data + v * in_place.stride, to, k);
            continue;
        }
        for (Range left = raw.row(v); !left.empty(); left = left.from(kConvertBytes)) {
            const Range some = left.part(0, kConvertBytes);
            if (Fault fault = dma.read(some, gathered)) return fault;
            convert(gathered, to, some.length() / size);
            to += some.length() / size;
        }
    }
    worker.converted.belongs_to(job.serial, block);
    rows->data = converted;
    return {};
}

Fault mvm_unit(const Env& env, const Job& job, Worker& worker, uint32_t index) {
    const sidra_cmd_mvm& m = job.cmd.mvm;
    const MvmPlan& plan = job.mvm;
    const Weights& w = *plan.weights;
    if (index < plan.makes) {
        analog_tile(env, plan, index / w.tile_cols, index % w.tile_cols);
        return {};
    }
    index -= plan.makes;
    const uint32_t block = index / w.tile_cols;
    const uint32_t column = index % w.tile_cols;
    const uint32_t vectors = std::min(plan.block, m.batch - block * plan.block);
    const uint32_t outputs = w.tile_outputs(column);
    const uint64_t first = uint64_t{column} * w.tile_width;
    Dma dma(env.bus, worker.tlb, env.space);

    Rows in;
    if (Fault fault = input_block(env, job, worker, dma, block, vectors, &in)) return fault;

    // Initial values: bias, the input's zero point (using the sums of the programmed weights), offsets of the ADCs.
    int32_t init[SIDRA_XBAR_COLS] = {};
    const int32_t* start = nullptr;
    if (m.bias) {
        if (Fault fault = dma.read(plan.bias.part(first * 4, outputs * 4u), init)) return fault;
        start = init;
    }
    const int32_t zero = m.in_zero + (plan.in_type == SIDRA_TYPE_S8 ? 128 : 0);
    if (zero) {
        for (uint32_t i = 0; i < w.tile_rows; i++) {
            const int32_t* sums = env.array.sums(w.xbars[size_t{i} * w.tile_cols + column]);
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
    mvm.tiles = w.tile_rows;
    mvm.rows = w.rows;
    mvm.cols = outputs;
    mvm.in = in.data;
    mvm.in_stride = in.stride;
    mvm.init = start;
    mvm.batch = vectors;

    const auto multiply = [&] {
        if (env.array.analog()) analog_mvm(env, plan, worker, column, uint64_t{block} * plan.block, mvm);
        else env.engine.mvm(mvm);
    };

    const uint32_t out_size = type_size(plan.out_type);
    Rows out;
    if (Fault fault = out.map_out(
            dma, worker.scratch,
            plan.out.part(uint64_t{block} * plan.block, vectors, first * out_size, uint64_t{outputs} * out_size)))
        return fault;
    if (plan.out_type == SIDRA_TYPE_S32) {
        mvm.acc = reinterpret_cast<int32_t*>(out.data);
        mvm.acc_stride = out.stride / 4;
        multiply();
    } else {
        mvm.acc = worker.scratch.take_array<int32_t>(uint64_t{vectors} * outputs);
        mvm.acc_stride = outputs;
        multiply();

        float factors[SIDRA_XBAR_COLS];
        engine::Scale scale{};
        if (m.scale) {
            if (Fault fault = dma.read(plan.scale.part(first * 4, outputs * 4u), factors)) return fault;
            scale.scale = factors;
        }
        scale.acc = mvm.acc;
        scale.acc_stride = mvm.acc_stride;
        scale.out = out.data;
        scale.out_stride = out.stride;
        scale.rows = vectors;
        scale.cols = outputs;
        scale.out_type = plan.out_type;
        scale.gain = plan.gain;
        scale.out_zero = plan.out_type == SIDRA_TYPE_S8 ? static_cast<int8_t>(m.out_zero) : m.out_zero;
        env.engine.scale(scale);
    }
    if (const uint64_t slow = env.knobs.slow_tile_ns.load(std::memory_order_relaxed))
        std::this_thread::sleep_for(std::chrono::nanoseconds(slow * w.tile_rows * vectors));
    return out.commit();
}

}  // namespace

const Operation kMvmOperation = {SIDRA_HW_ENGINE_MVM, mvm_prepare, find, mvm_unit};

}  // namespace sidra::chip
