// SPDX-License-Identifier: MIT
// Test bench of the chip: a fake host (bus.h), interrupts, clock and threads, and the driver's part of the contract:
// context table, page tables, queues, weights tables. It uses the chip only through its C interface and uapi/.
#ifndef SIDRA_TESTS_CHIP_BENCH_H
#define SIDRA_TESTS_CHIP_BENCH_H

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "bus.h"
#include "create.h"
#include "sidra_chip.h"
#include "sidra_hw.h"

namespace sidra::chip_test {

// Only a hang reaches it, on a busy machine and under sanitizers, too.
inline constexpr std::chrono::seconds kPatience{120};

class Bench;
class Context;

// Repetitions of a randomised test. TSan is ten times slower, and looks for races rather than for wrong results of one
// thread.
#if defined(__SANITIZE_THREAD__)
#define SIDRA_TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SIDRA_TEST_TSAN 1
#endif
#endif
// With any sanitizer the wires of one crossbar take a second to solve: tests at level `accurate` do less.
#if defined(SIDRA_TEST_TSAN) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif
constexpr unsigned rounds(unsigned usual) {
#ifdef SIDRA_TEST_TSAN
    return (usual + 9) / 10;
#else
    return usual;
#endif
}
// The step of tests that try many positions one after the other.
#ifdef SIDRA_TEST_TSAN
constexpr size_t kStep = 11;
#else
constexpr size_t kStep = 1;
#endif

struct BenchOptions {
    uint32_t profile = SIDRA_CHIP_SMALL;
    uint32_t engine = SIDRA_CHIP_ENGINE_AUTO;
    uint32_t workers = 1;
    bool scatter = true;
    size_t pages = 8192;
    uint64_t seed = 1;
    std::array<uint8_t, 16> uuid = {};  // all zero: derived from the seed
    bool enable = true;
    uint32_t level = SIDRA_CHIP_FAST;
    uint32_t stuck_ppm = 0;
    std::string state_file = {};                              // "": none
    std::string trace_file = {};                              // the same
    bool later = std::getenv("SIDRA_TEST_LATER") != nullptr;  // on an engine that completes later
    chip::MakeEngine make_engine = nullptr;                   // in place of these engines
};

// Result of the tests' own page table walk.
struct Translation {
    sidra_fault_cause cause = SIDRA_FAULT_NONE;
    bool local = false;
    uint64_t address = 0;  // bus address, or L3 offset
    uint64_t rights = 0;
};

// Page tables of a context, and a walker that is independent of the chip's.
class AddressSpace {
   public:
    explicit AddressSpace(Bus& bus);
    uint64_t root() const { return root_; }
    // Bus address of the entry for `va`: level 2 is the root, 0 the last. Missing tables above it are allocated.
    uint64_t entry(uint64_t va, unsigned level);
    void set(uint64_t va, unsigned level, uint64_t value) { bus_.store64(entry(va, level), value); }
    Translation walk(uint64_t va, bool write) const;
    Translation raw(uint64_t va) const;  // whatever the rights

   private:
    Bus& bus_;
    uint64_t root_;
};

inline constexpr uint64_t kRead = SIDRA_PTE_READ;
inline constexpr uint64_t kWrite = SIDRA_PTE_WRITE;
inline constexpr uint64_t kReadWrite = SIDRA_PTE_READ | SIDRA_PTE_WRITE;

struct QueueOptions {
    uint8_t log2 = SIDRA_QUEUE_LOG2_MIN;
    uint8_t priority = 1;
    uint16_t vector = 1;
    uint64_t start = 0;
    bool kernel = false;
    bool reports = true;
    bool valid = true;
};

class Queue {
   public:
    Queue(Context& context, uint32_t index, const QueueOptions& options);

    uint64_t push(const sidra_cmd& cmd);  // into the ring only; returns the ring index
    void publish();                       // stores the write index
    void doorbell();
    uint64_t submit(const sidra_cmd& cmd);
    uint64_t submit(std::span<const sidra_cmd> cmds);
    void arm(uint64_t value);

    sidra_queue_state state() const;
    uint64_t timeline() const;
    uint32_t run_state() const;
    sidra_report report(uint64_t index) const;
    uint64_t next() const { return next_; }
    void set_next(uint64_t next) { next_ = next; }
    uint64_t slots() const { return uint64_t{1} << entry_.ring_log2; }
    uint64_t ring_address(uint64_t index) const { return entry_.ring + index % slots() * SIDRA_CMD_SIZE; }
    void write_ring(uint64_t index, const sidra_cmd& cmd);

