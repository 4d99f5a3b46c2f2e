// SPDX-License-Identifier: MIT
#include "card.h"

#include <linux/pci_regs.h>

#include <cstring>

namespace sidra::qtest {
namespace {

constexpr unsigned kBar0 = PCI_BASE_ADDRESS_0 + 4 * SIDRA_BAR_REGS;
constexpr unsigned kBar2 = PCI_BASE_ADDRESS_0 + 4 * SIDRA_BAR_L3;

}  // namespace

Card::Card(Machine& machine, unsigned devfn, unsigned number, unsigned bus)
    : machine_(machine),
      devfn_(devfn),
      bus_(bus),
      bar0_(0xc0000000 + number * 0x2000000ull),
      bar2_(0xd0000000 + number * 0x1000000ull),
      msix_words_(machine.alloc(4096)) {}

unsigned Card::capability(uint8_t id) {
    for (unsigned at = config(PCI_CAPABILITY_LIST, 1); at != 0; at = config(at + PCI_CAP_LIST_NEXT, 1))
        if (config(at, 1) == id) return at;
    return 0;
}

unsigned Card::extended_capability(uint16_t id) {
    for (unsigned at = 0x100; at != 0; at = PCI_EXT_CAP_NEXT(config(at, 4)))
        if (PCI_EXT_CAP_ID(config(at, 4)) == id) return at;
    return 0;
}

uint64_t Card::bar_size(unsigned bar) {
    const unsigned at = PCI_BASE_ADDRESS_0 + 4 * bar;
    set_config(at, ~0u, 4);
    set_config(at + 4, ~0u, 4);
    const uint64_t mask = config(at, 4) | uint64_t{config(at + 4, 4)} << 32;
    return ~(mask & ~uint64_t{15}) + 1;
}

void Card::enable_pci() {
    set_config(kBar0, static_cast<uint32_t>(bar0_), 4);
    set_config(kBar0 + 4, static_cast<uint32_t>(bar0_ >> 32), 4);
    set_config(kBar2, static_cast<uint32_t>(bar2_), 4);
    set_config(kBar2 + 4, static_cast<uint32_t>(bar2_ >> 32), 4);
    set_config(PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 2);
    for (unsigned vector = 0; vector < SIDRA_MSIX_VECTORS; vector++) msix_program(vector);
    set_config(capability(PCI_CAP_ID_MSIX) + PCI_MSIX_FLAGS, PCI_MSIX_FLAGS_ENABLE, 2);
}

void Card::set_bus_master(bool on) { set_config(PCI_COMMAND, PCI_COMMAND_MEMORY | (on ? PCI_COMMAND_MASTER : 0), 2); }

void Card::bring_up() {
    context_table_ = machine_.alloc(sizeof(sidra_hw_context) * SIDRA_CONTEXTS_MAX);
    machine_.fill(context_table_, sizeof(sidra_hw_context) * SIDRA_CONTEXTS_MAX, 0);
    write64(SIDRA_REG_CONTEXT_TABLE, context_table_);
    write32(SIDRA_REG_INT_ENABLE, SIDRA_INT_ADMIN | SIDRA_INT_FAULT);
    write32(SIDRA_REG_CONTROL, SIDRA_CONTROL_ENABLE);
}

void Card::flr() {
    const unsigned control = capability(PCI_CAP_ID_EXP) + PCI_EXP_DEVCTL;
    set_config(control, config(control, 2) | PCI_EXP_DEVCTL_BCR_FLR, 2);
}

void Card::msix_program(unsigned vector) {
    const uint64_t entry = SIDRA_BAR_MSIX_TABLE + vector * PCI_MSIX_ENTRY_SIZE;
    write32(entry + PCI_MSIX_ENTRY_LOWER_ADDR, static_cast<uint32_t>(msix_words_ + 4 * vector));
    write32(entry + PCI_MSIX_ENTRY_UPPER_ADDR, 0);
    write32(entry + PCI_MSIX_ENTRY_DATA, vector + 1);
    msix_mask(vector, false);
    msix_clear(vector);
}

void Card::msix_mask(unsigned vector, bool masked) {
    write32(SIDRA_BAR_MSIX_TABLE + vector * PCI_MSIX_ENTRY_SIZE + PCI_MSIX_ENTRY_VECTOR_CTRL, masked);
}

uint32_t Card::msix_word(unsigned vector) { return static_cast<uint32_t>(machine_.read(msix_words_ + 4 * vector, 4)); }
void Card::msix_clear(unsigned vector) { machine_.write(msix_words_ + 4 * vector, 0, 4); }

bool Card::wait_msix(unsigned vector) {
    return eventually([&] { return msix_word(vector) != 0; }) && msix_word(vector) == vector + 1;
}

int Card::admin(uint32_t op, uint64_t arg0, uint64_t arg1, uint64_t arg2) {
    tag_ = (tag_ + 1) & 0x7fff;
    write64(SIDRA_REG_ADMIN_ARG0, arg0);
    write64(SIDRA_REG_ADMIN_ARG1, arg1);
    write64(SIDRA_REG_ADMIN_ARG2, arg2);
    write32(SIDRA_REG_ADMIN_CMD, op | tag_ << 16);
    uint32_t status = 0;
    const bool done = eventually([&] {
        status = read32(SIDRA_REG_ADMIN_STATUS);
        return status >> 16 == tag_ && !(status & SIDRA_ADMIN_BUSY);
    });
    return done ? static_cast<int>(status & SIDRA_ADMIN_RESULT_MASK) : -1;
}

Context::Context(Card& card, uint32_t index)
    : card_(card), machine_(card.machine()), index_(index), root_(machine_.alloc(4096)) {
    machine_.fill(root_, 4096, 0);
    context_.page_table = root_;
    context_.queue_table = machine_.alloc(4096);
    machine_.fill(context_.queue_table, 4096, 0);
    context_.queue_count = 1;
    context_.generation = 7;
    context_.flags = SIDRA_HW_CONTEXT_VALID;
    entry_.ring = alloc(4096, &ring_bus_);
    entry_.write_index = alloc(4096, &index_bus_);
    entry_.state = machine_.alloc(4096);
    machine_.fill(entry_.state, 4096, 0);
    entry_.generation = 7;
    entry_.epoch = 1;
    entry_.flags = SIDRA_HW_QUEUE_VALID;
    entry_.ring_log2 = SIDRA_QUEUE_LOG2_MIN;
    entry_.priority = 1;
    entry_.vector = static_cast<uint16_t>(1 + index % (SIDRA_MSIX_VECTORS - 1));
    store();
}

void Context::set_weights(uint32_t count, uint32_t rows, uint32_t cols) {
    context_.weights_table = machine_.alloc(count * sizeof(sidra_hw_weights));
    context_.weights_count = count;
    for (uint32_t i = 0; i < count; i++) {
        sidra_hw_weights entry{};
        entry.uid = 70 + i;
        entry.tiles = machine_.alloc(4, 64);
        machine_.write(entry.tiles, i, 4);
        entry.rows = rows;
        entry.cols = cols;
        entry.tile_count = 1;
        entry.encoding = SIDRA_ENCODING_OFFSET;
        entry.flags =
            SIDRA_HW_WEIGHTS_VALID | SIDRA_HW_WEIGHTS_COMPUTE | SIDRA_HW_WEIGHTS_PROGRAM | SIDRA_HW_WEIGHTS_READBACK;
        machine_.write_bytes(context_.weights_table + i * sizeof entry, &entry, sizeof entry);
    }
    store();
}

void Context::store() {
    machine_.write_bytes(context_.queue_table, &entry_, sizeof entry_);
    machine_.write_bytes(card_.context_table() + index_ * sizeof context_, &context_, sizeof context_);
}

uint64_t Context::alloc(uint64_t bytes, uint64_t* bus) {
    const uint64_t pages = (bytes + 4095) / 4096, va = next_va_, memory = machine_.alloc(pages * 4096);
    next_va_ += (pages + 1) * 4096;
    machine_.fill(memory, pages * 4096, 0);
    for (uint64_t page = 0; page < pages; page++) map(va + page * 4096, memory + page * 4096);
    if (bus != nullptr) *bus = memory;
    return va;
}

void Context::map(uint64_t va, uint64_t address, uint64_t flags) {
    uint64_t table = root_;
    for (unsigned level = SIDRA_PT_LEVELS - 1; level > 0; level--) {
        const uint64_t slot = table + (va >> (12 + 9 * level) & 511) * 8;
        uint64_t entry = machine_.read(slot, 8);
        if (!(entry & SIDRA_PTE_VALID)) {
            entry = machine_.alloc(4096) | SIDRA_PTE_VALID;
            machine_.fill(entry & SIDRA_PTE_ADDR, 4096, 0);
            machine_.write(slot, entry, 8);
        }
        table = entry & SIDRA_PTE_ADDR;
    }
    machine_.write(table + (va >> 12 & 511) * 8, address | flags | SIDRA_PTE_VALID | SIDRA_PTE_LEAF, 8);
}

void Context::push(const sidra_cmd& cmd) {
    machine_.write_bytes(ring_bus_ + (next_ % 64) * SIDRA_CMD_SIZE, &cmd, sizeof cmd);
    next_++;
}

void Context::publish() { machine_.write(index_bus_, next_, 8); }
void Context::doorbell() { card_.write32(SIDRA_DOORBELL(index_, 0), 1); }

void Context::submit(std::initializer_list<sidra_cmd> cmds) {
    for (const sidra_cmd& cmd : cmds) push(cmd);
    publish();
    doorbell();
}

sidra_queue_state Context::state() {
    sidra_queue_state state;
    std::memcpy(&state, machine_.read_bytes(entry_.state, sizeof state).data(), sizeof state);
    return state;
}

bool Context::wait(uint64_t timeline) {
    sidra_queue_state now{};
    eventually([&] {
        now = state();
        return now.timeline >= timeline || now.run_state == SIDRA_QUEUE_FAULTED;
    });
    return now.timeline >= timeline;
}

bool Context::wait_fault() {
    return eventually([&] { return state().run_state == SIDRA_QUEUE_FAULTED; });
}

void Context::reset_queue() {
    next_ = entry_.start_index;
    publish();
    card_.admin(SIDRA_ADMIN_RESET_QUEUE, index_, 0);
    entry_.epoch++;
    store();
}

}  // namespace sidra::qtest
