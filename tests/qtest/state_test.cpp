// SPDX-License-Identifier: MIT
// The state file: what a card keeps while no QEMU runs, and what happens to the file when something is wrong.
#include <linux/pci_regs.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
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
    // The error of a card that is added to a running machine with this file, "" if there was none.
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
    EXPECT_TRUE(contents(file_).empty()) << "a chip from the factory";
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

TEST_F(State, IsWrittenWhenTheMachineStopsOrIsReset) {
    power_on();
    set_nvm(0, 1);
    machine->qmp(R"({"execute": "stop"})");
    const std::string stopped = contents(file_);
    EXPECT_FALSE(stopped.empty());
    machine->qmp(R"({"execute": "cont"})");
    set_nvm(0, 2);
    machine->qmp(R"({"execute": "system_reset"})");
    EXPECT_TRUE(eventually([&] { return contents(file_) != stopped; }));
    machine->map_config();
    card->enable_pci();
    card->bring_up();
    EXPECT_EQ(nvm(0), 2u);
}

TEST_F(State, IsWrittenWhenTheCardIsRemoved) {
    constexpr unsigned kPort = 6 << 3;
    machine = std::make_unique<Machine>(
        std::vector<std::string>{"-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off", "-device",
                                 "pcie-root-port,id=rp,addr=6.0,chassis=1,slot=1", "-device",
                                 "sidra,id=hot,bus=rp,profile=small,state-file=" + file_.string()});
    machine->set_property("hot", "stuck-cell", "4328718536");
    ASSERT_TRUE(contents(file_).empty());
    machine->set_config(kPort, PCI_PRIMARY_BUS, 0x00010100, 4);
    ASSERT_EQ(Card(*machine, 0, 0, 1).config(PCI_VENDOR_ID, 2), SIDRA_PCI_VENDOR_ID);
    unsigned express = 0;
    for (unsigned at = machine->config(kPort, PCI_CAPABILITY_LIST, 1); at != 0; at = machine->config(kPort, at + 1, 1))
        if (machine->config(kPort, at, 1) == PCI_CAP_ID_EXP) express = at;
    ASSERT_NE(express, 0u);
    machine->set_config(kPort, express + PCI_EXP_SLTCTL, PCI_EXP_SLTCTL_PWR_IND_OFF | PCI_EXP_SLTCTL_PWR_OFF, 2);
    EXPECT_TRUE(eventually([&] { return !contents(file_).empty(); })) << "the stuck cell, a cell too";
    EXPECT_TRUE(eventually([&] { return refusal(file_).empty(); })) << "and the file is free again";
}

TEST_F(State, UnchangedCellsAreNotWrittenAgain) {
    const auto inode = [&] {
        struct stat status {};
        stat(file_.c_str(), &status);
        return status.st_ino;
    };
    a_good_file();
    const auto before = inode();
    power_on();
    EXPECT_EQ(nvm(8192), 0x600du);
    machine->write(card->bar2(), 1, 8);
    machine->qmp(R"({"execute": "stop"})");
    machine->qmp(R"({"execute": "cont"})");
    EXPECT_EQ(inode(), before);
    set_nvm(8192, 1);
    machine->qmp(R"({"execute": "stop"})");
    EXPECT_NE(inode(), before);
}

TEST_F(State, OneChipHasIt) {
    power_on();
    const auto first = std::move(machine);
    const auto first_card = std::move(card);
    start_with_port();
    EXPECT_NE(refusal(file_).find("cannot be used: another chip has it"), std::string::npos);
    // The one that has it writes it anew: the new file is locked, too.
    const uint64_t page = first->alloc(4096);
    first->write(page, 7, 8);
    EXPECT_EQ(first_card->admin(SIDRA_ADMIN_NVM_WRITE, 0, page, 8), SIDRA_ADMIN_OK);
    first->qmp(R"({"execute": "stop"})");
    EXPECT_FALSE(contents(file_).empty());
    EXPECT_NE(refusal(file_).find("another chip has it"), std::string::npos);
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
    refused(damaged, "damaged");
    refused(good.substr(0, good.size() - 1), "ends early");
    refused(good + "x", "behind its end");
    refused("#!/bin/sh\necho somebody else's file\n", "not the saved cells of a sidra chip");
    store(file_, good);
    EXPECT_NE(refusal(file_, "y1").find("another profile"), std::string::npos);
    EXPECT_NE(refusal(folder_).find("Is a directory"), std::string::npos);
    EXPECT_NE(refusal("/dev/null").find("not a regular file"), std::string::npos);
    EXPECT_NE(refusal(folder_ / "no" / "such").find("No such file"), std::string::npos);
    EXPECT_EQ(refusal(file_), "") << "and the good one is still good";
}

// As on a full disk: what was there stays, it is said, and the machine goes on.
TEST_F(State, NoRoom) {
    const std::string good = a_good_file();
    machine.reset();
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit little{good.size(), before.rlim_max};
    const auto handler = signal(SIGXFSZ, SIG_IGN);
    testing::internal::CaptureStderr();
    setrlimit(RLIMIT_FSIZE, &little);
    bring_up({with_file()});
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    set_nvm(16384, 1);
    machine->qmp(R"({"execute": "stop"})");
    EXPECT_EQ(contents(file_), good);
    EXPECT_FALSE(fs::exists(file_.string() + ".part"));
    machine->qmp(R"({"execute": "cont"})");
    EXPECT_EQ(nvm(16384), 1u);
    set_nvm(16384, 0);
    set_nvm(8192, 0x900d);  // no more than before: that fits
    machine.reset();
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("card: the cells could not be written to state file '" + file_.string() + "': File too large"),
              std::string::npos)
        << said;
    power_on();
    EXPECT_EQ(nvm(8192), 0x900du);
    EXPECT_EQ(nvm(16384), 0u);
}

TEST_F(State, MigrationTakesTheCellsAlong) {
    const std::string left = a_good_file(), there = (folder_ / "there").string(),
                      stream = (folder_ / "stream").string();
    const auto wait = [&] {
        EXPECT_TRUE(eventually([&] {
            return machine->qmp(R"({"execute": "query-migrate"})").find("\"completed\"") != std::string::npos;
        }));
    };
    power_on();
    set_nvm(8192, 0x907e);
    machine->qmp(R"({"execute": "migrate", "arguments": {"uri": "file:)" + stream + R"("}})");
    wait();
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

TEST_F(State, LinksAndModesStayAndOldPartsDoNotMatter) {
    const fs::path link = folder_ / "link";
    fs::create_symlink("state", link);
    store(file_, "");
    fs::permissions(file_, fs::perms{0640});
    store(file_.string() + ".part", "of somebody who was killed");
    bring_up({std::string(kSmallCard) + ",state-file=" + link.string()});
    set_nvm(0, 9);
    machine.reset();
    EXPECT_TRUE(fs::is_symlink(link));
    EXPECT_EQ(fs::status(file_).permissions(), fs::perms{0640});
    EXPECT_FALSE(fs::exists(file_.string() + ".part"));
    power_on();
    EXPECT_EQ(nvm(0), 9u);
}

}  // namespace
}  // namespace sidra::qtest
