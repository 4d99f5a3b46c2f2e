// SPDX-License-Identifier: MIT
// POOL: combines the pixels of windows. A unit is some rows of windows, or part of one row; of very many channels, a
// block of them. The engine gets the address of every pixel: in the host's memory, or in a copy.
#include <algorithm>
#include <array>

#include "input_memory.h"
#include "job.h"
#include "pattern.h"
#include "verify_packet.h"

namespace sidra::chip {
namespace {

using vector::element_size;
using Piece = PoolPlan::Piece;

constexpr uint64_t kUnitOperations = 1u << 18;  // elements of the windows of a unit, if one window has fewer
constexpr uint64_t kUnitChannels = 1u << 14;
constexpr uint64_t kInputBytes = 4u << 20;  // of a copy of what windows read
constexpr uint64_t kPieces = 1u << 14;      // of a unit, if one window has fewer
constexpr uint64_t kListed = 4096;          // pixels that the engine gets at once, if one window has fewer
constexpr uint64_t kUnitPoolRows = 256;
constexpr uint64_t kElementsPerNs = 4;  // estimates for slices
constexpr uint64_t kRowNs = 200;
static_assert(SIDRA_CMD_POOL_WINDOW_MAX <= kUnitMax.operations && SIDRA_CMD_POOL_WINDOW_MAX * 4 <= kInputBytes);

constexpr uint32_t bit(uint32_t type) { return 1u << type; }
constexpr uint32_t kFloats = bit(SIDRA_TYPE_F32) | bit(SIDRA_TYPE_F16) | bit(SIDRA_TYPE_BF16);
constexpr uint32_t kComparable =
    kFloats | bit(SIDRA_TYPE_U8) | bit(SIDRA_TYPE_S8) | bit(SIDRA_TYPE_S16) | bit(SIDRA_TYPE_S32);

bool averages(uint32_t op) { return op == SIDRA_POOL_AVERAGE || op == SIDRA_POOL_AVERAGE_ALL; }

Fault check_output(const sidra_cmd_pool& c, uint64_t pixel_bytes, uint32_t size, Grid* out) {
    if (c.out % size) return {SIDRA_FAULT_ALIGNMENT, c.out};
    for (const uint64_t stride : c.out_stride)
        if (stride % size) return {SIDRA_FAULT_ALIGNMENT, stride};
    const vector::PoolResult result = vector::pool_result(c.out_stride, c.size, pixel_bytes);
    if (result.overlapping < SIDRA_PATTERN_DIMS) return {SIDRA_FAULT_FIELD, c.out_stride[result.overlapping]};
    *out = Grid(c.out, {c.out_stride[0], c.out_stride[1], c.out_stride[2], 0}, {c.size[0], c.size[1], c.size[2], 1},
                pixel_bytes);
    return out->valid() ? Fault{} : Fault{SIDRA_FAULT_LIMIT, c.out};
}

Fault check_pattern(const sidra_cmd_pool& c, const sidra_pattern& p) {
    if (p.codes || p.zero) return {SIDRA_FAULT_FIELD, c.pattern};
    if (!((averages(c.op) ? kFloats : kComparable) & bit(p.type))) return {SIDRA_FAULT_FIELD, p.type};
    const uint64_t window = uint64_t{p.kernel_h} * p.kernel_w * p.channels;
    if (window > SIDRA_CMD_POOL_WINDOW_MAX) return {SIDRA_FAULT_LIMIT, window};
    const uint64_t pixels = uint64_t{p.height} * p.width;
    if (c.op == SIDRA_POOL_ARGMAX && pixels > uint64_t{1} << 31) return {SIDRA_FAULT_LIMIT, pixels};
    uint32_t outside;
    if (vector::window_rows(p, c.size[1]).find_outside(&outside) ||
        vector::window_columns(p, c.size[2]).find_outside(&outside))
        return {SIDRA_FAULT_VALUE, c.pattern};
    return {};
}

// What one row of the kernel reads, for `windows` windows of a row.
struct KernelRow {
    const sidra_pattern& p;
    uint64_t pixel;  // bytes that are read of each pixel

