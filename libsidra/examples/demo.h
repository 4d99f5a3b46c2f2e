// SPDX-License-Identifier: MIT
// What the demos of sidra-demo share: the chip that they run on, and how they print figures.
#ifndef SIDRA_EXAMPLES_DEMO_H
#define SIDRA_EXAMPLES_DEMO_H

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sidra/sidra.h"
#include "sidra/sidra.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
}

namespace sidra::tools {
class Signals;
}

namespace sidra::demo {

// The demos, each with its own command line after argv[0]. They return false if what the chip computed is not
// plausible.
bool digits(int argc, char** argv);
bool convnet(int argc, char** argv);
bool sentence(int argc, char** argv);

struct ChipOptions {
    std::string engine = "auto";
    std::string profile = "y1";
    std::string level = "fast";

    void add_to(CLI::App& app);
    // Their values, for an embedded chip.
    sidra_device_options device() const;
    bool accurate() const { return level == "accurate"; }
};

// Throws if the options ask for a level that the device cannot be given, because it is no embedded chip.
void require_level(const sidra_device_info& info, const ChipOptions& options);

void print_chip(const sidra_device_info& info);

double median(std::vector<double> values);
std::string time_text(double seconds);
std::string energy_text(double joules);

// Throws if a signal has come.
void check_signals(tools::Signals& signals);

// Waits for all that the stream has queued, and calls `busy` several times a second meanwhile. Throws at a signal.
void wait(
    Stream& stream, tools::Signals& signals, const std::function<void()>& busy = [] {});

}  // namespace sidra::demo

#endif
