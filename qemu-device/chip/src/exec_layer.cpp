// SPDX-License-Identifier: MIT
// LAYER: an MVM whose input rows are windows of images, with vector programs before and after it. A unit is a block of
// rows, with one column of tiles or, if the epilogue needs whole rows, with all of them. Its codes and sums stay in
// scratch memory.
//
// How a packet is divided does not depend on the engine: a program may load what it stores, so after a migration a
// finished unit must not run again.
#include <algorithm>
#include <cstring>

#include "band.h"
#include "pattern.h"
#include "preparation.h"
#include "product.h"
#include "vector_unit.h"
#include "verify_packet.h"

namespace sidra::chip {
namespace {

using vector::element_size;

constexpr uint64_t kUnitMacs = 1u << 23;
constexpr uint64_t kBytesPerOperation = 64;  // of input, which is read from a cache: less than its products take
constexpr uint64_t kSumsBytes = 1u << 20;    // of a unit
constexpr uint64_t kInputBytes = 2u << 20;   // of input rows of a unit, before the prologue
constexpr uint64_t kRunsMax = 1u << 14;      // pieces of input rows of a unit
// Of a row: its products, its codes, and what the epilogue costs if it can be divided by columns.
constexpr uint64_t kRowOperations =
    uint64_t{kGeometryY1.xbars()} * (kXbarCells / kMacsPerOperation + SIDRA_XBAR_ROWS / kBytesPerOperation) +
    SIDRA_XBAR_COLS * SIDRA_VECTOR_INSTRUCTIONS_MAX * SIDRA_VECTOR_COST_ELEMENTS / kVectorCostsPerOperation;
static_assert(kRowOperations < kUnitMax.operations);
// A band is not larger than the codes of its windows; and its steps.
constexpr uint64_t kBandScratch = kProductInputBytes + Band::kInputsMax / Band::kStep * 4 + 4096;

Fault find(const Env& env, Job& job) {
    return find_product(env, job, job.cmd.layer.weights, job.cmd.layer.flags, &job.layer.product);
}

Fault check_codes(const sidra_cmd_layer& l, const sidra_pattern& p) {
    if (!vector::is_byte(p.codes)) return {SIDRA_FAULT_FIELD, p.codes};
    if (p.codes == SIDRA_TYPE_S8 ? p.zero < -128 || p.zero > 127 : p.zero < 0 || p.zero > 255)
        return {SIDRA_FAULT_FIELD, static_cast<uint16_t>(p.zero)};
    if (l.prologue == 0 && p.type != p.codes) return {SIDRA_FAULT_FIELD, p.type};
    if (uint32_t{p.kernel_h} * p.kernel_w > SIDRA_LAYER_KERNEL_MAX)
        return {SIDRA_FAULT_LIMIT, uint32_t{p.kernel_h} * p.kernel_w};
    return {};
}

// Whether every window is one range of memory.
bool one_range(const sidra_pattern& p, const uint32_t (&windows)[SIDRA_PATTERN_DIMS]) {
    if (p.kernel_h > 1 || p.pad_h || p.pad_w) return false;
    const uint64_t last = uint64_t{windows[2] - 1} * p.stride_w + uint64_t{p.kernel_w - 1u} * p.dilation_w;
    if (last >= p.width || uint64_t{windows[1] - 1} * p.stride_h >= p.height) return false;
    return p.kernel_w == 1 || p.dilation_w * p.pixel_stride == p.channels * uint64_t{element_size(p.type)};
}

LayerPlan::Matrix matrix_of(const Weights& w) { return {w.rows, w.cols, w.tile_rows, w.tile_cols, w.tile_width}; }

// Also finds the weights.
Fault make(const Env& env, Job& job, Preparation& to) {
    const sidra_cmd_layer& l = job.cmd.layer;
    LayerPlan& plan = to.layer;
    plan = {};
    if (Fault fault = to.read(env, job.cmd, l.prologue + l.epilogue, l.operand_count)) return fault;
    if (Fault fault = read_pattern(env, l.pattern, &to.pattern)) return fault;
    if (Fault fault = find_images(to.pattern, l.size, &plan.images)) return fault;
    const sidra_pattern& p = plan.images.pattern;
    if (Fault fault = check_codes(l, p)) return fault;
    if (Fault fault = find(env, job)) return fault;
    const Weights& w = *job.layer.product.weights;
    const uint64_t k = uint64_t{p.kernel_h} * p.kernel_w * p.channels;
    if (k != w.rows) return {SIDRA_FAULT_FIELD, k};

    const std::span arrays = to.arrays();
    vector::LayerRules rules = vector::layer_rules(p, l.size, l.prologue, w.rows, w.cols);
    ProgramCache& programs = this_program_cache();
    auto verdict = programs.verify(to.program(), arrays, rules.packet, &rules.prologue, &rules.epilogue);
    if (!verdict) verdict = vector::verify_layer_space(arrays, p, &rules);
    if (verdict) return program_fault(verdict);
    const vector::Traits &prologue = rules.prologue, &epilogue = rules.epilogue;
    plan_vector(arrays, rules.before, prologue, &plan.prologue);
    plan_vector(arrays, rules.after, epilogue, &plan.epilogue);
    Operands planned = to.operands;
    take_strides(plan.prologue, planned);
    take_strides(plan.epilogue, planned);
    programs.decode(env, std::span(planned).first(l.operand_count), &to.prologue, &to.decoded);
    to.serial_units = epilogue.in_order;

    plan.matrix = matrix_of(w);
    plan.analog = env.array.analog() != nullptr;
    plan.whole_rows = epilogue.whole_rows;
    plan.one_range = one_range(p, l.size);
    const uint64_t rows = uint64_t{l.size[0]} * l.size[1] * l.size[2];
    const uint32_t columns = plan.whole_rows ? w.tile_cols : 1;
    const uint64_t cols = plan.whole_rows ? w.cols : std::min(w.cols, w.tile_width);
    const uint64_t row_macs = product_macs(w, columns), element = element_size(p.type);
    // The level of a chip is not that of an engine: a migration keeps it.
    const uint64_t unit_macs = env.array.analog() ? kProductNs * product_speed(env, w) : kUnitMacs;
    const uint64_t before_cost = std::max(prologue.cost, 1u), after_cost = std::max(epilogue.cost, 1u);
    const VectorLoad load_before = vector_load(plan.prologue), load_after = vector_load(plan.epilogue);
    const bool in_runs = p.kernel_w == 1 || p.dilation_w * p.pixel_stride == p.channels * element;
    const uint64_t runs = uint64_t{p.kernel_h} * (in_runs ? 1 : p.kernel_w);
    uint64_t block = std::min(unit_macs / row_macs, kProductRowsMax);
    block = std::min({block, unit_rows(load_after, cols, after_cost, rows), kSumsBytes / 4 / cols,
                      kProductInputBytes / k, kRunsMax / runs, kUnitMax.pieces / 4 / (load_after.strided * cols + 1)});
    if (l.prologue)
        block = std::min({block, unit_rows(load_before, k, before_cost, rows), kInputBytes / (k * element)});
    block = std::clamp<uint64_t>(block, 1, rows);
    plan.bands = !l.prologue && Band::suits(p, l.size[2], block);
    // Of whole rows of windows, or of a multiple of what engines process at a time.
    const uint64_t line = plan.bands && l.size[2] <= block ? l.size[2] : block > 32 ? 32 : 1;
    const uint64_t lines = (rows + line - 1) / line, lines_max = block / line;
    plan.across = plan.whole_rows ? 1 : w.tile_cols;
    uint64_t blocks = (lines + lines_max - 1) / lines_max;
    if (blocks * plan.across % 2 != 0 && blocks * plan.across > 1) blocks++;  // for an even number of threads
    block = std::min((lines + blocks - 1) / blocks * line, rows);             // of equal size
    blocks = (rows + block - 1) / block;
    plan.block = static_cast<uint32_t>(block);
    if (blocks * plan.across > UINT32_MAX / 2) return program_fault({SIDRA_PROGRAM_SIZE});
    to.units = static_cast<uint32_t>(blocks * plan.across);

    UnitLoad& of = to.unit_load;
    of = unit_load(load_after, plan.epilogue, block, cols, after_cost);
    of.operations += row_macs * block / kMacsPerOperation + block * k * element / kBytesPerOperation;
    of.pieces += block * runs;
    of.scratch += block * cols * 4 + product_scratch(env, w, block) + 4096;
    if (plan.bands) of.scratch += kBandScratch + block * cols / 2;
    if (l.prologue) {
        const UnitLoad first = unit_load(load_before, plan.prologue, block, k, before_cost);
        of.operations += first.operations;
        of.pieces += first.pieces;
        // The memory of the prologue is free again before the product.
        of.scratch = std::max(of.scratch, first.scratch + block * (k * element + 8) + 4096);
    }
    // The next unit of a block finds its codes.
    to.unit_work = product_ns(env, w, columns, block) + block * cols * after_cost / kVectorCostsPerNs +
                   block * k * (l.prologue ? before_cost : 1) / kVectorCostsPerNs / plan.across;
    to.cost = vec_cost(rows * w.cols * after_cost + (l.prologue ? rows * k * before_cost : 0), env.clock_level);
    to.elements = rows * w.cols + (l.prologue ? rows * k : 0);
    return {};
}

// Also finds the weights.
Fault suits(const Env& env, Job& job, const Preparation& preparation, bool* suits) {
    if (Fault fault = find(env, job)) return fault;
    const LayerPlan& plan = preparation.layer;
    *suits = plan.matrix == matrix_of(*job.layer.product.weights) && plan.analog == (env.array.analog() != nullptr);
    return {};
}

Fault layer_prepare(const Env& env, Job& job) {
    const sidra_cmd_layer& l = job.cmd.layer;
    job.layer = {};
    if (l.flags & ~SIDRA_CMD_MVM_CALIBRATE) return {SIDRA_FAULT_FIELD, l.flags};
    if (l.pad) return {SIDRA_FAULT_FIELD, l.pad};
    if (l.epilogue == 0) return program_fault({SIDRA_PROGRAM_LENGTH});
    if (Fault fault = prepare(env, job, {make, suits})) return fault;
    const uint64_t rows = uint64_t{l.size[0]} * l.size[1] * l.size[2];
    begin_products(env, job, rows, job.preparation->layer.block, l.flags, &job.layer.product);
    return {};
}

// The input rows of a block.
class Input {
   public:
    Input(const Env& env, const Job& job, Worker& worker, uint32_t first, uint32_t rows)
        : env_(env),
          job_(job),
          plan_(job.preparation->layer),
          weights_(*job.layer.product.weights),
          worker_(worker),
          memory_(env, worker, plan_.images.grid),
          first_(first),
          rows_(rows),
          bytes_(element_size(plan_.images.pattern.type)) {}

