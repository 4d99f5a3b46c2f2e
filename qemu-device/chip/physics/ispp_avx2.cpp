// SPDX-License-Identifier: MIT
#include "lanes_avx2.h"

#define SIDRA_PROGRAM program_avx2
#include "ispp.inc"
