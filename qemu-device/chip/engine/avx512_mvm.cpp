// SPDX-License-Identifier: MIT
// MVM with AVX-512 VNNI: vpdpbusd adds four exact u8 x s8 products to each 32-bit lane.
//
// A block is M input rows by P panels of 64 columns; its sums stay in registers from the first row of the first tile to
// the last row of the last one. The blocks are written in assembly because compilers spill accumulators of kernels this
// size: 6 x 4 sums need 24 of 32 registers, and one spill in the inner loop halves the speed. vpdpbusd has a latency of
// about 5 cycles and starts twice a cycle, so a block needs 10 or more independent sums: small M takes several panels,
// or several sets of sums (S) for consecutive row groups.
#include <immintrin.h>

#include "avx512.h"

namespace sidra::engine {
namespace {

constexpr uint32_t kGroupBytes = 256;  // 4 rows x 64 columns of a panel
constexpr uint32_t kTileGroups = kTileRows / 4;
constexpr uint32_t kPanelBytes = kTileGroups * kGroupBytes;
constexpr uint32_t kStepGroups = 16;  // between ColumnMvm::steps
constexpr uint32_t kRowsMax = 6;      // input rows of a block

// The parameters of a block; the assembly uses these offsets.
struct Block {
    const uint8_t* in;           // 0
    uint64_t in_stride;          // 8
    const int8_t* const* tile;   // 16: planes, top to bottom
    uint64_t groups;             // 24: of 4 rows, all tiles together
    uint64_t offset;             // 32: of the first panel in a plane
    const uint8_t* tail;         // 40: 4 bytes a row: the last 1 to 3 inputs and zeros
    const int8_t* tail_weights;  // 48: nullptr if there is no tail
    const int32_t* init;         // 56
    int32_t* out;                // 64
    uint64_t out_stride;         // 72: bytes
    const uint32_t* steps;       // 80: nullptr, or where the inputs of each run are
    uint64_t run;                // 88: groups whose inputs are adjacent; a tile has whole runs
};
static_assert(__builtin_offsetof(Block, groups) == 24 && __builtin_offsetof(Block, out_stride) == 72 &&
              __builtin_offsetof(Block, run) == 88);

// Registers:
//   rdi block, rax input row 0, r8 input row 3, rcx input stride
//   rdx weights, rsi groups left in the run
//   r9 next tile, r10 groups left after this run, r11 nonzero once in the tail
//   zmm24-27 weights, zmm28-31 inputs, the rest sums

// The formatter would join the instructions into paragraphs.
// clang-format off

// Input row m, byte d
#define IN0(d) #d "(%%rax)"
#define IN1(d) #d "(%%rax,%%rcx)"
#define IN2(d) #d "(%%rax,%%rcx,2)"
#define IN3(d) #d "(%%r8)"
#define IN4(d) #d "(%%r8,%%rcx)"
#define IN5(d) #d "(%%r8,%%rcx,2)"

#define LOADW(reg, d) "vmovdqa64 " d "(%%rdx), %%zmm" #reg "\n\t"
#define LOADX(reg, address) "vpbroadcastd " address ", %%zmm" #reg "\n\t"
#define DOT(acc, x, w) "vpdpbusd %%zmm" #w ", %%zmm" #x ", %%zmm" #acc "\n\t"
#define DOTM(acc, x, d) "vpdpbusd " d "(%%rdx), %%zmm" #x ", %%zmm" #acc "\n\t"
#define DOT4(x, a, b, c, d) DOT(a, x, 24) DOT(b, x, 25) DOT(c, x, 26) DOT(d, x, 27)
#define ZERO(r) "vpxord %%xmm" #r ", %%xmm" #r ", %%xmm" #r "\n\t"
#define ZERO4(a, b, c, d) ZERO(a) ZERO(b) ZERO(c) ZERO(d)
#define COPY(from, to) "vmovdqa64 %%zmm" #from ", %%zmm" #to "\n\t"
#define COPY4(a, b, c, d) COPY(0, a) COPY(1, b) COPY(2, c) COPY(3, d)
#define ADD(from, to) "vpaddd %%zmm" #from ", %%zmm" #to ", %%zmm" #to "\n\t"
#define ADD4(a, b, c, d, e, f, g, h) ADD(a, e) ADD(b, f) ADD(c, g) ADD(d, h)
// Initial values at r8, results at rax
#define LOAD_INIT(r, d) "vmovdqu32 " d "(%%r8), %%zmm" #r "\n\t"
#define STORE(r, d) "vmovdqu32 %%zmm" #r ", " d "(%%rax)\n\t"
#define INIT4(d, a, b, c, e) LOAD_INIT(a, d) LOAD_INIT(b, d "+64") LOAD_INIT(c, d "+128") LOAD_INIT(e, d "+192")
#define STORE4(d, a, b, c, e) STORE(a, d) STORE(b, d "+64") STORE(c, d "+128") STORE(e, d "+192")
#define NEXT_ROW "addq %%rcx, %%rax\n\t"

// Four row groups per iteration, then one per iteration. G(d, w) is one group: inputs at byte d, weights at byte w; G0..G3 may use different sums.
#define KERNEL(name, INIT, G0, G1, G2, G3, FINISH)                                          \
    void name(const Block* block) {                                                         \
        asm volatile(                                                                       \
            "movq 56(%%rdi), %%r8\n\t" INIT                                                 \
            "movq 0(%%rdi), %%rax\n\t"                                                      \
            "movq 8(%%rdi), %%rcx\n\t"                                                      \
            "movq 16(%%rdi), %%r9\n\t"                                                      \
            "movq 24(%%rdi), %%r10\n\t"                                                     \
            "xorl %%r11d, %%r11d\n\t"                                                       \
            "testq %%r10, %%r10\n\t"                                                        \
            "je 5f\n\t"                                                                     \
            "1:\n\t"                                                                        \
            "movq 24(%%rdi), %%r8\n\t"                                                      \
            "subq %%r10, %%r8\n\t"                                                          \
            "testl $63, %%r8d\n\t"                                                          \
            "jne 8f\n\t"                                                                    \
            "movq (%%r9), %%rdx\n\t"                                                        \
            "addq $8, %%r9\n\t"                                                             \
            "addq 32(%%rdi), %%rdx\n\t"                                                     \
            "8:\n\t"                                                                        \
            "movq 80(%%rdi), %%rsi\n\t"                                                     \
            "testq %%rsi, %%rsi\n\t"                                                        \
            "je 9f\n\t"                                                                     \
            "shrq $4, %%r8\n\t"                                                             \
            "movl (%%rsi,%%r8,4), %%eax\n\t"                                                \
            "addq 0(%%rdi), %%rax\n\t"                                                      \
            "9:\n\t"                                                                        \
            "leaq (%%rcx,%%rcx,2), %%r8\n\t"                                                \
            "addq %%rax, %%r8\n\t"                                                          \
            "movq 88(%%rdi), %%rsi\n\t"                                                     \
            "cmpq %%rsi, %%r10\n\t"                                                         \
            "cmovbq %%r10, %%rsi\n\t"                                                       \
            "subq %%rsi, %%r10\n\t"                                                         \
            "subq $4, %%rsi\n\t"                                                            \
            "jb 3f\n\t"                                                                     \
            ".p2align 5\n\t"                                                                \
            "2:\n\t" G0(0, "0") G1(4, "256") G2(8, "512") G3(12, "768")                     \
            "addq $1024, %%rdx\n\t"                                                         \
            "addq $16, %%rax\n\t"                                                           \
            "addq $16, %%r8\n\t"                                                            \
            "subq $4, %%rsi\n\t"                                                            \
            "jae 2b\n\t"                                                                    \
            "3:\n\t"                                                                        \
            "addq $4, %%rsi\n\t"                                                            \
            "je 4f\n\t"                                                                     \
            "6:\n\t" G0(0, "0")                                                             \
            "addq $256, %%rdx\n\t"                                                          \
            "addq $4, %%rax\n\t"                                                            \
            "addq $4, %%r8\n\t"                                                             \
            "subq $1, %%rsi\n\t"                                                            \
            "jne 6b\n\t"                                                                    \
            "4:\n\t"                                                                        \
            "testq %%r10, %%r10\n\t"                                                        \
            "jne 1b\n\t"                                                                    \
            "5:\n\t"                                                                        \
            "testl %%r11d, %%r11d\n\t"                                                      \
            "jne 7f\n\t"                                                                    \
            "movq 48(%%rdi), %%rdx\n\t"                                                     \
            "testq %%rdx, %%rdx\n\t"                                                        \
            "je 7f\n\t"                                                                     \
            "movq 40(%%rdi), %%rax\n\t"                                                     \
            "leaq 12(%%rax), %%r8\n\t"                                                      \
            "movl $4, %%ecx\n\t"                                                            \
            "movl $1, %%esi\n\t"                                                            \
            "movl $1, %%r11d\n\t"                                                           \
            "jmp 6b\n\t"                                                                    \
            "7:\n\t"                                                                        \
            "movq 64(%%rdi), %%rax\n\t"                                                     \
            "movq 72(%%rdi), %%rcx\n\t" FINISH                                              \
            : "+D"(block)                                                                   \
            :                                                                               \
            : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "cc", "memory",         \
              "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",               \
              "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",         \
              "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23",       \
              "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31");      \
    }

// One panel, M = 3 to 6: sums of row m in zmm(4m)..zmm(4m + 3)
#define WEIGHTS(w) LOADW(24, w) LOADW(25, w "+64") LOADW(26, w "+128") LOADW(27, w "+192")
#define G_1(d, w) WEIGHTS(w) LOADX(28, IN0(d)) DOT4(28, 0, 1, 2, 3)
#define G_3(d, w) G_1(d, w) LOADX(29, IN1(d)) DOT4(29, 4, 5, 6, 7) LOADX(30, IN2(d)) DOT4(30, 8, 9, 10, 11)
#define G_4(d, w) G_3(d, w) LOADX(31, IN3(d)) DOT4(31, 12, 13, 14, 15)
#define G_5(d, w) G_4(d, w) LOADX(28, IN4(d)) DOT4(28, 16, 17, 18, 19)
#define G_6(d, w) G_5(d, w) LOADX(29, IN5(d)) DOT4(29, 20, 21, 22, 23)
#define INIT_3 INIT4("0", 0, 1, 2, 3) COPY4(4, 5, 6, 7) COPY4(8, 9, 10, 11)
#define INIT_4 INIT_3 COPY4(12, 13, 14, 15)
#define INIT_5 INIT_4 COPY4(16, 17, 18, 19)
#define INIT_6 INIT_5 COPY4(20, 21, 22, 23)
#define FINISH_3 STORE4("0", 0, 1, 2, 3) NEXT_ROW STORE4("0", 4, 5, 6, 7) NEXT_ROW STORE4("0", 8, 9, 10, 11)
#define FINISH_4 FINISH_3 NEXT_ROW STORE4("0", 12, 13, 14, 15)
#define FINISH_5 FINISH_4 NEXT_ROW STORE4("0", 16, 17, 18, 19)
#define FINISH_6 FINISH_5 NEXT_ROW STORE4("0", 20, 21, 22, 23)
KERNEL(block_6x1, INIT_6, G_6, G_6, G_6, G_6, FINISH_6)
KERNEL(block_5x1, INIT_5, G_5, G_5, G_5, G_5, FINISH_5)
KERNEL(block_4x1, INIT_4, G_4, G_4, G_4, G_4, FINISH_4)
KERNEL(block_3x1, INIT_3, G_3, G_3, G_3, G_3, FINISH_3)

// M = 1, 2 with one panel: more sets of sums
#define G_1A(d, w) LOADX(28, IN0(d)) DOT_PANEL(28, w, 0, 1, 2, 3)
#define G_1B(d, w) LOADX(29, IN0(d)) DOT_PANEL(29, w, 4, 5, 6, 7)
#define G_1C(d, w) LOADX(30, IN0(d)) DOT_PANEL(30, w, 8, 9, 10, 11)
#define G_1D(d, w) LOADX(31, IN0(d)) DOT_PANEL(31, w, 12, 13, 14, 15)
#define DOT_PANEL(x, w, a, b, c, d) DOTM(a, x, w) DOTM(b, x, w "+64") DOTM(c, x, w "+128") DOTM(d, x, w "+192")
#define G_2A(d, w) WEIGHTS(w) LOADX(28, IN0(d)) DOT4(28, 0, 1, 2, 3) LOADX(29, IN1(d)) DOT4(29, 4, 5, 6, 7)
#define G_2B(d, w) WEIGHTS(w) LOADX(30, IN0(d)) DOT4(30, 8, 9, 10, 11) LOADX(31, IN1(d)) DOT4(31, 12, 13, 14, 15)
KERNEL(block_1x1, INIT4("0", 0, 1, 2, 3) ZERO4(4, 5, 6, 7) ZERO4(8, 9, 10, 11) ZERO4(12, 13, 14, 15),
       G_1A, G_1B, G_1C, G_1D,
       ADD4(4, 5, 6, 7, 0, 1, 2, 3) ADD4(12, 13, 14, 15, 8, 9, 10, 11) ADD4(8, 9, 10, 11, 0, 1, 2, 3)
       STORE4("0", 0, 1, 2, 3))
KERNEL(block_2x1, INIT4("0", 0, 1, 2, 3) COPY4(4, 5, 6, 7) ZERO4(8, 9, 10, 11) ZERO4(12, 13, 14, 15),
       G_2A, G_2B, G_2A, G_2B,
       ADD4(8, 9, 10, 11, 0, 1, 2, 3) ADD4(12, 13, 14, 15, 4, 5, 6, 7) STORE4("0", 0, 1, 2, 3) NEXT_ROW
       STORE4("0", 4, 5, 6, 7))

// Two panels (16 KiB apart). M = 2: sums 0-7 and 8-15; M = 3: also 16-23
#define G_2x2(d, w)                                                                 \
    LOADX(28, IN0(d)) LOADX(29, IN1(d))                                             \
    WEIGHTS(w) DOT4(28, 0, 1, 2, 3) DOT4(29, 8, 9, 10, 11)                          \
    WEIGHTS(w "+16384") DOT4(28, 4, 5, 6, 7) DOT4(29, 12, 13, 14, 15)
#define G_3x2(d, w)                                                                 \
    LOADX(28, IN0(d)) LOADX(29, IN1(d)) LOADX(30, IN2(d))                           \
    WEIGHTS(w) DOT4(28, 0, 1, 2, 3) DOT4(29, 8, 9, 10, 11) DOT4(30, 16, 17, 18, 19) \
    WEIGHTS(w "+16384") DOT4(28, 4, 5, 6, 7) DOT4(29, 12, 13, 14, 15) DOT4(30, 20, 21, 22, 23)
#define INIT_x2 INIT4("0", 0, 1, 2, 3) INIT4("256", 4, 5, 6, 7)
#define COPY8(a, b, c, d, e, f, g, h) COPY4(a, b, c, d) COPY(4, e) COPY(5, f) COPY(6, g) COPY(7, h)
#define FINISH_2x2 STORE4("0", 0, 1, 2, 3) STORE4("256", 4, 5, 6, 7) NEXT_ROW STORE4("0", 8, 9, 10, 11) STORE4("256", 12, 13, 14, 15)
KERNEL(block_2x2, INIT_x2 COPY8(8, 9, 10, 11, 12, 13, 14, 15), G_2x2, G_2x2, G_2x2, G_2x2, FINISH_2x2)
KERNEL(block_3x2, INIT_x2 COPY8(8, 9, 10, 11, 12, 13, 14, 15) COPY8(16, 17, 18, 19, 20, 21, 22, 23),
       G_3x2, G_3x2, G_3x2, G_3x2,
       FINISH_2x2 NEXT_ROW STORE4("0", 16, 17, 18, 19) STORE4("256", 20, 21, 22, 23))

// Six rows with only the first 16 columns of a panel (separate sums for even and odd groups) or the first 32: for the narrow outputs of classifiers.
#define DOT1(x, a) DOT(a, x, 24)
#define DOT2(x, a, b) DOT(a, x, 24) DOT(b, x, 25)
#define SIX_ROWS(d, DO0, DO1, DO2, DO3, DO4, DO5)                                   \
    LOADX(28, IN0(d)) DO0 LOADX(29, IN1(d)) DO1 LOADX(30, IN2(d)) DO2               \
    LOADX(31, IN3(d)) DO3 LOADX(28, IN4(d)) DO4 LOADX(29, IN5(d)) DO5
#define G_6x16A(d, w)                                                               \
    LOADW(24, w)                                                                    \
    SIX_ROWS(d, DOT1(28, 0), DOT1(29, 1), DOT1(30, 2), DOT1(31, 3), DOT1(28, 4), DOT1(29, 5))
#define G_6x16B(d, w)                                                               \
    LOADW(24, w)                                                                    \
    SIX_ROWS(d, DOT1(28, 6), DOT1(29, 7), DOT1(30, 8), DOT1(31, 9), DOT1(28, 10), DOT1(29, 11))
#define G_6x32(d, w)                                                                \
    LOADW(24, w) LOADW(25, w "+64")                                                 \
    SIX_ROWS(d, DOT2(28, 0, 1), DOT2(29, 2, 3), DOT2(30, 4, 5), DOT2(31, 6, 7), DOT2(28, 8, 9), DOT2(29, 10, 11))
#define STORE1(r) STORE(r, "0")
#define STORE2(a, b) STORE(a, "0") STORE(b, "64")
KERNEL(block_6x16,
       LOAD_INIT(0, "0") COPY(0, 1) COPY(0, 2) COPY(0, 3) COPY(0, 4) COPY(0, 5) ZERO4(6, 7, 8, 9) ZERO(10) ZERO(11),
       G_6x16A, G_6x16B, G_6x16A, G_6x16B,
       ADD4(6, 7, 8, 9, 0, 1, 2, 3) ADD(10, 4) ADD(11, 5)
       STORE1(0) NEXT_ROW STORE1(1) NEXT_ROW STORE1(2) NEXT_ROW STORE1(3) NEXT_ROW STORE1(4) NEXT_ROW STORE1(5))
KERNEL(block_6x32,
       LOAD_INIT(0, "0") LOAD_INIT(1, "64")
       COPY(0, 2) COPY(1, 3) COPY(0, 4) COPY(1, 5) COPY(0, 6) COPY(1, 7) COPY(0, 8) COPY(1, 9) COPY(0, 10) COPY(1, 11),
       G_6x32, G_6x32, G_6x32, G_6x32,
       STORE2(0, 1) NEXT_ROW STORE2(2, 3) NEXT_ROW STORE2(4, 5) NEXT_ROW
       STORE2(6, 7) NEXT_ROW STORE2(8, 9) NEXT_ROW STORE2(10, 11))
// clang-format on

// A panel for one vector, in halves of registers: a single vector takes as long as reading its weights, and loads of 32
// bytes stream 5 to 10 % faster from the cache than those of 64 (Zen 4).
constexpr int kHalves = kPanelCols / 8;

struct Sums {
    __m256i v[kHalves];
};

// Assembly, because compilers copy each sum twice per iteration.
inline void dot_panel(Sums& sums, const uint8_t* in, const int8_t* weights, uint64_t groups) {
    if (groups == 0) return;
    __m256i x;
    asm volatile(
        ".p2align 5\n\t"
        "1:\n\t"
        "vpbroadcastd (%[in]), %[x]\n\t"
        "vpdpbusd (%[w]), %[x], %[s0]\n\t"
        "vpdpbusd 32(%[w]), %[x], %[s1]\n\t"
        "vpdpbusd 64(%[w]), %[x], %[s2]\n\t"
        "vpdpbusd 96(%[w]), %[x], %[s3]\n\t"
        "vpdpbusd 128(%[w]), %[x], %[s4]\n\t"
        "vpdpbusd 160(%[w]), %[x], %[s5]\n\t"
        "vpdpbusd 192(%[w]), %[x], %[s6]\n\t"
        "vpdpbusd 224(%[w]), %[x], %[s7]\n\t"
        "addq $4, %[in]\n\t"
        "addq $256, %[w]\n\t"
        "subq $1, %[groups]\n\t"
        "jne 1b\n\t"
        : [in] "+r"(in), [w] "+r"(weights), [groups] "+r"(groups), [x] "=&v"(x), [s0] "+v"(sums.v[0]),
          [s1] "+v"(sums.v[1]), [s2] "+v"(sums.v[2]), [s3] "+v"(sums.v[3]), [s4] "+v"(sums.v[4]), [s5] "+v"(sums.v[5]),
          [s6] "+v"(sums.v[6]), [s7] "+v"(sums.v[7])
        :
        : "cc", "memory");
}

// Several panels, M = 1. Weights are read fastest as one stream: each plane from its first byte to its last, not its
// panels side by side.
template <int kPanels>
void block_1xn(const Block* block) {
    Sums sums[kPanels];
    for (int p = 0; p < kPanels; ++p)
        for (int i = 0; i < kHalves; ++i)
            sums[p].v[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block->init) + p * kHalves + i);
    const uint8_t* in = block->in;
    const int8_t* const* tile = block->tile;
    for (uint64_t done = 0; done < block->groups;) {
        const uint64_t left = block->groups - done, groups = left < block->run ? left : block->run;
        const int8_t* weights = tile[done / kTileGroups] + block->offset + done % kTileGroups * kGroupBytes;
        if (block->steps != nullptr) in = block->in + block->steps[done / block->run];
        for (int p = 0; p < kPanels; ++p) dot_panel(sums[p], in, weights + p * kPanelBytes, groups);
        in += groups * 4;
        done += groups;
    }
    if (block->tail_weights != nullptr) {
        for (int p = 0; p < kPanels; ++p) dot_panel(sums[p], block->tail, block->tail_weights + p * kPanelBytes, 1);
    }
    for (int p = 0; p < kPanels; ++p)
        for (int i = 0; i < kHalves; ++i)
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(block->out) + p * kHalves + i, sums[p].v[i]);
}

