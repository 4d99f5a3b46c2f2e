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

// Where a chip is, and how it came out of the factory.
struct Surroundings {
    double age = 0;           // s
    double temperature = 60;  // degrees Celsius, for that age
    double stuck = 0.001;     // share of cells
};

// What is wrong with the command line: the exit status is that of one.
tools::Failure wrong_command_line(const std::string& what);

// "90s", "15min", "12h", "30d", "1y" in seconds; "0.1%" or "0.001" as a share; degrees Celsius. Throw
// wrong_command_line() that names the option, what was given and what can be.
double parse_age(const std::string& text);
double parse_stuck(const std::string& text);
double parse_temperature(const std::string& text);

// Prints the accuracy of the digits on chips of `device`'s kind: at level `fast`, at level `accurate`, and with each of
// the surroundings added to that, and writes a plot over all of them to `out` (SVG). `trace`: a file for the trace of
// the chip whose programming is printed; "": none. True if a new chip, with the stuck cells of the model's default, is
// within a point of level `fast`.
bool compare_levels(const Model& model, const sidra_device_options& device, const Surroundings& surroundings,
                    const std::string& out, const std::string& trace);

}  // namespace sidra::digits

#endif
