// SPDX-License-Identifier: MIT
// Decoding, and the interpreter.
#include <cstring>

#include "rv32.h"

namespace sidra::core {

namespace {

// All kinds of Op. kOpUndecoded is 0.
// clang-format off
#define OPS(X)                                                                       \
    X(Undecoded) X(End) X(Apart) X(FetchFault) X(Illegal) X(Breakpoint)              \
    X(Li) X(Jal) X(Jalr) X(Beq) X(Bne) X(Blt) X(Bge) X(Bltu) X(Bgeu)                 \
    X(Lb) X(Lh) X(Lw) X(Lbu) X(Lhu) X(Sb) X(Sh) X(Sw)                                \
    X(Addi) X(Slti) X(Sltiu) X(Xori) X(Ori) X(Andi) X(Slli) X(Srli) X(Srai)          \
    X(Add) X(Sub) X(Sll) X(Slt) X(Sltu) X(Xor) X(Srl) X(Sra) X(Or) X(And)            \
    X(Mul) X(Mulh) X(Mulhsu) X(Mulhu) X(Div) X(Divu) X(Rem) X(Remu)                  \
    X(Fence) X(Ecall) X(Ebreak) X(Mret) X(Wfi) X(Csr)
// clang-format on

enum Code : uint16_t {
#define X(name) kOp##name,
    OPS(X)
#undef X
};

// funct3 of SYSTEM: bit 2: immediate; bits 0, 1: write, set, clear.
enum : uint32_t { kCsrWrite = 1, kCsrSet = 2, kCsrImmediate = 4 };

int32_t field(uint32_t instruction, uint32_t shift, uint32_t bits) {
    return static_cast<int32_t>(instruction >> shift & ((1u << bits) - 1));
}
int32_t signed_field(uint32_t instruction, uint32_t shift, uint32_t bits) {
    return static_cast<int32_t>(instruction << (32 - shift - bits)) >> (32 - bits);
}
int32_t immediate_s(uint32_t i) { return signed_field(i, 25, 7) * 32 + field(i, 7, 5); }
int32_t immediate_b(uint32_t i) {
    return signed_field(i, 31, 1) * 4096 + field(i, 7, 1) * 2048 + field(i, 25, 6) * 32 + field(i, 8, 4) * 2;
}
int32_t immediate_j(uint32_t i) {
    return signed_field(i, 31, 1) * (1 << 20) + field(i, 12, 8) * 4096 + field(i, 20, 1) * 2048 + field(i, 21, 10) * 2;
}

constexpr Code kBranches[8] = {kOpBeq, kOpBne, kOpIllegal, kOpIllegal, kOpBlt, kOpBge, kOpBltu, kOpBgeu};
constexpr Code kLoads[8] = {kOpLb, kOpLh, kOpLw, kOpIllegal, kOpLbu, kOpLhu, kOpIllegal, kOpIllegal};
constexpr Code kStores[8] = {kOpSb, kOpSh, kOpSw, kOpIllegal, kOpIllegal, kOpIllegal, kOpIllegal, kOpIllegal};
constexpr Code kImmediates[8] = {kOpAddi, kOpSlli, kOpSlti, kOpSltiu, kOpXori, kOpSrli, kOpOri, kOpAndi};
constexpr Code kRegisters[8] = {kOpAdd, kOpSll, kOpSlt, kOpSltu, kOpXor, kOpSrl, kOpOr, kOpAnd};
constexpr Code kMultiplies[8] = {kOpMul, kOpMulh, kOpMulhsu, kOpMulhu, kOpDiv, kOpDivu, kOpRem, kOpRemu};

Code system_code(uint32_t instruction) {
    switch (instruction) {
        case 0x00000073:
            return kOpEcall;
        case 0x00100073:
            return kOpEbreak;
        case 0x30200073:
            return kOpMret;
        case 0x10500073:
            return kOpWfi;
    }
    return field(instruction, 12, 2) != 0 ? kOpCsr : kOpIllegal;
}

Code register_code(uint32_t funct3, uint32_t funct7) {
    switch (funct7) {
        case 0x00:
            return kRegisters[funct3];
        case 0x01:
            return kMultiplies[funct3];
        case 0x20:
            return funct3 == 0 ? kOpSub : funct3 == 5 ? kOpSra : kOpIllegal;
    }
    return kOpIllegal;
}

Code immediate_code(uint32_t funct3, uint32_t funct7) {
    if (funct3 == 1) return funct7 == 0 ? kOpSlli : kOpIllegal;
    if (funct3 == 5) return funct7 == 0 ? kOpSrli : funct7 == 0x20 ? kOpSrai : kOpIllegal;
    return kImmediates[funct3];
}

uint32_t multiply_high(int64_t a, int64_t b) { return static_cast<uint32_t>(static_cast<uint64_t>(a * b) >> 32); }
uint32_t divide(uint32_t a, uint32_t b) {
    if (b == 0) return ~0u;
    if (a == 0x80000000 && b == ~0u) return a;
    return static_cast<uint32_t>(static_cast<int32_t>(a) / static_cast<int32_t>(b));
}
uint32_t remainder(uint32_t a, uint32_t b) {
    if (b == 0) return a;
    if (a == 0x80000000 && b == ~0u) return 0;
    return static_cast<uint32_t>(static_cast<int32_t>(a) % static_cast<int32_t>(b));
}

}  // namespace

Rv32::Op Rv32::decode(uint32_t instruction, uint32_t pc) {
    const uint32_t funct3 = instruction >> 12 & 7, funct7 = instruction >> 25;
    Op op;
    op.rd = static_cast<uint8_t>(instruction >> 7 & 31);
    if (op.rd == 0) op.rd = 32;
    op.rs1 = static_cast<uint8_t>(instruction >> 15 & 31);
    op.rs2 = static_cast<uint8_t>(instruction >> 20 & 31);
    op.imm = signed_field(instruction, 20, 12);
    const auto here = static_cast<int32_t>(pc);
    switch (instruction & 0x7f) {
        case 0x37:
            op.code = kOpLi;
            op.imm = static_cast<int32_t>(instruction & 0xfffff000);
            break;
        case 0x17:
            op.code = kOpLi;
            op.imm = static_cast<int32_t>(pc + (instruction & 0xfffff000));
            break;
        case 0x6f:
            op.code = kOpJal;
            op.imm = here + immediate_j(instruction);
            break;
        case 0x67:
            op.code = funct3 == 0 ? kOpJalr : kOpIllegal;
            break;
        case 0x63:
            op.code = kBranches[funct3];
            op.imm = here + immediate_b(instruction);
            break;
        case 0x03:
            op.code = kLoads[funct3];
            break;
        case 0x23:
            op.code = kStores[funct3];
            op.imm = immediate_s(instruction);
            break;
        case 0x13:
            op.code = immediate_code(funct3, funct7);
            if (funct3 == 1 || funct3 == 5) op.imm = op.rs2;
            break;
        case 0x33:
            op.code = register_code(funct3, funct7);
            break;
        case 0x0f:
            op.code = funct3 <= 1 ? kOpFence : kOpIllegal;
            break;
        case 0x73:
            op.code = system_code(instruction);
            break;
        default:
            op.code = kOpIllegal;
    }
    // The whole instruction word: an illegal instruction reports it, and it contains the number of the control
    // register.
    if (op.code == kOpIllegal || op.code == kOpCsr) op.imm = static_cast<int32_t>(instruction);
    return op;
}

Rv32::Op Rv32::decode_at(Region& region, uint32_t pc) {
    const uint32_t offset = pc - region.range.base;
    Op op;
    op.code = kOpEnd;
    if (offset == region.range.size) return op;
    uint8_t& page = region.pages[offset / kPage];
    if (page & kExecute) {
        uint32_t instruction;
        std::memcpy(&instruction, region.bytes.data() + offset, 4);
        op = decode(instruction, pc);
    } else {
        op.code = kOpFetchFault;
    }
    page |= kHasOps;
    return op;
}

void Rv32::step() {
    watched_.reset();
    if (interrupted()) return take_interrupt();
    if (state_.waiting) return;
    Region* region = region_of(state_.pc);
    Op apart[2];
    apart[0].code = kOpFetchFault;
    if (region) apart[0] = decode_at(*region, state_.pc);
    apart[1].code = kOpApart;
    execute(region, apart, 1);
}

Rv32::Stop Rv32::run(uint64_t cycles) {
    const uint64_t end = state_.cycles + cycles;
    budget_ends_ = false;
    watched_.reset();
    for (;;) {
        const auto left = static_cast<int64_t>(end - state_.cycles);
        if (watched_) return Stop::kWatchpoint;
        if (left <= 0 || budget_ends_) return Stop::kBudget;
        if (interrupted()) take_interrupt();
        if (state_.waiting) return Stop::kWaiting;
        Region* region = region_of(state_.pc);
        if (!region) {
            step();
            continue;
        }
        if (execute(region, &region->ops[(state_.pc - region->range.base) / 4], left) == Stop::kBreakpoint)
            return Stop::kBreakpoint;
    }
}

// Labels as values are an extension of both compilers. Each instruction ends with an indirect jump of its own, which
// branch predictors handle better than a common one.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

// The interpreter returns, with pc stored in the state, at the latest at the end of the block in which the budget is
// spent, and also where an interrupt may be due and where execution leaves the region.
Rv32::Stop Rv32::execute(Region* region, Op* first, int64_t budget) {
    static const void* const kLabels[] = {
#define X(name) &&L_##name,
        OPS(X)
#undef X
    };
    uint32_t* const x = state_.x;
    uint8_t* const ram = ram_.bytes.data();
    const uint8_t* const pages = ram_.pages.data();
    const uint32_t ram_base = ram_.range.base, ram_size = ram_.range.size;
    const Op* block = first;  // instructions since then are not counted yet
    uint32_t block_pc = state_.pc;
    Op* p = first;
    uint32_t target;
    Trap trap;

#define A x[p->rs1]
#define B x[p->rs2]
#define IMM static_cast<uint32_t>(p->imm)
#define DISPATCH goto* kLabels[p->code]
#define NEXT \
    p++;     \
    DISPATCH
#define PC (block_pc + static_cast<uint32_t>(p - block) * 4)
#define SIGNED(value) static_cast<int32_t>(value)
#define ACCOUNT(extra)                                 \
    {                                                  \
        const int64_t ran = p - block + (extra);       \
        state_.minstret += static_cast<uint64_t>(ran); \
        state_.cycles += static_cast<uint64_t>(ran);   \
        budget -= ran;                                 \
    }
#define COMPUTE(name, value)       \
    L_##name : x[p->rd] = (value); \
    NEXT;
#define BRANCH(name, condition) \
    L_##name : if (condition) { \
        target = IMM;           \
        goto jump;              \
    }                           \
    NEXT;
#define LOAD(name, type)                                                                                     \
    L_##name : {                                                                                             \
        const uint32_t address = A + IMM, offset = address - ram_base, rd = p->rd;                           \
        uint32_t value;                                                                                      \
        type loaded;                                                                                         \
        if (offset < ram_size && offset % sizeof(type) == 0 && (pages[offset / kPage] & kRead)) [[likely]] { \
            std::memcpy(&loaded, ram + offset, sizeof loaded);                                               \
            x[p->rd] = static_cast<uint32_t>(loaded);                                                        \
            NEXT;                                                                                            \
        }                                                                                                    \
        if (!load_slow(address, sizeof(type), &value)) goto refused;                                         \
        loaded = static_cast<type>(value);                                                                   \
        x[rd] = static_cast<uint32_t>(loaded);                                                               \
        goto leave_behind;                                                                                   \
    }
