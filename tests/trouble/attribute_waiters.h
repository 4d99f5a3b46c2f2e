// SPDX-License-Identifier: MIT
// Threads that wait in attributes of sysfs and hwmon, for a chip or firmware that does not answer.
#ifndef SIDRA_TESTS_ATTRIBUTE_WAITERS_H
#define SIDRA_TESTS_ATTRIBUTE_WAITERS_H

#include <algorithm>

#include "attributes.h"
#include "fence_waiters.h"

namespace sidra::test {

// Reads an attribute, or writes a text to it, again and again, until it is gone: a wait for the firmware ends after a
// second, and so does one for the chip.
class AttributeWaiter {
   public:
    explicit AttributeWaiter(const std::string& path, const std::string& text = {})
        : fd_(open(path.c_str(), (text.empty() ? O_RDONLY : O_WRONLY) | O_CLOEXEC)),
          caller_(
              path,
              [this, text] {
                  for (char piece[4096];; sleep_ms(1)) {
                      const ssize_t bytes =
                          text.empty() ? pread(fd_, piece, sizeof piece, 0) : pwrite(fd_, text.data(), text.size(), 0);
                      if (over_ || (bytes < 0 && (errno == ENODEV || errno == EBADF))) return static_cast<int>(bytes);
                  }
              },
              text.empty() ? SYS_pread64 : SYS_pwrite64) {
        EXPECT_GE(fd_, 0) << path;
    }
    ~AttributeWaiter() {
        over_ = true;
        caller_.interrupt();
        close(fd_);
    }
    AttributeWaiter(const AttributeWaiter&) = delete;
    AttributeWaiter& operator=(const AttributeWaiter&) = delete;

    // Readers can be interrupted, writers only killed.
    bool sleeps() const {
        const char state = caller_.state();
        return state == 'S' || state == 'D';
    }
    void expect_removed() { EXPECT_EQ(caller_.result(), -ENODEV) << caller_.name; }

   private:
    const int fd_;
    std::atomic<bool> over_{false};
    Caller caller_;
};

inline std::string sensor(const std::string& name) {
    for (const auto& sensors : std::filesystem::directory_iterator(kClass + "device/hwmon"))
        return sensors.path().string() + '/' + name;
    return {};
}

// A reader and two writers who wait for firmware that does nothing; the second writer waits for the first one.
class FirmwareWaiters {
   public:
    FirmwareWaiters() {
        for (int attempts = 0; attempts < 20; attempts++)
            if (hang_and_wait()) return;
        ADD_FAILURE() << "the firmware has answered";
    }
    void expect_removed() {
        for (AttributeWaiter& waiter : waiters_) waiter.expect_removed();
    }

   private:
    // The firmware's watchdog ends a hang after a second, and what was read before it is shown for a second.
    bool hang_and_wait() {
        waiters_.clear();
        EXPECT_TRUE(eventually([this] { return status_of(node_).firmware_version != 0; }));
        EXPECT_TRUE(knob("firmware-hang", 1));
        waiters_.emplace_back(kClass + "firmware_log");
        waiters_.emplace_back(sensor("power1_cap"), "0");
        waiters_.emplace_back(kClass + "clock_level", "0");
        const auto sleeps = [](const AttributeWaiter& waiter) { return waiter.sleeps(); };
        int times = 0;
        for (const uint64_t end = in_ms(2000); times < 3 && in_ms(0) < end; sleep_ms(1))
            times = std::all_of(waiters_.begin(), waiters_.end(), sleeps) ? times + 1 : 0;
        return times == 3;
    }

    const Node node_;
    std::list<AttributeWaiter> waiters_;
};

}  // namespace sidra::test

#endif
