// SPDX-License-Identifier: GPL-2.0-only
#ifndef __CHECKER__
#include <linux/types.h>

#define CREATE_TRACE_POINTS
#include "sidra_trace.h"
#endif
