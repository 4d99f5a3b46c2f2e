// SPDX-License-Identifier: MIT
// Suspend: idle users continue afterwards as if nothing had happened. Runs without folders shared with the host, which
// do not survive a suspend.
#include <linux/sync_file.h>

#include "fence_waiters.h"
#include "sidra_chip.h"
#include "trace.h"
#include "uevents.h"
#include "watchers.h"
#include "world.h"

namespace sidra::test {
namespace {

// Until devices are suspended, or platform and power of the devices, too; or down to S3, from where the host wakes us.
struct Way {
    const char *name, *level;
    int fast, full;  // rounds
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }
constexpr Way kDevices{"Devices", "devices", 2, 8}, kPlatform{"Platform", "platform", 2, 8},
    kMemory{"Memory", "none", 1, 4};

// Registers of the south bridge that the firmware (SeaBIOS 1.16) does not restore on wake-up: the machine could neither
// sleep again nor power off.
class PowerRegisters {
   public:
    PowerRegisters() : fd_(open("/sys/bus/pci/devices/0000:00:1f.0/config", O_RDWR | O_CLOEXEC)) {
        EXPECT_EQ(pread(fd_, &base_, sizeof base_, kBase), static_cast<ssize_t>(sizeof base_));
    }
    ~PowerRegisters() {
        EXPECT_EQ(pwrite(fd_, &base_, sizeof base_, kBase), static_cast<ssize_t>(sizeof base_));
        close(fd_);
    }
    PowerRegisters(const PowerRegisters&) = delete;
    PowerRegisters& operator=(const PowerRegisters&) = delete;

