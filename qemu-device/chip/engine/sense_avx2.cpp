// SPDX-License-Identifier: MIT
#include "lanes_avx2.h"

#define SIDRA_SENSE kSenseAvx2
#include "sense.inc"
