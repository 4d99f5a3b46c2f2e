// SPDX-License-Identifier: MIT
// The management core behind the PCI function: once it sleeps, only QEMU's clock wakes it.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>

#include "fixture.h"

namespace sidra::qtest {
namespace {

constexpr uint64_t kMs = 1'000'000;

class Firmware : public Qtest {
   protected:
    void SetUp() override {
        Qtest::SetUp();
        if (!IsSkipped()) bring_up();
    }
    uint32_t stage() { return card->read32(SIDRA_REG_STATUS) & SIDRA_STATUS_STAGE_MASK; }
    // Advances the clock until the condition holds.
    bool comes(const std::function<bool()>& condition, uint64_t step = kMs) {
        return eventually([&] {
            if (condition()) return true;
            machine->step_clock(step);
            return false;
        });
    }
    bool boots() {
        return comes([this] { return stage() == SIDRA_STAGE_RUNTIME; });
    }
};

TEST_F(Firmware, BootsAndItsHeartBeats) {
    ASSERT_TRUE(boots());
    EXPECT_NE(card->read32(SIDRA_REG_STATUS) & SIDRA_STATUS_FIRMWARE_ALIVE, 0u);
    EXPECT_TRUE(comes([this] { return card->read32(SIDRA_REG_HEARTBEAT) >= 3; }));
}

TEST_F(Firmware, AnswersInMemoryOfTheGuest) {
    ASSERT_TRUE(boots());
    const uint64_t requests = machine->alloc(4096), replies = machine->alloc(4096);
    card->write64(SIDRA_REG_MAILBOX_REQUEST, requests);
    card->write64(SIDRA_REG_MAILBOX_REPLY, replies);
    card->write32(SIDRA_REG_MAILBOX_ENTRIES, 2);
    sidra_mailbox_msg message{};
    message.opcode = SIDRA_MAILBOX_LOOPBACK;
    message.length = 8;
    message.inline_data[0] = 0x1234;
    machine->write_bytes(requests, &message, sizeof message);
    card->write32(SIDRA_REG_MAILBOX_DOORBELL, 1);
    ASSERT_TRUE(comes([this] { return card->read32(SIDRA_REG_MAILBOX_REPLY_INDEX) == 1; }));
    EXPECT_EQ(machine->read(replies, 2), uint64_t{SIDRA_MAILBOX_LOOPBACK | SIDRA_MAILBOX_REPLY});
    EXPECT_EQ(machine->read(replies + offsetof(sidra_mailbox_msg, inline_data), 8), 0x1234u);
}

TEST_F(Firmware, ThrottlesACardThatIsTooHot) {
    constexpr uint64_t kTick = 100 * kMs;
    const auto throttled = [this] { return (card->read32(SIDRA_REG_STATUS) & SIDRA_STATUS_THROTTLED) != 0; };
    const auto shown = [this](size_t offset) { return static_cast<uint32_t>(card->telemetry(offset)); };
    ASSERT_TRUE(boots());
    EXPECT_TRUE(comes([&] { return shown(offsetof(sidra_telemetry, valid)) & SIDRA_TELEMETRY_HAS_THERMAL; }, kTick));
    EXPECT_FALSE(throttled());
    machine->set_property("card", "temperature-mc", "150000");
    EXPECT_TRUE(comes(throttled, kTick));
    EXPECT_NE(card->read32(SIDRA_REG_INT_STATUS) & SIDRA_INT_THERMAL, 0u);
    EXPECT_TRUE(comes([&] { return shown(offsetof(sidra_telemetry, clock_khz)) == 100'000; }, kTick));
    machine->set_property("card", "temperature-mc", "20000");
    EXPECT_TRUE(comes([&] { return !throttled(); }, kTick));
}

TEST_F(Firmware, IsStartedAnewByAResetAndByItsWatchdog) {
    ASSERT_TRUE(boots());
    card->flr();
    card->enable_pci();
    ASSERT_TRUE(boots());
    EXPECT_EQ(card->read32(SIDRA_REG_BOOT_REASON), uint32_t{SIDRA_BOOT_RESET});
    machine->set_property("card", "firmware-hang", "1");
    EXPECT_TRUE(comes([this] { return card->read32(SIDRA_REG_BOOT_REASON) == SIDRA_BOOT_WATCHDOG; }));
    ASSERT_TRUE(boots());
}

// Executors that find the core at work do not stop the clock that wakes it next.
class FirmwareOfManyExecutors : public Firmware {
   protected:
    void SetUp() override { Qtest::SetUp(); }
};

TEST_F(FirmwareOfManyExecutors, ItsHeartGoesOnBeating) {
    bring_up({"sidra,id=card,addr=4.0,profile=small,workers=1,executors=8"});
    ASSERT_TRUE(boots());
    for (int i = 0; i < 200; i++) {
        const uint32_t beats = card->read32(SIDRA_REG_HEARTBEAT);
        ASSERT_TRUE(comes([&] { return card->read32(SIDRA_REG_HEARTBEAT) != beats; }, 100 * kMs)) << i;
    }
}

// ---- A debugger ----

class FirmwareGdb : public Firmware {
   protected:
    void SetUp() override { Qtest::SetUp(); }
    void TearDown() override {
        machine.reset();
        EXPECT_FALSE(std::filesystem::exists(path)) << "nothing is left behind";
    }
    // Sends `text` and waits for `wanted`, with the usual timeout.
    void ask(int fd, const std::string& text, const std::string& wanted) {
        EXPECT_EQ(send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
        std::string said;
        EXPECT_TRUE(eventually([&] {
            char bytes[256];
            const ssize_t count = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
            if (count > 0) said.append(bytes, static_cast<size_t>(count));
            return said == wanted;
        })) << said;
    }
    const std::string path = "/tmp/sidra-qtest-gdb-" + std::to_string(getpid());
};

TEST_F(FirmwareGdb, HaltsItWhileTheMachineRuns) {
    bring_up({std::string(kSmallCard) + ",gdb=" + path});
    ASSERT_TRUE(boots());
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    path.copy(name.sun_path, sizeof name.sun_path - 1);
    ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof name), 0) << strerror(errno);
    ask(fd, "$?#3f", "+$S05#b8");
    const uint32_t beats = card->read32(SIDRA_REG_HEARTBEAT);
    for (int i = 0; i < 20; i++) machine->step_clock(500 * kMs);
    ask(fd, "$?#3f", "+$S05#b8");
    EXPECT_EQ(card->read32(SIDRA_REG_HEARTBEAT), beats);
    card->flr();
    ask(fd, "$p20#d2", "+$00000000#80");
    card->enable_pci();
    ask(fd, "$D#44", "+$OK#9a");
    EXPECT_TRUE(comes([&] { return card->read32(SIDRA_REG_HEARTBEAT) >= 1; }));
    EXPECT_EQ(card->read32(SIDRA_REG_BOOT_REASON), uint32_t{SIDRA_BOOT_RESET});
    ask(fd, "\x03", "$S02#b5");  // attached until the machine ends
    close(fd);
}

TEST_F(FirmwareGdb, AnAddressThatIsNoneIsRefused) {
    machine = std::make_unique<Machine>(
        std::vector<std::string>{"-device", "pcie-root-port,id=rp,addr=6.0,chassis=1,slot=1"});
    const std::string answer = machine->qmp(
        R"({"execute": "device_add", "arguments": {"driver": "sidra", "bus": "rp", "id": "late", "gdb": "tcp:0.0.0.0:1"}})");
    EXPECT_NE(answer.find("only this machine may debug"), std::string::npos) << answer;
}

}  // namespace
}  // namespace sidra::qtest
