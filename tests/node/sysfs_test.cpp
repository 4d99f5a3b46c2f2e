// SPDX-License-Identifier: MIT
// Attributes of the node: docs/abi/sysfs-class-sidra compared with calls and with the chip's own answers.
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>

#include "attributes.h"
#include "packets.h"

namespace sidra::test {
namespace {

class Sysfs : public NodeTest {
   protected:
    void SetUp() override {
        NodeTest::SetUp();
        ASSERT_TRUE(eventually([] { return attribute("firmware_version").line() != "none"; }));
    }
};

TEST_F(Sysfs, IsDocumented) {
    std::set<std::string> files = files_in(kClass);
    files.merge(files_in(kClass + "user_limits"));
    EXPECT_EQ(files, documented("sysfs-class-sidra"));
}

std::string version(uint32_t value) { return std::to_string(value >> 16) + '.' + std::to_string(value & 0xffff); }

TEST_F(Sysfs, SaysWhatCallsSay) {
    const Node node;
    const sidra_query_device device = device_of(node);
    const sidra_query_status status = status_of(node);
    std::string uuid;
    for (const uint8_t byte : device.uuid) {
        char text[3];
        std::snprintf(text, sizeof text, "%02x", byte);
        uuid += text;
    }
    std::string told = attribute("uuid").line();
    told.erase(std::remove(told.begin(), told.end(), '-'), told.end());
    EXPECT_EQ(told, uuid);
    EXPECT_EQ(attribute("hw_version").line(), version(device.hw_version));
    EXPECT_EQ(attribute("driver_version").line(), version(device.driver_version));
    EXPECT_EQ(std::stoull(attribute("features").line(), nullptr, 16), device.features);
    EXPECT_EQ(attribute("geometry").numbers(),
              (std::vector<uint64_t>{device.clusters, device.cus_per_cluster, device.xbars_per_cu}));
    EXPECT_EQ(attribute("l3_size").numbers(), std::vector<uint64_t>{device.l3_size});
    EXPECT_EQ(attribute("l3_free").numbers(), std::vector<uint64_t>{status.l3_free});
    EXPECT_EQ(attribute("generation").numbers(), std::vector<uint64_t>{status.generation});
    EXPECT_GT(attribute("nvm_size").numbers().at(0), 0u);
}

TEST_F(Sysfs, L3ThatBuffersHave) {
    const Node node;
    const Context context(node);
    const uint64_t before = attribute("l3_free").numbers().at(0);
    {
        const Buffer buffer(context, 3 * SIDRA_PAGE_SIZE, SIDRA_BUFFER_LOCAL);
        EXPECT_EQ(attribute("l3_free").numbers().at(0), before - 3 * SIDRA_PAGE_SIZE);
    }
    EXPECT_TRUE(eventually([&] { return attribute("l3_free").numbers().at(0) == before; }));
}

TEST_F(Sysfs, Resets) {
    const Node node;
    const uint64_t resets = attribute("resets").numbers().at(0), generation = attribute("generation").numbers().at(0);
    sidra_ioctl_device_reset reset{};
    ASSERT_EQ(node.call(SIDRA_IOCTL_DEVICE_RESET, reset), 0);
    EXPECT_EQ(attribute("resets").numbers().at(0), resets + 1);
    EXPECT_GT(attribute("generation").numbers().at(0), generation);
}

// ---- Who has it open ----

size_t times(uint64_t pid) {
    const std::vector<uint64_t> pids = attribute("pids").numbers();
    return static_cast<size_t>(std::count(pids.begin(), pids.end(), pid));
}

// What `does` returns, from a child.
template <class Does>
int in_child(Does does) {
    const pid_t child = fork();
    if (child == 0) _exit(does());
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(Sysfs, Pids) {
    const auto self = static_cast<uint64_t>(getpid());
    EXPECT_EQ(times(self), 0u);
    {
        const Node one, two;
        EXPECT_EQ(times(self), 2u);
        EXPECT_EQ(in_child([] {
                      const Node own;
                      return times(static_cast<uint64_t>(getpid())) == 1 ? 0 : 1;
                  }),
                  0);
    }
    EXPECT_EQ(times(self), 0u);
}

TEST_F(Sysfs, PidsOfAnotherNameSpace) {
    const Node outer;
    EXPECT_EQ(in_child([] {
                  if (unshare(CLONE_NEWPID) != 0) return 10;
                  return in_child([] {
                      const Node own;
                      return getpid() == 1 && attribute("pids").bytes == "1\n" ? 0 : 1;
                  });
              }),
              0);
}

// ---- The chip ----

TEST_F(Sysfs, TelemetryInOneRead) {
    const int fd = open((kClass + "telemetry").c_str(), O_RDONLY | O_CLOEXEC);
    sidra_telemetry page{};
    ASSERT_EQ(pread(fd, &page, sizeof page, 0), static_cast<ssize_t>(sizeof page));
    EXPECT_EQ(page.magic, SIDRA_TELEMETRY_MAGIC);
    EXPECT_EQ(page.xbars_total, device_of(Node()).xbars_total);
    uint64_t again = 0;
    ASSERT_EQ(pread(fd, &again, sizeof again, offsetof(sidra_telemetry, clock_ns)), 8);
    EXPECT_GT(again, page.clock_ns) << "as it is at each read";
    EXPECT_EQ(pread(fd, &again, sizeof again, sizeof page), 0);
    close(fd);
}

sidra_telemetry page_of(const Answer& answer) {
    sidra_telemetry page{};
    EXPECT_EQ(answer.bytes.size(), sizeof page);
    std::memcpy(&page, answer.bytes.data(), std::min(answer.bytes.size(), sizeof page));
    return page;
}

// However many strangers read however often: two pages in 200 ms.
TEST_F(Sysfs, TelemetryForEverybodyIsCoarse) {
    const Card card;
    ASSERT_TRUE(card.known());
    const auto moment = [] { return page_of(attribute("telemetry")).clock_ns; };
    std::set<uint64_t> moments;
    const uint64_t started = in_ms(0), before = card.counter("mmio_reads");
    {
        const OrdinaryUser user;
        for (int i = 0; i < 1000; i++) moments.insert(moment());
    }
    const uint64_t reads = card.counter("mmio_reads") - before, pages = 2 * ((in_ms(0) - started) / 200'000'000 + 2);
    EXPECT_LE(moments.size(), pages);
    // The words of each page, a presence check at each read, and the driver's own accesses meanwhile.
    EXPECT_LE(reads, (pages + 10) * (sizeof(sidra_telemetry) / 8 + 2) + 1000);
    EXPECT_GT(moment(), *moments.rbegin());
    const OrdinaryUser user;
    EXPECT_TRUE(eventually([&] { return moment() > *moments.rbegin(); })) << "it does not stand still";
}

TEST_F(Sysfs, TelemetryIsExactForWhoMayMeasure) {
    std::set<uint64_t> moments;
    for (int i = 0; i < 100; i++) moments.insert(page_of(attribute("telemetry")).clock_ns);
    EXPECT_EQ(moments.size(), 100u);
}

// Root of a name space of users is a stranger here.
TEST_F(Sysfs, TelemetryInANameSpaceIsCoarse) {
    EXPECT_EQ(in_child([] {
                  if (unshare(CLONE_NEWUSER) != 0) return 10;
                  const uint64_t started = in_ms(0);
                  std::set<uint64_t> moments;
                  for (int i = 0; i < 1000; i++) moments.insert(page_of(attribute("telemetry")).clock_ns);
                  return moments.size() <= 2 * ((in_ms(0) - started) / 200'000'000 + 2) ? 0 : 1;
              }),
              0);
}

// As a rule of udev's does.
TEST_F(Sysfs, CrossbarsCanBeTakenFromStrangers) {
    ASSERT_EQ(chmod((kClass + "crossbars").c_str(), 0400), 0);
    {
        const OrdinaryUser user;
        EXPECT_EQ(attribute("crossbars").error, -EACCES);
    }
    ASSERT_EQ(chmod((kClass + "crossbars").c_str(), 0444), 0);
}

std::vector<sidra_hw_xbar> crossbars() {
    const Answer answer = attribute("crossbars");
    EXPECT_EQ(answer.error, 0);
    std::vector<sidra_hw_xbar> all(answer.bytes.size() / sizeof(sidra_hw_xbar));
    std::memcpy(all.data(), answer.bytes.data(), all.size() * sizeof(sidra_hw_xbar));
    return all;
}

TEST_F(Sysfs, CrossbarsOfAnObject) {
    EXPECT_EQ(attribute("crossbars").bytes.size(), device_of(Node()).xbars_total * sizeof(sidra_hw_xbar));
    const Node node;
    const Context context(node);
    Queue queue(context, SIDRA_QUEUE_USER);
    const Buffer buffer(context, 4096);
    sidra_ioctl_weights_create create{context.handle, SIDRA_ENCODING_OFFSET, 16, 16, SIDRA_WEIGHTS_RIGHTS, 0, 0, 0, 0};
    ASSERT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_CREATE, create), 0);
    const auto programmed = [] {
        const std::vector<sidra_hw_xbar> all = crossbars();
        return std::count_if(all.begin(), all.end(),
                             [](const sidra_hw_xbar& one) { return one.programmed_rows == 16; });
    };
    const auto before = programmed();
    ASSERT_EQ(queue.wait(queue.push(chip_test::program(create.index, 0, 16, 0, 16, buffer.va, 16))), 0);
    EXPECT_TRUE(eventually([&] { return programmed() == before + 1; })) << "what was known gets old";
}

// Whatever the number of readers, the chip is asked once a second: here, for 200 reads of 7 pieces each, at most twice,
// and once for each second that the test takes.
TEST_F(Sysfs, CrossbarsAreAskedForOnceASecond) {
    const Card card;
    ASSERT_TRUE(card.known());
    crossbars();
    const uint64_t started = in_ms(0), writes = card.counter("mmio_writes");
    for (int i = 0; i < 200; i++) crossbars();
    const uint64_t commands = (device_of(Node()).xbars_total + 1023) / 1024,
                   answers = 2 + (in_ms(0) - started) / 1'000'000'000;
    EXPECT_LE(card.counter("mmio_writes") - writes,
              answers * commands * 5);  // registers of a command, and its interrupt's
}

// ---- The firmware ----

TEST_F(Sysfs, FirmwareSlots) {
    const std::string slots = attribute("firmware_slots").bytes;
    const testing::Matcher<std::string> form =
        testing::MatchesRegex("running=(A|B|recovery) active=[AB-] trial=[AB-] starts=[0-9]+ security=1 failed=-\n");
    EXPECT_TRUE(form.Matches(slots)) << slots;
}

TEST_F(Sysfs, FirmwareLog) {
    const Answer log = attribute("firmware_log");
    EXPECT_NE(log.bytes.find("running"), std::string::npos);
    EXPECT_LE(log.bytes.size(), 4096u);
}

TEST_F(Sysfs, LevelsOfTheClock) {
    const std::vector<uint64_t> khz = attribute("clock_khz_levels").numbers();
    ASSERT_EQ(khz.size(), 4u);
    EXPECT_TRUE(std::is_sorted(khz.begin(), khz.end()));
    EXPECT_EQ(write_attribute("clock_level", "1\n"), 0);
    EXPECT_EQ(attribute("clock_level").bytes, "1\n");
    EXPECT_EQ(page_of(attribute("telemetry")).clock_khz, khz[1]) << "at once";
    for (const char* bad : {"4", "-1", " ", "fast", "1 1"})
        EXPECT_EQ(write_attribute("clock_level", bad), -EINVAL) << bad;
    EXPECT_EQ(attribute("clock_level").bytes, "1\n");
    EXPECT_EQ(write_attribute("clock_level", "3"), 0);
    EXPECT_EQ(attribute("clock_level").bytes, "3\n");
}

struct CampaignLine {
    std::string state;
    unsigned number = 0, percent = 0;
};
CampaignLine campaign() {
    CampaignLine now;
    char state[16] = {};
    unsigned long long off = 0;
    const std::string text = attribute("campaign").bytes;
    EXPECT_EQ(
        std::sscanf(text.c_str(), "state=%15s number=%u percent=%u off=%llu", state, &now.number, &now.percent, &off),
        4)
        << text;
    now.state = state;
    return now;
}

TEST_F(Sysfs, Campaign) {
    const CampaignLine before = campaign();
    EXPECT_NE(before.state, "running");
    for (const char* verb : {"verify", "refresh"}) {
        const unsigned last = campaign().number;
        EXPECT_EQ(write_attribute("campaign", std::string(verb) + " 0 4 10000\n"), 0);
        EXPECT_TRUE(eventually([] { return campaign().state == "done"; })) << verb;
        EXPECT_EQ(campaign().number, last + 1);
        EXPECT_EQ(campaign().percent, 100u);
    }
    const unsigned last = campaign().number;
    EXPECT_EQ(write_attribute("campaign", "calibrate 0 6400\n"), 0);
    EXPECT_TRUE(eventually([] { return campaign().state == "done"; }));
    EXPECT_EQ(campaign().number, last + 1);
    EXPECT_EQ(write_attribute("campaign", "abort"), -EINVAL) << "nothing is under way";
    for (const char* bad : {" ", "verify", "verify 0 4", "verify 0 0 10000", "verify 6400 1 10000", "calibrate",
                            "calibrate 0", "calibrate 0 0", "calibrate 0 6401", "calibrate 1 4294967295",
                            "calibrate 0 4294967297", "calibrate -1 1", "calibrate 0 4 10000", "calibrate 0 4 x",
                            "verify 0 4 10000 1", "mend 0 4 10000", "abort 7", "verify -1 1 10000"})
        EXPECT_EQ(write_attribute("campaign", bad), -EINVAL) << bad;
}

TEST_F(Sysfs, NonsenseStartsNoUpdate) {
    EXPECT_EQ(write_attribute("firmware_update", "perhaps"), -EINVAL);
    EXPECT_EQ(write_attribute("firmware_update", "0"), 0) << "which does nothing";
}

// ---- Who may ----

TEST_F(Sysfs, OrdinaryUsersReadAndDoNotWrite) {
    const OrdinaryUser user;
    for (const std::string& name : files_in(kClass)) {
        const bool secret = name == "firmware_log" || name == "firmware_update" || name == "firmware_activate";
        EXPECT_EQ(attribute(name).error, secret ? -EACCES : 0) << name;
        EXPECT_EQ(write_attribute(name, "1"), -EACCES) << name;
    }
}

}  // namespace
}  // namespace sidra::test
