// SPDX-License-Identifier: MIT
// One machine for each test, with one card `card` at slot 4 unless the test wants others. Without a QEMU binary the
// test fails and says how to build it.
#ifndef SIDRA_TESTS_QTEST_FIXTURE_H
#define SIDRA_TESTS_QTEST_FIXTURE_H

#include <gtest/gtest.h>
#include <linux/pci_regs.h>

#include <memory>
#include <string>
#include <vector>

#include "card.h"
#include "machine.h"
#include "packets.h"

namespace sidra::qtest {

inline constexpr unsigned kSlot4 = 4 << 3, kSlot5 = 5 << 3, kPort = 6 << 3;
inline constexpr char kSmallCard[] = "sidra,id=card,addr=4.0,profile=small,workers=2,seed=7";

class Qtest : public ::testing::Test {
   protected:
    void SetUp() override {
        std::string why;
        ASSERT_FALSE(qemu_binary(&why).empty()) << why;
    }
    // A machine with these devices; `card` is the one in slot 4.
    void start(const std::vector<std::string>& devices = {kSmallCard}) {
        std::vector<std::string> arguments;
        for (const std::string& device : devices) arguments.insert(arguments.end(), {"-device", device});
        machine = std::make_unique<Machine>(arguments);
        card = std::make_unique<Card>(*machine, kSlot4);
    }
    // And all the way to running queues.
    void bring_up(const std::vector<std::string>& devices = {kSmallCard}) {
        start(devices);
        card->enable_pci();
        card->bring_up();
    }
    // A machine with `card` behind a root port, which releases it at power_off(): native hotplug.
    void start_behind_port(std::vector<std::string> arguments = {}) {
        arguments.insert(arguments.end(), {"-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off", "-device",
                                           "pcie-root-port,id=rp,addr=6.0,chassis=1,slot=1", "-device",
                                           "sidra,id=card,bus=rp,profile=small,executors=2,workers=2"});
        machine = std::make_unique<Machine>(arguments);
        machine->set_config(kPort, PCI_PRIMARY_BUS, 0x00010100, 4);
        machine->set_config(kPort, PCI_MEMORY_BASE, 0xc3f0c000 & 0xfff0fff0, 4);
        machine->set_config(kPort, PCI_PREF_MEMORY_BASE, 0xd0f0d000 & 0xfff0fff0, 4);
        machine->set_config(kPort, PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 2);
        card = std::make_unique<Card>(*machine, 0, 0, 1);
        ASSERT_EQ(card->config(PCI_VENDOR_ID, 2), SIDRA_PCI_VENDOR_ID);
        unsigned express = machine->config(kPort, PCI_CAPABILITY_LIST, 1);
        while (machine->config(kPort, express, 1) != PCI_CAP_ID_EXP)
            ASSERT_NE(express = machine->config(kPort, express + PCI_CAP_LIST_NEXT, 1), 0u);
        slot_control = express + PCI_EXP_SLTCTL;
        machine->set_config(kPort, slot_control, PCI_EXP_SLTCTL_PWR_IND_ON, 2);
    }
    // The first packets of a context. When it returns, the timeline is at 2, and a product that takes at least three
    // times as long goes on in the same slice.
    void begin_long_slice(Context& context, uint64_t ns) {
        const uint64_t weights = context.alloc(4096), out = context.alloc(4096);
        context.set_weights(1, 32, 32);
        context.submit({chip_test::program(0, 0, 32, 0, 32, weights, 32)});
        ASSERT_TRUE(context.wait(1));
        ASSERT_NE(machine->set_property("card", "slow-tile-ns", std::to_string(ns)).find("return"), std::string::npos);
        const uint64_t a = context.alloc(1 << 20), b = context.alloc(1 << 20);
        context.submit({chip_test::copy(b, a, 1 << 20),
                        chip_test::mvm(0, SIDRA_TYPE_U8, SIDRA_TYPE_S32, 3, weights, 32, out, 128)});
        ASSERT_TRUE(context.wait(2)) << "the product is next in the same slice";
    }
    static constexpr uint16_t kPowerOff = PCI_EXP_SLTCTL_PWR_IND_OFF | PCI_EXP_SLTCTL_PWR_OFF;
    void power_off() { machine->set_config(kPort, slot_control, kPowerOff, 2); }

    std::unique_ptr<Machine> machine;
    std::unique_ptr<Card> card;
    unsigned slot_control = 0;  // of the root port
};

}  // namespace sidra::qtest

#endif
