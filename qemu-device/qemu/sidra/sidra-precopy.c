/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cells cross before the machine stops, as its memory does: at level accurate a full chip has 1.6 GB of them. What changes
 * meanwhile crosses again, at the latest with the rest of the chip (sidra-vmstate.c).
 *
 * A section is a list of parts as the chip writes them, each preceded by the byte 1, and ends with the byte 0.
 */
#include "qemu/osdep.h"
#include "hw/vmstate-if.h"
#include "migration/misc.h"
#include "migration/qemu-file-types.h"
#include "migration/register.h"
#include "migration/vmstate.h"
#include "qemu/error-report.h"
#include "sidra.h"

#define SIDRA_PART_BYTES (1 << 20)

static int sidra_precopy_setup(QEMUFile *f, void *opaque, Error **errp)
{
    SidraState *s = opaque;

    s->saving = true;
    sidra_chip_precopy_begin(s->chip);
    qemu_put_byte(f, 0);
    return 0;
}

static void sidra_precopy_cleanup(void *opaque)
{
    SidraState *s = opaque;

    if (s->saving) { /* else setup was not called */
        s->saving = false;
        sidra_chip_precopy_end(s->chip);
    }
}

/* The cells of a card that has been unplugged meanwhile are of no use. */
static bool sidra_precopy_active(void *opaque)
{
    SidraState *s = opaque;

    return !(qatomic_read(&s->hold) & SIDRA_HOLD_EXIT);
}

static void sidra_precopy_pending(void *opaque, uint64_t *must_precopy, uint64_t *can_postcopy)
{
    SidraState *s = opaque;

    *must_precopy += sidra_chip_precopy_pending(s->chip);
}

/* Returns 1 if nothing is left, for now. What is programmed meanwhile is for the next call: memory must have its turn. */
static int sidra_precopy_iterate(QEMUFile *f, void *opaque)
{
    SidraState *s = opaque;
    uint64_t left;

    for (left = sidra_chip_precopy_pending(s->chip); left != 0 && !migration_rate_exceeded(f); left -= MIN(left, SIDRA_PART_BYTES)) {
        qemu_put_byte(f, 1);
        if (sidra_chip_precopy_save(s->chip, SIDRA_PART_BYTES, sidra_stream_write, f) < 0) {
            error_report("%s: the cells of the chip cannot be saved: not enough memory", sidra_name(s));
            return -ENOMEM;
        }
    }
    qemu_put_byte(f, 0);
    return sidra_chip_precopy_pending(s->chip) == 0;
}

/* The machine has stopped. What has changed last is for the state of the chip. */
static int sidra_precopy_complete(QEMUFile *f, void *opaque)
{
    qemu_put_byte(f, 0);
    return 0;
}

static int sidra_precopy_load(QEMUFile *f, void *opaque, int version_id)
{
    SidraState *s = opaque;
    char text[1024];
    int more;

    sidra_hold(s, SIDRA_HOLD_VM); /* already held: nothing may run before all of the machine is there */
    while ((more = qemu_get_byte(f)) == 1) {
        if (sidra_chip_precopy_load(s->chip, sidra_stream_read, f, text, sizeof(text)) < 0) {
            error_report("%s: the cells of the chip cannot be loaded: %s", sidra_name(s), text);
            return -EINVAL;
        }
    }
    if (more != 0) {
        error_report("%s: the cells of the chip cannot be loaded: the stream is damaged", sidra_name(s));
        return -EINVAL;
    }
    return 0;
}

static int sidra_precopy_load_cleanup(void *opaque)
{
    SidraState *s = opaque;

    sidra_chip_precopy_end(s->chip);
    return 0;
}

static const SaveVMHandlers sidra_precopy_handlers = {
    .save_setup = sidra_precopy_setup,
    .save_cleanup = sidra_precopy_cleanup,
    .is_active = sidra_precopy_active,
    .state_pending_estimate = sidra_precopy_pending,
    .state_pending_exact = sidra_precopy_pending,
    .save_live_iterate = sidra_precopy_iterate,
    .save_live_complete_precopy = sidra_precopy_complete,
    .load_state = sidra_precopy_load,
    .load_cleanup = sidra_precopy_load_cleanup,
};

#define SIDRA_CELLS "sidra-cells"

void sidra_precopy_init(SidraState *s)
{
    g_autofree char *path = vmstate_if_get_id(VMSTATE_IF(s)); /* tells this card from others */

    s->cells = path ? g_strdup_printf("%s/" SIDRA_CELLS, path) : g_strdup(SIDRA_CELLS);
    register_savevm_live(s->cells, VMSTATE_INSTANCE_ID_ANY, 1, &sidra_precopy_handlers, s);
}

static void sidra_precopy_unregister(SidraState *s)
{
    unregister_savevm(NULL, s->cells, s);
    g_clear_pointer(&s->cells, g_free);
}

static int sidra_precopy_ended(NotifierWithReturn *notifier, MigrationEvent *event, Error **errp)
{
    SidraState *s = container_of(notifier, SidraState, migration_end);

    migration_remove_notifier(notifier);
    sidra_precopy_unregister(s);
    object_unref(OBJECT(s));
    return 0;
}

/*
 * The guest may complete an earlier request to unplug the card while a migration runs. That walks the handlers without
 * the big lock, and may be in the middle of ours for long. So they stay registered, and the chip exists, until it ends.
 */
void sidra_precopy_exit(SidraState *s)
{
    if (s->saving) {
        object_ref(OBJECT(s));
        migration_add_notifier(&s->migration_end, sidra_precopy_ended);
    } else {
        sidra_precopy_unregister(s);
    }
}