    uint64_t reach() const { return (p.kernel_w - uint64_t{1}) * p.dilation_w; }  // of one window, in pixels
    uint64_t bytes(uint64_t windows) const {
        return std::min((windows - 1) * p.stride_w + reach(), uint64_t{p.width} - 1) * p.pixel_stride + pixel;
    }
    // How many windows fit, if one does.
    uint64_t windows(uint64_t bytes) const {
        const uint64_t pixels = p.pixel_stride ? (bytes - pixel) / p.pixel_stride : p.width;
        return pixels >= p.width - uint64_t{1} ? UINT32_MAX : (pixels - reach()) / p.stride_w + 1;
    }
    // Whether pixels so far apart are worth reading with what is between them, all of it on pages that are read anyway.
    bool near(uint64_t apart) const {
        const uint64_t steps = std::min<uint64_t>(apart, p.width - 1);
        return steps * p.pixel_stride <= pixel + std::min<uint64_t>(std::max<uint64_t>(3 * pixel, 256), 4095);
    }
    Piece piece(uint64_t windows) const {
        const uint64_t within = p.kernel_w > 1 ? p.dilation_w : 0;
        const uint64_t between = windows > 1 && p.stride_w > reach() ? p.stride_w - reach() : 0;
        if (!near(within) || p.kernel_h * bytes(1) > kInputBytes) return Piece::kPixel;
        return near(std::max(within, between)) ? Piece::kRow : Piece::kWindowRow;
    }
};

Fault pool_prepare(const Env& env, Job& job) {
    const sidra_cmd_pool& c = job.cmd.pool;
    PoolPlan& plan = job.pool;
    plan = {};
    const sidra_pattern& p = plan.images.pattern;
    if (c.hdr.flags || c.hdr.pad || c.pad[0] || c.pad[1] || c.pad[2]) return {SIDRA_FAULT_FIELD};
    if (c.op == 0 || c.op >= SIDRA_POOL_OP_COUNT) return {SIDRA_FAULT_FIELD, c.op};
    sidra_pattern pattern;
    if (Fault fault = read_pattern(env, c.pattern, &pattern)) return fault;
    if (Fault fault = find_images(pattern, c.size, &plan.images)) return fault;
    if (Fault fault = check_pattern(c, p)) return fault;
    plan.in_size = element_size(p.type);
    plan.out_size = c.op == SIDRA_POOL_ARGMAX ? 4 : plan.in_size;
    const uint64_t out_bytes = uint64_t{p.channels} * plan.out_size;
    if (Fault fault = check_output(c, out_bytes, plan.out_size, &plan.out)) return fault;
    const Range &in = plan.images.grid.extent(), &out = plan.out.extent();
    if (out.offset() < in.offset() + in.length() && in.offset() < out.offset() + out.length())
        return {SIDRA_FAULT_FIELD, c.out};

    const uint64_t kernel = uint64_t{p.kernel_h} * p.kernel_w, columns = c.size[2];
    const uint64_t rows = uint64_t{c.size[0]} * c.size[1];
    const uint64_t channels = std::min<uint64_t>(p.channels, kUnitChannels), window = kernel * channels;
    const KernelRow read{p, channels * plan.in_size};
    plan.piece = read.piece(columns);
    // Pieces of memory: of a row of windows whatever their number, and for each window.
    const bool dense = columns == 1 || c.out_stride[2] == out_bytes;
    const uint64_t row_pieces = 3 + (plan.piece == Piece::kRow ? 2 * p.kernel_h : 0);
    const uint64_t window_pieces = (plan.piece == Piece::kPixel       ? kernel
                                    : plan.piece == Piece::kWindowRow ? p.kernel_h
                                                                      : 0) +
                                   (dense ? 0 : 1);
    uint64_t cols = std::min({columns, kUnitOperations / window, kUnitRows});
    if (plan.piece == Piece::kRow) cols = std::min(cols, read.windows(kInputBytes / p.kernel_h));
    if (window_pieces) cols = std::min(cols, kPieces / window_pieces);
    cols = std::max<uint64_t>(cols, 1);
    uint64_t group = 1;
    if (cols == columns && channels == p.channels) {
        group =
            std::min({kUnitOperations / (cols * window), kPieces / (row_pieces + cols * window_pieces), kUnitPoolRows});
        group = std::clamp<uint64_t>(group, 1, rows);
    }
    plan.unit_rows = static_cast<uint32_t>(group);
    plan.unit_cols = static_cast<uint32_t>(cols);
    plan.unit_channels = static_cast<uint32_t>(channels);
    plan.across = static_cast<uint32_t>((columns + cols - 1) / cols);
    plan.blocks = static_cast<uint32_t>((p.channels + channels - 1) / channels);
    job.units = static_cast<uint32_t>((rows + group - 1) / group * plan.across * plan.blocks);
    const uint64_t copied = plan.piece == Piece::kRow ? p.kernel_h * read.bytes(cols) : kInputBytes;
    job.unit_load = {group * cols * window, group * (row_pieces + cols * window_pieces),
                     Rows::scratch_of(cols, channels * plan.out_size) + copied + 64 + kUnitRows * 4 + 128 +
                         kListed * 64 + std::max(kernel, kListed) * (sizeof(uint8_t*) + sizeof(int32_t)) + 128};
    job.unit_work = group * cols * (window / kElementsPerNs + kernel) + group * kRowNs;
    if (plan.piece == Piece::kPixel) job.unit_work += group * cols * kernel * kPieceNs;
    const uint64_t elements = rows * columns * kernel * p.channels;
    job.cost = vec_cost(elements, env.clock_level);
    job.work.vec_elements = elements;
    return {};
}

// Windows of a unit, of some channels.
class PoolUnit {
   public:
    PoolUnit(const Env& env, const Job& job, Worker& worker, uint32_t first_channel, uint32_t channels)
        : env_(env),
          plan_(job.pool),
          c_(job.cmd.pool),
          p_(plan_.images.pattern),
          scratch_(worker.scratch),
          dma_(env.bus, worker.tlb, env.space),
          images_(env, worker, plan_.images.grid),
          skip_(uint64_t{first_channel} * plan_.in_size),
          pixel_(uint64_t{channels} * plan_.in_size),
          first_channel_(first_channel),
          channels_(channels) {}

