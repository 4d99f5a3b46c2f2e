// SPDX-License-Identifier: MIT
// A chip without libsidra: one context with one queue on memory of this process. It takes packets that libsidra has no
// call for, and shows what the chip itself needs from the ring to the timeline.
#ifndef SIDRA_BENCH_RAW_CHIP_H
#define SIDRA_BENCH_RAW_CHIP_H

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "memory.h"
#include "sidra/sidra.h"
#include "sidra_chip.h"
#include "sidra_cmd.h"
#include "sidra_hw.h"

namespace sidra::bench {

class RawChip {
   public:
    static constexpr size_t kMemory = size_t{64} << 20;

    RawChip(sidra_engine engine, uint32_t workers);
    RawChip(const RawChip&) = delete;
    RawChip& operator=(const RawChip&) = delete;

    // Zeroed memory that packets reach, 4 KiB aligned. It is not freed before the chip.
    template <typename T>
    T* take(size_t count) {
        return reinterpret_cast<T*>(take_bytes(count * sizeof(T)));
    }
    // Its device address.
    uint64_t address(const void* memory) const {
        return static_cast<uint64_t>(static_cast<const std::byte*>(memory) - memory_.as<std::byte>());
    }
    // Assembles a program, which has no prologue, and returns its device address.
    uint64_t assemble(std::string_view text, uint16_t* instructions);

    // Puts the packets into the ring, with one doorbell, and returns when they have retired.
    static constexpr size_t kRing = size_t{1} << SIDRA_QUEUE_LOG2_MIN;
    void run(std::span<const sidra_cmd> packets);  // at most kRing
    void run(const sidra_cmd& packet) { run({&packet, 1}); }
    std::string engine() const { return sidra_chip_engine_name(chip_.get()); }

   private:
    struct Destroy {
        void operator()(sidra_chip* chip) const { sidra_chip_destroy(chip); }
    };
    std::byte* take_bytes(size_t bytes);

    Memory memory_{kMemory};
    size_t used_ = 0;
    sidra_cmd* ring_ = nullptr;
    uint64_t* write_index_ = nullptr;
    sidra_queue_state* state_ = nullptr;
    uint64_t next_ = 0;
    std::unique_ptr<sidra_chip, Destroy> chip_;
};

}  // namespace sidra::bench

#endif
