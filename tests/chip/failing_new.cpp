// SPDX-License-Identifier: MIT
#include "failing_new.inc"
