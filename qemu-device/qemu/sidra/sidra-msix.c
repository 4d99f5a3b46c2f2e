/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interrupts: raised on any thread, delivered on the main loop, which owns masks and pending bits. */
#include "qemu/osdep.h"
#include "hw/pci/msix.h"
#include "qemu/main-loop.h"
#include "sidra.h"
#include "trace.h"

void sidra_msix(void *self, unsigned vector)
{
    SidraState *s = self;

    qatomic_or(&s->msix_pending, 1u << vector);
    qemu_bh_schedule(s->msix_bh);
}

/* Masked vectors become pending; without bus mastering the message is lost. */
void sidra_msix_deliver(void *opaque)
{
    SidraState *s = opaque;
    PCIDevice *pci = PCI_DEVICE(s);
    uint32_t pending = qatomic_xchg(&s->msix_pending, 0);

    for (; pending; pending &= pending - 1) {
        unsigned vector = ctz32(pending);

        if (msix_enabled(pci)) {
            trace_sidra_msix(sidra_name(s), vector);
            msix_notify(pci, vector);
        } else {
            trace_sidra_err_msix_disabled(sidra_name(s), vector);
        }
    }
}

void sidra_msix_clear(SidraState *s)
{
    qemu_bh_cancel(s->msix_bh);
    qatomic_set(&s->msix_pending, 0);
}

bool sidra_msix_init(SidraState *s, Error **errp)
{
    PCIDevice *pci = PCI_DEVICE(s);

    QEMU_BUILD_BUG_ON(SIDRA_MSIX_VECTORS > 32);
    if (msix_init(pci, SIDRA_MSIX_VECTORS, &s->bar0, SIDRA_BAR_REGS, SIDRA_BAR_MSIX_TABLE, &s->bar0, SIDRA_BAR_REGS,
                  SIDRA_BAR_MSIX_PBA, 0, errp) < 0) {
        return false;
    }
    for (unsigned i = 0; i < SIDRA_MSIX_VECTORS; i++) {
        msix_vector_use(pci, i);
    }
    return true;
}

void sidra_msix_exit(SidraState *s)
{
    PCIDevice *pci = PCI_DEVICE(s);

    msix_unuse_all_vectors(pci);
    msix_uninit(pci, &s->bar0, &s->bar0);
}
