/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fault knobs: one property each, with the chip's name for the knob. They can be set at any time (-device, qom-set). */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "sidra.h"
#include "trace.h"

/* Knobs that may be negative. */
static bool sidra_knob_signed(uint32_t knob)
{
    return knob == SIDRA_KNOB_ADC_OFFSET || knob == SIDRA_KNOB_TEMPERATURE_MC;
}

static bool sidra_knob_turn(SidraState *s, uint32_t knob, uint64_t value, Error **errp)
{
    bool good;

    /* When registers read all ones, the driver frees its memory. So first wait until slices have unmapped it. */
    if (knob == SIDRA_KNOB_LINK_LOST) {
        sidra_hold(s, SIDRA_HOLD_KNOB);
    }
    good = sidra_chip_set_knob(s->chip, knob, value);
    if (knob == SIDRA_KNOB_LINK_LOST) {
        if (good) {
            sidra_link_set(s, value);
        }
        sidra_release(s, SIDRA_HOLD_KNOB);
    }
    if (!good) {
        error_setg(errp, "sidra: cannot set %s to %" PRIu64 ": see docs/device.md for valid values",
                   sidra_chip_knob_name(knob), value);
        return false;
    }
    trace_sidra_knob(sidra_name(s), sidra_chip_knob_name(knob), value);
    return true;
}

/* Returns the value that was set last; a knob that counts down does not update it. */
static void sidra_knob_get(Object *obj, Visitor *v, const char *name, void *opaque, Error **errp)
{
    visit_type_uint64(v, name, &SIDRA(obj)->knob[GPOINTER_TO_UINT(opaque)], errp);
}

static void sidra_knob_set(Object *obj, Visitor *v, const char *name, void *opaque, Error **errp)
{
    SidraState *s = SIDRA(obj);
    uint32_t knob = GPOINTER_TO_UINT(opaque);
    uint64_t value;

    if (sidra_knob_signed(knob)) {
        int64_t number;

        if (!visit_type_int64(v, name, &number, errp)) {
            return;
        }
        value = number;
    } else if (!visit_type_uint64(v, name, &value, errp)) {
        return;
    }
    object_ref(obj); /* while executors are waited for, a CPU may remove the card */
    if (!s->chip || sidra_knob_turn(s, knob, value, errp)) {
        s->knob[knob] = value;
        s->knobs_set |= 1u << knob;
    }
    object_unref(obj);
}

/* Applies the knobs that were set before the chip existed. */
bool sidra_knobs_apply(SidraState *s, Error **errp)
{
    for (uint32_t knob = 0; knob < SIDRA_KNOB_COUNT; knob++) {
        if ((s->knobs_set & (1u << knob)) && !sidra_knob_turn(s, knob, s->knob[knob], errp)) {
            return false;
        }
    }
    return true;
}

void sidra_knobs_class_init(ObjectClass *klass)
{
    for (uint32_t knob = 0; knob < SIDRA_KNOB_COUNT; knob++) {
        const char *name = sidra_chip_knob_name(knob);

        object_class_property_add(klass, name, sidra_knob_signed(knob) ? "int64" : "uint64", sidra_knob_get,
                                  sidra_knob_set, NULL, GUINT_TO_POINTER(knob));
        object_class_property_set_description(klass, name, "fault knob");
    }
}
