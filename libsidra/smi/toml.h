// SPDX-License-Identifier: MIT
// toml++, configured the same for all files: it reports errors in its results.
#ifndef SIDRA_SMI_TOML_H
#define SIDRA_SMI_TOML_H

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#endif
