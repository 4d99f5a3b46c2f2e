// SPDX-License-Identifier: MIT
// Finds out why a process cannot compute on a card.
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstring>

#include "file.h"
#include "session.h"
#include "text.h"

namespace sidra::smi {
namespace {

constexpr rlim_t kLockedEnough = 64 << 20;  // enough for one or two buffers
constexpr uint64_t kOpenTimeoutNs = 1'000'000'000;

// By opening it: group membership is not sufficient information (access lists, namespaces, capabilities).
void check_node(sidra_smi_chip& chip, Findings& out) {
    const std::string& name = chip.card->device();
    const std::string path = chip.card->root() + name;
    struct stat info;
    if (stat(path.c_str(), &info) != 0) {
        out.add(SIDRA_SMI_CRITICAL, "node", fmt::format("{} does not exist: {}", name, std::strerror(errno)),
                "udev creates it (udevadm trigger); a container must be given access (sidra-smi cdi)");
        return;
    }
    const auto error = std::make_shared<int>(0);
    const int started = chip.asking.start([path, error] { *error = File(path, O_RDWR).error(); });
    if (started != 0 || !chip.asking.wait_until(now_ns() + kOpenTimeoutNs)) {
        out.add(SIDRA_SMI_CRITICAL, "node", fmt::format("opening {} blocks", name), "check the kernel log");
    } else if (*error == EACCES || *error == EPERM) {
        const struct group* const group = getgrgid(info.st_gid);
        const std::string who = group != nullptr ? group->gr_name : fmt::format("{}", info.st_gid);
        out.add(SIDRA_SMI_CRITICAL, "node",
                fmt::format("{} can be opened only by group {} (mode {:04o})", name, who, info.st_mode & 07777),
                (info.st_mode & 0060) == 0060 && info.st_gid != 0
                    ? fmt::format("usermod -aG {} USER, then log in again", who)
                    : "install sidra-tools, whose udev rules give the node to a group");
    } else if (*error != 0) {
        out.add(SIDRA_SMI_CRITICAL, "node", fmt::format("{} cannot be opened: {}", name, std::strerror(*error)),
                "check the kernel log");
    } else {
        out.add(SIDRA_SMI_OK, "node", fmt::format("{} can be opened", name));
    }
}

void check_versions(const sidra_smi_chip& chip, Findings& out) {
    const std::string& hardware = chip.now.hardware.value;
    const std::string wanted = fmt::format("{}.", SIDRA_HW_VERSION_MAJOR);
    if (chip.now.hardware && !hardware.starts_with(wanted))
        out.add(SIDRA_SMI_CRITICAL, "version",
                fmt::format("{} has hardware version {}, but this software supports {}x", chip.name, hardware, wanted),
                "install the SIDRA packages for this card");
    else out.add(SIDRA_SMI_OK, "version", fmt::format("hardware version {}", chip.now.hardware ? hardware : "unknown"));
    if (chip.now.firmware && chip.now.firmware.value == "none")
        out.add(SIDRA_SMI_WARNING, "firmware",
                fmt::format("{} runs without firmware: it has no sensors and no refresh of cells", chip.name),
                "sidra-smi fw show, sidra-smi fw update");
    else
        out.add(SIDRA_SMI_OK, "firmware",
                fmt::format("firmware {}", chip.now.firmware ? chip.now.firmware.value : "unknown"));
}

void check_card(sidra_smi_chip& chip, bool module, Findings& out) {
    if (chip.card->node().empty()) {
        out.add(SIDRA_SMI_CRITICAL, "driver",
                module ? fmt::format("the driver is loaded but not bound to {}", chip.name)
                       : fmt::format("{} is present, but its driver is not loaded", chip.name),
                module ? "check the kernel log for the reason" : "modprobe sidra (package sidra-dkms)");
        return;
    }
    out.add(SIDRA_SMI_OK, "driver", fmt::format("the driver is bound to {}", chip.name));
    check_node(chip, out);
    check_versions(chip, out);
}

void check_locked_memory(Findings& out) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return;
    if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < kLockedEnough)
        out.add(SIDRA_SMI_WARNING, "memlock",
                fmt::format("this process can lock only {} KiB of memory", limit.rlim_cur >> 10),
                "registering large buffers fails: raise ulimit -l, or LimitMEMLOCK= of the service");
    else out.add(SIDRA_SMI_OK, "memlock", "enough memory can be locked");
}

}  // namespace
}  // namespace sidra::smi

using namespace sidra::smi;

sidra_smi_status sidra_smi_doctor(sidra_smi* session, const sidra_smi_finding** findings, uint32_t* count) {
    if (session == nullptr || findings == nullptr || count == nullptr) return SIDRA_SMI_USAGE;
    *findings = nullptr;
    *count = 0;
    return guarded(session, [&] {
        Findings& out = session->findings;
        out.clear();
        const bool module = File(session->root + "/sys/module/sidra", O_RDONLY | O_DIRECTORY).error() == 0;
        bool any = false;
        for (const auto& chip : session->chips) {
            if (chip->gone || chip->card == nullptr) continue;
            any = true;
            check_card(*chip, module, out);
        }
        if (!any)
            out.add(SIDRA_SMI_WARNING, "card",
                    "no SIDRA card found: programs compute on embedded models in their own processes",
                    "if there is a card: lspci -d 5349: should list it");
        check_locked_memory(out);
        *findings = out.data();
        *count = out.count();
        return out.worst();
    });
}
