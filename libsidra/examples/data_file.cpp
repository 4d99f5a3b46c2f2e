// SPDX-License-Identifier: MIT
#include "data_file.h"

#include <filesystem>
#include <string_view>

namespace sidra {
namespace {

std::string data_file(std::string_view name, std::string_view in_source_tree) {
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    const auto installed = program.parent_path().parent_path() / "share/sidra" / name;
    return !error && std::filesystem::exists(installed, error) ? installed.string() : std::string(in_source_tree);
}

}  // namespace

std::string digits_file() { return data_file("digits.bin", SIDRA_DIGITS_MODEL); }
std::string convnet_file() { return data_file("convnet.bin", SIDRA_CONVNET_MODEL); }

}  // namespace sidra
