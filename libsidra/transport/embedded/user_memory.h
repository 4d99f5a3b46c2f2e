// SPDX-License-Identifier: MIT
// Memory of the caller, which may not be there: bad pointers in requests are -EFAULT, as from a kernel, not a crash.
#ifndef SIDRA_EMBEDDED_USER_MEMORY_H
#define SIDRA_EMBEDDED_USER_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace sidra::embedded {

// False: not all of it is accessible (some of it may have been copied).
bool copy_from_user(void* to, uint64_t from, size_t size);
bool copy_to_user(uint64_t to, const void* from, size_t size);

// A NUL-terminated string of at most `max` bytes (without the NUL): 0, -EFAULT, or -ENAMETOOLONG.
int string_from_user(std::string* to, uint64_t from, size_t max);

// Whether all of [address, address + size), whole pages, is mapped and allows the access; pages are brought in as
// pinning would.
bool probe_user(uint64_t address, uint64_t size, bool write);

}  // namespace sidra::embedded

#endif
