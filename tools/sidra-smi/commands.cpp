// SPDX-License-Identifier: MIT
#include "command.h"

namespace sidra::smi_tool {
namespace {

constexpr Command kCommands[] = {
    {"list", "the chips that are here, and what they are called", declare_list},
    {"query", "values of fields, for programs and people", declare_query},
    {"cdi", "the file by which containers are given cards", declare_cdi},
    {"exporter", "metrics for Prometheus", declare_exporter},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

}  // namespace sidra::smi_tool
