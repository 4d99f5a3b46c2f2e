// SPDX-License-Identifier: MIT
#include "vector_program.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <variant>

#include "program/program_text.h"
#include "program_error.h"

namespace sidra {
namespace {

using Code = std::span<const sidra_vector_instruction>;

// Makes operands that suit the program as well as any can, to verify what does not depend on them. Returns their
// number.
uint32_t suitable_operands(Code code, std::array<sidra_operand, SIDRA_VECTOR_OPERANDS_MAX>* operands) {
    using vector::Kind;
    uint32_t count = 0;
    for (const sidra_vector_instruction& instruction : code) {
        const Kind kind = vector::rule(instruction.op).kind;
        const bool stores = kind == Kind::kStore || kind == Kind::kScatter;
        const bool gathers = kind == Kind::kGather || kind == Kind::kScatter;
        if ((kind != Kind::kLoad && !stores && !gathers) || instruction.operand >= operands->size()) continue;
        sidra_operand& operand = (*operands)[instruction.operand];
        if (stores) operand.flags = SIDRA_OPERAND_WRITE;
        if (gathers) operand.extent = 1;
        count = std::max(count, instruction.operand + 1u);
    }
    for (uint32_t n = 0; n < count; ++n) {
        (*operands)[n].type = SIDRA_TYPE_S32;  // every instruction takes it
        (*operands)[n].addr = (n + 1) * sizeof(int32_t);
    }
    return count;
}

// What the packet of a program gives to it, as far as that does not depend on a call.
vector::Packet gives(Code code, size_t prologue, uint32_t operands, ProgramKind* kind) {
    constexpr uint8_t kFactors = 2;
    bool sums = false, factors = true;
    for (const sidra_vector_instruction& instruction : code) {
        using vector::Kind;
        const Kind of = vector::rule(instruction.op).kind;
        if (of != Kind::kLoad && of != Kind::kStore && of != Kind::kGather && of != Kind::kScatter) continue;
        sums |= instruction.operand == SIDRA_OPERAND_SUMS;
        factors &= instruction.operand >= kFactors;
    }
    vector::Packet packet;
    packet.prologue = prologue;
    *kind = ProgramKind::kVector;
    if (!sums && prologue == 0) return packet;
    packet.sums = SIDRA_TYPE_S32;
    const bool matmul = prologue == 0 && factors && operands > kFactors;
    *kind = matmul ? ProgramKind::kMatmul : ProgramKind::kLayer;
    if (matmul) packet.first = kFactors;
    if (prologue != 0) packet.codes = SIDRA_TYPE_S8, packet.input = SIDRA_TYPE_S32;
    return packet;
}

sidra_status make_program(const char* call, sidra_context* context, Code code, size_t prologue,
                          sidra_program** program) {
    ProgramRules rules;
    if (const auto verdict = verify_code(code, prologue, &rules)) return refuse_program(call, {}, code, verdict);
    std::unique_ptr<DeviceMemory> memory;
    SIDRA_TRY(DeviceMemory::create(call, context, code.size_bytes(), false, &memory));
    std::memcpy(memory->host(), code.data(), code.size_bytes());
    Making<sidra_program> made(context);
    made->memory = std::move(memory);
    const auto* copy = reinterpret_cast<const sidra_vector_instruction*>(made->memory->host());
    made->program.set({copy, code.size()}, made->memory->address(), rules, made->id);
    context->named.add_memory({Kind::kProgram, made->id}, made->memory->address(), made->memory->size());
    *program = handle_of(made.finish());
    return SIDRA_OK;
}

}  // namespace

vector::Verdict verify_code(Code code, size_t prologue, ProgramRules* rules) {
    std::array<sidra_operand, SIDRA_VECTOR_OPERANDS_MAX> operands{};
    rules->operands = suitable_operands(code, &operands);
    rules->prologue = static_cast<uint32_t>(prologue);
    const vector::Packet packet = gives(code, prologue, rules->operands, &rules->kind);
    return vector::verify(code, std::span(operands).first(rules->operands), packet, &rules->before, &rules->traits);
}

namespace {

// In what is remembered of a valid program: the costs of program and prologue, and whether the program works in order.
constexpr unsigned kCostBits = 14;
constexpr uint64_t kCost = (1 << kCostBits) - 1, kInOrder = uint64_t{1} << 62;
static_assert(SIDRA_VECTOR_INSTRUCTIONS_MAX * 2 * SIDRA_VECTOR_COST_ELEMENTS <= kCost);

// Never 0. The type of the sums is known by the operands.
uint64_t classes_of(std::span<const sidra_operand> operands, const vector::Packet& packet) {
    return vector::operand_classes(operands) | uint64_t{packet.codes & 0xfu} << 48 |
           uint64_t{packet.input & 0xfu} << 52 | uint64_t{1} << 63;
}

}  // namespace

bool VectorProgram::recall(const Remembered& from, uint64_t classes, vector::Traits* prologue,
                           vector::Traits* traits) const {
    const uint32_t version = from.version.load(std::memory_order_acquire);
    const uint64_t known = from.classes.load(std::memory_order_acquire);
    const uint64_t found = from.found.load(std::memory_order_acquire);
    if (known != classes || version % 2 != 0 || from.version.load(std::memory_order_relaxed) != version) return false;
    *prologue = rules_.before;
    prologue->cost = found >> kCostBits & kCost;
    *traits = rules_.traits;
    traits->cost = found & kCost;
    traits->in_order = (found & kInOrder) != 0;
    return true;
}

void VectorProgram::remember(Remembered& to, uint64_t classes, const vector::Traits& prologue,
                             const vector::Traits& traits) {
    uint32_t version = to.version.load(std::memory_order_relaxed);
    if (version % 2 != 0 || !to.version.compare_exchange_strong(version, version + 1, std::memory_order_acquire))
        return;
    to.classes.store(classes, std::memory_order_release);
    to.found.store(uint64_t{prologue.cost} << kCostBits | traits.cost | (traits.in_order ? kInOrder : 0),
                   std::memory_order_release);
    to.version.store(version + 2, std::memory_order_release);
}

vector::Verdict VectorProgram::verify(std::span<const sidra_operand> operands, const vector::Packet& packet,
                                      vector::Traits* prologue, vector::Traits* traits) const {
    vector::Traits none;
    if (prologue == nullptr) prologue = &none;
    const uint64_t classes = classes_of(operands, packet);
    Remembered& remembered = remembered_[classes * 0x9e3779b97f4a7c15 >> (64 - kRememberedLog2)];
    if (recall(remembered, classes, prologue, traits)) [[likely]]
        return vector::verify_operands(operands, packet, *prologue, *traits);
    const vector::Verdict verdict = vector::verify(code_, operands, packet, prologue, traits);
    const bool scatters = (traits->gathered & traits->stored) != 0;  // then addresses matter, too
    if (!verdict && !scatters) remember(remembered, classes, *prologue, *traits);
    return verdict;
}

}  // namespace sidra

