// SPDX-License-Identifier: MIT
#include "lanes_avx2.h"

#define SIDRA_RELAX relax_avx2
#include "relax.inc"
