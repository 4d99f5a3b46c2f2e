// SPDX-License-Identifier: MIT
// The state file: what a card keeps while QEMU is not running, and errors of the file.
#include <linux/pci_regs.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "fixture.h"

namespace sidra::qtest {
namespace {

namespace fs = std::filesystem;

class State : public Qtest {
   protected:
    void SetUp() override {
        Qtest::SetUp();
        char name[] = "/tmp/sidra-qtest-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        folder_ = name;
        file_ = folder_ / "state";
    }
    void TearDown() override {
        machine.reset();
        fs::remove_all(folder_);
    }
    std::string with_file() const { return std::string(kSmallCard) + ",state-file=" + file_.string(); }
    // A card with the file, from power-on.
    void power_on() {
        machine.reset();
        bring_up({with_file()});
    }
    uint64_t nvm(uint64_t offset) {
        const uint64_t page = machine->alloc(4096);
        EXPECT_EQ(card->admin(SIDRA_ADMIN_NVM_READ, offset, page, 8), SIDRA_ADMIN_OK);
        return machine->read(page, 8);
    }
    void set_nvm(uint64_t offset, uint64_t value) {
        const uint64_t page = machine->alloc(4096);
        machine->write(page, value, 8);
        EXPECT_EQ(card->admin(SIDRA_ADMIN_NVM_WRITE, offset, page, 8), SIDRA_ADMIN_OK);
    }
    static std::string contents(const fs::path& path) {
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    static void store(const fs::path& path, const std::string& bytes) {
        std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    }
    std::string a_good_file() {
        power_on();
        set_nvm(8192, 0x600d);
        machine.reset();
        return contents(file_);
    }
    // The error of hot-plugging a card with this file, "" if there was none.
    std::string refusal(const fs::path& path, const std::string& profile = "small") {
        const std::string answer = machine->qmp(
            R"({"execute": "device_add", "arguments": {"driver": "sidra", "bus": "rp", "id": "late", "profile": ")" +
            profile + R"(", "state-file": ")" + path.string() + "\"}}");
        return answer.find("\"error\"") == std::string::npos ? "" : answer;
    }
    void start_with_port() {
        machine.reset();
        machine = std::make_unique<Machine>(
            std::vector<std::string>{"-device", "pcie-root-port,id=rp,addr=6.0,chassis=1,slot=1"});
    }

