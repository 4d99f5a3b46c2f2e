// SPDX-License-Identifier: MIT
// sidra-dump: says what is in a dump of a SIDRA card. docs: sidra-dump(1).
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "common/input_file.h"
#include "common/program.h"
#include "dump.h"

namespace sidra::dump {
namespace {

constexpr size_t kDumpLimit = 1 << 20, kElfLimit = 64 << 20;

std::vector<uint8_t> read_standard_input() {
    std::vector<uint8_t> all;
    for (;;) {
        uint8_t piece[1 << 16];
        const ssize_t n = read(STDIN_FILENO, piece, sizeof piece);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw std::runtime_error(fmt::format("cannot read standard input: {}", std::strerror(errno)));
        if (n == 0) return all;
        all.insert(all.end(), piece, piece + n);
        if (all.size() > kDumpLimit)
            throw std::runtime_error(fmt::format("cannot read standard input: it is longer than {} bytes", kDumpLimit));
    }
}

// A file, its folder in /sys/class/devcoredump, or -.
std::vector<uint8_t> read_dump(const std::string& path) {
    if (path == "-") return read_standard_input();
    std::error_code ignored;
    return tools::read_file(std::filesystem::is_directory(path, ignored) ? path + "/data" : path, kDumpLimit).bytes;
}

void main_inner(int argc, char** argv) {
    std::string path, elf_path;
    bool json = false, program = false;
    CLI::App app("Decodes the dump of a SIDRA card or of its firmware, or a vector program.", "sidra-dump");
    CLI::Option* const elf_option =
        app.add_option("--elf", elf_path, "Firmware program with symbols (runtime.elf), for the names of addresses");
    CLI::Option* const json_option = app.add_flag("--json", json, "Print JSON");
    app.add_flag("--vector-program", program, "The file has the instructions of a vector program: print its text")
        ->excludes(elf_option, json_option);
    app.add_option("dump", path, "File, folder in /sys/class/devcoredump, or - for standard input")->required();
    if (!tools::parse_arguments(app, argc, argv)) return;
    std::vector<uint8_t> elf_file;
    std::optional<tools::ElfSymbols> symbols;
    if (!elf_path.empty()) {
        elf_file = tools::read_file(elf_path, kElfLimit).bytes;
        try {
            symbols.emplace(tools::Elf32(elf_file));
        } catch (const tools::ElfError& e) {
            throw std::runtime_error(fmt::format("{} is not a firmware program with symbols: {}", elf_path, e.what()));
        }
    }
    const std::vector<uint8_t> bytes = read_dump(path);
    try {
        if (program) return fmt::print("{}", program_text(bytes));
        const Report report = decode(bytes, symbols ? &*symbols : nullptr);
        fmt::print("{}", json ? report.json.text() + '\n' : report.text);
    } catch (const DumpError& e) {
        throw std::runtime_error(fmt::format("cannot decode {}: {}", path == "-" ? "standard input" : path, e.what()));
    }
}

}  // namespace
}  // namespace sidra::dump

int main(int argc, char** argv) {
    return sidra::tools::run_program("sidra-dump", [&] { sidra::dump::main_inner(argc, argv); });
}
