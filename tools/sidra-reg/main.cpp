// SPDX-License-Identifier: MIT
// sidra-reg: registers of a chip by name, with or without a driver. docs: sidra-reg(8).
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "common/number.h"
#include "common/program.h"
#include "function.h"
#include "registers.h"
#include "selftest.h"

namespace sidra::reg {
namespace {

tools::Failure usage(const std::string& what) { return tools::Failure(what, tools::kExitUsage); }

std::vector<Function> functions() {
    std::vector<Function> all = find_functions();
    if (all.empty()) throw Error("there is no SIDRA chip on the PCI bus");
    return all;
}

// By number in the order of addresses, or by address.
Function choose(const std::string& wanted) {
    const std::vector<Function> all = functions();
    if (wanted.empty()) {
        if (all.size() > 1)
            throw usage(fmt::format("there are {} chips; choose one with --device (see sidra-reg list)", all.size()));
        return all[0];
    }
    for (size_t i = 0; i < all.size(); ++i)
        if (wanted == all[i].address || wanted == std::to_string(i)) return all[i];
    throw Error(fmt::format("there is no SIDRA chip '{}'; see sidra-reg list", wanted));
}

const Register& known(const std::string& name) {
    const Register* found = find_register(name);
    if (found == nullptr) throw usage(fmt::format("there is no register '{}'; see sidra-reg names", name));
    return *found;
}

uint64_t parse_value(const Register& to, const std::string& text) {
    const auto value = tools::parse_number(text);
    if (!value) throw usage(fmt::format("'{}' is not a number (decimal, or hexadecimal with 0x)", text));
    if (to.bytes == 4 && *value > UINT32_MAX)
        throw usage(fmt::format("{} does not fit into the {} bits of {}", text, to.bytes * 8, to.name));
    return *value;
}

void print(const Register& of, uint64_t value) {
    fmt::print("{:<20} {:#06x} {:>#18x}  {}\n", of.name, of.offset, value, decode(of, value));
}

void list() {
    const std::vector<Function> all = functions();
    for (size_t i = 0; i < all.size(); ++i)
        fmt::print("{} {} {}\n", i, all[i].address, all[i].driver.empty() ? "no driver" : "driver " + all[i].driver);
}

void names() {
    for (const Register& one : registers())
        fmt::print("{:<20} {:#06x} {} bytes, with a driver: {}\n", one.name, one.offset, one.bytes,
                   one.access == Access::RW  ? "read and write"
                   : one.access == Access::R ? "read"
                   : one.access == Access::W ? "write"
                                             : "no access");
}

void main_inner(int argc, char** argv) {
    std::string device, name, value;
    std::vector<std::string> wanted;
    CLI::App app("Reads and writes registers of a SIDRA chip by name, with or without a driver.", "sidra-reg");
    app.require_subcommand(1);
    app.fallthrough();
    app.add_option("-d,--device", device, "Chip: number in the list, or PCI address (default: the only one)");
    auto* listing = app.add_subcommand("list", "List the chips on the PCI bus");
    auto* naming = app.add_subcommand("names", "List all registers, and the access to each while a driver is bound");
    auto* dump = app.add_subcommand("dump", "Print all registers that can be read");
    auto* read = app.add_subcommand("read", "Read registers by name");
    read->add_option("name", wanted, "Register names")->required();
    auto* write = app.add_subcommand("write", "Write a value to a register");
    write->add_option("name", name, "Register name")->required();
    write->add_option("value", value, "Number, decimal or hexadecimal with 0x")->required();
    auto* test = app.add_subcommand("test", "Test identity, data path, clock, status, interrupts and DMA");
    if (!tools::parse_arguments(app, argc, argv)) return;
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
        if (const int failed = self_test(function, *open_registers(function)); failed != 0)
            throw Error(fmt::format("{} failed {} test{}", function.address, failed, failed == 1 ? "" : "s"));
    }
}

}  // namespace
}  // namespace sidra::reg

int main(int argc, char** argv) {
    return sidra::tools::run_program("sidra-reg", [&] { sidra::reg::main_inner(argc, argv); });
}
