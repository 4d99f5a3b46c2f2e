// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <limits>
#include <thread>
#include <vector>

#include "contest.h"
#include "memory.h"
#include "peers.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sidra::bench {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kStep = 8 * kLine;  // bytes that a kernel reads in one turn of its loop

using Sum = uint64_t (*)(const std::byte* data, size_t size);  // size: a multiple of kStep

uint64_t sum_words(const std::byte* data, size_t size) {
    const auto* words = reinterpret_cast<const uint64_t*>(data);
    uint64_t sum[8] = {};
    for (size_t i = 0; i < size / sizeof(uint64_t); i += 8) {
        for (size_t j = 0; j < 8; ++j) sum[j] += words[i + j];
    }
    return sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) uint64_t sum_avx2(const std::byte* data, size_t size) {
    __m256i sum[8];
    for (auto& s : sum) s = _mm256_setzero_si256();
    for (size_t i = 0; i < size; i += kStep / 2) {
        for (size_t j = 0; j < 8; ++j) {
            sum[j] = _mm256_add_epi64(sum[j], _mm256_load_si256(reinterpret_cast<const __m256i*>(data + i + j * 32)));
        }
    }
    for (size_t j = 1; j < 8; ++j) sum[0] = _mm256_add_epi64(sum[0], sum[j]);
    alignas(32) uint64_t lanes[4];
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), sum[0]);
    return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

__attribute__((target("avx512f"))) uint64_t sum_avx512(const std::byte* data, size_t size) {
    __m512i sum[8];
    for (auto& s : sum) s = _mm512_setzero_si512();
    for (size_t i = 0; i < size; i += kStep) {
        for (size_t j = 0; j < 8; ++j) {
            sum[j] = _mm512_add_epi64(sum[j], _mm512_load_si512(data + i + j * 64));
        }
    }
    for (size_t j = 1; j < 8; ++j) sum[0] = _mm512_add_epi64(sum[0], sum[j]);
    alignas(64) uint64_t lanes[8];
    _mm512_store_si512(lanes, sum[0]);
    return lanes[0] + lanes[1] + lanes[2] + lanes[3] + lanes[4] + lanes[5] + lanes[6] + lanes[7];
}
#endif

struct Kernel {
    const char* name;
    Sum sum;
};

std::vector<Kernel> kernels() {
    std::vector<Kernel> all = {{"64-bit words", sum_words}};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) all.push_back({"AVX2", sum_avx2});
    if (__builtin_cpu_supports("avx512f")) all.push_back({"AVX-512", sum_avx512});
#endif
    return all;
}

// Waits for a word to change: spins for about a millisecond (inside a block the next call comes at once), then naps.
// Naps need no notification, which a partner that was preempted in the middle of a block would not send.
uint64_t await_change(const std::atomic<uint64_t>& word, uint64_t seen) {
    for (int spins = 0;; ++spins) {
        const uint64_t value = word.load(std::memory_order_acquire);
        if (value != seen) return value;
        if (spins >= 1'000'000) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
}

constexpr uint64_t kStop = std::numeric_limits<uint64_t>::max();

}  // namespace

struct Reader::State {
    State(size_t size, uint32_t threads) : memory(size), bytes(size / threads / kStep * kStep), done(threads) {
        for (uint32_t i = 1; i < threads; ++i) helpers.emplace_back([this, i] { help(i); });
    }
    ~State() {
        turn.store(kStop, std::memory_order_release);
        for (auto& helper : helpers) helper.join();
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    struct alignas(kLine) Done {
        std::atomic<uint64_t> turn{0};
        uint64_t sum = 0;
    };

    void read(uint32_t part) { done[part].sum += kernel.sum(memory.as<std::byte>() + part * bytes, bytes); }

    void help(uint32_t part) {
        for (uint64_t seen = 0; (seen = await_change(turn, seen)) != kStop;) {
            read(part);
            done[part].turn.store(seen, std::memory_order_release);
        }
    }

    void run() {
        const uint64_t now = turn.load(std::memory_order_relaxed) + 1;
        turn.store(now, std::memory_order_release);
        read(0);
        for (size_t i = 1; i < done.size(); ++i) {
            while (done[i].turn.load(std::memory_order_acquire) != now) {
            }
        }
    }

    Memory memory;
    size_t bytes;  // that one thread reads
    Kernel kernel = {"64-bit words", sum_words};
    std::vector<Done> done;
    alignas(kLine) std::atomic<uint64_t> turn{0};
    std::vector<std::thread> helpers;
};

Reader::Reader(size_t size, uint32_t threads) : state_(std::make_unique<State>(size, threads)) {
    double best = std::numeric_limits<double>::infinity();
    Kernel fastest = state_->kernel;
    for (const Kernel& kernel : kernels()) {
        state_->kernel = kernel;
        for (int i = 0; i < 20; ++i) {
            const double start = now_s();
            state_->run();
            if (const double took = now_s() - start; took < best) {
                best = took;
                fastest = kernel;
            }
        }
    }
    state_->kernel = fastest;
}

Reader::~Reader() = default;

void Reader::run(uint64_t calls) {
    for (uint64_t i = 0; i < calls; ++i) state_->run();
}

const char* Reader::kernel() const { return state_->kernel.name; }

struct SpinRoundTrip::State {
    State() : echo([this] { answer(); }) {}
    ~State() {
        command.store(kEnd, std::memory_order_release);
        command.notify_all();
        echo.join();
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    // Echoes while told to. It must not fall asleep in the middle of a run, however long the other thread is off its
    // CPU.
    void answer() {
        uint64_t seen = 0;
        for (;;) {
            const uint64_t now = await_change(command, kRest);
            if (now == kEnd) return;
            while (command.load(std::memory_order_relaxed) == kEcho) {
                const uint64_t value = ping.load(std::memory_order_acquire);
                if (value == seen) continue;
                seen = value;
                pong.store(seen, std::memory_order_release);
            }
        }
    }

    static constexpr uint64_t kRest = 0, kEcho = 1, kEnd = 2;
    alignas(kLine) std::atomic<uint64_t> ping{0};
    alignas(kLine) std::atomic<uint64_t> pong{0};
    alignas(kLine) std::atomic<uint64_t> command{kRest};
    alignas(kLine) std::thread echo;
};

SpinRoundTrip::SpinRoundTrip() : state_(std::make_unique<State>()) {}
SpinRoundTrip::~SpinRoundTrip() = default;

void SpinRoundTrip::run(uint64_t calls) {
    auto& ping = state_->ping;
    auto& pong = state_->pong;
    auto& command = state_->command;
    command.store(State::kEcho, std::memory_order_release);
    command.notify_all();
    uint64_t value = ping.load(std::memory_order_relaxed);
    for (uint64_t i = 0; i < calls; ++i) {
        ping.store(++value, std::memory_order_release);
        while (pong.load(std::memory_order_acquire) != value) {
        }
    }
    command.store(State::kRest, std::memory_order_release);
}

}  // namespace sidra::bench