#define STORE(name, type)                                                                                              \
    L_##name : {                                                                                                       \
        const uint32_t address = A + IMM, offset = address - ram_base;                                                 \
        const type value = static_cast<type>(B);                                                                       \
        if (offset < ram_size && offset % sizeof(type) == 0 && (pages[offset / kPage] & (kWrite | kHasOps)) == kWrite) \
            [[likely]] {                                                                                               \
            std::memcpy(ram + offset, &value, sizeof value);                                                           \
            NEXT;                                                                                                      \
        }                                                                                                              \
        if (!store_slow(address, sizeof(type), value)) goto refused;                                                   \
        goto leave_behind;                                                                                             \
    }

    DISPATCH;

L_Undecoded:
    *p = decode_at(*region, PC);
    if (!breakpoints_.empty() && breakpoints_.count(PC)) p->code = kOpBreakpoint;
    DISPATCH;
L_End:
L_Apart:
    ACCOUNT(0);
    state_.pc = PC;
    return Stop::kBudget;
L_FetchFault:
    trap = {kFetchFault, PC};
    goto trapped;
L_Illegal:
    trap = {kIllegal, IMM};
    goto trapped;
L_Breakpoint:
    ACCOUNT(0);
    state_.pc = PC;
    return Stop::kBreakpoint;

    COMPUTE(Li, IMM)
    COMPUTE(Addi, A + IMM)
    COMPUTE(Slti, SIGNED(A) < p->imm)
    COMPUTE(Sltiu, A < IMM)
    COMPUTE(Xori, A ^ IMM)
    COMPUTE(Ori, A | IMM)
    COMPUTE(Andi, A & IMM)
    COMPUTE(Slli, A << IMM)
    COMPUTE(Srli, A >> IMM)
    COMPUTE(Srai, static_cast<uint32_t>(SIGNED(A) >> IMM))
    COMPUTE(Add, A + B)
    COMPUTE(Sub, A - B)
    COMPUTE(Sll, A << (B & 31))
    COMPUTE(Slt, SIGNED(A) < SIGNED(B))
    COMPUTE(Sltu, A < B)
    COMPUTE(Xor, A ^ B)
    COMPUTE(Srl, A >> (B & 31))
    COMPUTE(Sra, static_cast<uint32_t>(SIGNED(A) >> (B & 31)))
    COMPUTE(Or, A | B)
    COMPUTE(And, A & B)
    COMPUTE(Mul, A * B)
    COMPUTE(Mulh, multiply_high(SIGNED(A), SIGNED(B)))
    COMPUTE(Mulhsu, multiply_high(SIGNED(A), static_cast<int64_t>(B)))
    COMPUTE(Mulhu, static_cast<uint32_t>(uint64_t{A} * B >> 32))
    COMPUTE(Div, divide(A, B))
    COMPUTE(Divu, B == 0 ? ~0u : A / B)
    COMPUTE(Rem, remainder(A, B))
    COMPUTE(Remu, B == 0 ? A : A % B)

    LOAD(Lb, int8_t)
    LOAD(Lh, int16_t)
    LOAD(Lw, uint32_t)
    LOAD(Lbu, uint8_t)
    LOAD(Lhu, uint16_t)
    STORE(Sb, uint8_t)
    STORE(Sh, uint16_t)
    STORE(Sw, uint32_t)

    BRANCH(Beq, A == B)
    BRANCH(Bne, A != B)
    BRANCH(Blt, SIGNED(A) < SIGNED(B))
    BRANCH(Bge, SIGNED(A) >= SIGNED(B))
    BRANCH(Bltu, A < B)
    BRANCH(Bgeu, A >= B)

