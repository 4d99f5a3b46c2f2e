// SPDX-License-Identifier: MIT
#include "lanes_neon.h"

#define SIDRA_SENSE kSenseNeon
#include "sense.inc"
