// SPDX-License-Identifier: MIT
// A chip that reports false values: the driver trusts none of them more than necessary, and unaffected users continue.
#include "innocent.h"
#include "log.h"
#include "sidra_chip.h"
#include "users.h"

namespace sidra::test {
namespace {

class Lie : public NodeTest {
   protected:
    Log log;
    const Card card;

    void SetUp() override {
        NodeTest::SetUp();
        ASSERT_TRUE(card.known());
    }
    void TearDown() override { EXPECT_TRUE(knob("lie", SIDRA_LIE_NONE)); }
    static bool tell(sidra_chip_lie lie) { return knob("lie", lie); }
    bool logged(const std::string& text) {
        return eventually([&] { return log.says(text); });
    }
};

// The affected user.
struct Victim {
    Node node;
    Context context{node};
    Buffer buffer{context, 1 << 16};
    Queue user{context, SIDRA_QUEUE_USER}, kernel{context, SIDRA_QUEUE_KERNEL};

    int unbind() const {
        sidra_ioctl_buffer_unbind args{context.vm, buffer.handle, buffer.va};
        return node.call(SIDRA_IOCTL_BUFFER_UNBIND, args);
    }
    // Through that queue.
    void expect_copy(Queue& queue) {
        buffer.words[0]++;
        uint64_t value = 0;
        const sidra_cmd cmd = copy(buffer.va + 4096, buffer.va, 64);
        if (queue.create.kind == SIDRA_QUEUE_USER) value = queue.push(cmd);
        else ASSERT_EQ(queue.submit({cmd}, &value), 0);
        ASSERT_EQ(queue.wait(value), 0);
        EXPECT_EQ(buffer.words[512], buffer.words[0]);
    }
    // The driver stops the queue; then it works again.
    void expect_end(Queue& queue) {
        ASSERT_TRUE(eventually([&] { return queue.run_state() == SIDRA_QUEUE_FAULTED; }));
        EXPECT_EQ(queue.state->fault.cause, SIDRA_FAULT_TIMEOUT);
        EXPECT_EQ(state_of(context), SIDRA_CONTEXT_OK);
        if (queue.create.kind == SIDRA_QUEUE_KERNEL) EXPECT_EQ(queue.submit({nop()}), -EIO);
        ASSERT_EQ(queue.reset(), 0);
        queue.next = queue.timeline();
        for (int i = 0; i < 100; i++) expect_copy(queue);  // once round the ring
    }
};

// Packets that the chip has not executed count as retired, since only it can know. But the ring does not overflow.
TEST_F(Lie, TimelineAhead) {
    Innocent innocent;
    Victim victim;
    uint64_t value = 0;
    ASSERT_TRUE(tell(SIDRA_LIE_TIMELINE_AHEAD));
    ASSERT_EQ(victim.kernel.submit({nop()}, &value), 0);
    EXPECT_EQ(victim.kernel.wait(value), 0);
    if (victim.kernel.run_state() == SIDRA_QUEUE_RUNNING) EXPECT_LT(victim.kernel.submit({nop()}), 0);
    victim.expect_end(victim.kernel);
    EXPECT_TRUE(logged("impossible state"));
    ASSERT_TRUE(tell(SIDRA_LIE_TIMELINE_AHEAD));
    EXPECT_EQ(victim.user.wait(victim.user.push(nop())), 0);
    value = victim.user.push(nop());  // with a true value again; until then nothing can be waited for
    EXPECT_TRUE(eventually([&] { return victim.user.timeline() == value; }));
    victim.expect_copy(victim.user);
    innocent.work();
}

TEST_F(Lie, TimelineBack) {
    Innocent innocent;
    Victim victim;
    for (Queue* queue : {&victim.kernel, &victim.user}) {
        victim.expect_copy(*queue);
        ASSERT_TRUE(tell(SIDRA_LIE_TIMELINE_BACK));
        uint64_t value = 0;
        if (queue == &victim.user) value = queue->push(nop());
        else ASSERT_EQ(queue->submit({nop()}, &value), 0);
        EXPECT_EQ(wait_for_time_out(*queue, value), -EIO);
        victim.expect_end(*queue);
    }
    EXPECT_TRUE(logged("makes no progress"));
    innocent.work();
}

TEST_F(Lie, RunState) {
    Innocent innocent;
    for (Queue Victim::*which : {&Victim::kernel, &Victim::user}) {
        Victim victim;
        Queue& queue = victim.*which;
        ASSERT_TRUE(tell(SIDRA_LIE_RUN_STATE));
        if (which == &Victim::user) queue.push(nop());
        else ASSERT_EQ(queue.submit({nop()}), 0);
        victim.expect_end(queue);
    }
    EXPECT_TRUE(logged("state 77"));
    innocent.work();
}

TEST_F(Lie, FaultRecord) {
    Innocent innocent;
    Victim victim;
    ASSERT_TRUE(tell(SIDRA_LIE_FAULT_RECORD));
    EXPECT_EQ(victim.user.wait(victim.user.push(packet(SIDRA_CMD_INVALID))), -EIO);
    sidra_ioctl_context_query context{};
    context.context = victim.context.handle;
    ASSERT_EQ(victim.node.call(SIDRA_IOCTL_CONTEXT_QUERY, context), 0);
    EXPECT_EQ(context.fault.cause, 0xffff) << "handed on as it came";
    ASSERT_EQ(victim.user.reset(), 0);
    victim.expect_copy(victim.user);
    EXPECT_EQ(victim.user.wait(victim.user.push(packet(SIDRA_CMD_INVALID))), -EIO);
    ASSERT_EQ(victim.node.call(SIDRA_IOCTL_CONTEXT_QUERY, context), 0);
    EXPECT_EQ(context.fault.cause, SIDRA_FAULT_OPCODE) << "what was made up is not the latest for ever";
    innocent.work();
}

// A false acknowledgement: the context, and no other, is reset, so that the guarantee holds. If the command channel
// seems stuck, all contexts may be.
TEST_F(Lie, Acknowledgement) {
    Innocent innocent;
    for (const sidra_chip_lie lie : {SIDRA_LIE_ADMIN_RESULT, SIDRA_LIE_ADMIN_STATUS}) {
        Victim victim;
        ASSERT_TRUE(tell(lie));
        EXPECT_EQ(victim.unbind(), 0);
        EXPECT_EQ(state_of(victim.context), SIDRA_CONTEXT_LOST);
        EXPECT_EQ(victim.user.run_state(), SIDRA_QUEUE_LOST);
        EXPECT_EQ(victim.user.state->fault.cause, SIDRA_FAULT_TIMEOUT);
        sidra_ioctl_context recover{victim.context.handle, 0};
        EXPECT_EQ(victim.node.call(SIDRA_IOCTL_CONTEXT_RECOVER, recover), 0);
        if (lie == SIDRA_LIE_ADMIN_STATUS && innocent.lost()) innocent.lose_and_recover(SIDRA_FAULT_TIMEOUT);
        innocent.work();
    }
    EXPECT_TRUE(logged("was reset: no acknowledgement"));
}

// False reports about cells affect only the answers to queries.
TEST_F(Lie, Cells) {
    Innocent innocent;
    Victim victim;
    sidra_ioctl_weights_create create{victim.context.handle, SIDRA_ENCODING_OFFSET, 16, 16, SIDRA_WEIGHTS_RIGHTS};
    ASSERT_EQ(victim.node.call(SIDRA_IOCTL_WEIGHTS_CREATE, create), 0);
    sidra_cmd program = packet(SIDRA_CMD_PROGRAM);
    program.weights.weights = create.index;
    program.weights.rows = program.weights.cols = program.weights.stride = 16;
    program.weights.addr = victim.buffer.va;
    ASSERT_EQ(victim.user.wait(victim.user.push(program)), 0);
    const auto programmed = [&](int error = 0) {
        sidra_ioctl_weights_query query{};
        query.context = victim.context.handle;
        query.index = create.index;
        EXPECT_EQ(victim.node.call(SIDRA_IOCTL_WEIGHTS_QUERY, query), error);
        return query.programmed_rows;
    };
    EXPECT_EQ(programmed(), 16u);
    for (const sidra_chip_lie lie : {SIDRA_LIE_XBAR_HEADERS, SIDRA_LIE_SHORT_READ}) {
        ASSERT_TRUE(tell(lie));
        EXPECT_EQ(programmed(), 0u) << "not what was there before";
        EXPECT_EQ(programmed(), 16u);
    }
    const auto reported = [&](int error = 0) {
        sidra_weights_tile report{};
        sidra_ioctl_weights_report ask{
            victim.context.handle, create.index, 0, 0, reinterpret_cast<uintptr_t>(&report), sizeof report, 0};
        EXPECT_EQ(victim.node.call(SIDRA_IOCTL_WEIGHTS_REPORT, ask), error);
        return report.programmed_rows;
    };
    EXPECT_EQ(reported(), 16u);
    ASSERT_TRUE(tell(SIDRA_LIE_XBAR_HEADERS));
    EXPECT_EQ(reported(-EIO), 0u) << "it cannot be so";
    ASSERT_TRUE(tell(SIDRA_LIE_SHORT_READ));
    EXPECT_EQ(reported(), 0u) << "not what was there before";
    EXPECT_EQ(reported(), 16u);
    ASSERT_TRUE(tell(SIDRA_LIE_ADMIN_RESULT));
    programmed(-EIO);
    EXPECT_EQ(programmed(), 16u);
    ASSERT_TRUE(tell(SIDRA_LIE_INT_STATUS));
    EXPECT_EQ(programmed(), 16u) << "without its interrupt";
    innocent.work();
}

// A command that fails is an error of the call, which has done nothing.
TEST_F(Lie, CommandsOfWeights) {
    static constexpr char kName[] = "lie";
    Innocent innocent;
    const Node node;
    const Programmed weights(node);
    const uint32_t free_xbars = status_of(node).xbars_free;
    const auto unlink = [&] {
        sidra_ioctl_weights_unlink args{reinterpret_cast<uintptr_t>(kName), 0, SIDRA_OWNER_CALLER};
        return node.call(SIDRA_IOCTL_WEIGHTS_UNLINK, args);
    };
    const auto open = [&] {
        sidra_ioctl_weights_open args{};
        args.context = weights.context.handle;
        args.rights = SIDRA_WEIGHTS_COMPUTE;
        args.name = reinterpret_cast<uintptr_t>(kName);
        args.owner = SIDRA_OWNER_CALLER;
        return node.call(SIDRA_IOCTL_WEIGHTS_OPEN, args);
    };
    const auto report = [&] {
        sidra_weights_tile tile{};
        sidra_ioctl_weights_report args{
            weights.context.handle, weights.index, 0, 0, reinterpret_cast<uintptr_t>(&tile), sizeof tile, 0};
        return node.call(SIDRA_IOCTL_WEIGHTS_REPORT, args);
    };
    ASSERT_TRUE(tell(SIDRA_LIE_ADMIN_RESULT));
    EXPECT_EQ(weights.publish(kName, 0600), -EIO);
    EXPECT_EQ(open(), -ENOENT);
    ASSERT_EQ(weights.publish(kName, 0600), 0);
    ASSERT_TRUE(tell(SIDRA_LIE_ADMIN_RESULT));
    EXPECT_EQ(unlink(), -EIO);
    EXPECT_EQ(open(), 0) << "the name is still there";
    ASSERT_TRUE(tell(SIDRA_LIE_ADMIN_RESULT));
    EXPECT_EQ(report(), -EIO);
    EXPECT_EQ(unlink(), 0);
    EXPECT_EQ(status_of(node).xbars_free, free_xbars);
    innocent.work();
}

// Cells that could not be erased are not given to anybody before they are.
TEST_F(Lie, ErasedCells) {
    Innocent innocent;
    const Node node;
    const Context context(node);
    const uint32_t free_xbars = status_of(node).xbars_free;
    const auto create = [&](uint32_t* index) {
        sidra_ioctl_weights_create args{context.handle, SIDRA_ENCODING_OFFSET, 16, 16, SIDRA_WEIGHTS_RIGHTS};
        const int error = node.call(SIDRA_IOCTL_WEIGHTS_CREATE, args);
        *index = args.index;
        return error;
    };
    const auto destroy = [&](uint32_t index) {
        sidra_ioctl_weights args{context.handle, index, 0, 0};
        return node.call(SIDRA_IOCTL_WEIGHTS_DESTROY, args);
    };
    // The reference of a descriptor is the last one, so dropping it is one command: the erasure.
    uint32_t index = 0;
    ASSERT_EQ(create(&index), 0);
    sidra_ioctl_weights_share share{context.handle, index, SIDRA_WEIGHTS_COMPUTE, 0, 0, 0, 0};
    ASSERT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_SHARE, share), 0);
    ASSERT_EQ(destroy(index), 0);
    ASSERT_TRUE(tell(SIDRA_LIE_ADMIN_RESULT));
    close(share.fd);
    EXPECT_EQ(status_of(node).xbars_free, free_xbars - 1);
    ASSERT_TRUE(tell(SIDRA_LIE_ADMIN_RESULT));
    EXPECT_EQ(create(&index), -EIO);
    ASSERT_EQ(create(&index), 0) << "the next call erases them";
    EXPECT_EQ(destroy(index), 0);
    EXPECT_EQ(status_of(node).xbars_free, free_xbars);
    innocent.work();
}

