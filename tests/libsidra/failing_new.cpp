// SPDX-License-Identifier: MIT
#include "../chip/failing_new.inc"
