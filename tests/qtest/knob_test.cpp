// SPDX-License-Identifier: MIT
// Fault knobs by qom-set: they arrive, by name and value. Their effects are tested with the chip.
#include <linux/pci_regs.h>

#include "fixture.h"
#include "sidra_chip.h"

namespace sidra::qtest {
namespace {

using chip_test::nop;

class Knob : public Qtest {
   protected:
    void SetUp() override {
        Qtest::SetUp();
        if (!IsSkipped()) bring_up();
    }
    bool set(const std::string& name, const std::string& value) {
        return machine->set_property("card", name, value).find("error") == std::string::npos;
    }
};

TEST_F(Knob, AllNamesExistAndReadBack) {
    for (const char* name : {"dma-error-at", "lose-msix", "link-lost", "corrupt-fetch", "slow-tile-ns",
                             "no-quiesce-ack", "stall", "lie"}) {
        SCOPED_TRACE(name);
        EXPECT_TRUE(set(name, "1"));
        EXPECT_NE(
            machine
                ->qmp(std::string(
                          R"({"execute": "qom-get", "arguments": {"path": "/machine/peripheral/card", "property": ")") +
                      name + "\"}}")
                .find("\"return\": 1"),
            std::string::npos);
        EXPECT_TRUE(set(name, "0"));
    }
    EXPECT_TRUE(set("adc-offset", "-17"));
    EXPECT_TRUE(set("temperature-mc", "-20000"));
    EXPECT_FALSE(set("temperature-mc", "250001"));
    EXPECT_TRUE(set("stuck-cell", "4328718536"));  // crossbar 1
    EXPECT_TRUE(set("stuck-cell", "18446744073709551615"));
    EXPECT_FALSE(set("no-such-knob", "1"));
    EXPECT_FALSE(set("stall", "2"));
    EXPECT_TRUE(set("no-quiesce-ack", "3"));
    EXPECT_FALSE(set("no-quiesce-ack", "4"));
    EXPECT_TRUE(set("no-quiesce-ack", "0"));
    EXPECT_FALSE(set("stall", "\"yes\""));
    EXPECT_FALSE(set("spurious-msix", "32"));
    EXPECT_FALSE(set("stuck-cell", "34359738368"));  // crossbar 8 of 8
}

TEST_F(Knob, LinkLost) {
    const unsigned msix = card->capability(PCI_CAP_ID_MSIX);
    machine->write(card->bar2() + 8, 0xabcd, 8);
    ASSERT_TRUE(set("link-lost", "1"));
    EXPECT_EQ(card->read32(SIDRA_REG_ID), ~0u);
    EXPECT_EQ(card->read64(SIDRA_REG_CLOCK), ~0ull);
    EXPECT_EQ(card->read32(SIDRA_BAR_MSIX_TABLE), ~0u);
    EXPECT_EQ(machine->read(card->bar2() + 8, 8), ~0ull);
    EXPECT_EQ(card->config(PCI_VENDOR_ID, 4), ~0u);
    EXPECT_EQ(card->config(PCI_COMMAND, 2), 0xffffu);
    EXPECT_EQ(card->config(msix, 1), 0xffu);
    card->set_config(PCI_COMMAND, 0, 2);
    machine->write(card->bar2() + 8, 1, 8);
    card->msix_mask(3, true);
    ASSERT_TRUE(set("link-lost", "0"));
    EXPECT_EQ(card->read32(SIDRA_REG_ID), SIDRA_ID_MAGIC);
    EXPECT_EQ(machine->read(card->bar2() + 8, 8), 0xabcdu) << "what was written meanwhile is lost";
    EXPECT_EQ(card->config(PCI_VENDOR_ID, 2), SIDRA_PCI_VENDOR_ID);
    EXPECT_EQ(card->config(PCI_COMMAND, 2), PCI_COMMAND_MEMORY) << "no master of the bus";
    card->set_bus_master(true);
    card->write32(SIDRA_REG_TEST_IRQ, 3);
    EXPECT_TRUE(card->wait_msix(3));
}

// When the knob's reply arrives, work in progress has stopped; and it does not resume by itself.
TEST_F(Knob, LinkLostUnderLoad) {
    constexpr uint64_t kBytes = 4 << 20;
    Context context(*card, 0);
    const uint64_t a = context.alloc(kBytes), b = context.alloc(kBytes);
    for (int i = 0; i < 60; i++) context.push(chip_test::copy(i % 2 ? a : b, i % 2 ? b : a, kBytes));
    context.publish();
    context.doorbell();
    ASSERT_TRUE(context.wait(1));
    ASSERT_TRUE(set("link-lost", "1"));
    const uint64_t progress = context.state().progress;
    for (const char* lost : {"1", "1", "0"}) {
        ASSERT_TRUE(set("link-lost", lost));
        EXPECT_EQ(context.state().progress, progress);
    }
    card->set_bus_master(true);
    card->write32(SIDRA_REG_RESET, SIDRA_RESET_MAGIC);
    ASSERT_TRUE(eventually([&] { return (card->read32(SIDRA_REG_STATUS) & SIDRA_STATUS_READY) != 0; }));
    card->bring_up();
    Context again(*card, 1);
    again.submit({nop()});
    EXPECT_TRUE(again.wait(1));
}

TEST_F(Knob, SpuriousAndLostInterrupts) {
    ASSERT_TRUE(set("spurious-msix", "11"));
    EXPECT_TRUE(card->wait_msix(11));
    ASSERT_TRUE(set("lose-msix", "1"));
    card->write32(SIDRA_REG_TEST_IRQ, 12);
    card->write32(SIDRA_REG_TEST_IRQ, 13);
    EXPECT_TRUE(card->wait_msix(13));
    EXPECT_EQ(card->msix_word(12), 0u);
}

TEST_F(Knob, StallAndGoOn) {
    Context context(*card, 0);
    ASSERT_TRUE(set("stall", "1"));
    context.submit({nop()});
    EXPECT_EQ(context.state().timeline, 0u);
    ASSERT_TRUE(set("stall", "0"));
    EXPECT_TRUE(context.wait(1));
}

TEST_F(Knob, DmaErrorFaultsTheQueue) {
    Context context(*card, 0);
    const uint64_t a = context.alloc(65536), b = context.alloc(65536);
    context.submit({nop()});
    ASSERT_TRUE(context.wait(1));
    ASSERT_TRUE(set("dma-error-at", "4"));
    context.submit({chip_test::copy(b, a, 65536)});
    ASSERT_TRUE(context.wait_fault());
    EXPECT_EQ(context.state().fault.cause, SIDRA_FAULT_BUS);
    EXPECT_TRUE(eventually([&] { return (card->read32(SIDRA_REG_INT_STATUS) & SIDRA_INT_FAULT) != 0; }));
    context.reset_queue();
    context.submit({nop()});
    EXPECT_TRUE(context.wait(1));
}

TEST_F(Knob, Lie) {
    ASSERT_TRUE(set("lie", std::to_string(SIDRA_LIE_L3_SIZE)));
    EXPECT_EQ(card->read64(SIDRA_REG_L3_SIZE), 1ull << 62);
    EXPECT_EQ(card->read64(SIDRA_REG_L3_SIZE), 1u << 20);
    EXPECT_FALSE(set("lie", std::to_string(SIDRA_LIE_COUNT)));
}

TEST_F(Knob, OnTheCommandLine) {
    machine.reset();
    start({std::string(kSmallCard) + ",link-lost=1"});
    EXPECT_EQ(card->config(PCI_VENDOR_ID, 4), ~0u);
    ASSERT_TRUE(set("link-lost", "0"));
    card->enable_pci();
    EXPECT_EQ(card->read32(SIDRA_REG_ID), SIDRA_ID_MAGIC);
}

}  // namespace
}  // namespace sidra::qtest
