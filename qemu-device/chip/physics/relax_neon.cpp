// SPDX-License-Identifier: MIT
#include "lanes_neon.h"

#define SIDRA_RELAX relax_neon
#include "relax.inc"
