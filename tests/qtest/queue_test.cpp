// SPDX-License-Identifier: MIT
// Work through guest memory, and interrupts.
#include <linux/pci_regs.h>

#include "fixture.h"

namespace sidra::qtest {
namespace {

using chip_test::copy;
using chip_test::fill;
using chip_test::nop;

class Queue : public Qtest {
   protected:
    void SetUp() override {
        Qtest::SetUp();
        if (!IsSkipped()) bring_up();
    }
};

TEST_F(Queue, FillCopyAcrossScatteredPages) {
    Context context(*card, 3);
    constexpr uint64_t kBytes = 5 * 4096;
    std::vector<uint64_t> from, to;
    const uint64_t source = 0x20000000, target = 0x30000000;
    for (uint64_t page = 0; page < 6; page++) {  // neighbours on neither side
        from.push_back(machine->alloc(4096 * 2));
        to.push_back(machine->alloc(4096 * 3));
        machine->fill(from.back(), 4096, 0);
        machine->fill(to.back(), 4096, 0xee);
        context.map(source + page * 4096, from.back(), SIDRA_PTE_READ | SIDRA_PTE_WRITE);
        context.map(target + page * 4096, to.back(), SIDRA_PTE_WRITE);
    }
    context.submit({fill(source, kBytes, 0x0123456789abcdef, 8), nop(), copy(target + 24, source + 8, kBytes - 8)});
    ASSERT_TRUE(context.wait(3)) << context.state().fault.cause;
    EXPECT_EQ(machine->read(from[4] + 4088, 8), 0x0123456789abcdefu);
    EXPECT_EQ(machine->read(from[5], 8), 0u);
    EXPECT_EQ(machine->read(to[0] + 16, 8), 0xeeeeeeeeeeeeeeeeu);
    EXPECT_EQ(machine->read(to[0] + 24, 8), 0x0123456789abcdefu);
    EXPECT_EQ(machine->read(to[5] + 8, 8), 0x0123456789abcdefu);
    EXPECT_EQ(machine->read(to[5] + 16, 8), 0xeeeeeeeeeeeeeeeeu);
}

TEST_F(Queue, RingGoesRound) {
    Context context(*card, 0);
    uint64_t bus;
    const uint64_t word = context.alloc(4096, &bus);
    for (uint64_t round = 0; round < 40; round++) {
        context.submit({fill(word, 8, round, 8), nop(), nop(), nop(), nop()});
        ASSERT_TRUE(context.wait(context.next()));
        ASSERT_EQ(machine->read(bus, 8), round);
    }
    const sidra_queue_state state = context.state();
    EXPECT_EQ(state.timeline, 200u);
    EXPECT_EQ(state.run_state, uint32_t{SIDRA_QUEUE_RUNNING});
    EXPECT_EQ(state.generation, 7u);
}

TEST_F(Queue, L3ThroughPageTableAndWindow) {
    Context context(*card, 0);
    const uint64_t local = 0x40000000;
    context.map(local, 0x3000, kReadWrite | SIDRA_PTE_LOCAL);
    uint64_t bus;
    const uint64_t out = context.alloc(4096, &bus);
    machine->write(card->bar2() + 0x3000, 0x1122334455667788, 8);
    context.submit({copy(out, local, 8), fill(local + 8, 8, 0x55, 1)});
    ASSERT_TRUE(context.wait(2));
    EXPECT_EQ(machine->read(bus, 8), 0x1122334455667788u);
    EXPECT_EQ(machine->read(card->bar2() + 0x3008, 8), 0x5555555555555555u);
}

// The window is memory on the bus, also for the device itself.
TEST_F(Queue, BusAddressOfOwnL3Window) {
    Context context(*card, 0);
    context.map(0x40000000, card->bar2() + 0x5000);
    context.submit({fill(0x40000000, 4096, 0x77, 1)});
    ASSERT_TRUE(context.wait(1));
    EXPECT_EQ(machine->read(card->bar2() + 0x5ff8, 8), 0x7777777777777777u);
}

TEST_F(Queue, ArmRaisesOnce) {
    Context context(*card, 0);
    context.arm(3);
    context.submit({nop(), nop()});
    ASSERT_TRUE(context.wait(2));
    EXPECT_EQ(card->msix_word(1), 0u);
    context.submit({nop()});
    ASSERT_TRUE(card->wait_msix(1));
    EXPECT_GE(context.state().timeline, 3u) << "visible before the interrupt";
    card->msix_clear(1);
    context.submit({nop()});
    ASSERT_TRUE(context.wait(4));
    context.arm(2);  // already reached
    EXPECT_TRUE(card->wait_msix(1));
    EXPECT_EQ(card->telemetry(offsetof(sidra_telemetry, interrupts)), 2u);
}

TEST_F(Queue, MaskedVectorsBecomePending) {
    card->msix_mask(5, true);
    card->write32(SIDRA_REG_TEST_IRQ, 5);
    ASSERT_TRUE(eventually([&] { return card->msix_pending(5); }));
    EXPECT_EQ(card->msix_word(5), 0u);
    card->msix_mask(5, false);
    EXPECT_TRUE(card->wait_msix(5));
    EXPECT_FALSE(card->msix_pending(5));

    const unsigned flags = card->capability(PCI_CAP_ID_MSIX) + PCI_MSIX_FLAGS;
    card->set_config(flags, PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL, 2);
    card->write32(SIDRA_REG_TEST_IRQ, 6);
    ASSERT_TRUE(eventually([&] { return card->msix_pending(6); }));
    card->set_config(flags, PCI_MSIX_FLAGS_ENABLE, 2);
    EXPECT_TRUE(card->wait_msix(6));

    card->set_config(flags, 0, 2);  // off: lost
    card->write32(SIDRA_REG_TEST_IRQ, 7);
    card->write32(SIDRA_REG_TEST_IRQ, SIDRA_MSIX_VECTORS);
    EXPECT_EQ(card->admin(SIDRA_ADMIN_NONE), SIDRA_ADMIN_BAD_OP);
    card->set_config(flags, PCI_MSIX_FLAGS_ENABLE, 2);
    card->write32(SIDRA_REG_TEST_IRQ, 8);
    EXPECT_TRUE(card->wait_msix(8));
    EXPECT_EQ(card->msix_word(7), 0u);
}

TEST_F(Queue, AdminInterruptAndTestDma) {
    const uint64_t from = machine->alloc(4096), to = machine->alloc(4096);
    machine->write(from + 8, 0xfeedface, 8);
    machine->fill(to, 4096, 0);
    EXPECT_EQ(card->admin(SIDRA_ADMIN_TEST_DMA, from, to, 4096), SIDRA_ADMIN_OK);
    EXPECT_EQ(machine->read(to + 8, 8), 0xfeedfaceu);
    EXPECT_TRUE(card->wait_msix(SIDRA_MSIX_ADMIN));
    EXPECT_TRUE(card->read32(SIDRA_REG_INT_STATUS) & SIDRA_INT_ADMIN);
    card->write32(SIDRA_REG_INT_STATUS, SIDRA_INT_ADMIN);
    EXPECT_FALSE(card->read32(SIDRA_REG_INT_STATUS) & SIDRA_INT_ADMIN);
}

TEST_F(Queue, WeightsComputeAnExactSum) {
    Context context(*card, 0);
    sidra_hw_weights weights{};
    weights.uid = 42;
    weights.tiles = machine->alloc(4096);
    machine->write(weights.tiles, 1, 4);  // crossbar 1
    weights.rows = 256;
    weights.cols = 256;
    weights.tile_count = 1;
    weights.flags = SIDRA_HW_WEIGHTS_VALID | SIDRA_HW_WEIGHTS_COMPUTE | SIDRA_HW_WEIGHTS_PROGRAM;
    weights.encoding = SIDRA_ENCODING_OFFSET;
    context.context_entry().weights_table = machine->alloc(4096);
    context.context_entry().weights_count = 1;
    machine->write_bytes(context.context_entry().weights_table, &weights, sizeof weights);
    context.store();
    uint64_t matrix_bus, in_bus, out_bus;
    const uint64_t matrix = context.alloc(65536, &matrix_bus), in = context.alloc(4096, &in_bus),
                   out = context.alloc(4096, &out_bus);
    std::vector<int8_t> w(65536);
    std::vector<int8_t> x(256);
    for (int k = 0; k < 256; k++) {
        x[static_cast<size_t>(k)] = static_cast<int8_t>(k * 37 - 90);
        for (int n = 0; n < 256; n++) w[static_cast<size_t>(k * 256 + n)] = static_cast<int8_t>(k * 11 + n * 5 - 100);
    }
    machine->write_bytes(matrix_bus, w.data(), w.size());
    machine->write_bytes(in_bus, x.data(), x.size());
    context.submit({chip_test::program(0, 0, 256, 0, 256, matrix, 256),
                    chip_test::mvm(0, SIDRA_TYPE_S8, SIDRA_TYPE_S32, 1, in, 256, out, 1024)});
    ASSERT_TRUE(context.wait(2)) << context.state().fault.cause;
    for (size_t n = 0; n < 256; n++) {
        int32_t sum = 0;
        for (size_t k = 0; k < 256; k++) sum += x[k] * w[k * 256 + n];
        ASSERT_EQ(static_cast<int32_t>(machine->read(out_bus + 4 * n, 4)), sum) << n;
    }
}

}  // namespace
}  // namespace sidra::qtest
