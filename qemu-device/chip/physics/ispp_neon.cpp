// SPDX-License-Identifier: MIT
#include "lanes_neon.h"

#define SIDRA_PROGRAM program_neon
#include "ispp.inc"
