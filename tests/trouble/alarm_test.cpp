// SPDX-License-Identifier: MIT
// Heat: processes that poll the alarms of hwmon, or listen to uevents, are notified by the driver.
#include <atomic>
#include <thread>

#include "attributes.h"
#include "uevents.h"

namespace sidra::test {
namespace {

// The path changes each time the driver is bound.
std::string sensor(const std::string& name) {
    for (const auto& entry : std::filesystem::directory_iterator(kClass + "device/hwmon"))
        return entry.path().string() + '/' + name;
    return {};
}

// An open attribute of sysfs that was read: changes from then on can be polled.
class Polled {
   public:
    explicit Polled(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) { read(); }
    ~Polled() { close(fd_); }
    Polled(const Polled&) = delete;
    Polled& operator=(const Polled&) = delete;

    // Waits for notifications until the value is this one: an event from before the file was opened may arrive late.
    bool becomes(const std::string& value) const {
        pollfd waits{fd_, POLLPRI, 0};
        for (const uint64_t end = in_ms(kPatienceMs); in_ms(0) < end;) {
            if (poll(&waits, 1, static_cast<int>(kPatienceMs)) != 1) return false;
            if (read() == value) return true;
        }
        return false;
    }

   private:
    std::string read() const {
        char text[16] = {};
        return pread(fd_, text, sizeof text - 1, 0) > 0 ? text : "";
    }
    const int fd_;
};

class Alarms : public NodeTest {
   protected:
    void SetUp() override {
        NodeTest::SetUp();
        ASSERT_TRUE(is("temp1_crit_alarm", "0\n") && is("temp1_max_alarm", "0\n"));
    }
    void TearDown() override {
        EXPECT_TRUE(knob("temperature-mc", 60'000));
        EXPECT_TRUE(is("temp1_crit_alarm", "0\n") && is("temp1_max_alarm", "0\n"));
    }
    static bool is(const std::string& name, const std::string& value) {
        return eventually([&] { return read_file(sensor(name)).bytes == value; });
    }
};

// Without reads in between.
TEST_F(Alarms, WhoPollsIsTold) {
    const Polled critical(sensor("temp1_crit_alarm")), high(sensor("temp1_max_alarm"));
    ASSERT_TRUE(knob("temperature-mc", 150'000));
    EXPECT_TRUE(high.becomes("1\n") && critical.becomes("1\n"));
    ASSERT_TRUE(knob("temperature-mc", 60'000));
    EXPECT_TRUE(critical.becomes("0\n") && high.becomes("0\n"));
}

// Other readers may have consumed the state a fifth of a second after it begins.
TEST_F(Alarms, WhoPollsIsToldWhileOthersRead) {
    const std::string path = sensor("temp1_max_alarm");
    std::atomic<bool> stop{false};
    std::thread others([&] {
        while (!stop) read_file(path);
    });
    const Polled high(path);
    for (int round = 0; round < rounds(3, 30) && !HasFailure(); round++)
        for (const uint64_t degrees : {99, 60}) {
            EXPECT_TRUE(knob("temperature-mc", degrees * 1000));
            EXPECT_TRUE(high.becomes(degrees > 95 ? "1\n" : "0\n"));
        }
    stop = true;
    others.join();
}

TEST_F(Alarms, UdevIsTold) {
    for (const uint64_t around : {150'000, 60'000}) {
        Uevents of_critical, of_high;  // their order depends on when the driver polls
        ASSERT_TRUE(knob("temperature-mc", around));
        EXPECT_TRUE(of_critical.has({"ACTION=change", "SUBSYSTEM=hwmon", "NAME=temp1_crit_alarm"})) << around;
        EXPECT_TRUE(of_high.has({"ACTION=change", "SUBSYSTEM=hwmon", "NAME=temp1_max_alarm"})) << around;
    }
}

// Warm but not critical: throttled by the firmware, not by the chip's comparator.
TEST_F(Alarms, OfTheFirmwareAlone) {
    const Polled high(sensor("temp1_max_alarm"));
    ASSERT_TRUE(knob("temperature-mc", 99'000));
    EXPECT_TRUE(high.becomes("1\n"));
    EXPECT_EQ(read_file(sensor("temp1_crit_alarm")).bytes, "0\n");
}

// Throttled by a limit: heat does not slow it further, so the chip raises no event. The chip takes longer to heat up
// than the driver polls after the limit.
TEST_F(Alarms, WhenItIsSlowAlready) {
    ASSERT_TRUE(write_text(sensor("power1_cap"), "100000"));
    const Polled high(sensor("temp1_max_alarm"));
    ASSERT_TRUE(knob("temperature-mc", 99'000));
    EXPECT_TRUE(high.becomes("1\n"));
    EXPECT_TRUE(write_text(sensor("power1_cap"), "0"));
}

// It is hot when the driver is bound and unbound: the first reader sees it.
TEST_F(Alarms, TheDriverGoesMeanwhile) {
    const Card card;
    ASSERT_TRUE(card.known());
    ASSERT_TRUE(knob("temperature-mc", 150'000));
    ASSERT_TRUE(is("temp1_crit_alarm", "1\n"));
    for (int i = 0; i < rounds(2, 20); i++) {
        ASSERT_TRUE(card.unbind());
        Uevents uevents;
        ASSERT_TRUE(card.bind());
        EXPECT_TRUE(is("temp1_crit_alarm", "1\n"));
        EXPECT_TRUE(uevents.has({"SUBSYSTEM=hwmon", "NAME=temp1_crit_alarm"}));
    }
}

}  // namespace
}  // namespace sidra::test
