// SPDX-License-Identifier: MIT
#ifndef SIDRA_DEVICE_H
#define SIDRA_DEVICE_H

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>

#include "handle.h"
#include "sidra_accel.h"

struct sidra_device : sidra::Handle {
    static constexpr sidra::Kind kKind = sidra::Kind::kDevice;

    std::string name;  // of its node, or "sidra" and the number of the embedded chip
    std::shared_ptr<sidra::Transport> transport;
    sidra_query_device info{};  // as the driver describes it
    std::atomic<uint32_t> contexts{0};
};

namespace sidra {

// Sends a request to the driver; restarts it after a signal. Returns 0 or -errno.
template <typename T>
int request(Transport& transport, unsigned long number, T* argument, std::string* detail) {
    for (;;) {
        if (detail != nullptr) detail->clear();
        const int error = transport.ioctl(number, argument, detail);
        if (error != -EINTR) return error;
    }
}

// Gets one of the structs that DEVICE_QUERY returns. Returns 0 or -errno.
template <typename T>
int query_device(Transport& transport, sidra_query_type type, T* answer, std::string* detail) {
    *answer = {};
    sidra_ioctl_device_query query{};
    query.query = type;
    query.data = reinterpret_cast<uintptr_t>(answer);
    query.size = sizeof *answer;
    return request(transport, SIDRA_IOCTL_DEVICE_QUERY, &query, detail);
}

// Creates a device handle for an open transport; checks that the versions are compatible.
sidra_status adopt_transport(const char* call, uint32_t index, std::string name, std::unique_ptr<Transport> transport,
                             sidra_device** device);

}  // namespace sidra

#endif