using Kernel = void (*)(const Block*);
constexpr Kernel kOnePanel[kRowsMax] = {block_1x1, block_2x1, block_3x1, block_4x1, block_5x1, block_6x1};
constexpr Kernel kTwoPanels[3] = {block_1xn<2>, block_2x2, block_3x2};

alignas(64) constexpr int32_t kZeros[kTileColsMax] = {};

// Copies n of `whole` 32-bit values, n <= whole, and pads with zeros; whole is a multiple of 16.
inline void load_padded(int32_t* to, const int32_t* from, uint32_t n, uint32_t whole) {
    for (uint32_t i = 0; i < whole; i += 16) {
        const uint32_t left = n > i ? n - i : 0;
        const auto mask = static_cast<__mmask16>(left >= 16 ? 0xffffu : (1u << left) - 1u);
        _mm512_store_si512(to + i, _mm512_maskz_loadu_epi32(mask, from + i));
    }
}

inline void store_partial(int32_t* to, const int32_t* from, uint32_t n) {
    for (uint32_t i = 0; i < n; i += 16) {
        const uint32_t left = n - i;
        const auto mask = static_cast<__mmask16>(left >= 16 ? 0xffffu : (1u << left) - 1u);
        _mm512_mask_storeu_epi32(to + i, mask, _mm512_load_si512(from + i));
    }
}

