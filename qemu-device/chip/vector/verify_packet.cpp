// SPDX-License-Identifier: MIT
#include "verify_packet.h"

#include <algorithm>
#include <array>

namespace sidra::vector {
namespace {

constexpr uint8_t kFactors = 2;

// Elements of a factor are read in ranges: in one of its inner dimensions they are adjacent, the same, or single.
bool has_ranges(const sidra_operand& factor, const Sizes& size) {
    const auto adjacent = [&](uint32_t d) {
        return size[d] == 1 || factor.stride[d] == 0 || factor.stride[d] == element_size(factor.type);
    };
    return adjacent(2) || adjacent(3);
}

constexpr Verdict of_operand(sidra_program_error error, size_t operand) {
    return {error, SIDRA_PROGRAM_NONE, static_cast<uint8_t>(operand)};
}

// Memory that rows of a packet read, whichever row is computed.
struct Read {
    Extent extent;
    uint8_t what;  // operand, or kWindows
};

// An operand that is stored to where a row may read.
Verdict find_overlap(OperandSpan operands, const Sizes& size, const Traits& traits, std::span<const Read> read,
                     uint8_t* overlapped) {
    for (uint32_t n = 0; n < operands.size(); ++n) {
        if (!(traits.stored >> n & 1)) continue;
        const Extent stored = extent(operands[n], n, size, traits);
        for (const Read& each : read)
            if (stored.meets(each.extent)) {
                *overlapped = each.what;
                return of_operand(SIDRA_PROGRAM_OPERAND_OVERLAP, n);
            }
    }
    return {};
}

bool too_long(const Traits& traits, uint64_t columns, uint64_t cost_max) {
    return traits.whole_rows && columns * traits.cost > cost_max;
}

}  // namespace

Verdict verify_factors(OperandSpan operands, MatmulRules* rules) {
    if (rules->k == 0 || rules->k > SIDRA_MATMUL_INNER_MAX) return {SIDRA_PROGRAM_SIZE};
    if (operands.size() < kFactors) return {SIDRA_PROGRAM_LENGTH};
    const bool floats = is_float(operands[0].type);
    for (uint32_t n = 0; n < kFactors; ++n)
        if (!(floats ? is_float(operands[n].type) : is_byte(operands[n].type)))
            return of_operand(SIDRA_PROGRAM_OPERAND_TYPE, n);
    rules->packet = {};
    rules->packet.first = kFactors;
    rules->packet.sums = floats ? SIDRA_TYPE_F32 : SIDRA_TYPE_S32;
    return {};
}

Verdict verify_matmul_space(OperandSpan operands, MatmulRules* rules) {
    if (const auto verdict = verify_space(operands, rules->size, rules->traits)) return verdict;
    const uint32_t n = rules->size[3];
    if ((rules->traits.whole_rows && n > SIDRA_MATMUL_ROW_MAX) || too_long(rules->traits, n, SIDRA_MATMUL_ROW_COST_MAX))
        return {SIDRA_PROGRAM_ROW_COST};
    Read read[kFactors];
    for (uint8_t factor = 0; factor < kFactors; ++factor) {
        const sidra_operand& o = operands[factor];
        Sizes size;
        rules->size_of(factor, size);
        if (!has_ranges(o, size)) return of_operand(SIDRA_PROGRAM_OPERAND_FIELD, factor);
        read[factor].what = factor;
        if (const auto verdict = verify_factor(o, factor, size, &read[factor].extent)) return verdict;
    }
    return find_overlap(operands, rules->size, rules->traits, read, &rules->overlapped);
}

bool pattern_bytes(const sidra_pattern& p, uint32_t images, uint64_t* bytes) {
    *bytes = uint64_t{p.channels} * element_size(p.type);
    const uint64_t steps[][2] = {
        {images - 1, p.image_stride}, {p.height - 1, p.row_stride}, {p.width - 1, p.pixel_stride}};
    for (const auto& [count, stride] : steps) {
        uint64_t reach;
        if (__builtin_mul_overflow(count, stride, &reach) || __builtin_add_overflow(*bytes, reach, bytes)) return false;
    }
    return true;
}

bool WindowLine::find_outside(uint32_t* window) const {
    const auto outside = [&](uint32_t n) {
        *window = n;
        const int64_t begin = first(n);
        if (begin >= 0) return begin >= pixels;
        const int64_t skipped = (-begin + dilation - 1) / dilation;  // pixels of the window before the image
        return skipped >= kernel || begin + skipped * dilation >= pixels;
    };
    if (outside(windows - 1)) return true;
    // Of windows that begin before the image, the first one reaches least far, but any may step over a small image.
    const uint32_t least = dilation > pixels ? windows : 1;
    for (uint32_t n = 0; n < least && first(n) < 0; ++n)
        if (outside(n)) return true;
    return false;
}

WindowLine window_rows(const sidra_pattern& p, uint32_t windows) {
    return {windows, p.kernel_h, p.stride_h, p.pad_h, p.dilation_h, p.height};
}

WindowLine window_columns(const sidra_pattern& p, uint32_t windows) {
    return {windows, p.kernel_w, p.stride_w, p.pad_w, p.dilation_w, p.width};
}

PoolResult pool_result(const uint64_t (&stride)[SIDRA_PATTERN_DIMS], const uint32_t (&size)[SIDRA_PATTERN_DIMS],
                       uint64_t pixel_bytes) {
    std::array<uint32_t, SIDRA_PATTERN_DIMS> order{0, 1, 2};
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return stride[a] < stride[b]; });
    uint64_t bytes = pixel_bytes;
    for (const uint32_t d : order) {
        if (size[d] == 1) continue;
        if (stride[d] < bytes) return {bytes, d};
        uint64_t steps;
        if (__builtin_mul_overflow(uint64_t{size[d] - 1}, stride[d], &steps) ||
            __builtin_add_overflow(bytes, steps, &bytes))
            return {UINT64_MAX, SIDRA_PATTERN_DIMS};
    }
    return {bytes, SIDRA_PATTERN_DIMS};
}