    // SEM_WAIT of another queue for a point of this one's epoch.
    sidra_cmd waited_for(uint64_t value) const;

    // RESET_QUEUE, another epoch, and the write index back at the start.
    void reset();
    void reset_at(uint64_t start);
    sidra_hw_queue& entry() { return entry_; }
    void store_entry();  // writes the entry, flags last
    uint32_t index() const { return index_; }
    uint32_t vector() const { return entry_.vector; }
    Context& context() const { return context_; }

   private:
    void store_write_index(uint64_t value);

    Context& context_;
    uint32_t index_;
    sidra_hw_queue entry_{};
    uint64_t next_ = 0;
};

class Context {
   public:
    Context(Bench& bench, uint32_t index, uint32_t queues);

    // Device memory: zeroed pages in random order, mapped with `rights`, an unmapped page behind each allocation.
    uint64_t alloc(uint64_t bytes, uint64_t rights = kReadWrite);
    // Addresses without mapping.
    uint64_t reserve(uint64_t bytes, uint64_t align = kPage);
    void map(uint64_t va, uint64_t bus, uint64_t rights = kReadWrite, uint64_t flags = 0);
    // Moves a page to other memory, with what it holds. The old memory is not accessible any more.
    void move_page(uint64_t va);
    void write(uint64_t va, const void* data, uint64_t bytes);
    void read(uint64_t va, void* data, uint64_t bytes) const;
    uint64_t load64(uint64_t va) const;
    void store64(uint64_t va, uint64_t value);

    template <typename T>
    uint64_t put(const std::vector<T>& values, uint64_t rights = kReadWrite) {
        const uint64_t va = alloc(values.size() * sizeof(T), rights);
        write(va, values.data(), values.size() * sizeof(T));
        return va;
    }
    template <typename T>
    std::vector<T> get(uint64_t va, size_t count) const {
        std::vector<T> values(count);
        read(va, values.data(), count * sizeof(T));
        return values;
    }

    Queue& queue(const QueueOptions& options = {});

    struct WeightsOptions {
        uint32_t rows = 256;
        uint32_t cols = 256;
        uint32_t encoding = SIDRA_ENCODING_OFFSET;
        uint32_t rights = SIDRA_HW_WEIGHTS_COMPUTE | SIDRA_HW_WEIGHTS_PROGRAM | SIDRA_HW_WEIGHTS_READBACK;
        uint64_t uid = 0;                      // 0: a fresh one
        std::vector<uint32_t> crossbars = {};  // empty: fresh ones
    };
    uint32_t weights(const WeightsOptions& options);
    sidra_hw_weights weights_entry(uint32_t index) const;
    void store_weights_entry(uint32_t index, const sidra_hw_weights& entry);

    uint32_t index() const { return index_; }
    Bench& bench() const { return bench_; }
    Bus& bus() const;
    AddressSpace& space() { return space_; }
    sidra_hw_context& entry() { return entry_; }
    void store_entry();
    uint64_t queue_entry_address(uint32_t queue) const { return entry_.queue_table + queue * sizeof(sidra_hw_queue); }

   private:
    friend class Queue;
    void copy(uint64_t va, void* data, uint64_t bytes, bool write) const;

    Bench& bench_;
    uint32_t index_;
    AddressSpace space_;
    sidra_hw_context entry_{};
    uint64_t next_va_ = 0x1000'0000;
    uint32_t next_queue_ = 0;
    uint32_t epochs_ = 0;
    uint32_t next_weights_ = 0;
    std::vector<std::unique_ptr<Queue>> queues_;
};

struct Cause {
    std::initializer_list<sidra_fault_cause> any;
};

class Bench {
   public:
    explicit Bench(const BenchOptions& options = {});
    ~Bench();  // no violation, every map paired, no gap touched
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;

    sidra_chip* chip() const { return chip_; }
    // Another chip in place of this one, just powered on; memory stays.
    void replace_chip();
    Bus& bus() { return bus_; }
    Context& context(uint32_t queues = 8);
    Context& context_at(uint32_t index, uint32_t queues = 8);

    uint32_t read32(uint64_t offset);
    uint64_t read64(uint64_t offset);
    void write32(uint64_t offset, uint64_t value);
    void write64(uint64_t offset, uint64_t value);
    sidra_telemetry telemetry();
    void enable();