    // Windows [first, first + count) of all windows of the packet, which are in one row.
    Fault run(uint32_t first, uint32_t count) {
        dma_.unmap_all();  // what the row before has used
        const Windows windows(plan_.images, c_.size, first);
        rows_ = windows.rows();
        const uint32_t x = first % c_.size[2], y = first / c_.size[2] % c_.size[1];
        const uint64_t to = plan_.out.offset(windows.image(), y, x, 0) + uint64_t{first_channel_} * plan_.out_size;
        Rows out;
        if (Fault fault =
                out.map_out(dma_, scratch_, plan_.out.rows(to, 2, count, uint64_t{channels_} * plan_.out_size)))
            return fault;
        if (Fault fault = find(windows, count)) return fault;
        if (Fault fault = pool(windows, count, out)) return fault;
        return out.commit();
    }

   private:
    Windows::Inside columns(const Windows& window) const {
        const int64_t last = window.pixel() + (p_.kernel_w - int64_t{1}) * p_.dilation_w;
        return window.pixel() >= 0 && last < p_.width ? Windows::Inside{0, p_.kernel_w} : window.columns();
    }
    int64_t pixel(const Windows& window, uint32_t j) const { return window.pixel() + int64_t{j} * p_.dilation_w; }

    // Where the rows of pixels are on the host, or a copy of each; no rows if single pixels must be copied.
    Fault find(Windows window, uint32_t count) {
        int64_t left = p_.width, right = 0;
        const Windows first_window = window;
        for (uint32_t n = 0; n < count; n++, window.next()) {
            const Windows::Inside inside = columns(window);
            left = std::min(left, pixel(window, inside.first));
            right = std::max(right, pixel(window, inside.end - 1));
        }
        left_ = left;
        const uint64_t line = static_cast<uint64_t>(right - left) * p_.pixel_stride + pixel_;
        const auto offset = [&](uint32_t i) { return first_window.offset_of(i, left) + skip_; };
        if (Fault fault =
                images_.map(offset(rows_.first), offset(rows_.end - 1) + line, (rows_.end - rows_.first) * line))
            return fault;
        found_ = images_.mapped();
        for (uint32_t i = rows_.first; found_ && i < rows_.end; i++) line_[i] = images_.at(offset(i), line);
        if (found_) return {};
        found_ = plan_.piece == Piece::kRow;
        for (uint32_t i = rows_.first; found_ && i < rows_.end; i++) {
            const Range range = plan_.images.grid.part(offset(i), line);
            Fault fault;
            line_[i] = dma_.map_all(range, Access::kRead, &fault);
            if (fault) return fault;
            if (line_[i]) continue;
            uint8_t* const copy = scratch_.take(line);
            if (Fault failed = dma_.read(range, copy)) return failed;
            line_[i] = copy;
        }
        return {};
    }

