// SPDX-License-Identifier: MIT
// The digits at level `accurate`: what cells, age, temperature and stuck cells cost.
#ifndef SIDRA_EXAMPLES_DIGITS_ACCURATE_H
#define SIDRA_EXAMPLES_DIGITS_ACCURATE_H

#include <cstdint>
#include <string>

#include "common/program.h"
#include "digits_model.h"
#include "sidra/sidra.h"

namespace sidra::digits {

// The surroundings of a chip, and its manufacturing defects.
struct Surroundings {
    double age = 0;           // s
    double temperature = 60;  // degrees Celsius, for that age
    double stuck = 0.001;     // share of cells
};

// An error in the command line, with the exit status for that.
tools::Failure wrong_command_line(const std::string& what);

// Convert "90s", "15min", "12h", "30d", "1y" to seconds; "0.1%" or "0.001" to a share; degrees Celsius. Throw
// wrong_command_line() with the option, the given value and the valid ones.
double parse_age(const std::string& text);
double parse_stuck(const std::string& text);
double parse_temperature(const std::string& text);

// Prints the accuracy of the digits on chips of `device`'s kind at level `fast`, at level `accurate`, and with each of
// the surroundings, and writes a plot to `out` (SVG). `trace`: trace file for the chip whose programming costs are
// printed; "": none. Returns true if a new chip with the default share of stuck cells is within one point of level
// `fast`.
bool compare_levels(const Model& model, const sidra_device_options& device, const Surroundings& surroundings,
                    const std::string& out, const std::string& trace);

}  // namespace sidra::digits

#endif
