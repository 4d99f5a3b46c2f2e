// SPDX-License-Identifier: MIT
// Who watches is told something at once, or after a second at most, whatever becomes of the chip and its firmware, and
// is never in the way.
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <csignal>
#include <thread>

#include "attributes.h"
#include "dumps.h"
#include "innocent.h"

namespace sidra::test {
namespace {

// What an ordinary user can read of the card.
std::vector<std::string> readable() {
    std::vector<std::string> paths;
    for (const std::string& name : files_in(kClass))
        if (name != "firmware_log" && name != "firmware_update" && name != "firmware_activate")
            paths.push_back(kClass + name);
    for (const auto& sensors : std::filesystem::directory_iterator(kClass + "device/hwmon"))
        for (const std::string& name : files_in(sensors.path())) paths.push_back(sensors.path().string() + '/' + name);
    return paths;
}

// By four ordinary users at once, until the end of this, and a whole round each at least.
class Watchers {
   public:
    Watchers() : paths_(readable()) {
        for (std::thread& thread : threads_) thread = std::thread([this] { watch(); });
    }
    ~Watchers() { stop(); }
    Watchers(const Watchers&) = delete;
    Watchers& operator=(const Watchers&) = delete;

    // All of them have gone through all of it since.
    void look() {
        const uint64_t now = rounds_;
        EXPECT_TRUE(eventually([&] { return rounds_ >= now + 2 * threads_.size(); }));
    }
    void stop() {
        stop_ = true;
        for (std::thread& thread : threads_)
            if (thread.joinable()) thread.join();
    }
    uint64_t reads() const { return reads_; }

   private:
    void watch() {
        const OrdinaryUser user;
        do {
            for (const std::string& path : paths_) {
                const int error = read_file(path).error;
                const std::set<int> documented = {0,          -EAGAIN,     -ENODATA, -ENODEV, -ENOENT,
                                                  -ETIMEDOUT, -ECONNRESET, -EIO,     -EPROTO, -EBUSY};
                EXPECT_EQ(documented.count(error), 1u) << path << ": " << error;
                reads_++;
            }
            rounds_++;
        } while (!stop_);
    }

    const std::vector<std::string> paths_;
    std::atomic<bool> stop_{false};
    std::atomic<uint64_t> reads_{0}, rounds_{0};
    std::array<std::thread, 4> threads_;
};

class Monitor : public NodeTest {
   protected:
    const Card card;

    void SetUp() override {
        NodeTest::SetUp();
        ASSERT_TRUE(card.known());
        expect_well();
    }
    void TearDown() override { expect_well(); }

    static void expect_well() {
        for (const std::string& path : readable()) {
            int error = 0;
            EXPECT_TRUE(eventually([&] {
                error = read_file(path).error;
                return error == 0 || error == -ENODATA;
            })) << path
                << ": " << error;
        }
    }
};

TEST_F(Monitor, FirmwareThatHangsOrPanics) {
    Innocent innocent;
    Dumps("sidra0").release_all();
    for (const char* how : {"firmware-hang", "firmware-panic"}) {
        Watchers watchers;
        ASSERT_TRUE(knob(how, 1));
        for (int i = 0; i < 3; i++) {
            innocent.work();
            // The chip answers for itself.
            for (const char* name : {"telemetry", "generation", "crossbars", "pids"})
                EXPECT_EQ(attribute(name).error, 0) << name;
        }
        watchers.look();
        Dumps("sidra0").release_all();
    }
}

// While nobody answers a reader sleeps so that a signal ends it.
TEST_F(Monitor, ReadersCanBeInterrupted) {
    for (int attempt = 0;; attempt++) {
        ASSERT_LT(attempt, 20) << "no reader was ever seen waiting";
        ASSERT_TRUE(knob("firmware-hang", 1));
        const pid_t child = fork();
        if (child == 0) {
            struct sigaction quiet {};
            quiet.sa_handler = [](int) {};
            sigaction(SIGUSR1, &quiet, nullptr);  // without SA_RESTART
            for (int i = 0; i < 1000; i++)
                if (attribute("campaign").error == -EINTR) _exit(0);
            _exit(1);
        }
        const std::string of_child = "/proc/" + std::to_string(child);
        bool waited = false, ended = false;
        int status = 0;
        EXPECT_TRUE(eventually([&] {
            ended = waitpid(child, &status, WNOHANG) == child;
            waited = waited || read_file(of_child + "/wchan").bytes.find("sidra_question") != std::string::npos;
            if (waited && !ended) {
                EXPECT_EQ(read_file(of_child + "/stat").bytes.find(" D "), std::string::npos);
                kill(child, SIGUSR1);
            }
            return ended;
        }));
        if (waited) {
            EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
            break;
        }
    }
}

TEST_F(Monitor, ResetsWhileAThousandRead) {
    Watchers watchers;
    const Node node;
    sidra_ioctl_device_reset reset{};
    for (int i = 0; i < rounds(10, 100) || watchers.reads() < 1000; i++)
        ASSERT_EQ(node.call(SIDRA_IOCTL_DEVICE_RESET, reset), 0);
}

TEST_F(Monitor, TheDriverGoesWhileTheyRead) {
    for (int i = 0; i < rounds(3, 30); i++) {
        Watchers watchers;
        watchers.look();
        ASSERT_TRUE(card.unbind());
        watchers.look();
        watchers.stop();
        ASSERT_TRUE(card.bind());
    }
}

TEST_F(Monitor, TheLinkIsLost) {
    Watchers watchers;
    ASSERT_TRUE(knob("link-lost", 1));
    for (const char* name : {"telemetry", "generation"}) EXPECT_EQ(attribute(name).error, -ENODEV) << name;
    watchers.look();
    const Node node;
    sidra_ioctl_device_query query{};
    EXPECT_EQ(node.call(SIDRA_IOCTL_DEVICE_QUERY, query), -ENODEV) << "those who watch do not make the driver look";
    ASSERT_TRUE(knob("link-lost", 0));
    watchers.look();
    watchers.stop();
    EXPECT_TRUE(eventually([&] { return node.call(SIDRA_IOCTL_DEVICE_QUERY, query) == 0; }));
    Dumps(card.name()).release_all();
}

// What cannot be is not shown; the chip is not reset for it.
TEST_F(Monitor, LiesAboutCrossbars) {
    const uint64_t resets = attribute("resets").numbers().at(0);
    for (const uint64_t lie : {6, 9}) {
        ASSERT_TRUE(knob("lie", lie));
        EXPECT_TRUE(eventually([] { return attribute("crossbars").error == -EIO; })) << lie;
        EXPECT_TRUE(eventually([] { return attribute("crossbars").error == 0; })) << lie;
    }
    EXPECT_EQ(attribute("resets").numbers().at(0), resets);
}

}  // namespace
}  // namespace sidra::test
