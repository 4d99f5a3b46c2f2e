// SPDX-License-Identifier: MIT
// What can be tried on a chip whose driver is not there yet, or to see whether it is the driver's fault.
#ifndef SIDRA_REG_SELFTEST_H
#define SIDRA_REG_SELFTEST_H

#include "function.h"

namespace sidra::reg {

// Prints a line a test; returns how many failed.
int self_test(const Function& function, Registers& registers);

}  // namespace sidra::reg

#endif
