// SPDX-License-Identifier: MIT
// Events of chips, from differences between readings, and the kernel's messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "session.h"
#include "tree.h"
#include "uevent.h"

namespace sidra::test {
namespace {

using smi::parse_uevent;

std::string message(std::vector<std::string> lines) {
    std::string text;
    for (const std::string& line : lines) text += line + '\0';
    return text;
}

TEST(Uevent, OfTheDriver) {
    const std::string path = "DEVPATH=/devices/pci0000:00/0000:00:03.0/sidra/sidra0";
    const auto reset = parse_uevent(
        message({"change@/devices/sidra0", "ACTION=change", path, "SUBSYSTEM=sidra", "MAJOR=240", "DEVNAME=sidra0",
                 "SIDRA_EVENT=reset", "SIDRA_CAUSE=18", "SIDRA_GENERATION=8", "SEQNUM=77"}));
    ASSERT_TRUE(reset);
    EXPECT_EQ(reset->node, "sidra0");
    EXPECT_EQ(reset->event, "reset");
    EXPECT_EQ(reset->cause, 18u);
    EXPECT_EQ(reset->generation, 8u);
    EXPECT_FALSE(reset->context);
    const auto panic = parse_uevent(message({"ACTION=change", "SUBSYSTEM=sidra", "DEVNAME=sidra3",
                                             "SIDRA_EVENT=firmware-panic", "SIDRA_PANIC=4", "SIDRA_CAUSE=x"}));
    ASSERT_TRUE(panic);
    EXPECT_EQ(panic->panic, 4u);
    EXPECT_FALSE(panic->cause);
}

TEST(Uevent, OfOthers) {
    EXPECT_FALSE(parse_uevent(""));
    EXPECT_FALSE(parse_uevent(message({"ACTION=change", "SUBSYSTEM=accel", "DEVNAME=sidra0", "SIDRA_EVENT=reset"})));
    EXPECT_FALSE(parse_uevent(message({"ACTION=add", "SUBSYSTEM=sidra", "DEVNAME=sidra0", "SIDRA_EVENT=reset"})));
    EXPECT_FALSE(parse_uevent(message({"ACTION=change", "SUBSYSTEM=sidra", "DEVNAME=sidra0"})));
    EXPECT_FALSE(parse_uevent(message({"ACTION=change", "SUBSYSTEM=sidra", "SIDRA_EVENT=reset"})));
    EXPECT_FALSE(parse_uevent("libudev\0\xfe\xed\xca\xfe"));
    // Without a last NUL, and with what is not text.
    EXPECT_TRUE(parse_uevent(message({"ACTION=change", "SUBSYSTEM=sidra", "DEVNAME=sidra0"}) + "SIDRA_EVENT=reset"));
    EXPECT_EQ(parse_uevent(message({"ACTION=change", "SUBSYSTEM=sidra", "DEVNAME=a\nb", "SIDRA_EVENT=\x1b[2J"}))->event,
              "?[2J");
}

class EventsTest : public testing::Test {
   protected:
    EventsTest() {
        tree_.card(0, "0000:01:00.0");
        tree_.write("etc/sidra/health.conf", "[firmware]\ncritical = 1_000_000\n");  // its heartbeat never moves
    }
    void change(const std::function<void(sidra_telemetry&)>& what) {
        what(page_);
        tree_.write(tree_.node(0, "telemetry"), bytes_of(page_));
    }
    // "TYPE NAME: text" of all events since the last call.
    std::vector<std::string> take() {
        const sidra_smi_event* events = nullptr;
        uint32_t count = 0;
        EXPECT_EQ(sidra_smi_events(session_.get(), 0, &events, &count), SIDRA_SMI_OK)
            << sidra_smi_error(session_.get());
        std::vector<std::string> found;
        for (uint32_t n = 0; n < count; ++n) {
            found.push_back(std::string(events[n].type) + " " + sidra_smi_text_of(events[n].chip, "name") + ": " +
                            events[n].text);
            initial_ = events[n].initial;
            severity_ = events[n].severity;
            count_ = events[n].count;
        }
        return found;
    }