// The directory names an object whose cells, as the chip tells it, are not there.
TEST_F(Lie, CellsOfANamedObject) {
    static constexpr char kName[] = "lie";
    {
        const Node node;
        const Programmed weights(node);
        ASSERT_EQ(weights.publish(kName, 0600), 0);
    }
    ASSERT_TRUE(card.unbind());
    ASSERT_TRUE(tell(SIDRA_LIE_XBAR_HEADERS));
    ASSERT_TRUE(card.bind());
    const Node node;
    const Context context(node);
    sidra_ioctl_weights_open open{};
    open.context = context.handle;
    open.rights = SIDRA_WEIGHTS_COMPUTE;
    open.name = reinterpret_cast<uintptr_t>(kName);
    open.owner = SIDRA_OWNER_CALLER;
    EXPECT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_OPEN, open), -EIO);
    sidra_ioctl_weights_unlink unlink{reinterpret_cast<uintptr_t>(kName), 0, SIDRA_OWNER_CALLER};
    EXPECT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_UNLINK, unlink), 0);
}

TEST_F(Lie, Clock) {
    Innocent innocent;
    ASSERT_TRUE(tell(SIDRA_LIE_CLOCK));
    query_device<sidra_query_clock>(innocent.node(), SIDRA_QUERY_CLOCK);
    innocent.work();
}

