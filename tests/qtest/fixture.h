// SPDX-License-Identifier: MIT
// One machine for each test, with one card `card` at slot 4 unless the test wants others. Without a QEMU binary the
// test fails and says how to build it.
#ifndef SIDRA_TESTS_QTEST_FIXTURE_H
#define SIDRA_TESTS_QTEST_FIXTURE_H

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "card.h"
#include "machine.h"
#include "packets.h"

namespace sidra::qtest {

inline constexpr unsigned kSlot4 = 4 << 3, kSlot5 = 5 << 3;
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

    std::unique_ptr<Machine> machine;
    std::unique_ptr<Card> card;
};

}  // namespace sidra::qtest

#endif
