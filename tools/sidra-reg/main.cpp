// SPDX-License-Identifier: MIT
// sidra-reg: registers of a chip by name, with or without a driver. docs: sidra-reg(1).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "common/number.h"
#include "common/program.h"
#include "common/standard_files.h"
#include "function.h"
#include "registers.h"
#include "selftest.h"

namespace sidra::reg {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr int kNoDevice = 3;

class UsageError : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
};
class NoDevice : public Error {
   public:
    using Error::Error;
};

// By number in the order of addresses, or by address.
Function choose(const std::string& wanted) {
    const std::vector<Function> all = find_functions();
    if (all.empty()) throw NoDevice("no SIDRA chip on the PCI bus");
    if (wanted.empty()) {
        if (all.size() > 1) throw UsageError(fmt::format("there are {} chips: choose one with --device", all.size()));
        return all[0];
    }
    for (size_t i = 0; i < all.size(); ++i)
        if (wanted == all[i].address || wanted == std::to_string(i)) return all[i];
    throw NoDevice(fmt::format("no SIDRA chip '{}'; there are 0 to {} (sidra-reg list)", wanted, all.size() - 1));
}

const Register& known(const std::string& name) {
    const Register* found = find_register(name);
    if (found == nullptr) throw UsageError(fmt::format("no register '{}'; sidra-reg names lists them", name));
    return *found;
}

uint64_t parse_value(const Register& to, const std::string& text) {
    const auto value = tools::parse_number(text);
    if (!value) throw UsageError(fmt::format("'{}' is not a number (decimal, or hexadecimal with 0x)", text));
    if (to.bytes == 4 && *value > UINT32_MAX)
        throw UsageError(fmt::format("{} does not fit in the {} bits of {}", text, to.bytes * 8, to.name));
    return *value;
}

void print(const Register& of, uint64_t value) {
    fmt::print("{:<20} {:#06x} {:>#18x}  {}\n", of.name, of.offset, value, decode(of, value));
}

void list() {
    const std::vector<Function> all = find_functions();
    if (all.empty()) throw NoDevice("no SIDRA chip on the PCI bus");
    for (size_t i = 0; i < all.size(); ++i)
        fmt::print("{} {} {}\n", i, all[i].address, all[i].driver.empty() ? "no driver" : "driver " + all[i].driver);
}

void names() {
    for (const Register& one : registers())
        fmt::print("{:<20} {:#06x} {} bytes, beside a driver: {}\n", one.name, one.offset, one.bytes,
                   one.access == Access::RW  ? "read and write"
                   : one.access == Access::R ? "read"
                   : one.access == Access::W ? "write"
                                             : "neither");
}

int main_inner(int argc, char** argv) {
    std::string device, name, value;
    std::vector<std::string> wanted;
    CLI::App app("Registers of a SIDRA chip by name, with or without a driver.", "sidra-reg");
    tools::offer_version(app);
    app.require_subcommand(1);
    app.fallthrough();
    app.add_option("-d,--device", device, "which chip: number or PCI address (default: the only one)");
    auto* listing = app.add_subcommand("list", "the chips on the PCI bus");
    auto* naming = app.add_subcommand("names", "all registers, and what may be done with them while a driver is bound");
    auto* dump = app.add_subcommand("dump", "all registers that may be read");
    auto* read = app.add_subcommand("read", "registers by name");
    read->add_option("name", wanted)->required();
    auto* write = app.add_subcommand("write", "a value to a register");
    write->add_option("name", name)->required();
    write->add_option("value", value)->required();
    auto* test = app.add_subcommand("test", "identity, data path, clock, interrupts and DMA");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
        throw UsageError(fmt::format("{} (sidra-reg --help)", e.what()));
    }
    if (listing->parsed()) list();
    if (naming->parsed()) names();
    if (dump->parsed()) {
        const auto opened = open_registers(choose(device));
        for (const Register& one : registers())
            if (opened->readable(one)) print(one, opened->read(one));
    }
    if (read->parsed()) {
        for (const std::string& one : wanted) known(one);  // all names before the first access
        const auto opened = open_registers(choose(device));
        for (const std::string& one : wanted) print(known(one), opened->read(known(one)));
    }
    if (write->parsed()) {
        const Register& to = known(name);
        const uint64_t number = parse_value(to, value);
        open_registers(choose(device))->write(to, number);
    }
    if (test->parsed()) {
        const Function function = choose(device);
        return self_test(function, *open_registers(function)) == 0 ? 0 : kFailed;
    }
    return 0;
}

}  // namespace
}  // namespace sidra::reg

int main(int argc, char** argv) {
    using namespace sidra::reg;
    const auto say = [](const std::exception& e) { std::fprintf(stderr, "sidra-reg: %s\n", e.what()); };
    try {
        sidra::tools::open_standard_files();
        const int status = main_inner(argc, argv);
        sidra::tools::flush_output();
        return status;
    } catch (const UsageError& e) {
        say(e);
        return kUsage;
    } catch (const NoDevice& e) {
        say(e);
        return kNoDevice;
    } catch (const std::exception& e) {
        say(e);
        return kFailed;
    }
}