LayerRules layer_rules(const sidra_pattern& pattern, const uint32_t (&windows)[SIDRA_PATTERN_DIMS], size_t prologue,
                       uint32_t inputs, uint32_t outputs) {
    LayerRules rules{{windows[0], windows[1], windows[2], inputs}, {windows[0], windows[1], windows[2], outputs}};
    rules.packet.prologue = prologue;
    rules.packet.sums = SIDRA_TYPE_S32;
    if (prologue) rules.packet.codes = pattern.codes, rules.packet.input = pattern.type;
    return rules;
}

Verdict verify_layer_space(OperandSpan operands, const sidra_pattern& pattern, LayerRules* rules) {
    Traits &prologue = rules->prologue, &epilogue = rules->epilogue;
    if (rules->packet.prologue) {
        prologue.whole_rows = true;  // never divided by columns
        if (const auto verdict = verify_space(operands, rules->before, prologue)) return verdict;
    }
    if (const auto verdict = verify_space(operands, rules->after, epilogue)) return verdict;
    if (too_long(prologue, rules->before[3], SIDRA_LAYER_ROW_COST_MAX) ||
        too_long(epilogue, rules->after[3], SIDRA_LAYER_ROW_COST_MAX))
        return {SIDRA_PROGRAM_ROW_COST};

    // What the epilogue stores must not be what an earlier or later row reads as input: the images, and the operands of
    // the prologue with their indices.
    Read read[1 + 2 * SIDRA_VECTOR_OPERANDS_MAX];
    uint64_t bytes = 0;
    pattern_bytes(pattern, rules->before[0], &bytes);
    read[0] = {{pattern.addr, pattern.addr + bytes}, kWindows};
    size_t count = 1;
    const uint64_t rows = uint64_t{rules->before[0]} * rules->before[1] * rules->before[2];
    for (uint8_t n = 0; n < operands.size(); ++n) {
        if (!(prologue.used() >> n & 1)) continue;
        const sidra_operand& o = operands[n];
        read[count++] = {extent(o, n, rules->before, prologue), n};
        if (o.index) read[count++] = {{o.index, o.index + rows * element_size(o.index_type)}, n};
    }
    return find_overlap(operands, rules->after, epilogue, std::span(read, count), &rules->overlapped);
}

}  // namespace sidra::vector