   private:
    static constexpr off_t kBase = 0x40;  // ICH9: PMBASE and its enable bit
    const int fd_;
    uint64_t base_ = 0;
};

bool sleep_now(const Way& way, const std::string& knobs = "") {
    const PowerRegisters kept;
    const bool real = way.level == kMemory.level;
    return write_text("/sys/module/suspend/parameters/pm_test_delay", "0") &&
           write_text("/sys/power/pm_test", way.level) && (!real || ask_host("wake " + knobs)) &&
           write_text("/sys/power/state", "mem");
}

// Only a hang reaches it.
const char kPatient[] = "20000";

class Sleep : public NodeTest {};
class SleepBy : public NodeTest, public testing::WithParamInterface<Way> {};

TEST_P(SleepBy, UnderLoad) {
    const Parameter patient("drain_timeout_ms", kPatient);
    const Way& way = GetParam();
    Products products;
    for (int round = 0; round < rounds(way.fast, way.full); round++) {
        const Context idle(products.node);
        Queue before(idle, SIDRA_QUEUE_USER), kernel_before(idle, SIDRA_QUEUE_KERNEL);
        EXPECT_EQ(before.wait(before.push(nop())), 0);
        EXPECT_EQ(kernel_before.submit({nop(), nop()}), 0);
        Sleepers sleepers(idle);
        const Multiplier multiplier(products);
        const uint64_t answers = products.answers;
        ASSERT_TRUE(eventually([&] { return products.answers > answers; }));
        ASSERT_TRUE(sleep_now(way));
        ASSERT_EQ(state_of(products.context), SIDRA_CONTEXT_OK);
        ASSERT_EQ(state_of(idle), SIDRA_CONTEXT_OK);
        const uint64_t awake = products.answers;
        ASSERT_TRUE(eventually([&] { return products.answers > awake + 1; }));
        sleepers.wake();
        EXPECT_EQ(before.wait(before.push(nop())), 0) << "run state " << before.run_state() << ", cause "
                                                      << before.state->fault.cause << ", context " << state_of(idle);
        EXPECT_EQ(before.timeline(), 2u);
        EXPECT_EQ(kernel_before.submit({nop()}), 0);
        EXPECT_EQ(kernel_before.wait(3), 0);
        ASSERT_FALSE(HasFailure());
    }
}

std::string name_of(const testing::TestParamInfo<Way>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Sleep, SleepBy, testing::Values(kDevices, kPlatform, kMemory), name_of);

TEST_F(Sleep, WhatIsNotDrainedInTimeIsLost) {
    const Parameter impatient("drain_timeout_ms", "50");
    Products products;
    const Context innocent(products.node), busy(products.node);
    Sleepers sleepers(innocent);
    Queue queue(busy, SIDRA_QUEUE_USER), kernel(busy, SIDRA_QUEUE_KERNEL);
    ASSERT_TRUE(knob("stall", 1));
    queue.push(nop());
    ASSERT_EQ(kernel.submit({nop()}), 0);
    Uevents uevents;
    ASSERT_TRUE(sleep_now(kPlatform));
    ASSERT_TRUE(knob("stall", 0));
    // Contexts have the lowest number that is free: of the products, of the innocent one, of the busy one.
    EXPECT_TRUE(uevents.has({"DEVNAME=sidra0", "SIDRA_EVENT=context-lost", "SIDRA_CONTEXT=2",
                             "SIDRA_CAUSE=" + std::to_string(SIDRA_FAULT_RESET)}));
    EXPECT_EQ(state_of(busy), SIDRA_CONTEXT_LOST);
    EXPECT_EQ(queue.wait(1), -EIO);
    EXPECT_EQ(queue.state->fault.cause, SIDRA_FAULT_RESET);
    EXPECT_EQ(kernel.submit({nop()}), -ESTALE);
    sidra_ioctl_context recover{busy.handle, 0};
    ASSERT_EQ(products.node.call(SIDRA_IOCTL_CONTEXT_RECOVER, recover), 0);
    Queue again(busy, SIDRA_QUEUE_USER);
    EXPECT_EQ(again.wait(again.push(nop())), 0);
    sleepers.wake();
    products.multiply();
}

// A queue that fetches while bus mastering is being disabled would be refused, and the fault would persist.
TEST_F(Sleep, NothingIsInFlightWhenBusMasteringEnds) {
    const Trace trace;
    ASSERT_TRUE(trace.good);
    ASSERT_TRUE(sleep_now(kDevices));
    Trace::at(Trace::events(), "sidra_admin",
              "op=" + std::to_string(SIDRA_ADMIN_QUIESCE_DEVICE) +
                  " arg0=0x0 arg1=0x0 arg2=0x0 result=" + std::to_string(SIDRA_ADMIN_OK));
}

// Readers, also sleeping ones, are frozen like other tasks.
TEST_F(Sleep, WhileTheyRead) {
    Watchers watchers;
    for (int i = 0; i < rounds(2, 10); i++) {
        ASSERT_TRUE(sleep_now(i % 2 ? kPlatform : kDevices));
        watchers.look();
    }
    // Of firmware that does not answer.
    ASSERT_TRUE(knob("firmware-hang", 1));
    ASSERT_TRUE(sleep_now(kDevices));
    watchers.look();
}

TEST_F(Sleep, WorkThatIsLeftIsDone) {
    const Parameter patient("drain_timeout_ms", kPatient);
    Products products;
    Queue queue(products.context, SIDRA_QUEUE_USER), kernel(products.context, SIDRA_QUEUE_KERNEL);
    const sidra_cmd packet = products.product(1), kernel_packet = products.product(2);
    ASSERT_TRUE(knob("slow-tile-ns", 20'000'000));
    while (queue.next < 50) queue.push(packet);
    ASSERT_EQ(kernel.submit(std::vector<sidra_cmd>(50, kernel_packet)), 0);
    // And a packet whose doorbell has not been written yet.
    Queue quiet(products.context, SIDRA_QUEUE_USER);
    quiet.ring[0] = nop();
    __atomic_store_n(reinterpret_cast<uint64_t*>(quiet.ring + 64), 1, __ATOMIC_RELEASE);
    ASSERT_TRUE(sleep_now(kDevices));
    ASSERT_TRUE(knob("slow-tile-ns", 0));
    EXPECT_EQ(state_of(products.context), SIDRA_CONTEXT_OK);
    EXPECT_EQ(queue.timeline(), 50u);
    EXPECT_EQ(kernel.timeline(), 50u);
    EXPECT_EQ(quiet.timeline(), 1u);
    EXPECT_TRUE(products.right(1) && products.right(2));
    products.multiply();
}

TEST_F(Sleep, AFaultStays) {
    const Node node;
    const Context context(node);
    Queue queue(context, SIDRA_QUEUE_USER), other(context, SIDRA_QUEUE_USER);
    queue.push(packet(static_cast<sidra_cmd_opcode>(0xee)));
    ASSERT_EQ(queue.wait(1), -EIO);
    const sidra_fault fault = queue.state->fault;
    ASSERT_EQ(fault.cause, SIDRA_FAULT_OPCODE);
    ASSERT_TRUE(sleep_now(kPlatform));
    EXPECT_EQ(state_of(context), SIDRA_CONTEXT_OK);
    queue.kick();
    EXPECT_EQ(other.wait(other.push(nop())), 0) << "the chip has looked at doorbells";
    EXPECT_EQ(queue.run_state(), SIDRA_QUEUE_FAULTED);
    EXPECT_EQ(std::memcmp(&queue.state->fault, &fault, sizeof fault), 0);
    ASSERT_EQ(queue.reset(), 0);
    EXPECT_EQ(queue.wait(queue.push(nop())), 0);
}

// The queue has executed everything before the semaphore, which must not be executed again.
TEST_F(Sleep, ACallThatWaitsIsLost) {
    const Parameter impatient("drain_timeout_ms", "50");
    const Node node;
    const Context context(node);
    Queue queue(context, SIDRA_QUEUE_USER);
    Buffer buffer(context, 4096);
    auto* program = reinterpret_cast<sidra_cmd*>(buffer.words);
    program[1] = sem_wait(buffer.va, 1);
    queue.push(chip_test::call(buffer.va + sizeof(sidra_cmd), 1));
    ASSERT_TRUE(eventually([&] { return queue.state->parked == 1; }));
    ASSERT_TRUE(sleep_now(kDevices));
    EXPECT_EQ(state_of(context), SIDRA_CONTEXT_LOST);
    EXPECT_EQ(queue.wait(1), -EIO);
}

// Its dependency completes while its own card is asleep or about to be.
TEST_F(Sleep, AJobThatWaitsForAnotherCard) {
    const Parameter impatient("drain_timeout_ms",
                              "1000");  // but long enough for the job, if it ends before its card sleeps
    const Node node, other("/dev/sidra1");
    ASSERT_GE(other.fd, 0);
    const Context context(node), its_context(other);
    Queue kernel(context, SIDRA_QUEUE_KERNEL), stalled(its_context, SIDRA_QUEUE_KERNEL);
    const std::vector<sidra_cmd> packets = {nop()};
    sidra_ioctl_submit first = stalled.request(packets), second = kernel.request(packets);
    first.flags = second.flags = SIDRA_SUBMIT_OUT_FENCE;
    ASSERT_TRUE(knob("stall", 1, 1));
    ASSERT_EQ(other.call(SIDRA_IOCTL_SUBMIT, first), 0);
    second.in_fence_fd = first.out_fence_fd;
    ASSERT_EQ(node.call(SIDRA_IOCTL_SUBMIT, second), 0);
    ASSERT_TRUE(sleep_now(kPlatform));
    ASSERT_TRUE(knob("stall", 0, 1));
    EXPECT_EQ(state_of(its_context), SIDRA_CONTEXT_LOST);
    EXPECT_EQ(state_of(context), SIDRA_CONTEXT_OK);
    pollfd signalled{second.out_fence_fd, POLLIN, 0};
    EXPECT_EQ(poll(&signalled, 1, static_cast<int>(kPatienceMs)), 1);
    sync_file_info info{};
    EXPECT_EQ(ioctl(second.out_fence_fd, SYNC_IOC_FILE_INFO, &info), 0);
    EXPECT_EQ(info.status, -EIO);
    EXPECT_EQ(kernel.wait(1), -EIO) << "the queue has stopped in front of the job";
    ASSERT_EQ(kernel.reset(), 0);
    EXPECT_EQ(kernel.submit({nop()}), 0);
    EXPECT_EQ(kernel.wait(2), 0);
    close(first.out_fence_fd);
    close(second.out_fence_fd);
}

// They are frozen in the middle of their waits, and go on with them.
TEST_F(Sleep, WhileTheyWaitForFences) {
    const Parameter impatient("drain_timeout_ms", "50");
    const Node node;
    const Context context(node);
    FenceWaiters waiters(context);
    ASSERT_TRUE(sleep_now(kPlatform));
    ASSERT_TRUE(knob("stall", 0));
    waiters.expect_job_ended();
    waiters.expect_others_wait(-EINTR);
}

TEST_F(Sleep, AChipThatDoesNotComeBack) {
    const Node node;
    const Context context(node);
    Queue parked(context, SIDRA_QUEUE_USER);
    Buffer buffer(context, 4096), local(context, 4096, SIDRA_BUFFER_LOCAL);
    local.words[0] = 0x1d7a;
    parked.push(sem_wait(buffer.va, 1));
    ASSERT_TRUE(sleep_now(kMemory, "lie=" + std::to_string(SIDRA_LIE_NEVER_READY)));
    // Nor at the next try, which is due after a second: that may be over.
    ASSERT_TRUE(knob("lie", SIDRA_LIE_NEVER_READY));
    sidra_ioctl_device_query query{};
    EXPECT_EQ(node.call(SIDRA_IOCTL_DEVICE_QUERY, query), -ENODEV);
    EXPECT_EQ(parked.run_state(), SIDRA_QUEUE_LOST);
    EXPECT_EQ(parked.wait(1), -EIO);
    ASSERT_TRUE(knob("lie", SIDRA_LIE_NONE));
    EXPECT_TRUE(eventually([&] { return node.call(SIDRA_IOCTL_DEVICE_QUERY, query) == 0; }));
    sidra_ioctl_context recover{context.handle, 0};
    ASSERT_EQ(node.call(SIDRA_IOCTL_CONTEXT_RECOVER, recover), 0);
    Queue again(context, SIDRA_QUEUE_USER);
    EXPECT_EQ(again.wait(again.push(nop())), 0);
    EXPECT_EQ(local.words[0], 0x1d7au) << "L3 stays, and is mapped again";
}

}  // namespace
}  // namespace sidra::test
