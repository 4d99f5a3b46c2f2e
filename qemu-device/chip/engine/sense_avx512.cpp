// SPDX-License-Identifier: MIT
#include "lanes_avx512.h"

#define SIDRA_SENSE kSenseAvx512
#include "sense.inc"
