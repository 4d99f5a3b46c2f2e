// SPDX-License-Identifier: MIT
// Firmware of the chip in this process: it boots in the background after the chip is opened. A panic leaves a dump
// file.
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "driver.h"
#include "dump_files.h"
#include "fixture.h"
#include "mailbox.h"
#include "session.h"
#include "sidra_boot.h"

namespace sidra::test {
namespace {

class Firmware : public testing::Test {
   protected:
    void SetUp() override {
        char name[] = "/tmp/sidra-dumps-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        folder = name;
        for (const char* variable : {"XDG_STATE_HOME", "SIDRA_QUIET"}) unsetenv(variable);
        setenv("HOME", folder.c_str(), 1);
        setenv("SIDRA_DUMP_DIR", (folder + "/a/b").c_str(), 1);
    }
    void TearDown() override {
        std::filesystem::remove_all(folder);
        if (home.empty()) unsetenv("HOME");
        else setenv("HOME", home.c_str(), 1);
        unsetenv("SIDRA_DUMP_DIR");
        unsetenv("SIDRA_QUIET");
    }
    // All files in the folder, at any depth.
    std::vector<std::string> files() const {
        std::vector<std::string> found;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
            if (entry.is_regular_file()) found.push_back(entry.path());
        return found;
    }
    // Writes a dump with the current environment, and returns what went to stderr.
    static std::string write(const std::string& text) {
        testing::internal::CaptureStderr();
        embedded::DumpFiles().write({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
        return testing::internal::GetCapturedStderr();
    }
    static std::string content(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    std::string folder;
    const std::string home = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "";
};

bool answers(Client& client) {
    for (const uint64_t end = in_ms(kPatienceMs); client.status().firmware_version == 0; sleep_ms(1))
        if (now_ns() > end) return false;
    return true;
}

TEST_F(Firmware, BootsBehindAnOpenChip) {
    Bench s;
    EXPECT_EQ(s.client.device().features & SIDRA_FEATURE_FIRMWARE, SIDRA_FEATURE_FIRMWARE);
    ASSERT_TRUE(answers(s.client));
    EXPECT_EQ(s.client.status().firmware_version, 1u) << "0.1";
}

TEST_F(Firmware, IsMetAgainAfterAResetAndAPanic) {
    Bench s;
    ASSERT_TRUE(answers(s.client));
    sidra_ioctl_device_reset request{0};
    ASSERT_EQ(s.client->ioctl(SIDRA_IOCTL_DEVICE_RESET, &request), 0);
    ASSERT_TRUE(answers(s.client));
    ASSERT_EQ(s.client.knob("firmware-panic", 1), 0);
    for (const uint64_t end = in_ms(kPatienceMs); s.client.status().firmware_version != 0 && now_ns() < end;)
        sleep_ms(1);
    EXPECT_EQ(s.client.status().firmware_version, 0u) << "dead";
    EXPECT_TRUE(answers(s.client)) << "its watchdog has started it anew";
}

TEST_F(Firmware, LeavesADump) {
    testing::internal::CaptureStderr();
    {
        Bench s;
        ASSERT_TRUE(answers(s.client));
        ASSERT_EQ(s.client.knob("firmware-panic", 1), 0);
        for (const uint64_t end = in_ms(kPatienceMs); files().empty() && now_ns() < end;) sleep_ms(1);
        ASSERT_TRUE(answers(s.client));
        // The next start does not write it again.
        sidra_ioctl_device_reset request{0};
        ASSERT_EQ(s.client->ioctl(SIDRA_IOCTL_DEVICE_RESET, &request), 0);
        ASSERT_TRUE(answers(s.client));
    }
    const std::string said = testing::internal::GetCapturedStderr();
    ASSERT_EQ(files().size(), 1u);
    const std::string path = files()[0], dump = content(path);
    EXPECT_TRUE(path.starts_with(folder + "/a/b/firmware-")) << path;
    EXPECT_TRUE(said.starts_with("sidra: the firmware of the embedded chip panicked")) << said;
    EXPECT_NE(said.find(path), std::string::npos) << said;
    sidra_boot_dump trap{};
    ASSERT_EQ(dump.size(), sizeof trap);
    std::memcpy(&trap, dump.data(), sizeof trap);
    EXPECT_EQ(trap.magic, SIDRA_BOOT_DUMP_MAGIC);
    EXPECT_EQ(trap.code, SIDRA_PANIC_TRAP | 1u);
    EXPECT_EQ(trap.pc, 0xfffffffcu) << "where the knob lets it go on";
}

// Only a mailbox, with a chip that heats up and cools down: events come before its requests and between them.
TEST_F(Firmware, EventsDoNotStandInTheWayOfADump) {
    sidra_chip_config config{};
    config.profile = SIDRA_CHIP_SMALL;
    config.workers = 1;
    int error = 0;
    std::string text;
    const auto host = embedded::ChipHost::create(config, &error, &text);
    ASSERT_NE(host, nullptr) << text;
    embedded::Mailbox mailbox(*host);
    ASSERT_TRUE(host->executor().start());
    host->write_register(SIDRA_REG_CONTROL, SIDRA_CONTROL_ENABLE, 4);
    const auto reg = [&](uint64_t offset) { return static_cast<uint32_t>(host->read_register(offset, 4)); };
    const auto eventually = [](auto&& condition) {
        for (const uint64_t end = in_ms(kPatienceMs); !condition(); sleep_ms(1))
            if (now_ns() > end) return false;
        return true;
    };
    // Each change of the temperature is an event, and some are two: it cools down in steps.
    const auto events_until = [&](uint32_t index) {
        bool hot = false;
        const auto there = [&] { return reg(SIDRA_REG_MAILBOX_REPLY_INDEX) >= index; };
        ASSERT_TRUE(eventually([&] {
            hot = !hot;
            EXPECT_TRUE(sidra_chip_set_knob(host->chip(), SIDRA_KNOB_TEMPERATURE_MC, hot ? 200'000 : 20'000));
            for (const uint64_t end = in_ms(500); !there() && now_ns() < end;) sleep_ms(1);
            return there();
        }));
    };
    ASSERT_TRUE(eventually([&] { return mailbox.firmware_version() != 0; }));
    ASSERT_TRUE(sidra_chip_set_knob(host->chip(), SIDRA_KNOB_FIRMWARE_PANIC, 1));
    ASSERT_TRUE(eventually([&] { return reg(SIDRA_REG_BOOT_REASON) == SIDRA_BOOT_PANIC; }));
    ASSERT_TRUE(eventually([&] { return mailbox.firmware_version() != 0; }));
    events_until(4);  // with that of the panic: no room for more
    EXPECT_TRUE(mailbox.take_crash_dump().empty()) << "it has been asked for";
    EXPECT_EQ(reg(SIDRA_REG_MAILBOX_REPLY_READ), 4u) << "there is room for the answer";
    events_until(5);
    std::vector<uint8_t> dump;
    EXPECT_TRUE(eventually([&] { return !(dump = mailbox.take_crash_dump()).empty(); }));
    EXPECT_EQ(dump.size(), sizeof(sidra_boot_dump));
    EXPECT_NE(mailbox.firmware_version(), 0u) << "it has said so once";
    EXPECT_TRUE(mailbox.take_crash_dump().empty()) << "handed out once";
    sidra_chip_reset(host->chip());
}

TEST_F(Firmware, DumpsAreOfTheirOwnerAlone) {
    for (int i = 0; i < 3; i++) write("dump");
    ASSERT_EQ(files().size(), 3u) << "none over another";
    for (const std::string& path : files()) {
        EXPECT_EQ(content(path), "dump");
        struct stat info {};
        ASSERT_EQ(stat(path.c_str(), &info), 0);
        EXPECT_EQ(info.st_mode & 0777, 0600u);
        ASSERT_EQ(stat((folder + "/a").c_str(), &info), 0);
        EXPECT_EQ(info.st_mode & 0777, 0700u);
    }
}

TEST_F(Firmware, WhereDumpsGo) {
    const auto expect_in = [&](const std::string& where) {
        const std::string said = write("dump");
        ASSERT_EQ(files().size(), 1u);
        EXPECT_TRUE(files()[0].starts_with(folder + where + "/firmware-")) << files()[0];
        EXPECT_NE(said.find(files()[0]), std::string::npos) << said;
        std::filesystem::remove(files()[0]);
    };
    expect_in("/a/b");
    setenv("SIDRA_DUMP_DIR", "", 1);
    expect_in("/.local/state/sidra");
    setenv("XDG_STATE_HOME", "not/absolute", 1);
    expect_in("/.local/state/sidra");
    setenv("XDG_STATE_HOME", (folder + "/xdg").c_str(), 1);
    expect_in("/xdg/sidra");
    unsetenv("XDG_STATE_HOME");
    unsetenv("HOME");
    EXPECT_NE(write("dump").find("none of SIDRA_DUMP_DIR, XDG_STATE_HOME and HOME"), std::string::npos);
    EXPECT_TRUE(files().empty());
}

TEST_F(Firmware, DumpsThatCannotBeWritten) {
    std::ofstream(folder + "/file") << "in the way";
    for (const std::string& where : {folder + "/file", folder + "/file/below", std::string("/proc/none")}) {
        setenv("SIDRA_DUMP_DIR", where.c_str(), 1);
        const std::string said = write("dump");
        EXPECT_NE(said.find("cannot be written: " + where), std::string::npos) << said;
        EXPECT_NE(said.find("SIDRA_DUMP_DIR names another folder"), std::string::npos) << said;
    }
    EXPECT_EQ(files().size(), 1u);
    setenv("SIDRA_QUIET", "1", 1);
    EXPECT_EQ(write("dump"), "");
    setenv("SIDRA_DUMP_DIR", folder.c_str(), 1);
    EXPECT_EQ(write("dump"), "");
    EXPECT_EQ(files().size(), 2u) << "quiet, and written";
}

}  // namespace
}  // namespace sidra::test
