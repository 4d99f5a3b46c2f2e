// SPDX-License-Identifier: MIT
#include "lanes_avx512.h"

#define SIDRA_RELAX relax_avx512
#include "relax.inc"
