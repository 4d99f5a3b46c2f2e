// SPDX-License-Identifier: MIT
// The cards of this machine as the kubelet sees them.
#ifndef SIDRA_DEVICE_PLUGIN_DEVICES_H
#define SIDRA_DEVICE_PLUGIN_DEVICES_H

#include <sidra/smi.h>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace sidra::device_plugin {

struct Device {
    std::string node;    // /dev/sidra0
    std::string bridge;  // PCI address of its port; empty: unknown
    std::optional<int64_t> numa;
    bool healthy = false;
    bool operator==(const Device&) const = default;
};
using Devices = std::map<std::string, Device>;  // by UUID

// Whether the health policy finds nothing critical. `why`: what it finds.
bool healthy(sidra_smi_chip* chip, std::string& why);

// The cards as of the last refresh of the session, and those of `before` that are gone, which are unhealthy. A card
// without a driver or a UUID has no name that lasts, and is no device. `left_out`: nodes of cards whose UUID another
// card has, too.
Devices devices_of(sidra_smi* session, const Devices& before, std::vector<std::string>& left_out);

// `size` of the available devices: first those that must be in it, then those below the same port, then those of the
// same NUMA node.
std::vector<std::string> prefer(const Devices& devices, const std::vector<std::string>& available,
                                const std::vector<std::string>& must, size_t size);

// The list of devices, which several threads read. Each change has a number.
class Board {
   public:
    // Returns whether something has changed.
    bool set(Devices devices);
    Devices get() const;
    // Waits until the list is another one than number `seen`, for at most a second. Returns its number.
    uint64_t wait(uint64_t seen) const;
    // Lets all waiting threads return, now and from now on.
    void stop();
    void start();
    bool stopped() const;

   private:
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    Devices devices_;
    uint64_t number_ = 1;
    bool stopped_ = false;
};

}  // namespace sidra::device_plugin

#endif
