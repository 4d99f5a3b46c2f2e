// SPDX-License-Identifier: MIT
// The kernel's uevents.
#ifndef SIDRA_TESTS_UEVENTS_H
#define SIDRA_TESTS_UEVENTS_H

#include <linux/netlink.h>
#include <sys/socket.h>

#include "node.h"

namespace sidra::test {

// From now on.
class Uevents {
   public:
    Uevents() : fd_(socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT)) {
        sockaddr_nl address{};
        address.nl_family = AF_NETLINK;
        address.nl_groups = 1;
        EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    }
    ~Uevents() { close(fd_); }
    Uevents(const Uevents&) = delete;
    Uevents& operator=(const Uevents&) = delete;

    // Waits for one that has each of these "NAME=VALUE".
    bool has(const std::vector<std::string>& values) {
        return eventually([&] {
            char event[8192];
            for (ssize_t bytes; (bytes = recv(fd_, event, sizeof event, 0)) > 0;) {
                // Strings separated and terminated by zero bytes.
                const std::string words(event, static_cast<size_t>(bytes));
                bool all = true;
                for (const std::string& value : values)
                    all = all && words.find('\0' + value + '\0') != std::string::npos;
                if (all) return true;
            }
            return false;
        });
    }

   private:
    const int fd_;
};

}  // namespace sidra::test

#endif
