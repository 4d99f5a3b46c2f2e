// SPDX-License-Identifier: MIT
#include "lanes_avx2.h"

#define SIDRA_SENSE sense_avx2
#include "sense.inc"
