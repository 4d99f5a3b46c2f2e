// SPDX-License-Identifier: MIT
// From Python to a compiled model in one step: a region should cost little more than its device's work.
#ifndef SIDRA_PYTORCH_COMPILED_ENTRY_H
#define SIDRA_PYTORCH_COMPILED_ENTRY_H

#include <nanobind/nanobind.h>

namespace sidra::pytorch {

// Contents, Model and Entry as classes of the module.
void add_compiled(nanobind::module_& m);

}  // namespace sidra::pytorch

#endif
