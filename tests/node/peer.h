// SPDX-License-Identifier: MIT
// Buffers as files that another card opens.
#ifndef SIDRA_TESTS_PEER_H
#define SIDRA_TESTS_PEER_H

#include <libdrm/drm.h>

#include "node.h"

namespace sidra::test {

// A file descriptor, or -errno.
inline int export_buffer(const Node& node, uint32_t handle) {
    drm_prime_handle args{handle, DRM_CLOEXEC | DRM_RDWR, -1};
    const int error = node.call(DRM_IOCTL_PRIME_HANDLE_TO_FD, args);
    return error ? error : args.fd;
}

inline int import_buffer(const Node& node, int fd, uint32_t* handle) {
    drm_prime_handle args{0, 0, fd};
    const int error = node.call(DRM_IOCTL_PRIME_FD_TO_HANDLE, args);
    *handle = args.handle;
    return error;
}

}  // namespace sidra::test

#endif
