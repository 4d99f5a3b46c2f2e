// SPDX-License-Identifier: MIT
#include "lanes_avx512.h"

#define SIDRA_PROGRAM program_avx512
#include "ispp.inc"