    // One slice; then nothing may be mapped any more. Only while no threads of the bench run the chip.
    bool run_once();
    // Runs the chip until nothing is runnable, and returns the number of slices. Fails after `limit`.
    uint64_t run(uint64_t limit = 20'000'000);

    struct AdminResult {
        uint32_t result;
        bool done;
    };
    // Issues and waits; the tag is checked. `done` is false if it did not end in time.
    AdminResult try_admin(uint32_t op, uint64_t arg0 = 0, uint64_t arg1 = 0, uint64_t arg2 = 0);
    uint32_t admin(uint32_t op, uint64_t arg0 = 0, uint64_t arg1 = 0, uint64_t arg2 = 0);
    // Issues only; returns the tag.
    uint32_t start_admin(uint32_t op, uint64_t arg0 = 0, uint64_t arg1 = 0, uint64_t arg2 = 0);
    std::vector<sidra_hw_xbar> xbars(uint32_t first, uint32_t count);
    std::vector<sidra_hw_xbar_report> reports(uint32_t first, uint32_t count);

    // Threads that run the chip as a host does: until run() finds nothing, then sleep until a kick.
    void start_threads(unsigned count);
    void stop_threads();
    // Waits (threads running) or runs until the timeline is at least `value`, or the queue stopped. False after 20 s.
    bool wait(const Queue& queue, uint64_t value);

    uint64_t interrupts(uint32_t vector) const { return msix_[vector].load(std::memory_order_acquire); }
    uint64_t interrupts_total() const;
    // Lines for a person, since the last call.
    std::vector<std::string> reports();
    uint64_t kicks() const { return kicks_.load(std::memory_order_acquire); }
    std::atomic<uint64_t>& clock() { return clock_; }
    void set_clock_step(uint64_t step) { clock_step_.store(step, std::memory_order_relaxed); }
    // Called at the start of the callbacks, by several threads at a time if engines complete later (later_engine.h). To
    // be set before use.
    void set_msix_hook(std::function<void(unsigned)> hook) { msix_hook_ = std::move(hook); }
    void set_dma_hook(std::function<void(uint64_t)> hook) { dma_hook_ = std::move(hook); }
    void set_kick_hook(std::function<void()> hook) { kick_hook_ = std::move(hook); }

    uint32_t fresh_crossbars(uint32_t count);
    uint32_t crossbars_total() const { return crossbars_; }
    uint64_t fresh_uid() { return ++uid_; }
    uint64_t l3_size() const { return l3_size_; }
    uint8_t* l3() const { return l3_; }
    void drop_violation_checks() { check_violations_ = false; }
    uint32_t workers() const { return options_.workers; }

   private:
    struct Callbacks;

    BenchOptions options_;
    Bus bus_;
    std::atomic<uint64_t> clock_{1'000'000};
    std::atomic<uint64_t> clock_step_{1};
    std::array<std::atomic<uint64_t>, 256> msix_{};
    std::atomic<uint64_t> kicks_{0};
    std::mutex reports_lock_;  // of reports_
    std::vector<std::string> reports_;
    std::function<void(unsigned)> msix_hook_;
    std::function<void(uint64_t)> dma_hook_;
    std::function<void()> kick_hook_;
    sidra_chip* chip_ = nullptr;
    uint64_t table_ = 0;
    std::vector<std::unique_ptr<Context>> contexts_;
    std::vector<std::thread> threads_;
    std::atomic<bool> stop_{false};
    uint32_t tag_ = 0;
    uint32_t crossbars_ = 0;
    uint32_t next_crossbar_ = 0;
    uint64_t uid_ = 0x1'0000'0000ull;
    uint64_t l3_size_ = 0;
    uint8_t* l3_ = nullptr;
    bool check_violations_ = true;

    friend class Context;
};

// The queue has faulted at `index` on `cmd` for one of the given causes, with a complete record, and executed nothing
// after it.
::testing::AssertionResult faulted(Queue& queue, uint64_t index, const sidra_cmd& cmd, Cause cause,
                                   std::optional<uint64_t> address = std::nullopt);
// The queue has retired everything that was submitted and runs.
::testing::AssertionResult retired(Queue& queue);

const char* cause_name(uint32_t cause);

// Creates and destroys a chip of this configuration on a host without memory; the text of the error, or "" if it works.
std::string try_create(const sidra_chip_config& config);
bool engine_available(uint32_t engine);
std::vector<uint32_t> available_engines();  // those that this CPU and build support, by number

}  // namespace sidra::chip_test

#endif