// Firmware, too: it is not used until it restarts, and nothing else is affected.
TEST_F(Lie, FirmwaresReply) {
    Innocent innocent;
    const auto version = [&] { return status_of(innocent.node()).firmware_version; };
    const auto reset = [&] {
        sidra_ioctl_device_reset request{};
        EXPECT_EQ(innocent.node().call(SIDRA_IOCTL_DEVICE_RESET, request), 0);
        innocent.lose_and_recover(SIDRA_FAULT_RESET);
    };
    ASSERT_TRUE(eventually([&] { return version() != 0; }));
    ASSERT_TRUE(tell(SIDRA_LIE_REPLY));
    reset();
    EXPECT_TRUE(logged("the firmware sent a reply without a request"));
    EXPECT_EQ(version(), 0u);
    EXPECT_FALSE(write_text("/sys/class/sidra/sidra0/firmware_update", "1"));
    for (const auto& folder : std::filesystem::directory_iterator("/sys/class/sidra/sidra0/device/hwmon")) {
        EXPECT_FALSE(write_text(folder.path() / "power1_cap", "100000000"));
        EXPECT_EQ(errno, EAGAIN);
    }
    innocent.work();
    reset();
    EXPECT_TRUE(eventually([&] { return version() != 0; }));
    // An index that is neither ahead nor behind has no effect.
    ASSERT_TRUE(tell(SIDRA_LIE_REPLY_INDEX));
    reset();
    EXPECT_TRUE(eventually([&] { return version() != 0; }));
    innocent.work();
}

