// SPDX-License-Identifier: MIT
// Each fault knob: the affected queue gets the documented error and recovers; unaffected ones continue, bit-exact.
#include <algorithm>

#include "innocent.h"

namespace sidra::test {
namespace {

// The affected user: a queue of its own, and a product of two columns.
class Victim {
   public:
    Victim() : context_(node_), buffer_(context_, kPages * 4096), queue(context_, SIDRA_QUEUE_USER) {
        sidra_ioctl_weights_create create{context_.handle, SIDRA_ENCODING_OFFSET, kRows, kCols, SIDRA_WEIGHTS_RIGHTS};
        EXPECT_EQ(node_.call(SIDRA_IOCTL_WEIGHTS_CREATE, create), 0);
        weights_ = create.index;
        program();
    }
    void program() {
        for (uint32_t i = 0; i < kRows * kCols; i++) bytes()[i] = static_cast<uint8_t>(i % kCols ? -4 : 3);
        sidra_cmd cmd = packet(SIDRA_CMD_PROGRAM);
        cmd.weights.weights = weights_;
        cmd.weights.rows = kRows;
        cmd.weights.cols = cmd.weights.stride = kCols;
        cmd.weights.addr = buffer_.va;
        EXPECT_EQ(queue.wait(queue.push(cmd)), 0);
    }
    // Of ones.
    std::vector<int32_t> product() {
        std::memset(bytes(), 1, kRows);
        sidra_cmd cmd = packet(SIDRA_CMD_MVM);
        cmd.mvm.types = SIDRA_MVM_TYPES(SIDRA_TYPE_U8, SIDRA_TYPE_S32);
        cmd.mvm.weights = static_cast<uint16_t>(weights_);
        cmd.mvm.batch = 1;
        cmd.mvm.in = buffer_.va;
        cmd.mvm.in_stride = kRows;
        cmd.mvm.out = buffer_.va + 4096;
        cmd.mvm.out_stride = kCols * 4;
        EXPECT_EQ(queue.wait(queue.push(cmd)), 0);
        const auto* out = reinterpret_cast<const int32_t*>(bytes() + 4096);
        return {out, out + kCols};
    }
    uint64_t first_crossbar() const {
        uint32_t crossbars[kTiles] = {};
        sidra_ioctl_weights_query query{
            context_.handle, weights_, reinterpret_cast<uintptr_t>(crossbars), kTiles, 4, 0, 0, 0, 0};
        EXPECT_EQ(node_.call(SIDRA_IOCTL_WEIGHTS_QUERY, query), 0);
        return crossbars[0];
    }
    sidra_cmd any_copy() const { return copy(buffer_.va, buffer_.va + kPages / 2 * 4096, kPages / 2 * 4096); }
    // A packet that does not complete: checks the error that its owner gets.
    void expect_fault(uint16_t cause) {
        EXPECT_EQ(queue.run_state(), SIDRA_QUEUE_FAULTED);
        EXPECT_EQ(queue.state->fault.cause, cause);
        EXPECT_EQ(queue.state->fault.sequence, queue.timeline());
    }
    void reset() {
        ASSERT_EQ(queue.reset(), 0);
        ASSERT_EQ(product(), kExact);
    }

    static constexpr int32_t kRows = 300, kCols = 2, kTiles = 2;
    inline static const std::vector<int32_t> kExact = {3 * kRows, -4 * kRows};

   private:
    static constexpr uint64_t kPages = 32;
    uint8_t* bytes() const { return reinterpret_cast<uint8_t*>(buffer_.words); }
    Node node_;
    Context context_;
    Buffer buffer_;
    uint32_t weights_ = 0;

