// SPDX-License-Identifier: MIT
// Access to a chip: deadlines, and nonsensical answers of drivers.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "aside.h"
#include "card.h"
#include "file.h"
#include "session.h"
#include "tree.h"

namespace sidra::test {
namespace {

constexpr uint64_t kLong = 60'000'000'000;

// Work that does not end until it is released.
struct Gate {
    std::mutex lock;
    std::condition_variable changed;
    bool open = false;
    void wait() {
        std::unique_lock held(lock);
        changed.wait(held, [this] { return open; });
    }
    void let_go() {
        const std::lock_guard held(lock);
        open = true;
        changed.notify_all();
    }
};

TEST(Aside, GoesOnWithoutWorkThatHangs) {
    const auto gate = std::make_shared<Gate>();
    smi::Aside aside;
    ASSERT_EQ(aside.start([gate] { gate->wait(); }), 0);
    EXPECT_FALSE(aside.wait_until(smi::now_ns() + 1'000'000));
    EXPECT_EQ(aside.start([] {}), EBUSY);
    gate->let_go();
    EXPECT_TRUE(aside.wait_until(smi::now_ns() + kLong));
    bool done = false;
    ASSERT_EQ(aside.start([&done] { done = true; }), 0);
    EXPECT_TRUE(aside.wait_until(smi::now_ns() + kLong));
    EXPECT_TRUE(done);
}

TEST(Aside, MayEndBeforeItsWork) {
    const auto gate = std::make_shared<Gate>(), after = std::make_shared<Gate>();
    {
        smi::Aside aside;
        ASSERT_EQ(aside.start([gate, after] { gate->wait(), after->let_go(); }), 0);
    }
    gate->let_go();
    after->wait();
}

// A driver for the file `reset`: the chip has another generation once it was written, and its firmware's heart beats.
class Driver {
   public:
    Driver(const Tree& tree, bool resets) : telemetry_(tree.path(tree.node(0, "telemetry"))) {
        reset_ = tree.path(tree.node(0, "device/reset"));
        thread_ = std::thread([this, resets] {
            sidra_telemetry page = telemetry(1);
            page.contexts = 0;
            while (!stop_) {
                page.heartbeat++;
                if (resets && page.generation == 7 && std::filesystem::file_size(reset_) > 0) page.generation = 8;
                const int fd = open(telemetry_.c_str(), O_WRONLY);
                EXPECT_EQ(pwrite(fd, &page, sizeof page, 0), static_cast<ssize_t>(sizeof page));
                close(fd);
                std::this_thread::yield();
            }
        });
    }
    ~Driver() {
        stop_ = true;
        thread_.join();
    }