TEST_F(Lie, NeverReadyAgain) {
    Innocent innocent;
    sidra_ioctl_device_reset reset{};
    ASSERT_TRUE(tell(SIDRA_LIE_NEVER_READY));
    EXPECT_EQ(innocent.node().call(SIDRA_IOCTL_DEVICE_RESET, reset), -ENODEV);
    EXPECT_TRUE(logged("does not become ready"));
    sidra_ioctl_device_query query{};
    EXPECT_TRUE(eventually([&] { return innocent.node().call(SIDRA_IOCTL_DEVICE_QUERY, query) == 0; }))
        << "it is tried again";
    innocent.lose_and_recover(SIDRA_FAULT_RESET);
}

// A chip that was used is reset when the driver is bound; it is refused then, and each time, until its function is
// reset.
TEST_F(Lie, NeverReadyAtTheBeginning) {
    const std::string driver = "/sys/bus/pci/drivers/sidra/";
    { Innocent().work(); }
    ASSERT_TRUE(card.unbind());
    ASSERT_TRUE(tell(SIDRA_LIE_NEVER_READY));
    for (int attempt = 0; attempt < 2; attempt++) {
        EXPECT_FALSE(write_text(driver + "bind", card.name()));
        EXPECT_TRUE(logged("does not become ready"));
    }
    ASSERT_TRUE(write_text("/sys/bus/pci/devices/" + card.name() + "/reset", "1"));
    ASSERT_TRUE(card.bind());
    { Innocent().work(); }
}

