// SPDX-License-Identifier: MIT
// The sidra function of a machine, and the driver's share of the contract in guest memory: configuration space, BARs,
// MSI-X, tables, queues.
#ifndef SIDRA_TESTS_QTEST_CARD_H
#define SIDRA_TESTS_QTEST_CARD_H

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "machine.h"
#include "sidra_hw.h"

namespace sidra::qtest {

inline constexpr uint64_t kReadWrite = SIDRA_PTE_READ | SIDRA_PTE_WRITE;

class Card {
   public:
    // devfn as given with addr=; `number` selects the addresses of the BARs. Neither probes nor enables the card.
    Card(Machine& machine, unsigned devfn, unsigned number = 0, unsigned bus = 0);

    uint32_t config(unsigned offset, unsigned size) { return machine_.config(devfn_, offset, size, bus_); }
    void set_config(unsigned offset, uint32_t value, unsigned size) {
        machine_.set_config(devfn_, offset, value, size, bus_);
    }
    unsigned capability(uint8_t id);  // offset; 0: none
    unsigned extended_capability(uint16_t id);
    uint64_t bar_size(unsigned bar);  // of a 64-bit BAR, by writing ones

    // BARs, memory decoding, bus mastering, MSI-X on.
    void enable_pci();
    void set_bus_master(bool on);
    // As the driver does it: identity, context table, interrupts, ENABLE.
    void bring_up();
    void flr();

    uint32_t read32(uint64_t offset) { return static_cast<uint32_t>(machine_.read(bar0_ + offset, 4)); }
    uint64_t read64(uint64_t offset) { return machine_.read(bar0_ + offset, 8); }
    // A word of the telemetry page, as it is now.
    uint64_t telemetry(size_t offset) {
        read32(SIDRA_BAR_TELEMETRY);
        return read64(SIDRA_BAR_TELEMETRY + offset);
    }
    void write32(uint64_t offset, uint32_t value) { machine_.write(bar0_ + offset, value, 4); }
    void write64(uint64_t offset, uint64_t value) { machine_.write(bar0_ + offset, value, 8); }
    uint64_t bar0() const { return bar0_; }
    uint64_t bar2() const { return bar2_; }

    // Each vector writes its number + 1 into its own word of memory.
    void msix_program(unsigned vector);
    void msix_mask(unsigned vector, bool masked);
    uint32_t msix_word(unsigned vector);
    void msix_clear(unsigned vector);
    bool msix_pending(unsigned vector) { return read32(SIDRA_BAR_MSIX_PBA + vector / 32 * 4) >> vector % 32 & 1; }
    bool wait_msix(unsigned vector);

    // enum sidra_admin_result; -1: does not end.
    int admin(uint32_t op, uint64_t arg0 = 0, uint64_t arg1 = 0, uint64_t arg2 = 0);

    Machine& machine() { return machine_; }
    uint64_t context_table() const { return context_table_; }

   private:
    Machine& machine_;
    const unsigned devfn_, bus_;
    const uint64_t bar0_, bar2_;
    uint64_t msix_words_;
    uint64_t context_table_ = 0;
    uint32_t tag_ = 0;
};

// A context with page tables, and one user queue of 64 packets with reports off.
class Context {
   public:
    Context(Card& card, uint32_t index);

    // Device address of zeroed pages; *bus: where they are.
    uint64_t alloc(uint64_t bytes, uint64_t* bus = nullptr);
    void map(uint64_t va, uint64_t address, uint64_t flags = kReadWrite);
    void push(const sidra_cmd& cmd);  // into the ring
    void publish();                   // write index
    void doorbell();
    void submit(std::initializer_list<sidra_cmd> cmds);
    void arm(uint64_t value) { card_.write64(SIDRA_ARM(index_, 0), value); }
    bool wait(uint64_t timeline);  // false: a fault or a timeout
    bool wait_fault();
    sidra_queue_state state();
    uint64_t next() const { return next_; }
    sidra_hw_queue& entry() { return entry_; }
    sidra_hw_context& context_entry() { return context_; }
    void store();  // both entries
    // Weights 0 .. count - 1 of one tile each, on the crossbar with the same number; stores.
    void set_weights(uint32_t count, uint32_t rows, uint32_t cols);
    void reset_queue();

   private:
    Card& card_;
    Machine& machine_;
    const uint32_t index_;
    uint64_t root_;
    uint64_t next_va_ = 0x10000000;
    uint64_t ring_bus_ = 0, index_bus_ = 0;
    uint64_t next_ = 0;
    sidra_hw_context context_{};
    sidra_hw_queue entry_{};
};

}  // namespace sidra::qtest

#endif
