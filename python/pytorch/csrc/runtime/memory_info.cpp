// SPDX-License-Identifier: MIT
#include <c10/util/Exception.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "runtime/memory.h"

namespace sidra::pytorch {

std::pair<size_t, size_t> memory_info(c10::DeviceIndex) {
    const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/proc/meminfo", "re"), &std::fclose);
    TORCH_CHECK(file != nullptr, "/proc/meminfo cannot be read");
    size_t all = 0, available = 0;
    char line[128];
    while (std::fgets(line, sizeof line, file.get()) != nullptr) {
        size_t kib = 0;
        if (std::sscanf(line, "MemTotal: %zu kB", &kib) == 1) all = kib << 10;
        if (std::sscanf(line, "MemAvailable: %zu kB", &kib) == 1) available = kib << 10;
    }
    return {available, all};
}

}  // namespace sidra::pytorch