    fs::path folder_, file_;
};

TEST_F(State, SurvivesTheEnd) {
    power_on();
    EXPECT_EQ(card->read64(SIDRA_REG_FEATURES), SIDRA_FEATURE_FIRMWARE | SIDRA_FEATURE_STATE_FILE);
    const uint64_t uuid = card->read64(SIDRA_REG_UUID);
    set_nvm(8192, 0x5eed);
    machine->write(card->bar2() + 0x2000, 0xabcd, 8);
    machine.reset();
    bring_up({with_file() + ",seed=8"});
    EXPECT_EQ(nvm(8192), 0x5eedu);
    EXPECT_EQ(card->read64(SIDRA_REG_UUID), uuid) << "it is the same chip, whatever the seed";
    EXPECT_EQ(machine->read(card->bar2() + 0x2000, 8), 0u) << "L3 does not survive";
    EXPECT_EQ(card->read32(SIDRA_REG_GENERATION), 0u);
    EXPECT_EQ(card->read32(SIDRA_REG_BOOT_REASON), uint32_t{SIDRA_BOOT_POWER_ON});
    set_nvm(8192, 0x5eee);
    power_on();
    EXPECT_EQ(nvm(8192), 0x5eeeu);
    machine.reset();
    bring_up();
    EXPECT_EQ(nvm(8192), 0u) << "a card without the file";
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "nothing else is left behind";
}

TEST_F(State, SurvivesAResetOfTheMachine) {
    power_on();
    set_nvm(0, 2);
    const std::string before = contents(file_);
    machine->qmp(R"({"execute": "stop"})");
    machine->qmp(R"({"execute": "cont"})");
    machine->qmp(R"({"execute": "system_reset"})");
    machine->map_config();
    card->enable_pci();
    card->bring_up();
    EXPECT_EQ(nvm(0), 2u);
    EXPECT_EQ(contents(file_), before) << "nothing has changed";
}

// The card has no warning: the effect of a command or packet is in the file when it completes.
TEST_F(State, SurvivesAKill) {
    power_on();
    set_nvm(4096, 0x4b1d);
    machine->kill();
    power_on();
    EXPECT_EQ(nvm(4096), 0x4b1du);
}

TEST_F(State, IsFreeWhenTheCardIsRemoved) {
    constexpr unsigned kPort = 6 << 3;
    machine = std::make_unique<Machine>(
        std::vector<std::string>{"-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off", "-device",
                                 "pcie-root-port,id=rp,addr=6.0,chassis=1,slot=1", "-device",
                                 "sidra,id=hot,bus=rp,profile=small,state-file=" + file_.string()});
    const std::string before = contents(file_);
    machine->set_property("hot", "stuck-cell", "4328718536");
    EXPECT_NE(contents(file_), before) << "the stuck cell, a cell too";
    machine->set_config(kPort, PCI_PRIMARY_BUS, 0x00010100, 4);
    ASSERT_EQ(Card(*machine, 0, 0, 1).config(PCI_VENDOR_ID, 2), SIDRA_PCI_VENDOR_ID);
    unsigned express = 0;
    for (unsigned at = machine->config(kPort, PCI_CAPABILITY_LIST, 1); at != 0; at = machine->config(kPort, at + 1, 1))
        if (machine->config(kPort, at, 1) == PCI_CAP_ID_EXP) express = at;
    ASSERT_NE(express, 0u);
    machine->set_config(kPort, express + PCI_EXP_SLTCTL, PCI_EXP_SLTCTL_PWR_IND_OFF | PCI_EXP_SLTCTL_PWR_OFF, 2);
    EXPECT_TRUE(eventually([&] { return refusal(file_).empty(); })) << refusal(file_);
}

TEST_F(State, OneChipHasIt) {
    power_on();
    const auto first = std::move(machine);
    start_with_port();
    EXPECT_NE(refusal(file_).find("cannot be used: another chip has it"), std::string::npos);
    EXPECT_EQ(refusal(folder_ / "other"), "");
    machine.reset();
}

TEST_F(State, WhatIsNoGoodFileIsRefusedAndLeftAlone) {
    const std::string good = a_good_file();
    start_with_port();
    const auto refused = [&](const std::string& bytes, const char* why) {
        store(file_, bytes);
        const std::string answer = refusal(file_);
        EXPECT_NE(answer.find(why), std::string::npos) << answer;
        EXPECT_NE(answer.find("state file '" + file_.string() + "' cannot be used"), std::string::npos) << answer;
        EXPECT_EQ(contents(file_), bytes);
    };
    std::string damaged = good;
    damaged[good.size() / 2] ^= 1;
    refused(damaged, "damaged at offset");
    refused("#!/bin/sh\necho somebody else's file\n", "not the state file of a sidra chip");
    store(file_, good);
    EXPECT_NE(refusal(file_, "y1").find("another profile"), std::string::npos);
    EXPECT_NE(refusal(folder_).find("Is a directory"), std::string::npos);
    EXPECT_NE(refusal("/dev/null").find("not a regular file"), std::string::npos);
    EXPECT_NE(refusal(folder_ / "no" / "such").find("No such file"), std::string::npos);
    EXPECT_EQ(refusal(file_), "") << "and the good one is still good";
}

// As on a full disk: the command fails with a message, the contents stay, and the machine continues.
TEST_F(State, NoRoom) {
    const std::string good = a_good_file();
    machine.reset();
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit little{good.size() + 64, before.rlim_max};
    const auto handler = signal(SIGXFSZ, SIG_IGN);
    testing::internal::CaptureStderr();
    setrlimit(RLIMIT_FSIZE, &little);
    bring_up({with_file()});
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    const uint64_t page = machine->alloc(4096);
    machine->write(page, 1, 8);
    EXPECT_EQ(card->admin(SIDRA_ADMIN_NVM_WRITE, 8192, page, 8), SIDRA_ADMIN_BUS_ERROR);
    EXPECT_EQ(contents(file_), good);
    EXPECT_EQ(nvm(8192), 0x600du);
    machine.reset();
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("card: state file '" + file_.string() + "' cannot be written: File too large"),
              std::string::npos)
        << said;
    power_on();
    EXPECT_EQ(nvm(8192), 0x600du);
}

TEST_F(State, MigrationTakesTheCellsAlong) {
    a_good_file();
    const std::string there = (folder_ / "there").string(), stream = (folder_ / "stream").string();
    const auto wait = [&] {
        EXPECT_TRUE(eventually([&] {
            return machine->qmp(R"({"execute": "query-migrate"})").find("\"completed\"") != std::string::npos;
        }));
    };
    power_on();
    set_nvm(8192, 0x907e);
    machine->qmp(R"({"execute": "migrate", "arguments": {"uri": "file:)" + stream + R"("}})");
    wait();
    const std::string left = contents(file_);
    machine->restart({"-device", std::string(kSmallCard) + ",state-file=" + there, "-incoming", "file:" + stream});
    wait();
    EXPECT_EQ(contents(file_), left) << "a chip that has gone does not write any more";
    machine->qmp(R"({"execute": "cont"})");
    EXPECT_EQ(nvm(8192), 0x907eu);
    machine.reset();
    file_ = there;
    power_on();
    EXPECT_EQ(nvm(8192), 0x907eu);
}

}  // namespace
}  // namespace sidra::qtest
