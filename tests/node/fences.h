// SPDX-License-Identifier: MIT
// Syncobjs and sync_files, by system calls of the DRM core and of the kernel.
#ifndef SIDRA_TESTS_FENCES_H
#define SIDRA_TESTS_FENCES_H

#include <libdrm/drm.h>
#include <linux/sync_file.h>

#include "node.h"

namespace sidra::test {

inline uint32_t create_syncobj(const Node& node) {
    drm_syncobj_create a{};
    EXPECT_EQ(node.call(DRM_IOCTL_SYNCOBJ_CREATE, a), 0);
    return a.handle;
}

inline int wait_point(const Node& node, uint32_t handle, uint64_t point) {
    drm_syncobj_timeline_wait a{};
    a.handles = reinterpret_cast<uintptr_t>(&handle);
    a.points = reinterpret_cast<uintptr_t>(&point);
    a.timeout_nsec = static_cast<int64_t>(in_ms(kPatienceMs));
    a.count_handles = 1;
    return node.call(DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, a);
}

inline int signal_point(const Node& node, uint32_t handle, uint64_t point) {
    drm_syncobj_timeline_array a{};
    a.handles = reinterpret_cast<uintptr_t>(&handle);
    a.points = reinterpret_cast<uintptr_t>(&point);
    a.count_handles = 1;
    return node.call(DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, a);
}

// 1: signalled; 0: not yet; negative: signalled with an error.
inline int status(int sync_file) {
    sync_file_info info{};
    EXPECT_EQ(ioctl(sync_file, SYNC_IOC_FILE_INFO, &info), 0);
    return info.status;
}

inline bool signalled(int fd) {
    pollfd p{fd, POLLIN, 0};
    return poll(&p, 1, static_cast<int>(kPatienceMs)) == 1;
}

}  // namespace sidra::test

#endif