   private:
    std::string telemetry_, reset_;
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

void note(void* phases, const char* phase, double, uint64_t) {
    static_cast<std::vector<std::string>*>(phases)->emplace_back(phase);
}

struct Card : Tree {
    Card() {
        card(0, "0000:01:00.0");
        write(node(0, "device/reset"), "");
        sidra_telemetry page = telemetry(1);
        page.contexts = 0;
        write(node(0, "telemetry"), bytes_of(page));
    }
    std::string file(const std::string& attribute) const {
        std::ifstream in(path(node(0, attribute)));
        return {std::istreambuf_iterator<char>(in), {}};
    }
};

// A reset that times out while it waits for the chip. Each attempt has its own session, because an abandoned one may
// still be in progress.
void expect_not_ready(const Tree& tree) {
    std::string error;
    for (uint64_t limit = 100'000'000; limit <= kLong && error.find("phase 'ready'") == std::string::npos; limit *= 2) {
        const Session session(tree);
        EXPECT_EQ(sidra_smi_reset(session.chip(0), false, limit, nullptr, nullptr), SIDRA_SMI_TIMEOUT);
        error = sidra_smi_error(session.get());
    }
    EXPECT_NE(error.find("phase 'ready'"), std::string::npos) << error;
}

TEST(Reset, WaitsForTheNextGeneration) {
    const Card tree;
    Session session(tree);
    std::vector<std::string> phases;
    const Driver driver(tree, true);
    EXPECT_EQ(sidra_smi_reset(session.chip(0), false, kLong, note, &phases), SIDRA_SMI_OK)
        << sidra_smi_error(session.get());
    EXPECT_EQ(phases, (std::vector<std::string>{"holders", "reset", "ready", "self-test"}));
    EXPECT_EQ(tree.file("device/reset"), "1");
}

TEST(Reset, ThatDidNothingIsNone) {
    const Card tree;
    const Driver driver(tree, false);
    expect_not_ready(tree);
    EXPECT_EQ(tree.file("device/reset"), "1");
}

TEST(Reset, OfAChipThatDoesNotComeBack) {
    const Card tree;
    sidra_telemetry page = telemetry(1);
    page.contexts = 0;
    page.status = SIDRA_STAGE_ROM;
    tree.write(tree.node(0, "telemetry"), bytes_of(page));
    expect_not_ready(tree);
    page.status = SIDRA_STATUS_FATAL;
    tree.write(tree.node(0, "telemetry"), bytes_of(page));
    const Session session(tree);
    EXPECT_EQ(sidra_smi_reset(session.chip(0), false, kLong, nullptr, nullptr), SIDRA_SMI_INTERNAL);
}

TEST(Reset, LeavesThoseAloneWhoUseIt) {
    const Card tree;
    tree.write(tree.node(0, "telemetry"), bytes_of(telemetry(1)));  // two contexts
    Session session(tree);
    EXPECT_EQ(sidra_smi_reset(session.chip(0), false, kLong, nullptr, nullptr), SIDRA_SMI_BUSY);
    EXPECT_EQ(tree.file("device/reset"), "");
    const Driver driver(tree, true);
    EXPECT_EQ(sidra_smi_reset(session.chip(0), true, kLong, nullptr, nullptr), SIDRA_SMI_OK)
        << sidra_smi_error(session.get());
}

TEST(Reach, ChipsOfProcessesAreLookedAtOnly) {
    const Tree tree;
    const Publisher publisher(tree, 0);
    Session session(tree);
    const char* log = nullptr;
    sidra_smi_campaign campaign;
    EXPECT_EQ(sidra_smi_reset(session.chip(0), true, kLong, nullptr, nullptr), SIDRA_SMI_PERMISSION);
    EXPECT_EQ(sidra_smi_firmware_update(session.chip(0), kLong), SIDRA_SMI_PERMISSION);
    EXPECT_EQ(sidra_smi_log(session.chip(0), kLong, &log), SIDRA_SMI_PERMISSION);
    EXPECT_STREQ(log, "");
    EXPECT_EQ(sidra_smi_campaign_info(session.chip(0), kLong, &campaign), SIDRA_SMI_PERMISSION);
    EXPECT_EQ(sidra_smi_set_power_limit(session.chip(0), 10, kLong), SIDRA_SMI_PERMISSION);
    EXPECT_EQ(sidra_smi_reset(nullptr, true, kLong, nullptr, nullptr), SIDRA_SMI_USAGE);
}

TEST(Reach, AnOlderDriverHasNoSuchFile) {
    const Card tree;
    Session session(tree);
    sidra_smi_firmware info;
    EXPECT_EQ(sidra_smi_firmware_info(session.chip(0), &info), SIDRA_SMI_NO_DRIVER);
    EXPECT_NE(std::string(sidra_smi_error(session.get())).find("the driver is too old"), std::string::npos);
    EXPECT_EQ(sidra_smi_firmware_update(session.chip(0), kLong), SIDRA_SMI_NO_DRIVER);
    EXPECT_EQ(sidra_smi_set_power_limit(session.chip(0), 10, kLong), SIDRA_SMI_NO_DRIVER);
}

TEST(Reach, WhatMakesNoSense) {
    const Card tree;
    Session session(tree);
    sidra_smi_firmware info;
    for (const char* line : {"", "running=AA active=A trial=-\n", "running=X active=A trial=-\n",
                             "running=A active=A trial=-\n", "active=A trial=-\n"}) {
        tree.write(tree.node(0, "firmware_slots"), line);
        EXPECT_EQ(sidra_smi_firmware_info(session.chip(0), &info), SIDRA_SMI_INTERNAL) << line;
    }
    tree.write(tree.node(0, "firmware_slots"), "running=B active=A trial=- starts=99999999999 security=x failed=B\n");
    ASSERT_EQ(sidra_smi_firmware_info(session.chip(0), &info), SIDRA_SMI_OK) << sidra_smi_error(session.get());
    EXPECT_EQ(info.running, 'B');
    EXPECT_EQ(info.failed, 'B');
    EXPECT_EQ(info.starts, UINT32_MAX);
    EXPECT_STREQ(info.version, "1.0.3");
    sidra_smi_campaign campaign;
    for (const char* line : {"", "state= number=1\n", "state=very-long-indeed percent=3\n"}) {
        tree.write(tree.node(0, "campaign"), line);
        EXPECT_EQ(sidra_smi_campaign_info(session.chip(0), kLong, &campaign), SIDRA_SMI_INTERNAL) << line;
    }
    tree.write(tree.node(0, "campaign"), "state=running number=2 percent=250 off=9\n");
    ASSERT_EQ(sidra_smi_campaign_info(session.chip(0), kLong, &campaign), SIDRA_SMI_OK);
    EXPECT_EQ(campaign.percent, 100u);
    EXPECT_EQ(campaign.off, 9u);
    sidra_smi_clock clock;
    tree.write(tree.node(0, "clock_khz_levels"), "1 2\n");
    tree.write(tree.node(0, "clock_level"), "2\n");
    EXPECT_EQ(sidra_smi_clock_info(session.chip(0), &clock), SIDRA_SMI_INTERNAL);
}

TEST(Reach, CampaignsAsTheDriverTakesThem) {
    const Card tree;
    Session session(tree);
    tree.write(tree.node(0, "campaign"), "");
    ASSERT_EQ(sidra_smi_campaign_start(session.chip(0), SIDRA_SMI_REFRESH, 10, 20, 30, kLong), SIDRA_SMI_OK);
    EXPECT_EQ(tree.file("campaign"), "refresh 10 20 30");
    tree.write(tree.node(0, "campaign"), "");
    ASSERT_EQ(sidra_smi_campaign_start(session.chip(0), SIDRA_SMI_VERIFY, 1, 2, 3, kLong), SIDRA_SMI_OK);
    EXPECT_EQ(tree.file("campaign"), "verify 1 2 3");
    tree.write(tree.node(0, "campaign"), "");
    ASSERT_EQ(sidra_smi_campaign_start(session.chip(0), SIDRA_SMI_CALIBRATE, 7, 8, 0, kLong), SIDRA_SMI_OK);
    EXPECT_EQ(tree.file("campaign"), "calibrate 7 8");
    EXPECT_EQ(sidra_smi_campaign_start(session.chip(0), SIDRA_SMI_CALIBRATE, 7, 8, 1, kLong), SIDRA_SMI_USAGE);
    EXPECT_EQ(sidra_smi_campaign_start(session.chip(0), static_cast<sidra_smi_campaign_kind>(3), 7, 8, 1, kLong),
              SIDRA_SMI_USAGE);
    EXPECT_EQ(tree.file("campaign"), "calibrate 7 8") << "nothing was written";
    tree.write(tree.node(0, "campaign"), "");
    ASSERT_EQ(sidra_smi_campaign_abort(session.chip(0), kLong), SIDRA_SMI_OK);
    EXPECT_EQ(tree.file("campaign"), "abort");
}

std::string xbar_bytes(const std::vector<sidra_hw_xbar>& xbars) {
    return {reinterpret_cast<const char*>(xbars.data()), xbars.size() * sizeof xbars[0]};
}

TEST(Crossbars, OfCardsAndProcesses) {
    const std::vector<sidra_hw_xbar> xbars = {{.uid = 7, .programs = 3, .programmed_rows = 200, .stuck_cells = 5}, {}};
    const Card tree;
    const Publisher publisher(tree, 0, {}, xbars);
    tree.write(tree.node(0, "crossbars"), xbar_bytes(xbars) + "cut");
    Session session(tree);
    for (uint32_t chip = 0; chip < 2; ++chip) {
        const sidra_smi_crossbar* found = nullptr;
        uint32_t count = 0;
        ASSERT_EQ(sidra_smi_crossbars(session.chip(chip), &found, &count), SIDRA_SMI_OK)
            << sidra_smi_error(session.get());
        ASSERT_EQ(count, 2u);
        EXPECT_EQ(found[0].owner, 7u);
        EXPECT_EQ(found[0].programs, 3u);
        EXPECT_EQ(found[0].bad_cells, 5u);
        EXPECT_EQ(found[0].rows, 200);
        EXPECT_EQ(found[1].owner, 0u);
    }
}

TEST(Crossbars, ThatCannotBeRead) {
    const Card tree;
    const Publisher publisher(tree, 0, [](sidra_publish& header, sidra_telemetry&) { header.xbar_count = UINT32_MAX; });
    Session session(tree);
    const sidra_smi_crossbar* found = nullptr;
    uint32_t count = 1;
    EXPECT_EQ(sidra_smi_crossbars(session.chip(0), &found, &count), SIDRA_SMI_NO_DRIVER);
    EXPECT_EQ(count, 0u);
    EXPECT_EQ(sidra_smi_crossbars(session.chip(1), &found, &count), SIDRA_SMI_INTERNAL);
    EXPECT_EQ(session.text(1, "packets"), "9001");
}

// A reading that took longer than somebody waited for it is not lost.
TEST(CardReader, KeepsALateResult) {
    const Tree tree;
    tree.card(0, "0000:01:00.0");
    smi::CardReader reader;
    EXPECT_FALSE(reader.complete()) << "nothing was started";
    ASSERT_EQ(reader.start(smi::find_cards(tree.root()).at(0)), 0);
    while (!reader.complete()) std::this_thread::yield();
    const auto sample = reader.finish(0);
    ASSERT_TRUE(sample);
    EXPECT_EQ(sample.value.telemetry.error, 0);
    EXPECT_FALSE(reader.complete()) << "taken once";
}

}  // namespace
}  // namespace sidra::test
