/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Migration and snapshots. The chip saves and loads its own state, in a versioned format of its own; these functions
 * only transfer the data. The machine is stopped, so executors are held. Guest memory and knobs are not included.
 */
#include "qemu/osdep.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "migration/qemu-file-types.h"
#include "migration/vmstate.h"
#include "qemu/error-report.h"
#include "sidra.h"

bool sidra_stream_write(void *opaque, const void *data, size_t size)
{
    qemu_put_buffer(opaque, data, size);
    return true; /* errors are reported by the stream */
}

bool sidra_stream_read(void *opaque, void *data, size_t size)
{
    return qemu_get_buffer(opaque, data, size) == size;
}

static int sidra_chip_put(QEMUFile *f, void *pv, size_t size, const VMStateField *field, JSONWriter *vmdesc)
{
    SidraState *s = pv;

    if (sidra_chip_save(s->chip, sidra_stream_write, f) < 0) {
        error_report("%s: the state of the chip cannot be saved: not enough memory", sidra_name(s));
        return -ENOMEM;
    }
    return 0;
}

static int sidra_chip_get(QEMUFile *f, void *pv, size_t size, const VMStateField *field)
{
    SidraState *s = pv;
    char text[1024];

    if (sidra_chip_load(s->chip, sidra_stream_read, f, text, sizeof(text)) < 0) {
        error_report("%s: the state of the chip cannot be loaded: %s", sidra_name(s), text);
        return -EINVAL;
    }
    return 0;
}

static const VMStateInfo sidra_vmstate_chip = {
    .name = "sidra-chip",
    .get = sidra_chip_get,
    .put = sidra_chip_put,
};

static int sidra_pre_load(void *opaque)
{
    SidraState *s = opaque;

    sidra_hold(s, SIDRA_HOLD_VM); /* already held: nothing may run before the whole machine is loaded */
    sidra_msix_clear(s);
    return 0;
}

static int sidra_post_load(void *opaque, int version_id)
{
    SidraState *s = opaque;

    s->pristine = false;
    sidra_power_update(s);
    return 0;
}

const VMStateDescription sidra_vmstate = {
    .name = TYPE_SIDRA,
    .version_id = 2,
    .minimum_version_id = 2,
    .pre_load = sidra_pre_load,
    .post_load = sidra_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_PCI_DEVICE(parent_obj, SidraState),
        VMSTATE_STRUCT(parent_obj.exp.aer_log, SidraState, 0, vmstate_pcie_aer_log, PCIEAERLog),
        VMSTATE_MSIX(parent_obj, SidraState),
        /*
         * Vectors that the chip has raised and the main loop has not delivered. They must not be delivered while the
         * machine is saved: memory, and possibly the interrupt controller, are already in the stream.
         */
        VMSTATE_UINT32(msix_pending, SidraState),
        {
            .name = "chip",
            .info = &sidra_vmstate_chip,
            .flags = VMS_SINGLE,
            .size = sizeof(SidraState),
            .offset = 0, /* the callbacks get the device */
        },
        VMSTATE_END_OF_LIST()
    }
};