// Computes `batch` <= kRowsMax input rows, starting with row b, times `panels` panels, starting with `panel`.
inline void run(Kernel kernel, const ColumnMvm& m, uint32_t panel, uint32_t panels, uint32_t b, uint32_t batch) {
    const uint32_t col0 = panel * kPanelCols;
    const uint32_t whole = panels * kPanelCols;
    const uint32_t cols = m.cols - col0 < whole ? m.cols - col0 : whole;
    const uint32_t groups = m.rows / 4;
    const uint32_t tail_rows = m.rows % 4;
    uint32_t tail[kRowsMax];

    Block block;
    block.in = m.in + b * m.in_stride;
    block.in_stride = m.in_stride;
    block.tile = m.packed;
    block.groups = groups;
    block.offset = size_t{panel} * kPanelBytes;
    block.tail = reinterpret_cast<const uint8_t*>(tail);
    block.tail_weights = nullptr;
    block.steps = m.steps;
    block.run = m.steps == nullptr ? kTileGroups : kStepGroups;
    if (tail_rows != 0) {
        for (uint32_t r = 0; r < batch; ++r) {
            tail[r] = 0;
            __builtin_memcpy(&tail[r], block.in + r * m.in_stride + size_t{groups} * 4, tail_rows);
        }
        block.tail_weights = m.packed[groups / kTileGroups] + block.offset + size_t{groups % kTileGroups} * kGroupBytes;
    }
    block.init = m.init == nullptr ? kZeros : m.init + col0;
    int32_t* acc = m.acc + b * m.acc_stride + col0;
    if (cols == whole) {
        block.out = acc;
        block.out_stride = m.acc_stride * 4;
        kernel(&block);
        return;
    }
    alignas(64) int32_t init[kTileColsMax];
    alignas(64) int32_t out[kRowsMax * kPanelCols];
    if (m.init != nullptr) {
        load_padded(init, block.init, cols, whole);
        block.init = init;
    }
    block.out = out;
    block.out_stride = size_t{whole} * 4;
    kernel(&block);
    for (uint32_t r = 0; r < batch; ++r) store_partial(acc + r * m.acc_stride, out + r * whole, cols);
}