    // Codes as u8, row after row every `stride` bytes, and the scalar registers that the prologue leaves.
    Fault codes(uint8_t* to, uint64_t stride, uint32_t* scalars) {
        if (Fault fault = find()) return fault;
        const sidra_pattern& p = plan_.images.pattern;
        const uint64_t row = weights_.rows;
        if (job_.cmd.layer.prologue) {
            if (Fault fault = computed_codes(to, stride, scalars)) return fault;
        } else {
            const Fault fault = for_each_row([&](uint32_t r, const Windows& window) {
                return put_row(window, to + r * stride, static_cast<uint8_t>(p.zero));
            });
            if (fault) return fault;
        }
        // At once, because rows may be short.
        if (p.codes == SIDRA_TYPE_S8)
            env_.kernels.bias_u8(reinterpret_cast<const int8_t*>(to), to, (rows_ - 1) * stride + row);
        return {};
    }

   private:
    // What the prologue makes of the windows.
    Fault computed_codes(uint8_t* to, uint64_t stride, uint32_t* scalars) {
        VectorUnit unit(env_, plan_.prologue, job_.preparation->prologue, job_.cmd.layer.param, worker_);
        auto** const rows = worker_.scratch.take_array<uint8_t*>(rows_);
        const uint64_t row_bytes = uint64_t{weights_.rows} * bytes_;
        const bool direct = plan_.one_range && memory_.mapped();
        uint8_t* const copies = direct ? nullptr : worker_.scratch.take(rows_ * ((row_bytes + 7) / 8 * 8));
        const Fault fault = for_each_row([&](uint32_t r, const Windows& window) -> Fault {
            if (direct) {
                rows[r] = memory_.at(window.offset(0, 0), row_bytes);
                return {};
            }
            rows[r] = copies + r * ((row_bytes + 7) / 8 * 8);
            return put_row(window, rows[r], 0);
        });
        if (fault) return fault;
        unit.give(vector::kInput, rows, bytes_);
        unit.give(vector::kCodes, to, stride, 1);
        unit.scalars_after(scalars, rows_);
        return unit.run({first_, rows_, 0, weights_.rows});
    }

