// SPDX-License-Identifier: MIT
#include "victim.h"

#include <cstring>
#include <iterator>

#include "check.h"

namespace sidra::fuzz {
namespace {

// Pages of its memory. A device address is the page's number here, times its size.
enum Place : uint64_t {
    kRoot = 0,
    kMiddle = 1,
    kLast = 2,
    kQueueTable = 3,
    kWeightsTable = 4,  // and the list of crossbars in its second half
    kWords = 5,         // write index
    kRing = 6,
    kState = 7,
    kReports = 8,
    kWeights = 9,
    kInput = 10,  // S8 in the first page, F32 in the second
    kProducts = 12,
    kSums = 13,
    kBias = 14,
    kLargestOf = 15,
    kTables = 16,  // programs and their operands
};
constexpr uint64_t va(uint64_t place) { return place * kPage; }
constexpr uint64_t bus(uint64_t place) { return Memory::kVictim + place * kPage; }

constexpr uint32_t kRows = 8, kCols = 128 + 24, kVectors = 3;  // one tile and a part of another one
constexpr uint64_t kIdleVa = SIDRA_HUGE_SIZE;                  // Memory::kIdle
constexpr uint32_t kIdleMost = 1 << 19;                        // columns that are read there
constexpr uint64_t kAddBiasAt = 0, kLargestAt = 512, kOperandsAt = 1024, kIdleOperandsAt = 2048;  // in kTables

constexpr sidra_vector_instruction kAddBias[] = {
    {SIDRA_VECTOR_OP_LOAD_INT, SIDRA_VECTOR_PASS, SIDRA_VECTOR_V(0), 0, 0, 0, 0, 0, {}},
    {SIDRA_VECTOR_OP_LOAD_INT, 0, SIDRA_VECTOR_V(1), 1, 0, 0, 0, 0, {}},
    {SIDRA_VECTOR_OP_ADD_INT, 0, SIDRA_VECTOR_V(2), 0, SIDRA_VECTOR_V(0), SIDRA_VECTOR_V(1), 0, 0, {}},
    {SIDRA_VECTOR_OP_STORE_INT, 0, 0, 2, SIDRA_VECTOR_V(2), 0, 0, 0, {}}};
// A row of it costs as much as many, and is one unit.
constexpr sidra_vector_instruction kLargest[] = {
    {SIDRA_VECTOR_OP_LOAD_INT, SIDRA_VECTOR_PASS, SIDRA_VECTOR_V(0), 0, 0, 0, 0, 0, {}},
    {SIDRA_VECTOR_OP_ADD_INT, 0, SIDRA_VECTOR_V(0), 0, SIDRA_VECTOR_V(0), SIDRA_VECTOR_V(0), 0, 0, {}},
    {SIDRA_VECTOR_OP_ADD_INT, 0, SIDRA_VECTOR_V(0), 0, SIDRA_VECTOR_V(0), SIDRA_VECTOR_V(0), 0, 0, {}},
    {SIDRA_VECTOR_OP_ADD_INT, 0, SIDRA_VECTOR_V(0), 0, SIDRA_VECTOR_V(0), SIDRA_VECTOR_V(0), 0, 0, {}},
    {SIDRA_VECTOR_OP_ADD_INT, 0, SIDRA_VECTOR_V(0), 0, SIDRA_VECTOR_V(0), SIDRA_VECTOR_V(0), 0, 0, {}},
    {SIDRA_VECTOR_OP_ADD_INT, 0, SIDRA_VECTOR_V(0), 0, SIDRA_VECTOR_V(0), SIDRA_VECTOR_V(0), 0, 0, {}},
    {SIDRA_VECTOR_OP_ADD_INT, 0, SIDRA_VECTOR_V(0), 0, SIDRA_VECTOR_V(0), SIDRA_VECTOR_V(0), 0, 0, {}},
    {SIDRA_VECTOR_OP_REDUCE_MAX_INT, 0, SIDRA_VECTOR_S(0), 0, SIDRA_VECTOR_V(0), 0, 0, 0, {}},
    {SIDRA_VECTOR_OP_STORE_INT, 0, 0, 1, SIDRA_VECTOR_S(0), 0, 0, 0, {}}};
static_assert(sizeof kAddBias <= kLargestAt && kLargestAt + sizeof kLargest <= kOperandsAt);

int32_t small(uint32_t i) { return static_cast<int32_t>(i * 2654435761u >> 24) - 128; }
int8_t weight(uint32_t row, uint32_t col) { return static_cast<int8_t>(small(row * kCols + col) | 1); }
int8_t input(uint32_t vector, uint32_t row) { return static_cast<int8_t>(small(7777 + vector * kRows + row)); }
int32_t bias(uint32_t col) { return small(31 * col + 5) * 1001; }

sidra_cmd blank(sidra_cmd_opcode opcode) {
    sidra_cmd cmd{};
    cmd.hdr.opcode = static_cast<uint8_t>(opcode);
    return cmd;
}

}  // namespace

Victim::Victim(Board& board) : board_(board), memory_(board.memory.victim) {
    // The results, by the definition in uapi/sidra_cmd.h.
    for (uint32_t v = 0; v < kVectors; v++)
        for (uint32_t c = 0; c < kCols; c++) {
            int32_t sum = 0;
            for (uint32_t r = 0; r < kRows; r++) sum += input(v, r) * weight(r, c);
            products_.push_back(sum);
            sums_.push_back(sum + bias(c));
        }

    memory_.as<uint64_t>(bus(kRoot)) = bus(kMiddle) | SIDRA_PTE_VALID;
    memory_.as<uint64_t>(bus(kMiddle)) = bus(kLast) | SIDRA_PTE_VALID;
    memory_.as<uint64_t>(bus(kMiddle) + 8) = Memory::kIdle | SIDRA_PTE_VALID | SIDRA_PTE_LEAF | SIDRA_PTE_READ;
    constexpr uint64_t kLeaf = SIDRA_PTE_VALID | SIDRA_PTE_LEAF | SIDRA_PTE_READ | SIDRA_PTE_WRITE;
    for (uint64_t page = kWords; page < Memory::kVictimPages; page++)
        memory_.as<uint64_t>(bus(kLast) + 8 * page) = bus(page) | kLeaf;

    auto& context = board.memory.table.as<sidra_hw_context>(Memory::kTable + kContext * sizeof(sidra_hw_context));
    context.page_table = bus(kRoot);
    context.queue_table = bus(kQueueTable);
    context.queue_count = 1;
    context.weights_table = bus(kWeightsTable);
    context.weights_count = 1;
    context.flags = SIDRA_HW_CONTEXT_VALID;
    auto& queue = memory_.as<sidra_hw_queue>(bus(kQueueTable));
    queue.ring = va(kRing);
    queue.write_index = va(kWords);
    queue.state = bus(kState);
    queue.report = va(kReports);
    queue.ring_log2 = SIDRA_QUEUE_LOG2_MIN;
    queue.priority = 1;
    queue.vector = 1;
    queue.epoch = 1;
    queue.flags = SIDRA_HW_QUEUE_VALID;
    auto& object = memory_.as<sidra_hw_weights>(bus(kWeightsTable));
    object.uid = Memory::kVictimUid;
    object.tiles = bus(kWeightsTable) + kPage / 2;
    object.rows = kRows;
    object.cols = kCols;
    object.tile_count = kCrossbars;
    object.encoding = SIDRA_ENCODING_DIFFERENTIAL;
    object.flags = SIDRA_HW_WEIGHTS_VALID | SIDRA_HW_WEIGHTS_COMPUTE | SIDRA_HW_WEIGHTS_PROGRAM;
    for (uint32_t i = 0; i < kCrossbars; i++) memory_.as<uint32_t>(object.tiles + 4 * i) = i;

    for (uint32_t v = 0; v < kVectors; v++)
        for (uint32_t r = 0; r < kRows; r++) {
            memory_.as<int8_t>(bus(kInput) + v * kRows + r) = input(v, r);
            memory_.as<float>(bus(kInput + 1) + 4 * (v * kRows + r)) = input(v, r);
        }
    for (uint32_t c = 0; c < kCols; c++) memory_.as<int32_t>(bus(kBias) + 4 * c) = bias(c);
    std::memcpy(memory_.at(bus(kTables) + kAddBiasAt), kAddBias, sizeof kAddBias);
    std::memcpy(memory_.at(bus(kTables) + kLargestAt), kLargest, sizeof kLargest);
    const Place arrays[] = {kProducts, kBias, kSums};
    for (uint64_t n = 0; n < 3; n++) {
        auto& operand = memory_.as<sidra_operand>(bus(kTables) + kOperandsAt + n * sizeof(sidra_operand));
        operand.addr = va(arrays[n]);
        operand.type = SIDRA_TYPE_S32;
        operand.stride[3] = 4;
        operand.stride[2] = arrays[n] == kBias ? 0 : 4 * kCols;
        operand.flags = arrays[n] == kSums ? SIDRA_OPERAND_WRITE : 0;
    }
    auto& idle = memory_.as<sidra_operand>(bus(kTables) + kIdleOperandsAt);
    idle.addr = kIdleVa;
    idle.type = SIDRA_TYPE_U8;
    idle.stride[3] = 1;
    auto& largest = memory_.as<sidra_operand>(bus(kTables) + kIdleOperandsAt + sizeof idle);
    largest.addr = va(kLargestOf);
    largest.type = SIDRA_TYPE_S32;
    largest.flags = SIDRA_OPERAND_WRITE;

    program();
    // As much work in front of the product as fills up a turn, but for a part of the product. It depends on what the
    // chip takes work for, and on the engine.
    constexpr uint32_t kCoarse = 4096, kFine = 16;
    const auto interrupted = [&] {
        if (charged_ > kIdleMost) fail("no work in front of a product has it interrupted");
        submit(Input::kF32);
        ring();
        board_.run_one_turn();
        const bool found = in_the_middle();
        finish();
        return found;
    };
    while (!interrupted()) charged_ += kCoarse;
    charged_ -= kCoarse;
    while (!interrupted()) charged_ += kFine;
}

sidra_queue_state& Victim::state() const { return memory_.as<sidra_queue_state>(bus(kState)); }

void Victim::push(const sidra_cmd& cmd) {
    memory_.as<sidra_cmd>(bus(kRing) + next_ % (kPage / SIDRA_CMD_SIZE) * SIDRA_CMD_SIZE) = cmd;
    next_++;
}

void Victim::ring() {
    __atomic_store_n(&memory_.as<uint64_t>(bus(kWords)), next_, __ATOMIC_RELEASE);
    board_.write32(SIDRA_DOORBELL(kContext, 0), 1);
}

void Victim::program() {
    for (uint32_t r = 0; r < kRows; r++)
        for (uint32_t c = 0; c < kCols; c++) memory_.as<int8_t>(bus(kWeights) + r * kCols + c) = weight(r, c);
    sidra_cmd cmd = blank(SIDRA_CMD_PROGRAM);
    cmd.weights.rows = kRows;
    cmd.weights.cols = kCols;
    cmd.weights.addr = va(kWeights);
    cmd.weights.stride = kCols;
    push(cmd);
    ring();
    while (board_.run()) {
    }
    if (state().timeline != next_) fail("the victim can't program its cells");
}

void Victim::submit(Input type) {
    sidra_cmd idle = blank(SIDRA_CMD_VECTOR);
    idle.vector.program = va(kTables) + kLargestAt;
    idle.vector.operands = va(kTables) + kIdleOperandsAt;
    idle.vector.size[0] = idle.vector.size[1] = idle.vector.size[2] = 1;
    idle.vector.size[3] = charged_;
    idle.vector.instructions = std::size(kLargest);
    idle.vector.operand_count = 2;
    push(idle);
    product_ = next_;
    const bool f32 = type == Input::kF32;
    sidra_cmd cmd{};
    cmd.mvm.opcode = SIDRA_CMD_MVM;
    cmd.mvm.types = SIDRA_MVM_TYPES(f32 ? SIDRA_TYPE_F32 : SIDRA_TYPE_S8, SIDRA_TYPE_S32);
    cmd.mvm.in_zero = f32 ? 128 : 0;
    cmd.mvm.batch = kVectors;
    cmd.mvm.in = va(f32 ? kInput + 1 : kInput);
    cmd.mvm.in_stride = f32 ? 4 * kRows : kRows;
    cmd.mvm.out = va(kProducts);
    cmd.mvm.out_stride = 4 * kCols;
    push(cmd);
    sidra_cmd add = blank(SIDRA_CMD_VECTOR);
    add.vector.program = va(kTables) + kAddBiasAt;
    add.vector.operands = va(kTables) + kOperandsAt;
    add.vector.size[0] = add.vector.size[1] = 1;
    add.vector.size[2] = kVectors, add.vector.size[3] = kCols;
    add.vector.instructions = std::size(kAddBias);
    add.vector.operand_count = 3;
    push(add);
}

// All before the product has retired, and it has not. (The constructor looks for the least work in front of it that
// makes it so: then only its last units are left.)
bool Victim::in_the_middle() const { return state().timeline == product_ && board_.pending(); }

void Victim::begin(Input input) {
    for (const Place results : {kProducts, kSums}) std::memset(memory_.at(bus(results)), 0xdd, 4 * products_.size());
    submit(input);
    ring();
    board_.run_one_turn();
    if (!in_the_middle()) fail("the victim's product was not interrupted");
}

void Victim::stop() {
    if (board_.admin(SIDRA_ADMIN_QUIESCE_QUEUE, kContext, 0) != SIDRA_ADMIN_OK) fail("the victim can't be stopped");
}

void Victim::resume() {
    if (board_.admin(SIDRA_ADMIN_RESUME_QUEUE, kContext, 0) != SIDRA_ADMIN_OK) fail("the victim can't be resumed");
}

bool Victim::robbed() const {
    for (uint32_t i = 0; i < kCrossbars; i++)
        if (const sidra_hw_xbar header = board_.crossbar(i);
            header.uid != Memory::kVictimUid || header.programmed_rows < kRows)
            return true;
    return false;
}

void Victim::finish() {
    // Whatever the others have asked for: the victim gets its share of the chip.
    for (int slices = 0; state().timeline != next_ && state().run_state != SIDRA_QUEUE_FAULTED; slices++) {
        if (slices == 256)
            fail("the victim does not get on, at %llu of %llu", (unsigned long long)state().timeline,
                 (unsigned long long)next_);
        board_.run();
    }
    if (state().run_state == SIDRA_QUEUE_FAULTED) {
        // A hostile kernel may take cells away, which the chip says, and never computes with what it finds there.
        if (state().fault.cause != SIDRA_FAULT_UNPROGRAMMED || !robbed())
            fail("a packet of the victim ends with cause %u, address 0x%llx", state().fault.cause,
                 (unsigned long long)state().fault.address);
        if (board_.admin(SIDRA_ADMIN_RESET_QUEUE, kContext, 0) != SIDRA_ADMIN_OK) fail("no reset of the victim");
        next_ = 0;
    } else if (std::memcmp(memory_.at(bus(kProducts)), products_.data(), 4 * products_.size()) != 0) {
        fail("a product of the victim is wrong");
    } else if (std::memcmp(memory_.at(bus(kSums)), sums_.data(), 4 * sums_.size()) != 0) {
        fail("a sum of the victim is wrong");
    }
    if (robbed()) program();
}

}  // namespace sidra::fuzz