    const Tree tree_;
    sidra_telemetry page_ = telemetry(1);
    const Session session_{tree_};
    bool initial_ = false;
    sidra_smi_status severity_ = SIDRA_SMI_OK;
    uint64_t count_ = 0;
};

using Texts = std::vector<std::string>;

TEST_F(EventsTest, FirstWhatIsThere) {
    const Texts first = take();
    ASSERT_FALSE(first.empty());
    EXPECT_EQ(first[0], "present sidra0: ready");
    EXPECT_TRUE(initial_);
    // Everything else that is there is a problem that health reports.
    for (size_t n = 1; n < first.size(); ++n) EXPECT_EQ(first[n].substr(0, 14), "health sidra0:") << first[n];
    EXPECT_NE(std::ranges::find_if(first, [](const auto& text) { return text.find("dma: ") != text.npos; }),
              first.end());
    EXPECT_EQ(take(), Texts());
}

TEST_F(EventsTest, WhatCountersSay) {
    take();
    change([](auto& t) { t.throttles += 2; });
    EXPECT_EQ(take(), Texts{"throttle sidra0: the firmware lowered the clock 2 times"});
    EXPECT_EQ(count_, 2u);
    EXPECT_EQ(severity_, SIDRA_SMI_WARNING);
    EXPECT_FALSE(initial_);
    change([](auto& t) { ++t.throttles; });
    EXPECT_EQ(take(), Texts{"throttle sidra0: the firmware lowered the clock"});
    change([](auto& t) { t.faults += 3; });
    EXPECT_EQ(take(), Texts{"fault sidra0: 3 queues stopped with a fault"});
    change([](auto& t) { ++t.dma_errors; });
    EXPECT_EQ(take(), Texts{"dma-error sidra0: the host refused a DMA transfer"});
    change([](auto& t) { t.throttles = t.faults = t.dma_errors = 0; });  // power-on
    const Texts off = take();
    EXPECT_EQ(off, Texts{"health sidra0: dma: no DMA errors"});
}

TEST_F(EventsTest, ResetsAndFirmware) {
    take();
    change([](auto& t) { ++t.generation, t.heartbeat = 0; });
    EXPECT_EQ(take(), Texts{"reset sidra0: the chip was reset, and all contexts are lost"});
    change([](auto& t) { t.heartbeat = 50; });
    EXPECT_EQ(take(), Texts());
    change([](auto& t) { t.heartbeat = 1, t.boot_reason = SIDRA_BOOT_WATCHDOG; });
    EXPECT_EQ(take(), Texts{"firmware-watchdog sidra0: the firmware hung, and its watchdog restarted it"});
    EXPECT_EQ(severity_, SIDRA_SMI_CRITICAL);
    change(
        [](auto& t) { t.panic = 5, t.status = SIDRA_STAGE_PANIC | SIDRA_STATUS_READY | SIDRA_STATUS_FIRMWARE_ALIVE; });
    Texts panic = take();
    std::ranges::sort(panic);
    EXPECT_EQ(panic, (Texts{"firmware-panic sidra0: the firmware has panicked (code 5)",
                            "health sidra0: state: the firmware has panicked (code 5)",
                            "status sidra0: the status changed from ready to panic"}));
}

TEST_F(EventsTest, LinkAndHealth) {
    tree_.write("sys/bus/pci/devices/0000:01:00.0/current_link_width", "8\n");
    take();
    tree_.write("sys/bus/pci/devices/0000:01:00.0/current_link_width", "2\n");
    const Texts link = take();
    EXPECT_NE(std::ranges::find_if(link,
                                   [](const auto& text) {
                                       return text.starts_with("link sidra0: the PCIe link changed from ") &&
                                              text.ends_with("x2");
                                   }),
              link.end())
        << testing::PrintToString(link);
    change([](auto& t) { t.temperature_mc = 106'000; });
    EXPECT_EQ(take(), Texts{"health sidra0: temperature: 106.0 C, at or above the shutdown limit of 105 C"});
    change([](auto& t) { t.temperature_mc = 50'000; });
    EXPECT_EQ(take(), Texts{"health sidra0: temperature: 50.0 C"});
}

TEST_F(EventsTest, ChipsThatComeAndGo) {
    take();
    {
        const Publisher model(tree_, 0);
        const Texts come = take();
        ASSERT_FALSE(come.empty());
        EXPECT_EQ(come[0], "present " + model.name() + ": ready");
        EXPECT_FALSE(initial_);
    }
    const Texts gone = take();
    ASSERT_EQ(gone.size(), 1u);
    EXPECT_EQ(gone[0].substr(0, 5), "gone ");
    EXPECT_EQ(severity_, SIDRA_SMI_OK);
    tree_.remove("sys/class/sidra/sidra0");
    const Texts lost = take();
    EXPECT_NE(std::ranges::find(lost, "gone sidra0: the card is gone"), lost.end()) << testing::PrintToString(lost);
}

TEST(Events, WrongArguments) {
    const sidra_smi_event* events = nullptr;
    uint32_t count = 0;
    EXPECT_EQ(sidra_smi_events(nullptr, 0, &events, &count), SIDRA_SMI_USAGE);
    const Tree tree;
    const Session session(tree);
    EXPECT_EQ(sidra_smi_events(session.get(), 0, nullptr, &count), SIDRA_SMI_USAGE);
    EXPECT_EQ(sidra_smi_events(session.get(), 0, &events, nullptr), SIDRA_SMI_USAGE);
}

}  // namespace
}  // namespace sidra::test
