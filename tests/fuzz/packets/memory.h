// SPDX-License-Identifier: MIT
// The host's memory behind the bus, for two guests that do not trust each other. Every access is counted: what the chip
// asks of its host in one slice has a bound, and no mapping outlives its slice.
#ifndef SIDRA_TESTS_FUZZ_PACKETS_MEMORY_H
#define SIDRA_TESTS_FUZZ_PACKETS_MEMORY_H

#include <cstdint>
#include <memory>
#include <vector>

#include "sidra_chip.h"
#include "sidra_hw.h"

namespace sidra::fuzz {

inline constexpr uint64_t kPage = SIDRA_PAGE_SIZE;

// Pages that lie side by side on the bus and in the process, with nothing readable behind them.
class Region {
   public:
    Region(uint64_t bus, uint64_t pages);

    uint64_t bus() const { return bus_; }
    uint64_t pages() const { return size_ / kPage; }
    bool holds(uint64_t bus) const { return bus - bus_ < size_; }
    uint64_t left(uint64_t bus) const { return bus_ + size_ - bus; }
    uint8_t* at(uint64_t bus) { return bytes_.get() + (bus - bus_); }
    template <typename T>
    T& as(uint64_t bus) {
        return *reinterpret_cast<T*>(at(bus));
    }
    void mark(uint64_t bus, uint64_t bytes);  // as written to
    bool marked(uint64_t bus) const { return marked_[(bus - bus_) / kPage] != 0; }
    // What it holds now is what restore() brings back, of the pages that were marked since.
    void keep();
    void restore();

   private:
    struct Free {
        void operator()(uint8_t* bytes) const;
    };
    const uint64_t bus_, size_;
    const std::unique_ptr<uint8_t, Free> bytes_;
    std::vector<uint8_t> kept_;
    std::vector<uint8_t> marked_;  // by page
};

class Memory {
   public:
    // Nobody has a reason to guess where the victim and the table of contexts are, and near() keeps a guess from being
    // right: a hostile guest kernel that maps them may do with them what it likes.
    static constexpr uint64_t kHostile = 0x10'0000'0000, kWide = 0x20'0000'0000, kVictim = 0x7'a3c1'9e58'0000,
                              kTable = 0x7'a3c1'1d40'0000;
    static constexpr uint64_t kVictimUid = 0xf1'9d5a'c7e3'0001;  // of its weights object: the same holds for it
    static constexpr uint64_t kWideSize = 64 << 20;              // readable, and zero
    // Behind it: what is asked of an engine there is taken as done, so that the chip charges for it, and it costs
    // nothing.
    static constexpr uint64_t kIdle = kWide + kWideSize, kIdleSize = SIDRA_HUGE_SIZE;
    static constexpr uint64_t kHostilePages = 48, kVictimPages = 17;

    Memory();
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    static bool near_secrets(uint64_t value);
    static bool is_idle(const void* pointer);

    Region hostile{kHostile, kHostilePages}, victim{kVictim, kVictimPages}, table{kTable, 1};
    uint64_t clock_ns = 0;

    sidra_chip_host host();
    void begin_input(bool scatter, bool refuse) {
        scattered_ = scatter;
        refuses_ = refuse;
        maps_ = 0;
    }
    // A slice has begun, or ended.
    void begin_slice() { asked_ = 0; }
    void end_slice() const;

   private:
    void* map(uint64_t bus, uint64_t* length, bool write);
    uint64_t* word(uint64_t bus, bool write);
    void asked();

    static inline uint8_t* wide_;
    // How the host deals with the hostile guest.
    bool scattered_ = false;  // mappings end with their page
    bool refuses_ = false;    // every 16th mapping
    uint64_t asked_ = 0;      // in this slice
    uint64_t maps_ = 0;       // of the hostile guest, in this input
    int64_t live_ = 0;
};

}  // namespace sidra::fuzz

#endif
