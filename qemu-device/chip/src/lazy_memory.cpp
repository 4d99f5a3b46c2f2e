// SPDX-License-Identifier: MIT
#include "lazy_memory.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

namespace sidra::chip {

LazyMemory::LazyMemory(size_t size) : size_(size) {
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<uint8_t*>(memory);
}

LazyMemory::~LazyMemory() { munmap(data_, size_); }

void LazyMemory::clear() {
    if (madvise(data_, size_, MADV_DONTNEED) != 0) std::memset(data_, 0, size_);
}

}  // namespace sidra::chip
