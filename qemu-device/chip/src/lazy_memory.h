// SPDX-License-Identifier: MIT
#ifndef SIDRA_CHIP_LAZY_MEMORY_H
#define SIDRA_CHIP_LAZY_MEMORY_H

#include <cstddef>
#include <cstdint>

namespace sidra::chip {

// Zeroed memory; the host allocates a page on its first use.
class LazyMemory {
   public:
    explicit LazyMemory(size_t size);
    ~LazyMemory();
    LazyMemory(const LazyMemory&) = delete;
    LazyMemory& operator=(const LazyMemory&) = delete;
    uint8_t* data() const { return data_; }
    size_t size() const { return size_; }
    void clear();

   private:
    uint8_t* data_;
    size_t size_;
};

}  // namespace sidra::chip

#endif
