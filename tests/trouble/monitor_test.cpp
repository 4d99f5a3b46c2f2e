// SPDX-License-Identifier: MIT
// Monitoring reads return at once, or after a second at most, in any state of the chip and its firmware, and never
// disturb.
#include <sys/wait.h>

#include <csignal>

#include "dumps.h"
#include "innocent.h"
#include "watchers.h"

namespace sidra::test {
namespace {

class Monitor : public NodeTest {
   protected:
    const Card card;

    void SetUp() override {
        NodeTest::SetUp();
        ASSERT_TRUE(card.known());
        expect_well();
    }
    void TearDown() override { expect_well(); }

    // Recent values are answered from the cache while the core restarts; and a core that hangs in its ROM has no
    // watchdog yet.
    static bool firmware_runs() {
        const std::string page = attribute("telemetry").bytes;
        sidra_telemetry now{};
        page.copy(reinterpret_cast<char*>(&now), sizeof now);
        const uint32_t stage = now.status & SIDRA_STATUS_STAGE_MASK;
        return stage == SIDRA_STAGE_RUNTIME || stage == SIDRA_STAGE_RECOVERY;
    }
    static void expect_well() {
        EXPECT_TRUE(eventually(firmware_runs));
        for (const std::string& path : readable_by_everybody()) {
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

// While the firmware does not answer, a reader sleeps interruptibly.
TEST_F(Monitor, ReadersCanBeInterrupted) {
    for (int attempt = 0;; attempt++) {
        ASSERT_LT(attempt, 20) << "no reader was interrupted while it waited";
        ASSERT_TRUE(eventually(firmware_runs));
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
            waited = waited || read_file(of_child + "/wchan").bytes.find("sidra_query") != std::string::npos;
            if (waited && !ended) {
                EXPECT_EQ(read_file(of_child + "/stat").bytes.find(" D "), std::string::npos);
                kill(child, SIGUSR1);
            }
            return ended;
        }));
        ASSERT_TRUE(WIFEXITED(status)) << "status " << status;
        // Otherwise the wait that was seen ended with an answer, before the firmware hung, and the rest was in the
        // cache.
        if (WEXITSTATUS(status) == 0) break;
    }
}

TEST_F(Monitor, ResetsWhileAThousandRead) {
    Watchers watchers;
    const Node node;
    sidra_ioctl_device_reset reset{};
    for (int i = 0; i < rounds(10, 100) || watchers.reads() < 1000; i++)
        ASSERT_EQ(node.call(SIDRA_IOCTL_DEVICE_RESET, reset), 0);
}

TEST_F(Monitor, TheBusResetsWhileTheyRead) {
    Watchers watchers;
    for (int i = 0; i < rounds(5, 50); i++) {
        ASSERT_TRUE(write_text("/sys/bus/pci/devices/" + card.name() + "/reset", "1"));
        watchers.look();
    }
}

TEST_F(Monitor, TheLinkIsLost) {
    Watchers watchers;
    ASSERT_TRUE(knob("link-lost", 1));
    for (const char* name : {"telemetry", "generation"}) EXPECT_EQ(attribute(name).error, -ENODEV) << name;
    watchers.look();
    const Node node;
    EXPECT_TRUE(finds_lost_link(node)) << "those who watch do not make the driver look";
    ASSERT_TRUE(knob("link-lost", 0));
    watchers.look();
    watchers.stop();
    sidra_ioctl_device_query query{};
    EXPECT_TRUE(eventually([&] { return node.call(SIDRA_IOCTL_DEVICE_QUERY, query) == 0; }));
    Dumps(card.name()).release_all();
}

// Impossible values are not shown; the chip is not reset for them.
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