// Fewer than four input rows: several panels at once keep enough independent sums in flight.
void few_rows(const ColumnMvm& m, uint32_t b, uint32_t batch, uint32_t panels) {
    uint32_t panel = 0;
    if (batch == 1) {
        for (; panel + 4 <= panels; panel += 4) run(block_1xn<4>, m, panel, 4, b, 1);
    }
    for (; panel + 2 <= panels; panel += 2) run(kTwoPanels[batch - 1], m, panel, 2, b, batch);
    if (panel < panels) run(kOnePanel[batch - 1], m, panel, 1, b, batch);
}

}  // namespace

void avx512_mvm(const ColumnMvm& m) {
    const uint32_t panels = (m.cols + kPanelCols - 1) / kPanelCols;
    // Blocks of six rows, followed by smaller ones; no block has less than three rows unless the batch has.
    uint32_t sixes = m.batch / kRowsMax;
    uint32_t rest = m.batch % kRowsMax;
    uint32_t last[3] = {};  // rows of the blocks after the sixes
    if (rest >= 4) {
        last[0] = rest;
    } else if (rest == 3 && sixes >= 1) {  // 9 = 5 + 4
        --sixes;
        last[0] = 5, last[1] = 4;
    } else if (rest == 2 && sixes >= 1) {  // 8 = 4 + 4
        --sixes;
        last[0] = 4, last[1] = 4;
    } else if (rest == 1 && sixes == 1) {  // 7 = 4 + 3
        sixes = 0;
        last[0] = 4, last[1] = 3;
    } else if (rest == 1 && sixes >= 2) {  // 13 = 5 + 4 + 4
        sixes -= 2;
        last[0] = 5, last[1] = 4, last[2] = 4;
    } else if (rest != 0) {
        few_rows(m, m.batch - rest, rest, panels);
    }
    for (uint32_t panel = 0; panel < panels; ++panel) {
        const uint32_t cols = m.cols - panel * kPanelCols;
        const Kernel six = cols <= 16 ? block_6x16 : cols <= 32 ? block_6x32 : block_6x1;
        uint32_t b = 0;
        for (uint32_t i = 0; i < sixes; ++i, b += kRowsMax) run(six, m, panel, 1, b, kRowsMax);
        for (uint32_t rows : last) {
            if (rows != 0) run(kOnePanel[rows - 1], m, panel, 1, b, rows);
            b += rows;
        }
    }
    _mm256_zeroupper();  // the assembly has used the upper halves
}

}  // namespace sidra::engine