    template <typename F>
    Fault for_each_row(F&& visit) {
        Windows window(plan_.images, job_.cmd.layer.size, first_);
        for (uint32_t r = 0; r < rows_; r++, window.next())
            if (Fault fault = visit(r, window)) return fault;
        return {};
    }

    // Maps all that the windows read, if it is contiguous in the host's memory.
    Fault find() {
        const sidra_pattern& p = plan_.images.pattern;
        const int64_t reach = (p.kernel_w - int64_t{1}) * p.dilation_w;
        uint64_t low = ~uint64_t{0}, end = 0;
        Windows window(plan_.images, job_.cmd.layer.size, first_);
        for (uint32_t r = 0; r < rows_;) {  // by rows of windows
            const uint32_t count = std::min(window.left_in_row(), rows_ - r);
            const int64_t last = window.pixel() + int64_t{count - 1} * p.stride_w + reach;
            const int64_t left = std::max<int64_t>(window.pixel(), 0);
            const int64_t right = std::min<int64_t>(last, p.width - int64_t{1});
            if (const Windows::Inside h = window.rows(); h.first < h.end && left <= right) {
                low = std::min(low, window.offset_of(h.first, left));
                end = std::max(end, window.offset_of(h.end - 1, right) + p.channels * uint64_t{bytes_});
            }
            window.skip(count);
            r += count;
        }
        return memory_.map(low, end, uint64_t{rows_} * weights_.rows * bytes_);
    }

