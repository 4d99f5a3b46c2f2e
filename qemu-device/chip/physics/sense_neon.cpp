// SPDX-License-Identifier: MIT
#include "lanes_neon.h"

#define SIDRA_SENSE sense_neon
#include "sense.inc"
