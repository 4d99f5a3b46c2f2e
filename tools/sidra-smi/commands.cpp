// SPDX-License-Identifier: MIT
#include "command.h"

namespace sidra::smi_tool {
namespace {

constexpr Command kCommands[] = {
    {"list", "list chips with all of their names", declare_list},
    {"query", "print fields of chips once", declare_query},
    {"cdi", "write the CDI file that gives cards to containers", declare_cdi},
    {"slurm", "write the lines of gres.conf by which Slurm gives cards to jobs", declare_slurm},
    {"top", "show a live screen: chips, graphs, crossbars, processes", declare_top},
    {"exporter", "serve metrics for Prometheus", declare_exporter},
    {"watch", "print fields periodically", declare_watch},
    {"ps", "list the processes that use chips", declare_ps},
    {"topo", "show the PCIe and NUMA topology of cards", declare_topo},
    {"health", "check the health of chips; the exit status is the worst result", declare_health},
    {"events", "print what happens to chips: resets, faults, throttling, changes of health", declare_events},
    {"map", "write which crossbars of chips are bad or in use, for sidra-compile", declare_map},
    {"doctor", "find out why this process cannot compute on a card", declare_doctor},
    {"diag", "run a diagnosis of a card", declare_diag},
    {"fw", "show, update or activate the firmware of a card", declare_fw},
    {"reset", "reset a card", declare_reset},
    {"log", "print the firmware log of a card", declare_log},
    {"dump", "list or save core dumps of cards", declare_dump},
    {"power", "show power and power limits, or set the limit of a card", declare_power},
    {"clock", "show clocks, or set the highest clock level of a card", declare_clock},
    {"refresh", "check the cells of a card and program those again that have drifted", declare_refresh},
    {"calibrate", "calibrate the converters of a card", declare_calibrate},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

}  // namespace sidra::smi_tool
