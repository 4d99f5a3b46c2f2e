// SPDX-License-Identifier: MIT
// The kinds of reset, power states, and stopping the machine, with work under way.
#include <linux/pci_regs.h>

#include "fixture.h"

namespace sidra::qtest {
namespace {

using chip_test::copy;
using chip_test::fill;
using chip_test::nop;

constexpr uint64_t kBytes = 4 << 20;

class Reset : public Qtest {
   protected:
    void SetUp() override {
        Qtest::SetUp();
        if (!IsSkipped()) bring_up();
    }
    // A queue with much to do, under way.
    std::unique_ptr<Context> busy(uint32_t index = 0) {
        auto context = std::make_unique<Context>(*card, index);
        const uint64_t a = context->alloc(kBytes), b = context->alloc(kBytes);
        for (int i = 0; i < 60; i++) context->push(copy(i % 2 ? a : b, i % 2 ? b : a, kBytes));
        context->publish();
        context->doorbell();
        EXPECT_TRUE(context->wait(1));
        return context;
    }
    void works_from_scratch(uint32_t generation) {
        EXPECT_EQ(card->read32(SIDRA_REG_ID), SIDRA_ID_MAGIC);
        EXPECT_EQ(card->read32(SIDRA_REG_GENERATION), generation);
        EXPECT_EQ(card->read32(SIDRA_REG_BOOT_REASON), uint32_t{SIDRA_BOOT_RESET});
        EXPECT_EQ(card->read32(SIDRA_REG_CONTROL), 0u);
        EXPECT_EQ(card->read64(SIDRA_REG_CONTEXT_TABLE), 0u);
        card->bring_up();
        Context context(*card, 1);
        context.submit({nop()});
        EXPECT_TRUE(context.wait(1));
    }
};

TEST_F(Reset, FunctionLevel) {
    auto context = busy();
    machine->write(card->bar2() + 0x2000, 0xabcd, 8);
    card->flr();
    const uint64_t timeline = context->state().timeline;
    EXPECT_EQ(card->config(PCI_COMMAND, 2), 0u);
    EXPECT_EQ(card->config(card->capability(PCI_CAP_ID_MSIX) + PCI_MSIX_FLAGS, 2) & PCI_MSIX_FLAGS_ENABLE, 0u);
    EXPECT_EQ(card->config(card->capability(PCI_CAP_ID_EXP) + PCI_EXP_DEVCTL, 2) & PCI_EXP_DEVCTL_BCR_FLR, 0u);
    card->enable_pci();
    EXPECT_EQ(machine->read(card->bar2() + 0x2000, 8), 0xabcdu) << "L3 survives";
    works_from_scratch(1);
    EXPECT_EQ(context->state().timeline, timeline) << "nothing was written after the reset";
    card->flr();
    card->enable_pci();
    works_from_scratch(2);
}

TEST_F(Reset, ByRegister) {
    auto context = busy();
    card->write32(SIDRA_REG_RESET, SIDRA_RESET_MAGIC + 1);
    EXPECT_EQ(card->read32(SIDRA_REG_GENERATION), 0u);
    card->write32(SIDRA_REG_RESET, SIDRA_RESET_MAGIC);
    ASSERT_TRUE(eventually([&] { return (card->read32(SIDRA_REG_STATUS) & SIDRA_STATUS_READY) != 0; }));
    works_from_scratch(1);
}

TEST_F(Reset, OfTheMachine) {
    auto context = busy();
    EXPECT_EQ(machine->qmp(R"({"execute": "system_reset"})").find("error"), std::string::npos);
    ASSERT_TRUE(eventually([&] { return card->config(PCI_COMMAND, 2) == 0; }));
    machine->map_config();
    card->enable_pci();
    works_from_scratch(1);
}

TEST_F(Reset, WithNoQuiesceAck) {
    auto context = busy();
    machine->set_property("card", "no-quiesce-ack", "1");
    card->write32(SIDRA_REG_ADMIN_CMD, SIDRA_ADMIN_QUIESCE_DEVICE | 5 << 16);
    card->flr();
    machine->set_property("card", "no-quiesce-ack", "0");
    card->enable_pci();
    EXPECT_EQ(card->read32(SIDRA_REG_ADMIN_STATUS), uint32_t{SIDRA_ADMIN_ABORTED} | 5u << 16);
    works_from_scratch(1);
}

TEST_F(Reset, OfAContextInThePlaceOfAQuiesce) {
    auto context = busy();
    machine->set_property("card", "no-quiesce-ack", "1");
    card->write32(SIDRA_REG_ADMIN_CMD, SIDRA_ADMIN_QUIESCE_CONTEXT | 5 << 16);
    card->write32(SIDRA_REG_ADMIN_CMD, SIDRA_ADMIN_RESET_CONTEXT | 6 << 16);
    EXPECT_TRUE(
        eventually([&] { return card->read32(SIDRA_REG_ADMIN_STATUS) == (uint32_t{SIDRA_ADMIN_OK} | 6u << 16); }));
    machine->set_property("card", "no-quiesce-ack", "0");
}

TEST_F(Reset, StoppedMachineStandsStill) {
    auto context = busy();
    EXPECT_EQ(machine->qmp(R"({"execute": "stop"})").find("error"), std::string::npos);
    const sidra_queue_state stopped = context->state();
    EXPECT_EQ(context->state().progress, stopped.progress);
    context->doorbell();
    EXPECT_EQ(context->state().progress, stopped.progress);
    EXPECT_EQ(machine->qmp(R"({"execute": "cont"})").find("error"), std::string::npos);
    EXPECT_TRUE(context->wait(60));
}

TEST_F(Reset, PowerStates) {
    Context context(*card, 0);
    const unsigned control = card->capability(PCI_CAP_ID_PM) + PCI_PM_CTRL;
    machine->write(card->bar2() + 0x2000, 0xabcd, 8);
    card->set_config(control, 3, 2);
    EXPECT_EQ(machine->read(card->bar0() + SIDRA_REG_ID, 4), 0u) << "no memory decoding in D3";
    card->set_config(control, 0, 2);
    EXPECT_EQ(card->read32(SIDRA_REG_GENERATION), 0u) << "D3hot keeps everything";
    EXPECT_EQ(machine->read(card->bar2() + 0x2000, 8), 0xabcdu);
    context.submit({nop()});
    EXPECT_TRUE(context.wait(1));

    auto load = busy(2);
    card->set_config(control, 3, 2);
    const uint64_t progress = load->state().progress;
    EXPECT_EQ(load->state().progress, progress) << "no DMA in D3";
    card->flr();  // back to D0
    card->enable_pci();
    works_from_scratch(1);
}

}  // namespace
}  // namespace sidra::qtest