    Fault pool(Windows window, uint32_t count, const Rows& out) {
        const uint64_t kernel = uint64_t{p_.kernel_h} * p_.kernel_w;
        const uint64_t room = std::max(kernel, kListed);
        auto** const pixels = scratch_.take_array<const uint8_t*>(room);
        auto* const numbers = c_.op == SIDRA_POOL_ARGMAX ? scratch_.take_array<int32_t>(room) : nullptr;
        auto* const begin = scratch_.take_array<uint32_t>(kUnitRows + 1);
        const uint64_t used = scratch_.used();
        uint64_t copies = kInputBytes / (plan_.piece == Piece::kPixel ? kernel * pixel_
                                                                      : p_.kernel_h * KernelRow{p_, pixel_}.bytes(1));
        if (found_) copies = kUnitRows;
        engine::PoolWindows call{c_.op, p_.type, channels_, 0,          pixels,
                                 begin, numbers, nullptr,   out.stride, static_cast<uint32_t>(kernel)};
        uint32_t listed = 0, pooled = 0;
        begin[0] = 0;
        for (uint32_t n = 0; n < count; n++, window.next()) {
            if (Fault fault = list(window, pixels + listed, numbers ? numbers + listed : nullptr, &listed))
                return fault;
            begin[++call.windows] = listed;
            if (n + 1 < count && listed + kernel <= room && call.windows < copies) continue;
            call.out = out.data + pooled * out.stride;  // the stride of a single window may be any number
            env_.kernels.pool_windows(call);
            pooled += call.windows;
            call.windows = listed = 0;
            scratch_.rewind(used);
        }
        return {};
    }

    // The pixels of a window that are inside the image.
    Fault list(const Windows& window, const uint8_t** pixels, int32_t* numbers, uint32_t* listed) {
        const Windows::Inside inside = columns(window);
        const uint64_t step = p_.dilation_w * p_.pixel_stride;
        for (uint32_t i = rows_.first; i < rows_.end; i++) {
            const uint8_t* at = nullptr;
            uint64_t apart = step;
            if (found_) {
                at = line_[i] + static_cast<uint64_t>(pixel(window, inside.first) - left_) * p_.pixel_stride;
            } else if (Fault fault = copy(window, i, inside, &at, &apart)) {
                return fault;
            }
            for (uint32_t j = inside.first; j < inside.end; j++) *pixels++ = at + (j - inside.first) * apart;
            *listed += inside.end - inside.first;
            if (!numbers) continue;
            const int64_t row = (window.row() + int64_t{i} * p_.dilation_h) * p_.width;
            for (uint32_t j = inside.first; j < inside.end; j++)
                *numbers++ = static_cast<int32_t>(row + pixel(window, j));
        }
        return {};
    }

    // Copies the pixels of a kernel row of a window, `apart` bytes from one to the next.
    Fault copy(const Windows& window, uint32_t i, Windows::Inside inside, const uint8_t** at, uint64_t* apart) {
        const uint32_t pixels = inside.end - inside.first;
        if (plan_.piece != Piece::kPixel) {
            const uint64_t bytes = (pixels - 1) * p_.dilation_w * p_.pixel_stride + pixel_;
            uint8_t* const to = scratch_.take(bytes);
            *at = to;
            return dma_.read(plan_.images.grid.part(window.offset(i, inside.first) + skip_, bytes), to);
        }
        uint8_t* to = scratch_.take(pixels * pixel_);
        *at = to, *apart = pixel_;
        for (uint32_t j = inside.first; j < inside.end; j++, to += pixel_)
            if (Fault fault = dma_.read(plan_.images.grid.part(window.offset(i, j) + skip_, pixel_), to)) return fault;
        return {};
    }

    const Env& env_;
    const PoolPlan& plan_;
    const sidra_cmd_pool& c_;
    const sidra_pattern& p_;
    Scratch& scratch_;
    Dma dma_;
    InputMemory images_;
    const uint64_t skip_, pixel_;  // bytes of a pixel before the channels, and of the channels
    const uint32_t first_channel_, channels_;
    Windows::Inside rows_{};  // of the kernel
    int64_t left_ = 0;        // pixel that `line_` points to
    bool found_ = false;
    std::array<const uint8_t*, 256> line_;  // of each row of the kernel
};

Fault pool_unit(const Env& env, const Job& job, Worker& worker, uint32_t index) {
    const sidra_cmd_pool& c = job.cmd.pool;
    const PoolPlan& plan = job.pool;
    const uint32_t channel = index % plan.blocks * plan.unit_channels;
    index /= plan.blocks;
    const uint32_t x = index % plan.across * plan.unit_cols;
    const uint32_t first = index / plan.across * plan.unit_rows;
    const uint32_t rows = std::min(plan.unit_rows, c.size[0] * c.size[1] - first);
    const uint32_t cols = std::min(plan.unit_cols, c.size[2] - x);
    const uint32_t channels = std::min(plan.unit_channels, plan.images.pattern.channels - channel);
    PoolUnit unit(env, job, worker, channel, channels);
    for (uint32_t r = first; r < first + rows; r++) {
        worker.scratch.rewind(0);
        if (Fault fault = unit.run(r * c.size[2] + x, cols)) return fault;
    }
    return {};
}

}  // namespace

const Operation kPoolOperation = {SIDRA_HW_ENGINE_VEC, pool_prepare, nullptr, pool_unit};

}  // namespace sidra::chip
