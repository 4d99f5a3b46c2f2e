// SPDX-License-Identifier: MIT
// Fault knobs by qom-set. What each does to the chip is tested with the chip; here: that they arrive, by name and
// value.
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
    for (const char* name :
         {"dma-error-at", "lose-msix", "link-lost", "corrupt-fetch", "slow-tile-ns", "no-quiesce-ack", "stall"}) {
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
    EXPECT_TRUE(set("stuck-cell", "4328718536"));  // crossbar 1
    EXPECT_TRUE(set("stuck-cell", "18446744073709551615"));
    EXPECT_FALSE(set("no-such-knob", "1"));
    EXPECT_FALSE(set("stall", "2"));
    EXPECT_FALSE(set("stall", "\"yes\""));
    EXPECT_FALSE(set("spurious-msix", "32"));
    EXPECT_FALSE(set("stuck-cell", "34359738368"));  // crossbar 8 of 8
}

TEST_F(Knob, LinkLost) {
    ASSERT_TRUE(set("link-lost", "1"));
    EXPECT_EQ(card->read32(SIDRA_REG_ID), ~0u);
    EXPECT_EQ(card->read64(SIDRA_REG_CLOCK), ~0ull);
    ASSERT_TRUE(set("link-lost", "0"));
    EXPECT_EQ(card->read32(SIDRA_REG_ID), SIDRA_ID_MAGIC);
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

TEST_F(Knob, OnTheCommandLine) {
    machine.reset();
    start({std::string(kSmallCard) + ",link-lost=1"});
    card->enable_pci();
    EXPECT_EQ(card->read32(SIDRA_REG_ID), ~0u);
    ASSERT_TRUE(set("link-lost", "0"));
    EXPECT_EQ(card->read32(SIDRA_REG_ID), SIDRA_ID_MAGIC);
}

}  // namespace
}  // namespace sidra::qtest