using namespace sidra;

sidra_status sidra_program_create(sidra_context* context, const sidra_vector_instruction* code, size_t count,
                                  size_t prologue, sidra_program** program) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "context", context));
        if (program == nullptr)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`program` is NULL; it takes the new handle");
        if (code == nullptr) return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`code` is NULL");
        if (count == 0 || count > SIDRA_VECTOR_INSTRUCTIONS_MAX)  // else nobody must look at them
            return refuse_program(call, {}, {}, {SIDRA_PROGRAM_LENGTH});
        if (prologue >= count)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                        "prologue is {}, but the program has {} instructions: at least one must follow it", prologue,
                        count);
        return make_program(call, context, {code, count}, prologue, program);
    });
}

sidra_status sidra_program_assemble(sidra_context* context, const char* text, sidra_program** program) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "context", context));
        if (program == nullptr)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`program` is NULL; it takes the new handle");
        if (text == nullptr) return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`text` is NULL");
        const program::Assembly assembly = program::assemble(text);
        if (const auto* error = std::get_if<program::AssemblyError>(&assembly))
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "line {}, column {}: {}", error->line, error->column,
                        error->message);
        const auto& [instructions, prologue] = std::get<program::Code>(assembly);
        return make_program(call, context, instructions, prologue, program);
    });
}

sidra_status sidra_program_disassemble(const sidra_program* program, char* text, size_t capacity, size_t* needed) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "program", program));
        if (text == nullptr && capacity != 0)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`text` is NULL, but `capacity` is {}", capacity);
        const std::string whole = program::disassemble(program->program.code(), program->program.rules().prologue);
        const size_t size = whole.size() + 1;
        if (needed != nullptr) *needed = size;
        if (text == nullptr) return SIDRA_OK;
        if (capacity < size)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                        "the text of program {} has {} bytes with its final zero, but `capacity` is {}", program->id,
                        size, capacity);
        std::memcpy(text, whole.c_str(), size);
        return SIDRA_OK;
    });
}

sidra_status sidra_program_destroy(sidra_program* program) {
    if (program == nullptr) return SIDRA_OK;
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        Claim<sidra_program> claim;
        SIDRA_TRY(claim.take(call, "program", program));
        if (!forked(*program)) {
            // First: after the release, another object may get its address.
            Objects& named = program->context->named;
            const uint64_t address = program->memory->address();
            named.remove_memory(address);
            if (const sidra_status status = program->memory->release(call); status != SIDRA_OK) {
                named.add_memory({Kind::kProgram, program->id}, address, program->memory->size(), true);
                return status;
            }
        }
        destroy_object(program, claim);
        return SIDRA_OK;
    });
}
