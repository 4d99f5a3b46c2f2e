// SPDX-License-Identifier: MIT
// Readers of a card: they continuously read all that the kernel shows of it, whatever happens.
#ifndef SIDRA_TESTS_WATCHERS_H
#define SIDRA_TESTS_WATCHERS_H

#include <array>
#include <atomic>
#include <optional>
#include <thread>

#include "attributes.h"

namespace sidra::test {

// Files that an ordinary user can read.
inline std::vector<std::string> readable_by_everybody() {
    std::vector<std::string> paths;
    for (const std::string& name : files_in(kClass))
        if (name != "firmware_log" && name != "firmware_update" && name != "firmware_activate")
            paths.push_back(kClass + name);
    const std::string sensors_of_card = kClass + "device/hwmon";
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(sensors_of_card); }));  // they appear after the node
    for (const auto& sensors : std::filesystem::directory_iterator(sensors_of_card))
        for (const std::string& name : files_in(sensors.path())) paths.push_back(sensors.path().string() + '/' + name);
    return paths;
}

// And root, of the same and of debugfs.
inline std::vector<std::string> readable_by_root(const Card& card) {
    std::vector<std::string> paths = readable_by_everybody();
    paths.push_back(kClass + "firmware_log");
    const std::string folder = "/sys/kernel/debug/accel/" + card.name() + '/';
    for (const std::string& name : files_in(folder))
        if (name != "reg") paths.push_back(folder + name);
    return paths;
}

// Three ordinary users and root, until destruction, and at least one whole round each. They open files each time, and
// keep others open.
class Watchers {
   public:
    Watchers() : by_everybody_(readable_by_everybody()), by_root_(readable_by_root(Card())) {
        for (size_t i = 0; i < threads_.size(); i++) threads_[i] = std::thread([this, i] { watch(i); });
    }
    ~Watchers() { stop(); }
    Watchers(const Watchers&) = delete;
    Watchers& operator=(const Watchers&) = delete;

    // Waits until each has completed a round that began after the call.
    void look() {
        std::array<uint64_t, kThreads> now;
        for (size_t i = 0; i < kThreads; i++) now[i] = rounds_[i];
        EXPECT_TRUE(eventually([&] {
            for (size_t i = 0; i < kThreads; i++)
                if (rounds_[i] < now[i] + 2) return false;  // the first round may have begun before
            return true;
        }));
    }
    void stop() {
        stop_ = true;
        for (std::thread& thread : threads_)
            if (thread.joinable()) thread.join();
    }
    uint64_t reads() const { return reads_; }

   private:
    static constexpr size_t kThreads = 4;

    void expect_documented(const std::string& path, int error) {
        const std::set<int> documented = {0,          -EAGAIN,     -ENODATA, -ENODEV, -ENOENT,
                                          -ETIMEDOUT, -ECONNRESET, -EIO,     -EPROTO, -EBUSY};
        EXPECT_EQ(documented.count(error), 1u) << path << ": " << error;
        reads_++;
    }
    void watch(size_t number) {
        const std::vector<std::string>& paths = number == 0 ? by_root_ : by_everybody_;
        std::optional<OrdinaryUser> user;
        if (number != 0) user.emplace();
        std::vector<int> kept;
        kept.reserve(paths.size());
        for (const std::string& path : paths) kept.push_back(open(path.c_str(), O_RDONLY | O_CLOEXEC));
        do {
            for (size_t i = 0; i < paths.size(); i++) {
                char piece[4096];
                expect_documented(paths[i], read_file(paths[i]).error);
                expect_documented(paths[i], pread(kept[i], piece, sizeof piece, 0) < 0 ? -errno : 0);
            }
            rounds_[number]++;
        } while (!stop_);
        for (const int fd : kept) close(fd);
    }

    const std::vector<std::string> by_everybody_, by_root_;
    std::atomic<bool> stop_{false};
    std::atomic<uint64_t> reads_{0};
    std::array<std::atomic<uint64_t>, kThreads> rounds_{};
    std::array<std::thread, kThreads> threads_;
};

}  // namespace sidra::test

#endif
