// SPDX-License-Identifier: MIT
// Chips that come and go, their names, and rates between two readings.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "session.h"
#include "tree.h"

namespace sidra::test {
namespace {

using Names = std::vector<std::string>;

TEST(Session, WithoutAnything) {
    const Tree tree;
    Session session(tree);
    EXPECT_EQ(sidra_smi_count(session.get()), 0u);
    EXPECT_EQ(session.select(nullptr), Names());
    EXPECT_EQ(sidra_smi_chip_at(session.get(), 0), nullptr);
    session.select("0", SIDRA_SMI_NO_DEVICE);
}

TEST(Session, OpensForOptionsThatItKnows) {
    sidra_smi* session = nullptr;
    sidra_smi_options options = {};
    EXPECT_EQ(sidra_smi_open(&options, &session), SIDRA_SMI_USAGE);  // no size
    options.struct_size = sizeof options + 8;
    EXPECT_EQ(sidra_smi_open(&options, &session), SIDRA_SMI_USAGE);
    EXPECT_EQ(sidra_smi_open(nullptr, nullptr), SIDRA_SMI_USAGE);
    EXPECT_EQ(session, nullptr);
    ASSERT_EQ(sidra_smi_open(nullptr, &session), SIDRA_SMI_OK);
    EXPECT_STREQ(sidra_smi_error(session), "");
    sidra_smi_close(session);
    sidra_smi_close(nullptr);
}

TEST(Session, OrdersChips) {
    const Tree tree;
    tree.function("0000:05:00.0");
    tree.card(10, "0000:02:00.0");
    tree.card(2, "0000:03:00.0");
    tree.write("sys/class/sidra/other/uuid", "no card\n");
    tree.write("sys/bus/pci/devices/0000:06:00.0/vendor", "0x1234\n");
    const Publisher publisher(tree, 0);
    Session session(tree);
    EXPECT_EQ(session.names(), (Names{"sidra2", "sidra10", "0000:05:00.0", publisher.name()}));
}

TEST(Session, Selects) {
    const Tree tree;
    tree.card(0, "0000:01:00.0");
    tree.card(1, "0001:02:00.0");
    const Publisher publisher(tree, 3);
    Session session(tree);
    const std::string pid = std::to_string(publisher.pid());
    EXPECT_EQ(session.select(nullptr).size(), 3u);
    EXPECT_EQ(session.select(nullptr).size(), 3u);
    // An unset variable must not select all cards.
    for (const char* empty : {"", " ", "\t"})
        EXPECT_NE(session.select(empty, SIDRA_SMI_USAGE)[0].find("the selector is empty"), std::string::npos);
    EXPECT_EQ(session.select("1"), Names{"sidra1"});
    EXPECT_EQ(session.select("sidra1"), Names{"sidra1"});
    EXPECT_EQ(session.select("/dev/sidra1"), Names{"sidra1"});
    EXPECT_EQ(session.select("0001:02:00.0"), Names{"sidra1"});
    EXPECT_EQ(session.select("01:00.0"), Names{"sidra0"});
    EXPECT_EQ(session.select("C0FFEE01"), Names{"sidra1"});
    EXPECT_EQ(session.select("c0ffee00-0000-4000-8000-000000000000"), Names{"sidra0"});
    EXPECT_EQ(session.select(pid.c_str()), Names{publisher.name()});
    EXPECT_EQ(session.select(publisher.name().c_str()), Names{publisher.name()});
    EXPECT_EQ(session.select(" 1 ,sidra0, 0"), (Names{"sidra0", "sidra1"}));
    for (const char* nothing : {"7", "sidra7", "02:00.0", "c0ffee0", "c0ffee000000000", "/dev/null", "1.5", "\x1b[31m"})
        EXPECT_NE(session.select(nothing, SIDRA_SMI_NO_DEVICE)[0].find("no such chip: '"), std::string::npos)
            << nothing;
    EXPECT_EQ(session.select("\x1b", SIDRA_SMI_NO_DEVICE)[0].find('\x1b'), std::string::npos);
    for (const char* wrong : {",", "0,", ",0", "0,,1"}) session.select(wrong, SIDRA_SMI_USAGE);

    uint32_t count = 0;
    sidra_smi_chip* one = nullptr;
    EXPECT_EQ(sidra_smi_select(session.get(), nullptr, &one, 1, &count), SIDRA_SMI_OK);
    EXPECT_EQ(count, 3u);
    EXPECT_EQ(one, session.chip(0));
    EXPECT_EQ(sidra_smi_select(session.get(), nullptr, nullptr, 1, &count), SIDRA_SMI_USAGE);
}

TEST(Session, RefusesWhatMayBeTwo) {
    const Tree tree;
    tree.card(0, "0000:01:00.0");
    tree.card(1, "0000:02:00.0");
    tree.write(tree.node(0, "uuid"), "abcdef01-0000-4000-8000-000000000001\n");
    tree.write(tree.node(1, "uuid"), "abcdef01-0000-4000-8000-000000000002\n");
    Session session(tree);
    const std::string said = session.select("abcdef01", SIDRA_SMI_USAGE)[0];
    EXPECT_NE(said.find("sidra0"), std::string::npos) << said;
    EXPECT_NE(said.find("sidra1"), std::string::npos) << said;
    EXPECT_EQ(session.select("abcdef01-0000-4000-8000-000000000002"), Names{"sidra1"});
}

// Two processes on copies of one state file have the same UUID: no more digits of it can tell them apart.
TEST(Session, TwoChipsWithOneUuidAreToldApartByName) {
    const Tree tree;
    tree.card(0, "0000:01:00.0");
    tree.card(1, "0000:02:00.0");
    for (unsigned n = 0; n < 2; ++n) tree.write(tree.node(n, "uuid"), "abcdef01-0000-4000-8000-000000000001\n");
    const Session session(tree);
    EXPECT_NE(session.select("abcdef01", SIDRA_SMI_USAGE)[0].find("select one by its whole UUID"), std::string::npos);
    EXPECT_NE(session.select("abcdef01-0000-4000-8000-000000000001", SIDRA_SMI_USAGE)[0].find("select one by its name"),
              std::string::npos);
}

// An index is an index, also where a process has that number.
TEST(Session, PrefersIndices) {
    const Tree tree;
    const Publisher publisher(tree, 0);
    for (unsigned n = 0; n < 3; ++n) tree.card(n, "0000:0" + std::to_string(n + 1) + ":00.0");
    Session session(tree);
    EXPECT_EQ(session.select("2"), Names{"sidra2"});
}

TEST(Session, KeepsIndicesOfChipsThatGo) {
    const Tree tree;
    tree.card(0, "0000:01:00.0");
    tree.card(1, "0000:02:00.0");
    Session session(tree);
    tree.remove("sys/class/sidra/sidra0");
    tree.remove("sys/bus/pci/devices/0000:01:00.0");
    session.refresh();
    EXPECT_EQ(session.names(), (Names{"sidra0", "sidra1"}));
    EXPECT_TRUE(sidra_smi_gone(session.chip(0)));
    EXPECT_FALSE(sidra_smi_gone(session.chip(1)));
    EXPECT_EQ(session.text(0, "status"), "lost");
    EXPECT_EQ(session.text(0, "packets"), "1001");  // the last value
    EXPECT_EQ(session.select(nullptr), Names{"sidra1"});
    EXPECT_EQ(session.select("sidra0"), Names{"sidra0"});
    tree.card(0, "0000:01:00.0");
    session.refresh();
    EXPECT_FALSE(sidra_smi_gone(session.chip(0)));
    EXPECT_EQ(sidra_smi_count(session.get()), 2u);
}

TEST(Session, SeesProcessesComeAndGo) {
    const Tree tree;
    Session session(tree);
    Publisher first(tree, 0);
    const Publisher second(tree, 0);
    session.refresh();
    EXPECT_EQ(sidra_smi_count(session.get()), 2u);
    const uint32_t index = session.text(0, "name") == first.name() ? 0 : 1;
    first.die();  // its file stays
    session.refresh();
    EXPECT_TRUE(sidra_smi_gone(session.chip(index)));
    EXPECT_FALSE(sidra_smi_gone(session.chip(1 - index)));
    Session later(tree);
    EXPECT_EQ(later.names(), Names{second.name()});
}

TEST(Session, TrustsNoFolderThatOthersCanWriteTo) {
    const Tree tree;
    const Publisher publisher(tree, 0);
    ASSERT_EQ(chmod(tree.runtime().c_str(), 0770), 0);
    EXPECT_EQ(Session(tree).names(), Names());
    ASSERT_EQ(chmod(tree.runtime().c_str(), 0700), 0);
    EXPECT_EQ(Session(tree).names(), Names{publisher.name()});
}

TEST(Session, DamagedFilesOfProcesses) {
    using Change = std::function<void(sidra_publish&, sidra_telemetry&)>;
    const std::vector<std::pair<Change, int>> damages = {
        {[](sidra_publish& h, sidra_telemetry&) { h.magic = 0; }, EPROTO},
        {[](sidra_publish& h, sidra_telemetry&) { h.version = 2; }, EPROTO},
        {[](sidra_publish& h, sidra_telemetry&) { h.header_size = 255; }, EPROTO},
        {[](sidra_publish& h, sidra_telemetry&) { h.size = 1ull << 40; }, EPROTO},
        {[](sidra_publish& h, sidra_telemetry&) { h.telemetry = h.size - 511; }, EPROTO},
        {[](sidra_publish& h, sidra_telemetry&) { h.telemetry = UINT64_MAX; }, EPROTO},
        {[](sidra_publish& h, sidra_telemetry&) { h.size += 4096, h.telemetry = h.size - 512; },
         EPROTO},                                                              // claims more than the file has
        {[](sidra_publish& h, sidra_telemetry&) { h.sequence = 3; }, EAGAIN},  // an update that never ends
        {[](sidra_publish&, sidra_telemetry& t) { t.magic = 0; }, EPROTO},
        {[](sidra_publish&, sidra_telemetry& t) { t.size = 100; }, EPROTO},
    };
    for (size_t n = 0; n < damages.size(); ++n) {
        const Tree tree;
        const Publisher publisher(tree, 0, damages[n].first);
        Session session(tree);
        EXPECT_EQ(session.value(0, "packets").error, damages[n].second) << n;
    }
    const Tree tree;
    const Publisher publisher(tree, 0, [](sidra_publish& h, sidra_telemetry&) {
        std::memset(h.comm, 'x', sizeof h.comm);  // no NUL
        h.level = 7;
        h.l3_used = h.l3_size + 1;
        h.updated_ns = UINT64_MAX;  // of tomorrow
    });
    Session session(tree);
    EXPECT_EQ(session.text(0, "process"), std::string(16, 'x'));
    EXPECT_EQ(session.value(0, "level").error, EPROTO);
    EXPECT_EQ(session.value(0, "l3.used").error, EPROTO);
    EXPECT_LT(session.value(0, "data.age").u, 60'000'000'000u);
}

// Half a second of the chip's clock, in which an engine worked for an eighth of it.
TEST(Session, Rates) {
    const Tree tree;
    tree.card(0, "0000:01:00.0");
    sidra_telemetry page = telemetry(1);
    Session session(tree);
    page.clock_ns += 500'000'000;
    page.busy_ns += 250'000'000;
    page.engine_ns[SIDRA_HW_ENGINE_MVM] += 62'500'000;
    page.engine_ns[SIDRA_HW_ENGINE_PROGRAM] += 1'000'000'000;  // more than can be: an older chip adds up queues
    page.copy_bytes += 4096;
    page.heartbeat += 1;
    tree.write(tree.node(0, "telemetry"), bytes_of(page));
    session.refresh();
    EXPECT_EQ(session.text(0, "utilization"), "50");
    EXPECT_EQ(session.text(0, "mvm.utilization"), "12.5");
    EXPECT_EQ(session.text(0, "vec.utilization"), "0");
    EXPECT_EQ(session.text(0, "program.utilization"), "100");
    EXPECT_EQ(session.text(0, "copy.rate"), "8192");
    EXPECT_EQ(session.text(0, "packets.rate"), "0");
    EXPECT_EQ(session.text(0, "heartbeat.age"), "0");
    session.refresh();  // no new data: the last values stay
    EXPECT_EQ(session.text(0, "utilization"), "50");
    page.clock_ns = 5;  // it was switched off
    tree.write(tree.node(0, "telemetry"), bytes_of(page));
    session.refresh();
    EXPECT_EQ(session.value(0, "utilization").error, EAGAIN);
    page.clock_ns = 10;
    page.busy_ns = 0;  // a counter that decreased gives no rate
    tree.write(tree.node(0, "telemetry"), bytes_of(page));
    session.refresh();
    EXPECT_EQ(session.value(0, "utilization").error, EAGAIN);
    EXPECT_EQ(session.text(0, "copy.rate"), "0");
}

// The page also has the values of 100 ns earlier: rates are available at once, also those of its process.
TEST(Session, RatesOfAProcessAtTheFirstReading) {
    const Tree tree;
    Publisher publisher(tree, 0);
    sidra_telemetry page = telemetry(9);
    page.clock_ns -= 100;
    page.busy_ns -= 40;
    page.engine_ns[SIDRA_HW_ENGINE_VEC] -= 8;
    page.packets -= 5;
    publisher.before(page);
    Session session(tree);
    EXPECT_EQ(session.text(0, "utilization"), "40");
    EXPECT_EQ(session.text(0, "vec.utilization"), "8");
    EXPECT_EQ(session.text(0, "mvm.utilization"), "0");
    EXPECT_EQ(session.text(0, "packets.rate"), "50000000");
    const sidra_smi_client* clients = nullptr;
    uint32_t count = 0;
    ASSERT_EQ(sidra_smi_clients(session.chip(0), &clients, &count), SIDRA_SMI_OK);
    ASSERT_EQ(count, 1u);
    EXPECT_EQ(clients[0].utilization[SIDRA_HW_ENGINE_VEC], 8);
    EXPECT_EQ(clients[0].utilization[SIDRA_HW_ENGINE_MVM], 0);
    // A moment later it has written nothing new: that is no reason for another rate.
    session.refresh();
    EXPECT_EQ(session.text(0, "vec.utilization"), "8");
    ASSERT_EQ(sidra_smi_clients(session.chip(0), &clients, &count), SIDRA_SMI_OK);
    EXPECT_EQ(clients[0].utilization[SIDRA_HW_ENGINE_VEC], 8);
    // Now there are two readings, which give better rates.
    publisher.update([](sidra_publish&, sidra_telemetry& t) {
        t.clock_ns += 200;
        t.engine_ns[SIDRA_HW_ENGINE_VEC] += 100;
    });
    session.refresh();
    EXPECT_EQ(session.text(0, "vec.utilization"), "50");
    ASSERT_EQ(sidra_smi_clients(session.chip(0), &clients, &count), SIDRA_SMI_OK);
    EXPECT_EQ(clients[0].utilization[SIDRA_HW_ENGINE_VEC], 50);
}

TEST(Session, RatesOfAProcessThatHasSaidNothingForLong) {
    const Tree tree;
    Publisher publisher(tree, 0);
    sidra_telemetry page = telemetry(9);
    page.clock_ns -= 100;
    page.busy_ns -= 40;
    publisher.before(page);
    publisher.update([](sidra_publish& header, sidra_telemetry&) { header.updated_ns -= 2'000'000'000; });
    Session session(tree);
    EXPECT_EQ(session.text(0, "utilization"), "0");
}

// A stopped process (kill -STOP) publishes nothing: its last values do not describe the present.
TEST(Session, AProcessThatIsStoppedIsStale) {
    const Tree tree;
    Publisher publisher(tree, 0);
    Session session(tree);
    EXPECT_EQ(session.text(0, "status"), "ready");
    EXPECT_EQ(session.text(0, "stale"), "no");
    publisher.update([](sidra_publish& header, sidra_telemetry&) { header.updated_ns -= 6'000'000'000; });
    session.refresh();
    EXPECT_EQ(session.text(0, "status"), "stale");
    EXPECT_EQ(session.text(0, "stale"), "yes");
    EXPECT_GE(session.value(0, "data.age").u, 6'000'000'000u);
    for (const char* field : {"temperature", "power", "ready", "utilization", "packets", "queues", "stage"})
        EXPECT_EQ(session.value(0, field).error, ESTALE) << field;
    for (const char* field : {"name", "pid", "uuid", "process", "version.driver", "l3.size"})
        EXPECT_EQ(session.value(0, field).error, 0) << field << " does not change";
    const sidra_smi_client* clients = nullptr;
    uint32_t count = 0;
    ASSERT_EQ(sidra_smi_clients(session.chip(0), &clients, &count), SIDRA_SMI_OK);
    ASSERT_EQ(count, 1u);
    EXPECT_LT(clients[0].utilization[SIDRA_HW_ENGINE_MVM], 0);
    const sidra_smi_finding* findings = nullptr;
    EXPECT_EQ(sidra_smi_health(session.chip(0), nullptr, &findings, &count), SIDRA_SMI_WARNING);
    ASSERT_EQ(count, 1u) << "nothing else is known";
    EXPECT_STREQ(findings[0].check, "presence");
    publisher.update([](sidra_publish& header, sidra_telemetry&) { header.updated_ns += 6'000'000'000; });
    session.refresh();
    EXPECT_EQ(session.text(0, "status"), "ready") << "it goes on (kill -CONT)";
}

TEST(Session, WhatWasBeforeMayBeWrong) {
    sidra_telemetry page = telemetry(9);
    const auto packets = [](Publisher& publisher, const Tree& tree, const sidra_telemetry& before) {
        publisher.before(before);
        const Session session(tree);
        EXPECT_EQ(session.text(0, "packets"), "9001");
        return session.value(0, "packets.rate").error;
    };
    {
        const Tree tree;
        Publisher publisher(tree, 0);
        EXPECT_EQ(packets(publisher, tree, page), EAGAIN) << "the same moment";
        page.clock_ns += 1;
        EXPECT_EQ(packets(publisher, tree, page), EAGAIN) << "of another power-on";
        page.clock_ns -= 2;
        page.packets += 1;
        EXPECT_EQ(packets(publisher, tree, page), EAGAIN) << "a counter that went back";
        page.magic = 0;
        EXPECT_EQ(packets(publisher, tree, page), EAGAIN) << "no telemetry";
    }
    const Tree tree;
    Publisher publisher(tree, 0, [](sidra_publish& header, sidra_telemetry&) { header.before = header.size - 511; });
    const Session session(tree);
    EXPECT_EQ(session.value(0, "packets").error, EPROTO);
}

// Whatever is in the folder, scanning it is bounded; skipped files are reported.
TEST(Session, LooksAtSoManyFilesOfAFolder) {
    const Tree tree;
    const Publisher publisher(tree, 0);
    for (int n = 0; n < 1500; ++n) tree.write("tmp/sidra-" + std::to_string(geteuid()) + "/1-" + std::to_string(n), "");
    Session session(tree);
    EXPECT_EQ(sidra_smi_left_out(session.get()), 1501u - 1024);
    EXPECT_EQ(session.names(), Names());
    for (int n = 1; n < 1500; ++n) tree.remove("tmp/sidra-" + std::to_string(geteuid()) + "/1-" + std::to_string(n));
    session.refresh();
    EXPECT_EQ(sidra_smi_left_out(session.get()), 0u);
    EXPECT_EQ(session.names(), Names{publisher.name()});
    EXPECT_EQ(sidra_smi_left_out(nullptr), 0u);
}

TEST(Session, AUserHasOneFolderOfEachKind) {
    const Tree tree;
    const Publisher publisher(tree, 0);
    const std::string other = tree.path("tmp/sidra-00" + std::to_string(geteuid()));
    std::filesystem::create_directory(other);
    ASSERT_EQ(chmod(other.c_str(), 0700), 0);
    std::filesystem::create_hard_link(publisher.path(), other + "/" + publisher.name());
    EXPECT_EQ(Session(tree).names(), Names{publisher.name()});
}

TEST(Session, AFileOfAnotherUserIsNotThisOnesWord) {
    if (geteuid() != 0) GTEST_SKIP() << "makes files of another user";
    const Tree tree;
    const Publisher publisher(tree, 0);
    ASSERT_EQ(chown(publisher.path().c_str(), 12'345, 12'345), 0);
    EXPECT_EQ(Session(tree).names(), Names());
}

constexpr const char* kFdinfo =
    "pos:\t0\ndrm-driver:\tsidra\ndrm-client-id:\t17\ndrm-pdev:\t0000:01:00.0\nsidra-contexts:\t2\nsidra-queues:\t5\n"
    "drm-engine-mvm:\t1000000 ns\ndrm-engine-vec:\t2 ns\ndrm-engine-copy:\t3 ns\ndrm-engine-program:\t4 ns\n"
    "drm-total-memory:\t64 KiB\ndrm-total-l3:\t1 MiB\nnonsense\ndrm-engine-mvm-x:\t9 ns\n";

TEST(Session, Clients) {
    const Tree tree;
    tree.card(0, "0000:01:00.0");
    tree.fdinfo(0, 4711, 3, "train", kFdinfo);
    tree.fdinfo(0, 4711, 4, "train", kFdinfo);  // the same file once more
    tree.fdinfo(0, 4712, 5, "child", kFdinfo);  // and in a process that has got it
    tree.fdinfo(0, 4711, 6, "train", "drm-driver:\tother\ndrm-client-id:\t17\ndrm-pdev:\t0000:01:00.0\n");
    tree.fdinfo(0, 4711, 7, "train", "drm-driver:\tsidra\ndrm-client-id:\t18\ndrm-pdev:\t0000:02:00.0\n");
    tree.write("proc/4713/comm", "h\x1bidden\n");  // listed, but none of its files is readable
    tree.write(tree.node(0, "pids"), "4711\n4711\n4712\n4713\n99999\nnonsense\n-4\n");
    Session session(tree);
    const sidra_smi_client* clients = nullptr;
    uint32_t count = 0;
    ASSERT_EQ(sidra_smi_clients(session.chip(0), &clients, &count), SIDRA_SMI_OK);
    ASSERT_EQ(count, 2u);
    EXPECT_EQ(clients[0].pid, 4711);
    EXPECT_EQ(clients[0].client, 17u);
    EXPECT_STREQ(clients[0].name, "train");
    EXPECT_EQ(clients[0].contexts, 2u);
    EXPECT_EQ(clients[0].queues, 5u);
    EXPECT_EQ(clients[0].memory, 65536u + (1 << 20));
    EXPECT_EQ(clients[0].engine_ns[SIDRA_HW_ENGINE_MVM], 1000000u);
    EXPECT_EQ(clients[0].engine_ns[SIDRA_HW_ENGINE_PROGRAM], 4u);
    EXPECT_LT(clients[0].utilization[0], 0);
    EXPECT_EQ(clients[1].pid, 4713);
    EXPECT_STREQ(clients[1].name, "h?idden");
    EXPECT_EQ(clients[1].error, ENOENT);
    EXPECT_EQ(clients[1].memory, UINT64_MAX);
    EXPECT_EQ(session.text(0, "processes"), "2");
    session.refresh();
    ASSERT_EQ(sidra_smi_clients(session.chip(0), &clients, &count), SIDRA_SMI_OK);
    EXPECT_EQ(clients[0].utilization[0], 0);
    tree.remove(tree.node(0, "pids"));
    session.refresh();
    EXPECT_EQ(sidra_smi_clients(session.chip(0), &clients, &count), SIDRA_SMI_PERMISSION);
    EXPECT_EQ(session.value(0, "processes").error, ENOENT);
}

}  // namespace
}  // namespace sidra::test
