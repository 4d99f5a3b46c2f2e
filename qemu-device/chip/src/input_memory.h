// SPDX-License-Identifier: MIT
// The images that the windows of a unit read: in place if they are contiguous in the host's memory, else piece by
// piece.
#ifndef SIDRA_CHIP_INPUT_MEMORY_H
#define SIDRA_CHIP_INPUT_MEMORY_H

#include <cassert>
#include <cstdint>
#include <cstring>

#include "dma.h"
#include "job.h"

namespace sidra::chip {

class InputMemory {
   public:
    InputMemory(const Env& env, Worker& worker, const Grid& images)
        : dma_(env.bus, worker.tlb, env.space), images_(images) {}

    // Tries to map the offsets [low, end) of the images. Not all of it need be accessible, so only a refused transfer
    // is a fault. `useful`: bytes that will be read, see worth_mapping().
    Fault map(uint64_t low, uint64_t end, uint64_t useful) {
        low_ = low, end_ = end;
        base_ = nullptr;
        dma_.unmap_all();
        if (low >= end || !worth_mapping(end - low, 0, useful)) return {};
        Fault fault;
        base_ = dma_.map_all(images_.part(low, end - low), Access::kRead, &fault);
        return fault.cause == SIDRA_FAULT_BUS ? fault : Fault{};
    }
    bool mapped() const { return base_ != nullptr; }
    // Where bytes in the range are, if it is mapped.
    uint8_t* at(uint64_t offset, [[maybe_unused]] uint64_t bytes) const {
        assert(low_ <= offset && offset <= end_ && bytes <= end_ - offset);
        return base_ + (offset - low_);
    }

    // Copies bytes inside the range of map().
    Fault read(uint64_t offset, uint8_t* to, uint64_t bytes) {
        if (!base_) return dma_.read(images_.part(offset, bytes), to);
        std::memcpy(to, at(offset, bytes), bytes);
        return {};
    }

   private:
    Dma dma_;
    const Grid& images_;
    uint64_t low_ = 0, end_ = 0;
    uint8_t* base_ = nullptr;
};

}  // namespace sidra::chip

#endif
