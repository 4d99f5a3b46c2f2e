// SPDX-License-Identifier: MIT
// Memory of the caller, which may be unmapped: bad pointers in requests return -EFAULT, as from a kernel, instead of
// crashing.
#ifndef SIDRA_EMBEDDED_USER_MEMORY_H
#define SIDRA_EMBEDDED_USER_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace sidra::embedded {

// Return false if part of it is not accessible (some of it may have been copied).
bool copy_from_user(void* to, uint64_t from, size_t size);
bool copy_to_user(uint64_t to, const void* from, size_t size);

// Copies a NUL-terminated string of at most `max` bytes (without the NUL). Returns 0, -EFAULT, or -ENAMETOOLONG.
int string_from_user(std::string* to, uint64_t from, size_t max);

// Whether all of [address, address + size), whole pages, is mapped and allows the access; populates the pages, as
// pinning would.
bool probe_user(uint64_t address, uint64_t size, bool write);

}  // namespace sidra::embedded

#endif