   public:
    Queue queue;
    const Context& context() const { return context_; }
    const Node& node() const { return node_; }
    const Buffer& buffer() const { return buffer_; }
};

struct Both {
    Victim victim;
    Innocent innocent;
};

// Fails one of the victim's transfers: of its data, or of its queue's own memory, where the fault cannot be reported.
void dma_error(Both& both) {
    unsigned told = 0;
    for (uint64_t n = 1; n <= static_cast<uint64_t>(rounds(12, 64)); n++) {
        ASSERT_TRUE(knob("dma-error-at", n));
        const int error = wait_for_time_out(both.victim.queue, both.victim.queue.push(both.victim.any_copy()));
        ASSERT_TRUE(knob("dma-error-at", 0));
        both.innocent.work();
        if (error) {
            ASSERT_EQ(error, -EIO);
            const uint16_t cause = both.victim.queue.state->fault.cause;
            EXPECT_TRUE(cause == SIDRA_FAULT_BUS || cause == SIDRA_FAULT_TIMEOUT) << cause;
            told += cause == SIDRA_FAULT_BUS;
            both.victim.expect_fault(cause);
        }
        both.victim.reset();  // without an error, too: the chip looks for the next packet, and that may have failed
    }
    EXPECT_GT(told, 0u);
}

void lost_interrupts(Both& both) {
    const Card card;
    const uint64_t before = card.counter("rechecks");
    ASSERT_TRUE(knob("lose-msix", 1'000'000));
    const int event = eventfd(0, EFD_CLOEXEC);
    sidra_ioctl_arm arm{both.victim.context().handle,
                        both.victim.queue.create.queue,
                        both.victim.queue.next + 1,
                        event,
                        0,
                        both.victim.queue.epoch(),
                        0};
    ASSERT_EQ(both.victim.node().call(SIDRA_IOCTL_ARM, arm), 0);
    both.victim.queue.push(both.victim.any_copy());
    pollfd fired{event, POLLIN, 0};
    EXPECT_EQ(poll(&fired, 1, static_cast<int>(kPatienceMs)), 1);
    close(event);
    // Counted after the wake-up, which may be quicker on another CPU.
    EXPECT_TRUE(eventually([&] { return card.counter("rechecks") > before; }));
    for (int round = 0; round < rounds(3, 50); round++) {
        EXPECT_EQ(both.victim.product(), Victim::kExact);
        both.innocent.work();
    }
}

// No waiter mistakes it for its own.
void spurious_interrupts(Both& both) {
    const Card card;
    const uint64_t before = card.counter("interrupts");
    both.victim.queue.push(sem_wait(both.victim.buffer().va, ~uint64_t{0}));
    for (int round = 0; round < rounds(1, 20); round++) {
        for (uint64_t vector = 0; vector < SIDRA_MSIX_VECTORS; vector++) {
            ASSERT_TRUE(knob("spurious-msix", vector));
            if (vector % 8 == 0) both.innocent.work();
        }
        EXPECT_EQ(both.victim.queue.wait(both.victim.queue.next, in_ms(20)), -ETIMEDOUT);
    }
    EXPECT_TRUE(eventually([&] { return card.counter("interrupts") >= before + SIDRA_MSIX_VECTORS; }));
    both.victim.reset();
}

void lost_link(Both& both) {
    const Card card;
    Buffer local(both.victim.context(), 4096, SIDRA_BUFFER_LOCAL);
    local.words[0] = 5;
    both.victim.queue.push(sem_wait(both.victim.buffer().va, ~uint64_t{0}));
    ASSERT_TRUE(knob("link-lost", 1));
    EXPECT_EQ(local.words[0], ~uint64_t{0});
    local.words[0] = 6;
    uint32_t identity = 0;
    std::ifstream config("/sys/bus/pci/devices/" + card.name() + "/config", std::ios::binary);
    EXPECT_TRUE(config.read(reinterpret_cast<char*>(&identity), sizeof identity));
    EXPECT_EQ(identity, ~0u);
    EXPECT_EQ(both.victim.queue.wait(both.victim.queue.next), -EIO);
    EXPECT_EQ(both.victim.queue.run_state(), SIDRA_QUEUE_LOST);
    sidra_ioctl_device_query query{};
    EXPECT_EQ(both.victim.node().call(SIDRA_IOCTL_DEVICE_QUERY, query), -ENODEV);
    sidra_ioctl_buffer_create create{SIDRA_PAGE_SIZE, 0, 0, 0};
    EXPECT_EQ(both.victim.node().call(SIDRA_IOCTL_BUFFER_CREATE, create), -ENODEV);
    sidra_ioctl_buffer_register enroll{};
    EXPECT_EQ(both.victim.node().call(SIDRA_IOCTL_BUFFER_REGISTER, enroll), -ENODEV) << "before anything is pinned";
    sidra_weights_entry entry;
    sidra_ioctl_weights_list list{reinterpret_cast<uintptr_t>(&entry), 1, sizeof entry, 0, 0};
    EXPECT_EQ(both.victim.node().call(SIDRA_IOCTL_WEIGHTS_LIST, list), -ENODEV);
    EXPECT_NE(both.innocent.attempt(), 0);
    ASSERT_TRUE(knob("link-lost", 0));
    ASSERT_TRUE(eventually([&] { return both.innocent.node().call(SIDRA_IOCTL_DEVICE_QUERY, query) == 0; }));
    EXPECT_EQ(local.words[0], 5u) << "as it was";
    both.innocent.lose_and_recover(SIDRA_FAULT_RESET);
}

void damaged_fetch(Both& both) {
    for (int round = 0; round < rounds(3, 50); round++) {
        ASSERT_TRUE(knob("corrupt-fetch", 1));
        EXPECT_EQ(both.victim.queue.wait(both.victim.queue.push(both.victim.any_copy())), -EIO);
        both.victim.expect_fault(SIDRA_FAULT_FETCH);
        both.innocent.work();
        both.victim.reset();
    }
}

// Late is not wrong.
void slow_tiles(Both& both) {
    constexpr uint64_t kSlowNs = 20'000'000;
    ASSERT_TRUE(knob("slow-tile-ns", kSlowNs));
    const uint64_t before = both.victim.queue.state->device_ps;
    EXPECT_EQ(both.victim.product(), Victim::kExact);
    EXPECT_GE(both.victim.queue.state->device_ps - before, kSlowNs * 1000);
    both.innocent.work();
}

void no_acknowledgement(Both& both) {
    sidra_ioctl_buffer_unbind unbind{both.victim.context().vm, both.victim.buffer().handle, both.victim.buffer().va};
    ASSERT_TRUE(knob("no-quiesce-ack", 3));
    EXPECT_EQ(both.victim.node().call(SIDRA_IOCTL_BUFFER_UNBIND, unbind), 0) << "by force";
    EXPECT_EQ(state_of(both.victim.context()), SIDRA_CONTEXT_LOST);
    ASSERT_TRUE(knob("no-quiesce-ack", 0));
    both.innocent.lose_and_recover(SIDRA_FAULT_TIMEOUT);
}

// Only the owner of the cell computes with it.
void stuck_cell(Both& both) {
    constexpr uint64_t kLevel = 200;  // of the first weight
    ASSERT_TRUE(knob("stuck-cell", both.victim.first_crossbar() << 32 | kLevel));
    both.victim.program();
    EXPECT_EQ(both.victim.product(), (std::vector<int32_t>{Victim::kExact[0] - 3 + (200 - 128), Victim::kExact[1]}));
    both.innocent.work();
    ASSERT_TRUE(knob("stuck-cell", ~uint64_t{0}));
    both.victim.program();
}

// All sums are off by exactly this much per tile; copies are correct.
void offset_sums(Both& both) {
    ASSERT_TRUE(knob("adc-offset", 7));
    EXPECT_EQ(both.victim.product(),
              (std::vector<int32_t>{Victim::kExact[0] + 7 * Victim::kTiles, Victim::kExact[1] + 7 * Victim::kTiles}));
    EXPECT_EQ(both.victim.queue.wait(both.victim.queue.push(both.victim.any_copy())), 0);
}

void stalled(Both& both) {
    ASSERT_TRUE(knob("stall", 1));
    EXPECT_EQ(wait_for_time_out(both.victim.queue, both.victim.queue.push(both.victim.any_copy())), -EIO);
    both.victim.expect_fault(SIDRA_FAULT_TIMEOUT);
    ASSERT_TRUE(knob("stall", 0));
    both.innocent.work();
    both.victim.reset();
}

struct Case {
    const char* name;
    void (*run)(Both& both);
    uint64_t off = 0;
    bool device_wide = false;
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

const Case kCases[] = {
    {"dma-error-at", dma_error},
    {"lose-msix", lost_interrupts},
    {"spurious-msix", spurious_interrupts},
    {"link-lost", lost_link, 0, true},
    {"corrupt-fetch", damaged_fetch},
    {"slow-tile-ns", slow_tiles},
    {"no-quiesce-ack", no_acknowledgement, 0, true},
    {"stuck-cell", stuck_cell, ~uint64_t{0}},
    {"adc-offset", offset_sums},
    {"stall", stalled},
};

class Fault : public NodeTest, public testing::WithParamInterface<Case> {
   protected:
    void TearDown() override { EXPECT_TRUE(knob(GetParam().name, GetParam().off)); }
};

TEST_P(Fault, HitsOnlyWhomItHits) {
    const Case& one = GetParam();
    for (int round = 0; round < rounds(1, 5); round++) {
        Both both;
        both.innocent.work();
        one.run(both);
        ASSERT_TRUE(knob(one.name, one.off));
        both.innocent.work();
        if (!one.device_wide) EXPECT_EQ(both.victim.product(), Victim::kExact) << "as before";
    }
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
    std::string name = info.param.name;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}
INSTANTIATE_TEST_SUITE_P(Knobs, Fault, testing::ValuesIn(kCases), name_of);

}  // namespace
}  // namespace sidra::test
