// SPDX-License-Identifier: MIT
#include "lanes_avx512.h"

#define SIDRA_SENSE sense_avx512
#include "sense.inc"