L_Jal:
    target = IMM;
    if (target % 4 != 0) goto jump;
    x[p->rd] = PC + 4;
    goto jump;
L_Jalr:
    target = (A + IMM) & ~1u;
    if (target % 4 != 0) goto jump;
    x[p->rd] = PC + 4;
    goto jump;
L_Fence:
    NEXT;
L_Ecall:
    trap = {kEnvironmentCall, 0};
    goto trapped;
L_Ebreak:
    trap = {kBreakpoint, PC};
    goto trapped;
L_Mret:
    ACCOUNT(1);
    return_from_trap();
    return Stop::kBudget;
L_Wfi:
    ACCOUNT(1);
    state_.pc = PC + 4;
    state_.waiting = (state_.mip & state_.mie) == 0;
    return Stop::kBudget;
L_Csr : {
    const uint32_t rd = p->rd;  // the slow path may discard the Op
    const uint32_t number = IMM >> 20, funct3 = IMM >> 12 & 7, pc = PC;
    const uint32_t operand = funct3 & kCsrImmediate ? p->rs1 : A;
    const uint32_t how = funct3 & ~uint32_t{kCsrImmediate};
    uint32_t value;
    ACCOUNT(0);
    block = p;
    block_pc = pc;
    const bool writes = how == kCsrWrite || p->rs1 != 0, read_only = number >> 10 == 3;
    if (!read_csr(number, &value) || (writes && read_only)) goto L_Illegal;
    ACCOUNT(1);  // first, because an instruction that writes a counter is not counted in it
    if (writes) write_csr(number, how == kCsrWrite ? operand : how == kCsrSet ? value | operand : value & ~operand);
    x[rd] = value;
    state_.pc = pc + 4;
    return Stop::kBudget;
}

jump:
    if (target % 4 != 0) {
        trap = {kFetchMisaligned, target};
        goto trapped;
    }
    ACCOUNT(1);
    if (budget <= 0 || !region->contains(target)) {
        state_.pc = target;
        return Stop::kBudget;
    }
    p = &region->ops[(target - region->range.base) / 4];
    block = p;
    block_pc = target;
    DISPATCH;
leave_behind:  // leave after this instruction, which may have changed anything
    ACCOUNT(1);
    state_.pc = PC + 4;
    return Stop::kBudget;
refused:
    trap = trap_;
trapped:  // a trap takes a cycle, and the instruction does not retire
    ACCOUNT(0);
    state_.cycles++;
    enter_trap(trap.cause, trap.value, PC);
    return Stop::kBudget;
}

#pragma GCC diagnostic pop

}  // namespace sidra::core
