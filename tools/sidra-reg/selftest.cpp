// SPDX-License-Identifier: MIT
#include "selftest.h"

#include <fmt/format.h>
#include <time.h>

#include <array>
#include <fstream>

#include "sidra_hw.h"

namespace sidra::reg {
namespace {

const Register& named(std::string_view name) {
    const Register* found = find_register(name);
    if (found == nullptr) throw Error(fmt::format("no register {}", name));
    return *found;
}

void pause_ms(long ms) {
    const timespec time = {0, ms * 1'000'000};
    nanosleep(&time, nullptr);
}

int report(std::string_view name, const std::string& trouble) {
    fmt::print("  {:<10} {}\n", name, trouble.empty() ? "ok" : "FAILED: " + trouble);
    return trouble.empty() ? 0 : 1;
}

std::string identity(Registers& registers) {
    const uint64_t id = registers.read(named("ID"));
    return id == SIDRA_ID_MAGIC ? "" : fmt::format("ID is {:#x} instead of {:#x}", id, SIDRA_ID_MAGIC);
}

// Every wire of the data path both ways.
std::string loopback(Registers& registers) {
    const Register& scratch = named("SCRATCH");
    for (unsigned bit = 0; bit < 32; ++bit) {
        const uint32_t pattern = uint32_t{1} << bit;
        registers.write(scratch, pattern);
        const auto got = static_cast<uint32_t>(registers.read(scratch));
        if (got != ~pattern)
            return fmt::format("wrote {:#010x} to SCRATCH, read {:#010x} instead of {:#010x}", pattern, got, ~pattern);
    }
    return {};
}

std::string clock(Registers& registers) {
    const Register& ticks = named("CLOCK");
    const uint64_t first = registers.read(ticks);
    pause_ms(20);
    const uint64_t second = registers.read(ticks);
    return second > first ? "" : fmt::format("CLOCK does not advance; it stays at {} ns", first);
}

std::string status(Registers& registers) {
    const Register& known = named("STATUS");
    const uint64_t value = registers.read(known);
    return (value & SIDRA_STATUS_READY) != 0 && (value & SIDRA_STATUS_FATAL) == 0 ? "" : decode(known, value);
}

// Interrupts of the driver's vectors so far.
uint64_t interrupts_of(const std::string& folder) {
    std::ifstream in(folder + "/counters");
    std::string name;
    uint64_t value = 0;
    while (in >> name >> value)
        if (name == "interrupts") return value;
    return 0;
}

// Without a driver no vector is programmed; then it must show in INT_STATUS.
std::string interrupt(const Function& function, Registers& registers) {
    const Register& test = named("TEST_IRQ");
    if (function.driver.empty()) {
        const Register& pending = named("INT_STATUS");
        registers.write(pending, SIDRA_INT_TEST);
        registers.write(test, 0);
        const bool seen = (registers.read(pending) & SIDRA_INT_TEST) != 0;
        registers.write(pending, SIDRA_INT_TEST);
        return seen ? "" : "TEST_IRQ does not set its bit in INT_STATUS";
    }
    const std::string folder = "/sys/kernel/debug/accel/" + function.address;
    const uint64_t before = interrupts_of(folder);
    for (uint32_t vector = 0; vector < SIDRA_MSIX_VECTORS; ++vector) registers.write(test, vector);
    for (int wait = 0; wait < 100; ++wait) {
        if (interrupts_of(folder) - before >= SIDRA_MSIX_VECTORS) return {};
        pause_ms(10);
    }
    return fmt::format("only {} of {} vectors reached the driver", interrupts_of(folder) - before, SIDRA_MSIX_VECTORS);
}

// The driver has memory that the chip may copy; this tool has none.
std::string dma(const Function& function) {
    std::ifstream in("/sys/kernel/debug/accel/" + function.address + "/test_dma");
    std::string verdict;
    std::getline(in, verdict);
    return verdict == "ok" ? "" : verdict.empty() ? "the driver did not answer; see the kernel log" : verdict;
}

}  // namespace

int self_test(const Function& function, Registers& registers) {
    fmt::print("{} ({})\n", function.address, registers.way());
    int failed = report("identity", identity(registers));
    if (failed != 0) return failed;  // whatever it is, it is not for us to write to
    failed += report("loopback", loopback(registers));
    failed += report("clock", clock(registers));
    failed += report("status", status(registers));
    failed += report("interrupt", interrupt(function, registers));
    if (function.driver.empty()) fmt::print("  {:<10} skipped: it needs the driver\n", "dma");
    else failed += report("dma", dma(function));
    return failed;
}

}  // namespace sidra::reg
