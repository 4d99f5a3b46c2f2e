// SPDX-License-Identifier: MIT
// A card in full use with known results: for tests of suspend, pause and migration.
#ifndef SIDRA_TESTS_WORLD_H
#define SIDRA_TESTS_WORLD_H

#include <array>
#include <atomic>
#include <random>
#include <thread>

#include "packets.h"
#include "ring.h"

namespace sidra::test {

// A named matrix in the cells, and one queue of each kind that multiply by it.
class Products {
   public:
    Products() : user_(context, SIDRA_QUEUE_USER), kernel_(context, SIDRA_QUEUE_KERNEL), buffer_(context, 4 * kPlace) {
        auto* matrix = reinterpret_cast<int8_t*>(buffer_.words);
        for (int8_t& weight : matrix_) weight = static_cast<int8_t>(random_() % 256);
        std::memcpy(matrix, matrix_.data(), matrix_.size());
        sidra_ioctl_weights_create create{
            context.handle, SIDRA_ENCODING_OFFSET, kSize, kSize, SIDRA_WEIGHTS_RIGHTS, 0, 0, 0, 0};
        EXPECT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_CREATE, create), 0);
        weights_ = create.index;
        EXPECT_EQ(user_.wait(user_.push(chip_test::program(create.index, 0, kSize, 0, kSize, buffer_.va, kSize))), 0);
        sidra_ioctl_weights_publish publish{};
        publish.context = context.handle;
        publish.index = create.index;
        publish.name = reinterpret_cast<uintptr_t>(kName);
        publish.mode = 0600;
        EXPECT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_PUBLISH, publish), 0);
    }
    ~Products() {
        sidra_ioctl_weights_unlink unlink{};
        unlink.owner = SIDRA_OWNER_CALLER;
        unlink.name = reinterpret_cast<uintptr_t>(kName);
        EXPECT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_UNLINK, unlink), 0);
    }

    // Multiplies on both queues and compares the results with the CPU's.
    void multiply() {
        for (Queue* queue : {&user_, &kernel_}) {
            const sidra_cmd packet = product(0);
            uint64_t value = 0;
            if (queue == &kernel_) ASSERT_EQ(queue->submit({packet}, &value), 0);
            else value = queue->push(packet);
            ASSERT_EQ(queue->wait(value), 0);
            ASSERT_TRUE(right(0)) << (queue == &kernel_ ? "kernel queue" : "user queue");
        }
        answers++;
    }
    // The product with a new vector. A place is for one at a time.
    sidra_cmd product(unsigned place) {
        for (size_t k = 0; k < kSize; k++) in(place)[k] = static_cast<uint8_t>(random_());
        std::memset(out(place), 0x5a, kSize * 4);
        const uint64_t va = buffer_.va + place * kPlace;
        return chip_test::mvm(static_cast<uint16_t>(weights_), SIDRA_TYPE_U8, SIDRA_TYPE_S32, 1, va, kSize, va + kOut,
                              kSize * 4);
    }
    bool right(unsigned place) const {
        for (size_t n = 0; n < kSize; n++) {
            int32_t sum = 0;
            for (size_t k = 0; k < kSize; k++) sum += in(place)[k] * matrix_[k * kSize + n];
            if (out(place)[n] != sum) return false;
        }
        return true;
    }

    const Node node;
    const Context context{node};
    std::atomic<uint64_t> answers{0};

   private:
    static constexpr uint32_t kSize = 64;
    static constexpr uint64_t kPlace = 4096, kOut = 2048;
    static constexpr char kName[] = "world";
    uint8_t* in(unsigned place) const { return reinterpret_cast<uint8_t*>(buffer_.words) + place * kPlace; }
    int32_t* out(unsigned place) const { return reinterpret_cast<int32_t*>(in(place) + kOut); }

    std::minstd_rand random_{1};
    std::array<int8_t, size_t{kSize} * kSize> matrix_{};
    Queue user_, kernel_;
    Buffer buffer_;
    uint32_t weights_ = 0;
};

// Multiplies all the time, from another thread, until the first wrong answer.
class Multiplier {
   public:
    explicit Multiplier(Products& products)
        : thread_([this, &products] {
              while (!stop_ && !testing::Test::HasFailure()) products.multiply();
          }) {}
    ~Multiplier() {
        stop_ = true;
        thread_.join();
    }
    Multiplier(const Multiplier&) = delete;
    Multiplier& operator=(const Multiplier&) = delete;

   private:
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

// A waiting queue, and all the ways to wait for it, until it is released.
class Sleepers {
   public:
    explicit Sleepers(const Context& context)
        : node_(context.node),
          parked_(context, SIDRA_QUEUE_USER),
          peer_(context, SIDRA_QUEUE_USER),
          buffer_(context, 4096),
          local_(context, 4096, SIDRA_BUFFER_LOCAL),
          event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        const uint64_t end = parked_.next + 2;
        buffer_.words[kFrom] = local_.words[0] = 0x1d7a;
        parked_.push(sem_wait(buffer_.va, 1));
        parked_.push(copy(buffer_.va + 8 * kTo, buffer_.va + 8 * kFrom, 8));
        sidra_ioctl_arm arm{context.handle, parked_.create.queue, end, event_, 0, parked_.epoch(), 0};
        EXPECT_EQ(node_.call(SIDRA_IOCTL_ARM, arm), 0);
        ring_.add(node_.fd, SIDRA_URING_WAIT_VALUE, parked_, end, 7)->len = parked_.epoch();
        EXPECT_EQ(ring_.enter(), 1);
        waiter_ = std::thread([this, end] { waited_ = parked_.wait(end, in_ms(100 * kPatienceMs)); });
        peer_.push(parked_.waited_for(end));
        EXPECT_TRUE(eventually([&] { return parked_.state->parked == 1 && peer_.state->parked == 1; }));
    }
    ~Sleepers() {
        if (waiter_.joinable()) wake();
        close(event_);
    }
    Sleepers(const Sleepers&) = delete;
    Sleepers& operator=(const Sleepers&) = delete;

    // Checks that they still sleep, then wakes each in turn.
    void wake() {
        uint64_t fired = 0;
        EXPECT_EQ(read(event_, &fired, sizeof fired), -1);
        EXPECT_EQ(parked_.timeline(), 0u);
        EXPECT_EQ(parked_.run_state(), SIDRA_QUEUE_RUNNING);
        EXPECT_EQ(buffer_.words[kTo], 0u);
        __atomic_store_n(buffer_.words, 1, __ATOMIC_RELEASE);
        parked_.kick();
        waiter_.join();
        EXPECT_EQ(waited_, 0);
        EXPECT_EQ(ring_.reap(1)[7], 0);
        EXPECT_EQ(peer_.wait(1), 0) << "nobody rings for it";
        pollfd waits{event_, POLLIN, 0};
        EXPECT_EQ(poll(&waits, 1, static_cast<int>(kPatienceMs)), 1);
        EXPECT_EQ(buffer_.words[kTo], 0x1d7au);
        EXPECT_EQ(local_.words[0], 0x1d7au) << "L3 stays, and is mapped again";
    }

   private:
    static constexpr size_t kFrom = 8, kTo = 9;
    const Node& node_;
    Queue parked_, peer_;
    Buffer buffer_, local_;
    const int event_;
    Ring ring_;
    std::thread waiter_;
    int waited_ = -1;
};

// The actions are in scripts/vm/host.py.
inline bool ask_host(const std::string& action) { return system(("ask-host " + action).c_str()) == 0; }

}  // namespace sidra::test

#endif