    // One window, with padding.
    Fault put_row(const Windows& window, uint8_t* to, uint8_t padding) {
        const sidra_pattern& p = plan_.images.pattern;
        const uint64_t pixel = p.channels * uint64_t{bytes_}, line = p.kernel_w * pixel;
        const Windows::Inside h = window.rows(), w = window.columns();
        if (h.end - h.first < p.kernel_h || w.end - w.first < p.kernel_w) std::memset(to, padding, p.kernel_h * line);
        const bool run = p.dilation_w * p.pixel_stride == pixel;
        for (uint32_t i = h.first; i < h.end; i++) {
            if (run && w.first < w.end) {
                if (Fault fault = memory_.read(window.offset(i, w.first), to + i * line + w.first * pixel,
                                               (w.end - w.first) * pixel))
                    return fault;
                continue;
            }
            for (uint32_t j = w.first; j < w.end; j++)
                if (Fault fault = memory_.read(window.offset(i, j), to + i * line + j * pixel, pixel)) return fault;
        }
        return {};
    }

    const Env& env_;
    const Job& job_;
    const LayerPlan& plan_;
    const Weights& weights_;
    Worker& worker_;
    InputMemory memory_;
    const uint32_t first_, rows_;
    const uint32_t bytes_;  // of an element
};

// Columns of tiles of a unit.
struct Columns {
    uint32_t begin, end;
    uint32_t first, cols;  // of the weights

