// SPDX-License-Identifier: MIT
// A machine saved to a file in mid-work, and another one that continues from it.
#include <linux/pci_regs.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "fixture.h"

namespace sidra::qtest {
namespace {

using chip_test::copy;
using chip_test::nop;

constexpr uint64_t kBytes = 4 << 20;

class Migrate : public Qtest {
   protected:
    void SetUp() override {
        Qtest::SetUp();
        if (IsSkipped()) return;
        char name[] = "/tmp/sidra-qtest-XXXXXX";
        const int fd = mkstemp(name);
        ASSERT_GE(fd, 0);
        close(fd);
        file_ = name;
        bring_up();
    }
    void TearDown() override {
        if (!file_.empty()) unlink(file_.c_str());
    }
    std::string status(const char* wanted) {
        std::string answer;
        eventually([&] {
            answer = machine->qmp(R"({"execute": "query-migrate"})");
            return answer.find(wanted) != std::string::npos || answer.find("\"failed\"") != std::string::npos;
        });
        return answer;
    }
    void save() {
        machine->qmp(R"({"execute": "migrate-set-parameters", "arguments": {"max-bandwidth": 4294967296}})");
        const std::string answer =
            machine->qmp(R"({"execute": "migrate", "arguments": {"uri": "file:)" + file_ + R"("}})");
        ASSERT_EQ(answer.find("\"error\""), std::string::npos) << answer;
        const std::string end = status("\"completed\"");
        ASSERT_NE(end.find("\"completed\""), std::string::npos) << end;
    }
    // The same machine, elsewhere.
    void go_on(const std::string& device = kSmallCard) {
        machine->restart({"-device", device, "-incoming", "file:" + file_});
        const std::string end = status("\"completed\"");
        ASSERT_NE(end.find("\"completed\""), std::string::npos) << end;
    }
    // Cells of kTiles crossbars, from the same data, with random bytes.
    static constexpr uint32_t kRows = 256, kCols = 256, kCells = kRows * kCols, kTiles = 8;
    void program(Context& context, uint64_t data, uint64_t data_bus) {
        context.set_weights(kTiles, kRows, kCols);
        for (uint64_t at = 0; at < kCells; at += 8) machine->write(data_bus + at, at * 0x9e3779b97f4a7c15, 8);
        for (uint16_t i = 0; i < kTiles; i++) context.push(chip_test::program(i, 0, kRows, 0, kCols, data, kCols));
        context.publish();
        context.doorbell();
        ASSERT_TRUE(context.wait(kTiles));
    }
    std::string file_;
};

TEST_F(Migrate, BusyQueueGoesOn) {
    Context context(*card, 0);
    uint64_t from, to;
    const uint64_t a = context.alloc(kBytes, &from), b = context.alloc(kBytes, &to);
    for (uint64_t at = 0; at < kBytes; at += 4096) machine->write(from + at, at * 0x9e3779b97f4a7c15, 8);
    uint64_t word_bus;
    const uint64_t word = context.alloc(4096, &word_bus);
    for (int i = 0; i < 60; i++) context.push(i == 30 ? chip_test::sem_wait(word, 1) : copy(b, a, kBytes));
    context.publish();
    context.arm(60);
    context.doorbell();
    ASSERT_TRUE(context.wait(1));
    machine->write(card->bar2() + 0x3000, 0x1234, 8);
    machine->qmp(R"({"execute": "stop"})");
    const uint64_t timeline = context.state().timeline;
    EXPECT_LE(timeline, 30u);
    save();
    EXPECT_EQ(context.state().timeline, timeline) << "a stopped machine does not change";
    go_on();
    EXPECT_EQ(context.state().timeline, timeline);
    EXPECT_EQ(card->config(PCI_COMMAND, 2) & PCI_COMMAND_MASTER, uint32_t{PCI_COMMAND_MASTER});
    EXPECT_EQ(machine->read(card->bar2() + 0x3000, 8), 0x1234u);
    EXPECT_EQ(card->read32(SIDRA_REG_GENERATION), 0u);
    EXPECT_EQ(card->msix_word(1), 0u);
    machine->qmp(R"({"execute": "cont"})");
    machine->write(word_bus, 1, 8);
    context.doorbell();
    ASSERT_TRUE(context.wait(60));
    EXPECT_TRUE(card->wait_msix(1));
    EXPECT_EQ(machine->read_bytes(to, 65536), machine->read_bytes(from, 65536));
    EXPECT_EQ(machine->read(to + kBytes - 4096, 8), machine->read(from + kBytes - 4096, 8));
    context.submit({nop()});
    EXPECT_TRUE(context.wait(61));
}

TEST_F(Migrate, WithoutStoppingFirst) {
    Context context(*card, 0);
    const uint64_t a = context.alloc(kBytes), b = context.alloc(kBytes);
    for (int i = 0; i < 60; i++) context.push(copy(b, a, kBytes));
    context.publish();
    context.doorbell();
    save();
    go_on();
    machine->qmp(R"({"execute": "cont"})");
    EXPECT_TRUE(context.wait(60));
}

TEST_F(Migrate, PendingInterrupt) {
    card->msix_mask(5, true);
    card->write32(SIDRA_REG_TEST_IRQ, 5);
    machine->qmp(R"({"execute": "stop"})");
    save();
    go_on();
    EXPECT_TRUE(card->msix_pending(5));
    machine->qmp(R"({"execute": "cont"})");
    card->msix_mask(5, false);
    EXPECT_TRUE(card->wait_msix(5));
}

// Cells cross while the machine runs, which is never stopped explicitly.
TEST_F(Migrate, CellsCrossWhileTheMachineRuns) {
    Context context(*card, 0);
    uint64_t data_bus, read_bus;
    const uint64_t data = context.alloc(kCells, &data_bus), read = context.alloc(kCells, &read_bus);
    program(context, data, data_bus);
    save();
    std::ifstream stream(file_, std::ios::binary);
    const std::string saved{std::istreambuf_iterator<char>(stream), {}};
    const size_t state = saved.find("SDRA");
    ASSERT_NE(state, std::string::npos);
    EXPECT_LT(saved.find("SDPC"), state) << "no cells before the state";
    EXPECT_EQ(saved.find("XBAR", state), std::string::npos) << "cells in the state";
    go_on();
    machine->qmp(R"({"execute": "cont"})");
    context.submit({chip_test::readback(kTiles - 1, 0, kRows, 0, kCols, read, kCols)});
    ASSERT_TRUE(context.wait(kTiles + 1));
    EXPECT_TRUE(machine->read_bytes(read_bus, kCells) == machine->read_bytes(data_bus, kCells));
    // The second migration sends what the first one has loaded.
    save();
    go_on();
    machine->qmp(R"({"execute": "cont"})");
    context.submit({chip_test::readback(0, 0, kRows, 0, kCols, read, kCols)});
    ASSERT_TRUE(context.wait(kTiles + 2));
    EXPECT_TRUE(machine->read_bytes(read_bus, kCells) == machine->read_bytes(data_bus, kCells));
}

// The destination takes nothing more while the cells cross, and the guest releases the card meanwhile.
TEST_F(Migrate, CardIsRemovedWhileItsCellsCross) {
    start_behind_port();
    card->enable_pci();
    card->bring_up();
    Context context(*card, 0);
    uint64_t data_bus;
    const uint64_t data = context.alloc(kCells, &data_bus);
    program(context, data, data_bus);
    unlink(file_.c_str());
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    file_.copy(address.sun_path, sizeof address.sun_path - 1);
    const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(listen(listener, 1), 0);
    const std::string answer = machine->qmp(R"({"execute": "migrate", "arguments": {"uri": "unix:)" + file_ + R"("}})");
    ASSERT_EQ(answer.find("\"error\""), std::string::npos) << answer;
    const int destination = accept(listener, nullptr, nullptr);
    close(listener);
    ASSERT_GE(destination, 0);
    std::string stream;
    const auto receive = [&] {
        char some[4096];
        const ssize_t count = recv(destination, some, sizeof some, 0);
        if (count > 0) stream.append(some, static_cast<size_t>(count));
        return count > 0;
    };
    while (stream.find("SDPC") == std::string::npos) ASSERT_TRUE(receive());
    power_off();
    EXPECT_EQ(card->config(PCI_VENDOR_ID, 2), 0xffffu);
    EXPECT_FALSE(machine->reported("DEVICE_DELETED")) << "its cells are being saved";
    while (receive()) {
    }
    close(destination);
    const std::string end = status("\"completed\"");
    EXPECT_NE(end.find("\"completed\""), std::string::npos) << end;
    EXPECT_TRUE(eventually([&] { return machine->reported("DEVICE_DELETED"); })) << "the card stays in memory";
}

// The machine is stopped in the middle of a slice that ends with an interrupt. From then until everything is saved the
// main loop does not run.
TEST_F(Migrate, InterruptAtTheEndOfTheLastSlice) {
    Context context(*card, 0);
    context.arm(3);
    begin_long_slice(context, 1000000000);  // saving takes a small part of that
    save();
    EXPECT_EQ(context.state().timeline, 3u);
    go_on();
    EXPECT_TRUE(card->wait_msix(1));
}

}  // namespace
}  // namespace sidra::qtest
