// SPDX-License-Identifier: MIT
// A user that must not be affected by others, or by a device-wide event only as documented; and resources counted
// before and after.
#ifndef SIDRA_TESTS_INNOCENT_H
#define SIDRA_TESTS_INNOCENT_H

#include <csignal>
#include <ctime>
#include <optional>

#include "node.h"

namespace sidra::test {

// Copies and multiplies on a user queue and on a kernel queue, and compares all results with those of the CPU.
class Innocent {
   public:
    Innocent() : context_(node_), buffer_(context_, kEnd) {
        make_queues();
        sidra_ioctl_weights_create create{
            context_.handle, SIDRA_ENCODING_OFFSET, kRows, kCols, SIDRA_WEIGHTS_RIGHTS, 0, 0, 0, 0};
        EXPECT_EQ(node_.call(SIDRA_IOCTL_WEIGHTS_CREATE, create), 0);
        weights_ = create.index;
        for (uint32_t i = 0; i < kRows * kCols; i++) weight(i) = static_cast<int8_t>(i * 37 + i / 11);
        sidra_cmd program = packet(SIDRA_CMD_PROGRAM);
        program.weights.weights = weights_;
        program.weights.rows = kRows;
        program.weights.cols = program.weights.stride = kCols;
        program.weights.addr = buffer_.va + kWeights;
        EXPECT_EQ(user_->wait(user_->push(program)), 0);
    }

    // Nothing is to be noticed.
    void work() { ASSERT_EQ(attempt(), 0); }

    // The device was reset: calls return what docs/driver.md says, the record has the cause, and after the recovery
    // everything works.
    void lose_and_recover(uint16_t cause) {
        const int error = attempt();
        EXPECT_TRUE(error == -EIO || error == -ESTALE) << error;
        EXPECT_EQ(state_of(context_), SIDRA_CONTEXT_LOST);
        for (const auto* queue : {&user_, &kernel_}) {
            EXPECT_EQ((*queue)->run_state(), SIDRA_QUEUE_LOST);
            EXPECT_EQ((*queue)->state->fault.cause, cause);
        }
        recover();
    }
    bool lost() const { return state_of(context_) == SIDRA_CONTEXT_LOST; }
    void recover() {
        sidra_ioctl_context recover{context_.handle, 0};
        ASSERT_EQ(node_.call(SIDRA_IOCTL_CONTEXT_RECOVER, recover), 0);
        make_queues();
        work();
    }

    // 0, or the error of the first call that failed. Wrong results are test failures.
    int attempt() {
        for (uint64_t i = 0; i < kCopy / 8; i++) word(kSource, i) = ++value_ * 0x9e3779b97f4a7c15u;
        for (uint32_t i = 0; i < kBatch * kRows; i++) input(i) = static_cast<uint8_t>(word(kSource, i % 1024) >> 56);
        std::memset(&word(kTargets, 0), 0, kEnd - kTargets);
        uint64_t value = 0;
        for (const sidra_cmd& cmd : packets(0)) user_->push(cmd);
        int error = kernel_->submit(packets(1), &value);
        if (!error) error = user_->wait(user_->next);
        if (!error) error = kernel_->wait(value);
        if (!error) compare();
        return error;
    }
    const Node& node() const { return node_; }

   private:
    static constexpr uint32_t kRows = 300, kCols = 40, kBatch = 4;
    static constexpr uint64_t kCopy = 8192, kProduct = 4096;
    // Layout of the buffer; targets and products exist once for each queue.
    static constexpr uint64_t kInput = 0, kWeights = 4096, kSource = 16384, kTargets = kSource + kCopy,
                              kProducts = kTargets + 2 * kCopy, kEnd = kProducts + 2 * kProduct;

    void make_queues() {
        user_.emplace(context_, SIDRA_QUEUE_USER);
        kernel_.emplace(context_, SIDRA_QUEUE_KERNEL);
    }
    std::vector<sidra_cmd> packets(uint64_t which) const {
        sidra_cmd mvm = packet(SIDRA_CMD_MVM);
        mvm.mvm.types = SIDRA_MVM_TYPES(SIDRA_TYPE_U8, SIDRA_TYPE_S32);
        mvm.mvm.weights = static_cast<uint16_t>(weights_);
        mvm.mvm.batch = kBatch;
        mvm.mvm.in = buffer_.va + kInput;
        mvm.mvm.in_stride = kRows;
        mvm.mvm.out = buffer_.va + kProducts + which * kProduct;
        mvm.mvm.out_stride = kCols * 4;
        return {copy(buffer_.va + kTargets + which * kCopy, buffer_.va + kSource, kCopy), mvm};
    }
    void compare() {
        int32_t expected[kBatch * kCols] = {};
        for (uint32_t b = 0; b < kBatch; b++)
            for (uint32_t k = 0; k < kRows; k++)
                for (uint32_t n = 0; n < kCols; n++)
                    expected[b * kCols + n] += input(b * kRows + k) * weight(k * kCols + n);
        for (uint64_t which = 0; which < 2; which++) {
            EXPECT_EQ(std::memcmp(at(kTargets + which * kCopy), at(kSource), kCopy), 0) << "queue " << which;
            EXPECT_EQ(std::memcmp(at(kProducts + which * kProduct), expected, sizeof expected), 0) << "queue " << which;
        }
    }
    uint8_t* at(uint64_t offset) const { return reinterpret_cast<uint8_t*>(buffer_.words) + offset; }
    uint64_t& word(uint64_t offset, uint64_t i) const { return buffer_.words[offset / 8 + i]; }
    uint8_t& input(uint32_t i) const { return at(kInput)[i]; }
    int8_t& weight(uint32_t i) const { return reinterpret_cast<int8_t*>(at(kWeights))[i]; }

    Node node_;
    Context context_;
    Buffer buffer_;
    std::optional<Queue> user_, kernel_;
    uint32_t weights_ = 0;
    uint64_t value_ = 0;
};

// This process dies in so many microseconds, whatever it does then.
inline void die_in(uint32_t us) {
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGKILL;
    timer_t timer{};
    itimerspec when{};
    when.it_value.tv_nsec = long{1000} * us;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || timer_settime(timer, 0, &when, nullptr) != 0) _exit(1);
}

// Free resources of all kinds.
class Census {
   public:
    explicit Census(const Node& node) : node_(node), before_(query()) {}
    // All users of resources are gone, and the device was not reset.
    void expect_unchanged() const {
        // Memory of the chip is cleared in the background before it counts as free.
        EXPECT_TRUE(eventually([&] { return query().l3_free == before_.l3_free; }));
        // An io_uring may release its files only after its process has exited.
        EXPECT_TRUE(eventually([&] { return contexts_free() + 1 == device_of(node_).contexts_max; }))
            << contexts_free();
        EXPECT_EQ(query().xbars_free, before_.xbars_free);
        EXPECT_EQ(query().generation, before_.generation) << "the device was reset";
    }

   private:
    size_t contexts_free() const {
        std::vector<uint32_t> contexts;
        sidra_ioctl_context_create create{};
        create.vm = create_vm(node_);
        while (node_.call(SIDRA_IOCTL_CONTEXT_CREATE, create) == 0) contexts.push_back(create.context);
        for (const uint32_t handle : contexts) {
            sidra_ioctl_context destroy{handle, 0};
            EXPECT_EQ(node_.call(SIDRA_IOCTL_CONTEXT_DESTROY, destroy), 0);
        }
        return contexts.size();
    }
    sidra_query_status query() const { return status_of(node_); }
    const Node& node_;
    const sidra_query_status before_;
};

}  // namespace sidra::test

#endif
