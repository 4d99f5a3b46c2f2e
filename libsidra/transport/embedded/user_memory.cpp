// SPDX-License-Identifier: MIT
#include "user_memory.h"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

namespace sidra::embedded {
namespace {

constexpr uint64_t kPage = 4096;

using Copy = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);

// The kernel copies between two addresses of this process and reports unmapped memory. If a sandbox forbids the system
// call, use a plain copy; then a bad pointer crashes, as in any library.
bool copy(Copy system_call, void* local, uint64_t remote, size_t size, bool to_local) {
    auto* bytes = static_cast<uint8_t*>(local);
    while (size != 0) {
        iovec here{bytes, size};
        iovec there{reinterpret_cast<void*>(remote), size};
        const ssize_t done = system_call(getpid(), &here, 1, &there, 1, 0);
        if (done < 0 && (errno == EPERM || errno == ENOSYS)) {
            if (to_local) std::memcpy(bytes, there.iov_base, size);
            else std::memcpy(there.iov_base, bytes, size);
            return true;
        }
        if (done <= 0) return false;
        bytes += done;
        remote += static_cast<uint64_t>(done);
        size -= static_cast<size_t>(done);
    }
    return true;
}

bool resident_or_mapped(uint64_t address, uint64_t size) {
    std::vector<unsigned char> resident(size / kPage);
    return mincore(reinterpret_cast<void*>(address), size, resident.data()) == 0;
}

}  // namespace

bool copy_from_user(void* to, uint64_t from, size_t size) { return copy(process_vm_readv, to, from, size, true); }

bool copy_to_user(uint64_t to, const void* from, size_t size) {
    return copy(process_vm_writev, const_cast<void*>(from), to, size, false);
}

int string_from_user(std::string* to, uint64_t from, size_t max) {
    to->clear();
    char piece[64];
    while (to->size() <= max) {
        // At most up to the end of the page: the string may end just before unmapped memory.
        const size_t size = std::min<uint64_t>({sizeof piece, kPage - from % kPage, max + 1 - to->size()});
        if (!copy_from_user(piece, from, size)) return -EFAULT;
        const size_t length = strnlen(piece, size);
        to->append(piece, length);
        if (length < size) return 0;
        from += size;
    }
    return -ENAMETOOLONG;
}

bool probe_user(uint64_t address, uint64_t size, bool write) {
    void* const start = reinterpret_cast<void*>(address);
    // Also detects pages beyond the end of a file, which the list of mappings does not show.
    if (madvise(start, size, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0) return true;
    if (errno != EINVAL && errno != ENOSYS) return false;
    // EINVAL: the mapping forbids the access, or the kernel is older than 5.14 and does not support the advice.
    alignas(kPage) static const uint8_t known[kPage] = {1};
    if (madvise(const_cast<uint8_t*>(known), kPage, MADV_POPULATE_READ) == 0) return false;
    return resident_or_mapped(address, size);
}

}  // namespace sidra::embedded
