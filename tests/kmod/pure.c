/* SPDX-License-Identifier: MIT */
/* The driver's files without hardware, as they are. */
#include "sidra_shim.h"

unsigned shim_fail_after;
long shim_alive;
unsigned long shim_visits;

void* shim_alloc(size_t size) {
    if (shim_fail_after && --shim_fail_after == 0) return NULL;
    shim_alive++;
    return calloc(1, size);
}

void shim_free(const void* memory) {
    if (!memory) return;
    shim_alive--;
    free((void*)memory);
}

#include "sidra_nvm.c"
#include "sidra_ptab.c"
#include "sidra_range.c"
#include "sidra_report.c"
#include "sidra_ring.c"
#include "sidra_xbar.c"
