// SPDX-License-Identifier: MIT
#include "chip_host.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "futex.h"

namespace sidra::embedded {
namespace {

// The executor re-checks at intervals: this limits the delay after a lost kick or interrupt.
constexpr uint64_t kRecheckNs = 500'000'000;
constexpr uint64_t kArmedRecheckNs = 50'000'000;  // while eventfds are armed, which no other thread checks
// Later timers of the chip are batched: otherwise each heartbeat of its firmware would wake a CPU.
constexpr uint64_t kSoonNs = 50'000'000;
constexpr uint64_t kHousekeepingNs = 100'000'000;

// Up to some milliseconds late, but cheaper than the exact clock.
uint64_t coarse_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

ChipHost& host_of(void* self) { return *static_cast<ChipHost*>(self); }

// Bus addresses are addresses of this process, so translation is a cast. They come only from tables of the driver;
// packets contain device addresses, which the chip translates with these tables. Address 0, the value of an unset
// field, becomes a null pointer, which the chip refuses.
void* dma_map(void*, uint64_t bus, uint64_t*, bool) { return reinterpret_cast<void*>(bus); }
void dma_unmap(void*, void*, uint64_t, bool) {}

uint64_t* word_at(uint64_t bus) { return bus % sizeof(uint64_t) == 0 ? reinterpret_cast<uint64_t*>(bus) : nullptr; }

bool load64_acquire(void*, uint64_t bus, uint64_t* value) {
    const uint64_t* word = word_at(bus);
    if (word == nullptr) return false;
    *value = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    return true;
}

bool max64_release(void*, uint64_t bus, uint64_t value) {
    uint64_t* word = word_at(bus);
    if (word == nullptr) return false;
    uint64_t now = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (now < value && !__atomic_compare_exchange_n(word, &now, value, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
    return true;
}

void msix(void* self, unsigned vector) { host_of(self).interrupts().raise(vector); }
uint64_t clock_ns(void*) { return monotonic_ns(); }
void report(void*, const char* line) { std::fprintf(stderr, "sidra: %s\n", line); }
void kick(void* self) { host_of(self).executor().kick(); }

using Text = std::array<char, 1024>;  // an error message

}  // namespace

ChipHost::ChipHost() : interrupts_(*this), executor_(*this) {}

std::unique_ptr<ChipHost> ChipHost::create(const sidra_chip_config& config, int* error, std::string* why) {
    std::unique_ptr<ChipHost> host(new ChipHost);
    host->level_ = config.level;
    const sidra_chip_host callbacks = {
        .self = host.get(),
        .dma_map = dma_map,
        .dma_unmap = dma_unmap,
        .load64_acquire = load64_acquire,
        .max64_release = max64_release,
        .msix = msix,
        .clock_ns = clock_ns,
        .kick = kick,
        .report = report,
    };
    Text text{};
    if (sidra_chip_create(&config, &callbacks, &host->chip_, text.data(), text.size()) == 0) return host;
    *error = -errno;
    host->chip_ = nullptr;
    *why = text.data();
    return nullptr;
}

int ChipHost::listen_for_gdb(const std::string& address, std::string* why) {
    Text text{};
    if (sidra_chip_gdb_listen(chip_, address.c_str(), text.data(), text.size()) == 0) return 0;
    const int error = -errno;
    *why = text.data();
    return error;
}

ChipHost::~ChipHost() {
    executor_.stop();
    sidra_chip_destroy(chip_);
}

bool ChipHost::run() {
    const bool worked = sidra_chip_run(chip_);
    interrupts_.service();
    tick();
    return worked;
}

void ChipHost::set_housekeeping(std::function<void()> housekeeping) {
    const std::lock_guard guard(housekeeping_lock_);
    housekeeping_ = std::move(housekeeping);
}

// Returns false if it ran a moment ago.
bool ChipHost::keep_house(uint64_t now_ns) {
    if (kept_ns_ != 0 && now_ns < kept_ns_ + kHousekeepingNs) return false;
    const std::unique_lock guard(housekeeping_lock_, std::try_to_lock);
    if (!guard) return true;  // it is being replaced
    kept_ns_ = now_ns;
    if (housekeeping_) housekeeping_();
    return true;
}

// Called while there is work. An executor that wakes only briefly does this in idle() instead, which saves a wakeup.
void ChipHost::tick() {
    const uint64_t now = coarse_ns();
    if (busy_ns_ == 0) busy_ns_ = now;
    if (now >= busy_ns_ + kHousekeepingNs) keep_house(now);
}

uint64_t ChipHost::idle() {
    uint64_t most = kRecheckNs;
    busy_ns_ = 0;
    // Publish the latest changes soon, even if no work follows.
    if (const uint64_t now = monotonic_ns(); !keep_house(now)) most = kept_ns_ + kHousekeepingNs - now;
    if (interrupts_.eventfds_armed()) {
        interrupts_.recheck_all();
        interrupts_.service();
        most = std::min(most, kArmedRecheckNs);
    }
    const uint64_t due = sidra_chip_due_ns(chip_), now = monotonic_ns();
    const uint64_t away = due > now ? due - now : 0;
    return away < kSoonNs ? away : most;
}

bool ChipHost::help(bool (*enough)(void*), void* argument) {
    const bool worked = sidra_chip_run_until(chip_, enough, argument);
    interrupts_.service();
    if (!worked) return false;
    executor_.note_help();
    // The slice may leave work, and this thread may not return.
    if (sidra_chip_pending(chip_)) executor_.kick();
    return true;
}

}  // namespace sidra::embedded