    // Elements between rows of sums.
    uint64_t pitch() const { return (uint64_t{cols} + 15) / 16 * 16; }
};

void multiply_columns(const Env& env, const Job& job, Worker& worker, const Columns& columns, const Vectors& vectors,
                      int32_t* sums) {
    const LayerPlan& plan = job.preparation->layer;
    const ProductPlan& product = job.layer.product;
    const uint64_t used = worker.scratch.used();
    const int32_t zero = plan.images.pattern.zero + (plan.images.pattern.codes == SIDRA_TYPE_S8 ? 128 : 0);
    for (uint32_t column = columns.begin; column < columns.end; column++) {
        multiply(env, product, worker, column, vectors, zero, nullptr,
                 sums + (column - columns.begin) * product.weights->tile_width, columns.pitch());
        worker.scratch.rewind(used);
    }
}

// A unit whose windows need no copies.
Fault banded_unit(const Env& env, const Job& job, Worker& worker, uint32_t first_row, uint32_t rows,
                  const Columns& columns) {
    const LayerPlan& plan = job.preparation->layer;
    const uint32_t(&size)[SIDRA_PATTERN_DIMS] = job.cmd.layer.size;
    VectorUnit unit(env, plan.epilogue, job.preparation->decoded, job.cmd.layer.param, worker);
    for (uint32_t done = 0; done < rows;) {
        const uint32_t row = first_row + done, left = rows - done;
        BandWindows windows{row / size[2] / size[1], row / size[2] % size[1], row % size[2], 1, 0};
        windows.count = std::min(size[2] - windows.x, left);
        if (windows.count == size[2]) windows.lines = std::min(left / size[2], size[1] - windows.y);
        const Band band(plan.images.pattern, windows);
        worker.scratch.rewind(0);
        uint8_t* const codes = worker.scratch.take(band.bytes());
        if (Fault fault = band.fill(env, worker, plan.images.grid, codes)) return fault;
        auto* const steps = worker.scratch.take_array<uint32_t>(job.layer.product.weights->rows / Band::kStep);
        band.steps(steps);
        int32_t* const sums =
            worker.scratch.take_array<int32_t>(uint64_t{band.batches()} * band.batch() * columns.pitch());
        for (uint32_t batch = 0; batch < band.batches(); batch++)
            multiply_columns(env, job, worker, columns,
                             {codes + band.first(batch), band.stride(), band.batch(), row, steps},
                             sums + uint64_t{batch} * band.batch() * columns.pitch());
        const uint32_t count = windows.lines * windows.count;
        auto** const at = worker.scratch.take_array<uint8_t*>(count);
        band.for_each([&](uint32_t number, uint32_t place) {
            at[number] = reinterpret_cast<uint8_t*>(sums + place * columns.pitch());
        });
        unit.give(vector::kSums, at, 4);
        if (Fault fault = unit.run({row, count, columns.first, columns.cols})) return fault;
        done += count;
    }
    return {};
}

Fault layer_unit(const Env& env, const Job& job, Worker& worker, uint32_t index) {
    const sidra_cmd_layer& l = job.cmd.layer;
    const LayerPlan& plan = job.preparation->layer;
    const ProductPlan& product = job.layer.product;
    const Weights& w = *product.weights;
    if (index < job.makes) {
        make_readout(env, job, product, index);
        return {};
    }
    index -= job.makes;
    const uint32_t block = index / plan.across;
    const uint32_t first_row = block * plan.block;
    const auto rows =
        static_cast<uint32_t>(std::min<uint64_t>(plan.block, uint64_t{l.size[0]} * l.size[1] * l.size[2] - first_row));

    const uint32_t first_column = plan.whole_rows ? 0 : index % plan.across;
    const uint32_t end_column = plan.whole_rows ? w.tile_cols : first_column + 1;
    Columns columns{first_column, end_column, first_column * w.tile_width, 0};
    columns.cols = std::min(w.cols, end_column * w.tile_width) - columns.first;
    if (plan.bands && env.engine.can().windows && !env.array.analog())
        return banded_unit(env, job, worker, first_row, rows, columns);

    // The codes of a block, and its scalars behind them, are kept for the next columns in the same staging memory.
    const uint64_t stride = (uint64_t{w.rows} + 63) / 64 * 64;
    const uint64_t scalars_at = rows * stride;
    const uint8_t* codes = worker.converted.find(job.serial, block);
    if (!codes) {
        uint8_t* const to = worker.converted.replace(scalars_at + SIDRA_VECTOR_REGISTERS * uint64_t{rows} * 4);
        Input input(env, job, worker, first_row, rows);
        if (Fault fault = input.codes(to, stride, reinterpret_cast<uint32_t*>(to + scalars_at))) return fault;
        worker.converted.belongs_to(job.serial, block);
        codes = to;
        worker.scratch.rewind(0);
    }
    const auto* const scalars = reinterpret_cast<const uint32_t*>(codes + scalars_at);

    int32_t* const sums = worker.scratch.take_array<int32_t>(rows * columns.pitch());
    multiply_columns(env, job, worker, columns, {codes, stride, rows, first_row}, sums);
    VectorUnit unit(env, plan.epilogue, job.preparation->decoded, l.param, worker);
    unit.give(vector::kSums, reinterpret_cast<uint8_t*>(sums), columns.pitch() * 4, 4);
    if (l.prologue) unit.scalars_before(scalars, rows);
    return unit.run({first_row, rows, columns.first, columns.cols});
}

}  // namespace

const Operation kLayerOperation = {SIDRA_HW_ENGINE_MVM, layer_prepare, find, layer_unit};

}  // namespace sidra::chip