// While the driver is being bound.
TEST_F(Lie, AtTheBeginning) {
    const auto free_xbars = [] { return status_of(Node()).xbars_free; };
    const auto l3_size = [] { return device_of(Node()).l3_size; };
    const uint32_t true_xbars = free_xbars();
    const uint64_t true_l3 = l3_size();
    const struct {
        sidra_chip_lie lie;
        const char* refused;  // nullptr: believed
        uint64_t l3_size;
    } lies[] = {{SIDRA_LIE_L3_SIZE, nullptr, true_l3},
                {SIDRA_LIE_NO_L3, nullptr, 0},
                {SIDRA_LIE_XBAR_HEADERS, nullptr, true_l3},
                {SIDRA_LIE_GEOMETRY, "does not support", 0},
                {SIDRA_LIE_NVM, "named weights cannot be read", 0},
                {SIDRA_LIE_ADMIN_RESULT, "named weights cannot be read", 0}};
    { Innocent().work(); }  // programs cells, so that the driver finds some
    for (const auto& one : lies) {
        SCOPED_TRACE(one.lie);
        ASSERT_TRUE(card.unbind());
        ASSERT_TRUE(tell(one.lie));
        if (one.refused) {
            const std::string driver = "/sys/bus/pci/drivers/sidra/";
            EXPECT_FALSE(write_text(driver + "bind", card.name()));
            EXPECT_NE(access(node_path().c_str(), F_OK), 0);
            EXPECT_TRUE(logged(one.refused));
        } else {
            ASSERT_TRUE(card.bind());
            EXPECT_EQ(l3_size(), one.l3_size);
            { Innocent().work(); }
            Node node;
            Context context(node);
            sidra_ioctl_buffer_create create{4096, SIDRA_BUFFER_LOCAL, 0, 0};
            EXPECT_EQ(node.call(SIDRA_IOCTL_BUFFER_CREATE, create), one.l3_size ? 0 : -ENOSPC);
            node.close();
            ASSERT_TRUE(card.unbind());
        }
        ASSERT_TRUE(tell(SIDRA_LIE_NONE) && card.bind());
        EXPECT_EQ(l3_size(), true_l3);
        EXPECT_EQ(free_xbars(), true_xbars);
        { Innocent().work(); }
    }
}

}  // namespace
}  // namespace sidra::test
