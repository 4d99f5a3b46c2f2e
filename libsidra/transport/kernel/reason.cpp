// SPDX-License-Identifier: MIT
#include "reason.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string_view>

namespace sidra::kernel {
namespace {

std::string group_name(gid_t group) {
    struct group entry {};
    struct group* found = nullptr;
    std::array<char, 4096> memory;
    if (getgrgid_r(group, &entry, memory.data(), memory.size(), &found) != 0 || found == nullptr)
        return fmt::format("{}", group);
    return found->gr_name;
}

std::string user_name(uid_t user) {
    struct passwd entry {};
    struct passwd* found = nullptr;
    std::array<char, 4096> memory;
    if (getpwuid_r(user, &entry, memory.data(), memory.size(), &found) != 0 || found == nullptr)
        return fmt::format("{}", user);
    return found->pw_name;
}

std::string kib(rlim_t limit) {
    return limit == RLIM_INFINITY ? std::string("unlimited") : fmt::format("{} KiB", limit / 1024);
}

std::string memlock_reason(const sidra_ioctl_buffer_register& enroll) {
    rlimit limit{};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    return fmt::format(
        "pinning {} KiB would exceed this process's limit of locked memory (RLIMIT_MEMLOCK: {}, at most {})",
        (enroll.size + 1023) / 1024, kib(limit.rlim_cur), kib(limit.rlim_max));
}

// The file of user_limits that has the limit of a call, or the files, if one of them has it; nullptr: there is none.
const char* limit_of(unsigned long request, const void* argument) {
    switch (request) {
        case SIDRA_IOCTL_CONTEXT_CREATE:
            return "contexts";
        case SIDRA_IOCTL_QUEUE_CREATE:
            return "queues";
        case SIDRA_IOCTL_BUFFER_CREATE:
            return "l3";
        case SIDRA_IOCTL_WEIGHTS_CREATE:
            return "crossbars";
        case SIDRA_IOCTL_WEIGHTS_PUBLISH:
            return static_cast<const sidra_ioctl_weights_publish*>(argument)->data_size == 0
                       ? "names"
                       : "names or user_limits/data";
        default:
            return nullptr;
    }
}

bool in_group(gid_t group) {
    std::array<gid_t, 1024> groups;
    const int count = getgroups(static_cast<int>(groups.size()), groups.data());
    auto* end = groups.data() + std::max(count, 0);
    return group == getegid() || std::find(groups.data(), end, group) != end;
}

constexpr mode_t kReadWrite = 6;

// Whether owner, group and mode deny this process read and write access.
bool mode_forbids(const struct stat& status) {
    if (geteuid() == 0) return false;
    const unsigned shift = status.st_uid == geteuid() ? 6 : in_group(status.st_gid) ? 3 : 0;
    return (status.st_mode >> shift & kReadWrite) != kReadWrite;
}

// Advice for a user to whom mode_forbids() applies.
std::string way_in(const struct stat& status) {
    const bool members_may = (status.st_mode >> 3 & kReadWrite) == kReadWrite;
    if (!members_may || status.st_gid == 0 || in_group(status.st_gid)) return {};
    return fmt::format("; members of {} may: as root, usermod -aG {} {}, which counts from the next login on",
                       group_name(status.st_gid), group_name(status.st_gid), user_name(geteuid()));
}

// Small numbers and descriptors as such, addresses and flags in hexadecimal digits.
std::string argument_text(uint64_t value) {
    constexpr int64_t kSmall = 1 << 20;
    const auto with_sign = static_cast<int64_t>(value);
    return with_sign > -kSmall && with_sign < kSmall ? fmt::format("{}", with_sign) : fmt::format("{:#x}", value);
}

}  // namespace

std::string reason_of(unsigned long request, int error, const void* argument) {
    if (error == -ENODEV) return "the device was removed, or its driver unbound";
    if (error == -ESTALE) return "the context was lost to a reset";
    if (const char* limit = error == -EDQUOT ? limit_of(request, argument) : nullptr)
        return fmt::format(
            "user {} has reached a limit of the device: user_limits/{} in its folder in /sys/class/sidra",
            user_name(geteuid()), limit);
    switch (request) {
        case SIDRA_IOCTL_BUFFER_REGISTER: {
            const auto& enroll = *static_cast<const sidra_ioctl_buffer_register*>(argument);
            if (error == -EDQUOT) return memlock_reason(enroll);
            if (error == -EFAULT)
                return fmt::format("{} bytes at {:#x} are not all memory of this process that can be pinned{}",
                                   enroll.size, enroll.address,
                                   enroll.flags & SIDRA_REGISTER_READONLY ? "" : " for writing");
            break;
        }
        case SIDRA_IOCTL_BUFFER_CREATE:
            if (error == -ENOSPC) return "the device's own memory is full";
            break;
        case SIDRA_IOCTL_CONTEXT_CREATE:
            if (error == -EMFILE) return "all contexts of the device are taken";
            break;
        case SIDRA_IOCTL_QUEUE_CREATE:
            if (error == -EPERM || error == -EACCES) return "high priority needs CAP_SYS_NICE";
            if (error == -EMFILE) return "all queues of the context or of the device are taken";
            break;
        case SIDRA_IOCTL_DEVICE_RESET:
            if (error == -EPERM || error == -EACCES) return "resetting the device needs CAP_SYS_ADMIN";
            break;
        case SIDRA_IOCTL_WEIGHTS_CREATE: {
            const auto& create = *static_cast<const sidra_ioctl_weights_create*>(argument);
            if (error == -ENOSPC)
                return fmt::format("not enough crossbars are free for a {} x {} matrix", create.rows, create.cols);
            if (error == -EBUSY)
                return fmt::format("of the crossbars wanted for a {} x {} matrix one is in use, wanted twice, or none",
                                   create.rows, create.cols);
            break;
        }
        default:
            break;
    }
    return {};
}

bool may_name_an_argument(int error) {
    constexpr int kErrors[] = {-EINVAL, -ENOENT, -EFAULT, -EBADF, -EACCES, -EEXIST, -EPERM};
    return std::find(std::begin(kErrors), std::end(kErrors), error) != std::end(kErrors);
}

std::string reason_of_refusal(unsigned long request, int error, const sidra_query_refusal& refusal) {
    if (refusal.call != _IOC_NR(request) || refusal.error != static_cast<uint32_t>(-error)) return {};
    const std::string_view name(refusal.name, strnlen(refusal.name, sizeof refusal.name));
    // The value is where the name is stored, and who made the call says what it is.
    if (name == "name" && error == -ENOENT) return "the driver finds no such name";
    return fmt::format("the driver refuses {} {}", name, argument_text(refusal.value));
}

std::string reason_of_open(const std::string& node, int error) {
    struct stat status {};
    switch (error) {
        case -ENOENT:
        case -ENOTDIR:
            return fmt::format("{} does not exist; is the driver loaded (modprobe sidra)?", node);
        case -EACCES:
        case -EPERM:
            if (stat(node.c_str(), &status) == 0 && mode_forbids(status))
                return fmt::format("{} has mode {:04o} and belongs to {}:{}; user {} may not read and write it{}", node,
                                   status.st_mode & 07777, user_name(status.st_uid), group_name(status.st_gid),
                                   user_name(geteuid()), way_in(status));
            return fmt::format(
                "the system does not let user {} open {}: not by its mode, but by a container's or a security policy",
                user_name(geteuid()), node);
        case -ENODEV:
        case -ENXIO:
            return fmt::format("{} has no device behind it any more", node);
        default:
            return {};
    }
}

}  // namespace sidra::kernel
