// SPDX-License-Identifier: MIT
#include "machine.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string_view>
#include <thread>

namespace sidra::bench {
namespace {

std::string cpu_model() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const size_t colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
    }
    return "CPU without a name";
}

// CPU time of the machine since its start: all, and spent on anything (hypervisor's other guests included).
void machine_time(double& total, double& busy) {
    std::ifstream file("/proc/stat");
    std::string label;
    double part[8] = {};  // user nice system idle iowait irq softirq steal
    file >> label;
    for (double& p : part) file >> p;
    const auto tick = static_cast<double>(sysconf(_SC_CLK_TCK));
    total = (part[0] + part[1] + part[2] + part[3] + part[4] + part[5] + part[6] + part[7]) / tick;
    busy = total - (part[3] + part[4]) / tick;
}

// CPU time of this process and of those that it has started and waited for.
double own_time() {
    double seconds = 0;
    for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
        rusage usage;
        getrusage(who, &usage);
        for (const timeval& t : {usage.ru_utime, usage.ru_stime}) {
            seconds += static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
        }
    }
    return seconds;
}

}  // namespace

OtherLoad::OtherLoad() : own_(own_time()) { machine_time(total_, busy_); }

double OtherLoad::percent() const {
    double total = 0, busy = 0;
    machine_time(total, busy);
    const double others = busy - busy_ - (own_time() - own_);
    return total > total_ ? std::max(0.0, others) / (total - total_) * 100 : 0;
}

uint32_t cpus() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<uint32_t>(CPU_COUNT(&set));
    return std::max(1U, std::thread::hardware_concurrency());
}

std::string machine() {
    utsname system;
    uname(&system);
    return fmt::format("{}, {} CPUs, {} {} {}", cpu_model(), cpus(), system.sysname, system.release, system.machine);
}

std::string compiler() {
#if defined(__clang__)
    return "clang " __clang_version__;
#else
    return "gcc " __VERSION__;
#endif
}

std::string unfit_build() {
    constexpr std::string_view kSanitizers = SIDRA_BENCH_SANITIZE;
    if (!kSanitizers.empty()) return fmt::format("built with -fsanitize={}", kSanitizers);
#if !defined(__OPTIMIZE__)
    return "built without optimisation";
#elif !defined(NDEBUG)
    return "built with assertions";
#else
    return "";
#endif
}

}  // namespace sidra::bench
