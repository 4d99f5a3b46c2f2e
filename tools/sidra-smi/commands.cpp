// SPDX-License-Identifier: MIT
#include "command.h"

namespace sidra::smi_tool {
namespace {

constexpr Command kCommands[] = {
    {"list", "the chips that are here, and what they are called", declare_list},
    {"query", "values of fields, for programs and people", declare_query},
    {"cdi", "the file by which containers are given cards", declare_cdi},
    {"top", "a live screen: graphs, a map of the crossbars, processes", declare_top},
    {"exporter", "metrics for Prometheus", declare_exporter},
    {"watch", "the same again and again", declare_watch},
    {"ps", "who uses chips", declare_ps},
    {"topo", "where cards are plugged in", declare_topo},
    {"health", "what is wrong with chips; the exit status says how bad it is", declare_health},
    {"doctor", "why one cannot compute on a chip here", declare_doctor},
    {"diag", "try a card out", declare_diag},
    {"fw", "firmware of a card: show, update, activate", declare_fw},
    {"reset", "reset a card", declare_reset},
    {"log", "what the firmware of a card says", declare_log},
    {"dump", "core dumps of cards that the kernel keeps", declare_dump},
    {"power", "what cards take, and the limit of it", declare_power},
    {"clock", "the highest level of a card's clock", declare_clock},
    {"refresh", "look through the cells of a card, and program those anew that have drifted", declare_refresh},
    {"calibrate", "trim away what the converters of a card are off by", declare_calibrate},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

}  // namespace sidra::smi_tool
