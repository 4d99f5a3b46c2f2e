// SPDX-License-Identifier: MIT
// Forbidden driver actions: the result is a fault or an error, and the device continues.
#include <linux/pci_regs.h>

#include "fixture.h"

namespace sidra::qtest {
namespace {

using chip_test::fill;
using chip_test::nop;

class Hostile : public Qtest {
   protected:
    void SetUp() override {
        Qtest::SetUp();
        if (!IsSkipped()) bring_up();
    }
    void still_works() {
        Context context(*card, 60);
        context.submit({nop()});
        EXPECT_TRUE(context.wait(1));
        EXPECT_EQ(card->read32(SIDRA_REG_ID), SIDRA_ID_MAGIC);
    }
    // Addresses at which the device finds no memory.
    std::vector<uint64_t> nowhere() const {
        return {Machine::kRamSize,  // behind RAM
                card->bar0(),       // own registers
                card->bar0() + SIDRA_BAR_DOORBELL,
                card->bar0() + SIDRA_BAR_MSIX_TABLE,
                0xfee00000,              // interrupt controller
                0x000ffffffffff000ull};  // last page of all
    }
};

TEST_F(Hostile, PageTablesPointNowhere) {
    uint32_t index = 0;
    for (const uint64_t bus : nowhere()) {
        SCOPED_TRACE(bus);
        Context context(*card, index++);
        context.map(0x50000000, bus);
        context.submit({fill(0x50000000, 4096, 0xff, 1)});
        ASSERT_TRUE(context.wait_fault());
        EXPECT_EQ(context.state().fault.cause, SIDRA_FAULT_BUS);
        EXPECT_EQ(context.state().fault.address, 0x50000000u);
        EXPECT_EQ(context.state().timeline, 0u);
    }
    EXPECT_EQ(card->telemetry(offsetof(sidra_telemetry, doorbells)), index) << "nothing rang its own doorbell";
    still_works();
}

TEST_F(Hostile, TablesPointNowhere) {
    uint32_t index = 0;
    for (const uint64_t bus : nowhere()) {
        SCOPED_TRACE(bus);
        Context a(*card, index++), b(*card, index++), c(*card, index++), d(*card, index++);
        a.context_entry().page_table = bus;
        a.store();
        b.context_entry().queue_table = bus;
        b.store();
        c.entry().state = bus;
        c.store();
        d.context_entry().weights_table = bus;
        d.context_entry().weights_count = 4;
        d.store();
        a.submit({nop()});
        b.submit({nop()});
        c.submit({nop()});
        d.submit({chip_test::mvm(1, SIDRA_TYPE_S8, SIDRA_TYPE_S32, 1, 0x10000000, 256, 0x10000000, 1024)});
        ASSERT_TRUE(a.wait_fault());
        ASSERT_TRUE(d.wait_fault());
        EXPECT_EQ(a.state().fault.cause, SIDRA_FAULT_BUS);
        EXPECT_EQ(d.state().fault.cause, SIDRA_FAULT_BUS);
    }
    still_works();
}

TEST_F(Hostile, AdminWithWildAddresses) {
    const uint64_t good = machine->alloc(4096);
    std::vector<uint64_t> wild = nowhere();
    wild.insert(wild.end(), {~0ull, ~0ull - 7, 0x8000000000000000ull, Machine::kRamSize - 8});
    for (const uint64_t bus : wild) {
        SCOPED_TRACE(bus);
        EXPECT_EQ(card->admin(SIDRA_ADMIN_TEST_DMA, good, bus, 64), SIDRA_ADMIN_BUS_ERROR);
        EXPECT_EQ(card->admin(SIDRA_ADMIN_TEST_DMA, bus, good, 64), SIDRA_ADMIN_BUS_ERROR);
    }
    card->write64(SIDRA_REG_CONTEXT_TABLE, 0xfffffffffffff000ull);
    for (uint32_t context = 0; context < SIDRA_CONTEXTS_MAX; context++) card->write32(SIDRA_DOORBELL(context, 0), 1);
    EXPECT_EQ(card->admin(SIDRA_ADMIN_QUIESCE_DEVICE), SIDRA_ADMIN_OK);
    EXPECT_EQ(card->admin(SIDRA_ADMIN_RESUME_DEVICE), SIDRA_ADMIN_OK);
    card->write64(SIDRA_REG_CONTEXT_TABLE, card->context_table());
    still_works();
}

TEST_F(Hostile, MsixIntoOwnRegisters) {
    const uint64_t entry = SIDRA_BAR_MSIX_TABLE + 9 * PCI_MSIX_ENTRY_SIZE;
    card->write32(entry + PCI_MSIX_ENTRY_LOWER_ADDR, static_cast<uint32_t>(card->bar0() + SIDRA_REG_TEST_IRQ));
    card->write32(entry + PCI_MSIX_ENTRY_DATA, 9);  // would trigger itself endlessly
    card->write32(SIDRA_REG_TEST_IRQ, 9);
    card->write32(SIDRA_REG_TEST_IRQ, 10);
    EXPECT_TRUE(card->wait_msix(10));
    card->msix_mask(9, true);
    still_works();
}

TEST_F(Hostile, BusMasterOff) {
    Context context(*card, 0);
    card->set_bus_master(false);
    EXPECT_EQ(card->admin(SIDRA_ADMIN_TEST_DMA, machine->alloc(64), machine->alloc(64), 64), SIDRA_ADMIN_BUS_ERROR);
    card->write32(SIDRA_REG_TEST_IRQ, 4);
    context.submit({nop()});
    EXPECT_EQ(card->admin(SIDRA_ADMIN_QUIESCE_DEVICE), SIDRA_ADMIN_OK);
    EXPECT_EQ(card->admin(SIDRA_ADMIN_RESUME_DEVICE), SIDRA_ADMIN_OK);
    card->set_bus_master(true);
    EXPECT_EQ(card->msix_word(4), 0u) << "the message went nowhere";
    EXPECT_EQ(context.state().timeline, 0u);
    context.doorbell();  // could not be loaded then; now it can
    EXPECT_TRUE(context.wait(1));
    still_works();
}

TEST_F(Hostile, EveryRegisterWithGarbage) {
    uint64_t value = 0x9e3779b97f4a7c15;
    for (uint64_t offset = 0; offset < 0x400; offset += 4) {
        if (offset == SIDRA_REG_RESET) continue;
        value = value * 6364136223846793005 + 1442695040888963407;
        card->write32(offset, static_cast<uint32_t>(value >> 32));
        if (offset % 8 == 0) card->write64(offset, value);
        card->read32(offset);
    }
    card->flr();
    card->enable_pci();
    card->bring_up();
    still_works();
}

}  // namespace
}  // namespace sidra::qtest
