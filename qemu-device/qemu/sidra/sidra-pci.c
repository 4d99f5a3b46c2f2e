/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The PCI function: BARs, capabilities, reset, properties.
 */
#include "qemu/osdep.h"
#include "hw/pci/msix.h"
#include "hw/pci/pci.h"
#include "hw/pci/pcie.h"
#include "hw/pci/pcie_aer.h"
#include "hw/qdev-properties.h"
#include "hw/resettable.h"
#include "qapi/error.h"
#include "qapi/util.h"
#include "qemu/error-report.h"
#include "qemu/module.h"
#include "qemu/range.h"
#include "qemu/timer.h"
#include "system/system.h"
#include "sidra.h"
#include "trace.h"

#define SIDRA_PCI_PM_CAP    0x40
#define SIDRA_PCI_EXP_CAP   0x80
#define SIDRA_PCI_AER_CAP   0x100

/* ---- Registers: the chip's handlers record the access and wake executors; they never block ---- */

static uint64_t sidra_registers_read(void *opaque, hwaddr offset, unsigned size)
{
    SidraState *s = opaque;
    uint64_t value = sidra_chip_mmio_read(s->chip, offset, size);

    trace_sidra_register_read(sidra_name(s), offset, size, value);
    return value;
}

static void sidra_registers_write(void *opaque, hwaddr offset, uint64_t value, unsigned size)
{
    SidraState *s = opaque;
    const hwaddr doorbells_end = SIDRA_BAR_DOORBELL + SIDRA_CONTEXTS_MAX * SIDRA_DOORBELL_PAGE_SIZE;

    if (offset >= SIDRA_BAR_DOORBELL && offset < doorbells_end) {
        hwaddr at = offset - SIDRA_BAR_DOORBELL;

        trace_sidra_doorbell(sidra_name(s), at / SIDRA_DOORBELL_PAGE_SIZE, at % SIDRA_DOORBELL_PAGE_SIZE / 8);
    } else {
        trace_sidra_register_write(sidra_name(s), offset, size, value);
    }
    sidra_chip_mmio_write(s->chip, offset, value, size);
}

/* The chip decides which access sizes are valid, so all of them are passed on. */
static const MemoryRegionOps sidra_registers_ops = {
    .read = sidra_registers_read,
    .write = sidra_registers_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
    .impl = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
};

/* ---- Lost link: reads return ones, writes are ignored ---- */

static uint64_t sidra_lost_read(void *opaque, hwaddr offset, unsigned size)
{
    return UINT64_MAX;
}

static void sidra_lost_write(void *opaque, hwaddr offset, uint64_t value, unsigned size)
{
}

static const MemoryRegionOps sidra_lost_ops = {
    .read = sidra_lost_read,
    .write = sidra_lost_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
    .impl = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
};

static void sidra_lost_init(SidraState *s, unsigned number, MemoryRegion *bar)
{
    MemoryRegion *region = &s->lost_bar[number];

    memory_region_init_io(region, OBJECT(s), &sidra_lost_ops, s, "sidra-lost", memory_region_size(bar));
    memory_region_set_enabled(region, s->link_lost);
    memory_region_add_subregion_overlap(bar, 0, region, 1);
}

/* A region in another one holds a reference to the device. */
static void sidra_regions_exit(SidraState *s)
{
    memory_region_del_subregion(&s->l3, &s->lost_bar[1]);
    memory_region_del_subregion(&s->bar0, &s->lost_bar[0]);
    memory_region_del_subregion(&s->bar0, &s->registers);
}

/*
 * When the link comes back, bus mastering is off, as after any link reset: the chip's work refers to memory that the
 * driver has freed.
 */
void sidra_link_set(SidraState *s, bool lost)
{
    PCIDevice *pci = PCI_DEVICE(s);

    if (DEVICE(s)->realized && lost != s->link_lost) {
        sidra_msix_clear(s);
        pci_default_write_config(pci, PCI_COMMAND, pci_get_word(pci->config + PCI_COMMAND) & ~PCI_COMMAND_MASTER, 2);
        for (unsigned i = 0; i < ARRAY_SIZE(s->lost_bar); i++) {
            memory_region_set_enabled(&s->lost_bar[i], lost);
        }
    }
    s->link_lost = lost;
}

/* ---- Chip ---- */

static uint64_t sidra_clock_ns(void *self)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

static void sidra_report(void *self, const char *line)
{
    warn_report("%s: %s", sidra_name(self), line);
}

static bool sidra_chip_power_on(SidraState *s, Error **errp)
{
    const struct sidra_chip_config config = {
        .profile = s->profile,
        .engine = s->engine,
        .workers = s->workers,
        .seed = s->seed,
        .state_file = s->state_file,
        .level = s->level,
        .stuck_ppm = s->stuck_ppm,
        .trace_file = s->trace_file,
    };
    const struct sidra_chip_host host = {
        .self = s,
        .dma_map = sidra_dma_map,
        .dma_unmap = sidra_dma_unmap,
        .load64_acquire = sidra_load64_acquire,
        .max64_release = sidra_max64_release,
        .msix = sidra_msix,
        .clock_ns = sidra_clock_ns,
        .kick = sidra_kick,
        .report = sidra_report,
    };
    char text[1024];

    if (sidra_chip_create(&config, &host, &s->chip, text, sizeof(text)) < 0) {
        s->chip = NULL;
        error_setg(errp, "sidra: the chip cannot be powered on: %s", text);
        return false;
    }
    if (s->gdb && sidra_chip_gdb_listen(s->chip, s->gdb, text, sizeof(text)) < 0) {
        error_setg(errp, "sidra: %s", text);
        return false;
    }
    return true;
}

/* ---- Configuration space ---- */

/* In D1..D3hot the device keeps its state and does not run. */
void sidra_power_update(SidraState *s)
{
    PCIDevice *pci = PCI_DEVICE(s);
    unsigned state = pci_get_word(pci->config + SIDRA_PCI_PM_CAP + PCI_PM_CTRL) & PCI_PM_CTRL_STATE_MASK;
    bool held = s->hold & SIDRA_HOLD_POWER;

    if (held != (state != 0)) {
        trace_sidra_power(sidra_name(s), state);
        if (state) {
            sidra_hold_begin(s, SIDRA_HOLD_POWER);
            if (sidra_may_wait(s)) {
                sidra_hold_wait(s);
            }
        } else {
            sidra_release(s, SIDRA_HOLD_POWER);
        }
    }
}

static uint32_t sidra_config_read(PCIDevice *pci, uint32_t address, int length)
{
    return SIDRA(pci)->link_lost ? UINT32_MAX >> (32 - 8 * length) : pci_default_read_config(pci, address, length);
}

static void sidra_config_write(PCIDevice *pci, uint32_t address, uint32_t value, int length)
{
    SidraState *s = SIDRA(pci);

    if (s->link_lost) {
        return;
    }
    s->pristine = false;
    pci_default_write_config(pci, address, value, length);
    pcie_cap_flr_write_config(pci, address, value, length);
    if (ranges_overlap(address, length, SIDRA_PCI_AER_CAP, PCI_ERR_SIZEOF)) {
        pcie_aer_write_config(pci, address, value, length);
    }
    sidra_power_update(s);
}

static bool sidra_capabilities_init(PCIDevice *pci, Error **errp)
{
    if (pci_pm_init(pci, SIDRA_PCI_PM_CAP, errp) < 0) {
        return false;
    }
    pci_set_word(pci->config + pci->pm_cap + PCI_PM_PMC, PCI_PM_CAP_VER_1_2);
    pci_set_word(pci->config + pci->pm_cap + PCI_PM_CTRL, PCI_PM_CTRL_NO_SOFT_RESET);
    pci_set_word(pci->wmask + pci->pm_cap + PCI_PM_CTRL, PCI_PM_CTRL_STATE_MASK);

    if (pcie_endpoint_cap_init(pci, SIDRA_PCI_EXP_CAP) < 0) {
        error_setg(errp, "sidra: no room for the PCI Express capability");
        return false;
    }
    pcie_cap_flr_init(pci);
    pcie_cap_deverr_init(pci);
    return pcie_aer_init(pci, PCI_ERR_VER, SIDRA_PCI_AER_CAP, PCI_ERR_SIZEOF, errp) >= 0;
}

/* ---- Reset: bus reset, machine reset and FLR are the same ---- */

static void sidra_reset_enter(Object *obj, ResetType type)
{
    SidraState *s = SIDRA(obj);

    trace_sidra_reset(sidra_name(s), type);
    /* Must not wait for executors: QEMU requires that no other reset begins before all devices have entered this one. */
    sidra_hold_begin(s, SIDRA_HOLD_RESET);
}

static void sidra_reset_hold(Object *obj, ResetType type)
{
    SidraState *s = SIDRA(obj);

    if (sidra_may_wait(s)) {
        sidra_hold_wait(s);
        if (s->hold & SIDRA_HOLD_EXIT) {
            return; /* unplugged during the wait */
        }
        sidra_msix_clear(s);
        if (!s->pristine) { /* the chip needs no reset at power-on */
            sidra_chip_reset(s->chip);
        }
    } else if (!s->pristine) {
        /* Executors perform it after their slices, and STATUS shows when it is done, as with the register. */
        sidra_msix_clear(s);
        sidra_chip_start_reset(s->chip);
    }
    s->pristine = true;
    pcie_cap_deverr_reset(PCI_DEVICE(s));
}

static void sidra_reset_exit(Object *obj, ResetType type)
{
    SidraState *s = SIDRA(obj);

    sidra_release(s, SIDRA_HOLD_RESET);
    if (!(s->hold & SIDRA_HOLD_EXIT)) {
        sidra_power_update(s);
    }
}

/* ---- Device ---- */

static bool sidra_check(SidraState *s, Error **errp)
{
    if (!pci_bus_is_express(pci_get_bus(PCI_DEVICE(s)))) {
        error_setg(errp, "sidra: needs a PCI Express bus: use machine q35, or bus= of a root port");
        return false;
    }
    if (s->executors < 1 || s->executors > SIDRA_EXECUTORS_MAX) {
        error_setg(errp, "sidra: executors must be 1 to %d", SIDRA_EXECUTORS_MAX);
        return false;
    }
    return true;
}

/* Removes the debugger's socket and completes the trace when QEMU exits. */
static void sidra_end(Notifier *notifier, void *data)
{
    SidraState *s = container_of(notifier, SidraState, end);

    sidra_chip_gdb_close(s->chip);
    sidra_chip_end_trace(s->chip);
}

static void sidra_realize(PCIDevice *pci, Error **errp)
{
    SidraState *s = SIDRA(pci);
    uint64_t l3_size;
    uint8_t *l3;

    if (!sidra_check(s, errp)) {
        return;
    }
    sidra_executors_prepare(s);
    s->msix_bh = qemu_bh_new_guarded(sidra_msix_deliver, s, &DEVICE(s)->mem_reentrancy_guard);
    if (!sidra_chip_power_on(s, errp) || !sidra_knobs_apply(s, errp)) {
        goto fail_chip;
    }

    memory_region_init(&s->bar0, OBJECT(s), "sidra-bar0", SIDRA_BAR_REGS_SIZE);
    memory_region_init_io(&s->registers, OBJECT(s), &sidra_registers_ops, s, "sidra-registers", SIDRA_BAR_REGS_SIZE);
    /*
     * The handlers may run reentrantly, or while the device delivers interrupts. They only access the chip, which
     * supports that. The MSI-X table and PBA on top keep their guard.
     */
    s->registers.disable_reentrancy_guard = true;
    memory_region_add_subregion_overlap(&s->bar0, 0, &s->registers, -1);
    pci_register_bar(pci, SIDRA_BAR_REGS, PCI_BASE_ADDRESS_SPACE_MEMORY | PCI_BASE_ADDRESS_MEM_TYPE_64, &s->bar0);

    l3 = sidra_chip_l3(s->chip, &l3_size);
    memory_region_init_ram_ptr(&s->l3, OBJECT(s), "sidra-l3", l3_size, l3);
    pci_register_bar(pci, SIDRA_BAR_L3,
                     PCI_BASE_ADDRESS_SPACE_MEMORY | PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH, &s->l3);

    sidra_lost_init(s, 0, &s->bar0);
    sidra_lost_init(s, 1, &s->l3);
    if (!sidra_capabilities_init(pci, errp)) {
        goto fail_regions;
    }
    if (!sidra_msix_init(s, errp)) {
        goto fail_capabilities;
    }
    s->pristine = true;
    sidra_executors_start(s);
    sidra_precopy_init(s);
    s->end.notify = sidra_end;
    qemu_add_exit_notifier(&s->end);
    return;

fail_capabilities:
    pcie_aer_exit(pci);
    pcie_cap_exit(pci);
fail_regions:
    sidra_regions_exit(s);
fail_chip:
    sidra_chip_gdb_close(s->chip); /* its thread kicks executors */
    sidra_executors_exit(s);
    sidra_chip_close_state_file(s->chip);
    sidra_chip_end_trace(s->chip);
}

/*
 * The chip itself, and what it calls, are destroyed in finalize: until then BAR2 may still be referenced, and CPUs that
 * were about to access a register when the device was unplugged do so.
 */
static void sidra_exit(PCIDevice *pci)
{
    SidraState *s = SIDRA(pci);
    Error *removed = NULL;

    qemu_remove_exit_notifier(&s->end);
    sidra_precopy_exit(s);
    sidra_chip_gdb_close(s->chip);
    /*
     * This may release the big lock, even on a CPU in the middle of an access: what executors have begun must end while
     * there is a bus. A device_del in the meantime would take the card off the bus.
     */
    error_setg(&removed, "%s: is being removed", sidra_name(s));
    qdev_add_unplug_blocker(DEVICE(s), removed);
    sidra_executors_exit(s);
    qdev_del_unplug_blocker(DEVICE(s), removed);
    error_free(removed);
    sidra_chip_close_state_file(s->chip);
    sidra_chip_end_trace(s->chip);
    sidra_msix_exit(s);
    pcie_aer_exit(pci);
    pcie_cap_exit(pci);
    sidra_regions_exit(s);
}

static void sidra_init(Object *obj)
{
    sidra_executors_init(SIDRA(obj));
}

static void sidra_finalize(Object *obj)
{
    SidraState *s = SIDRA(obj);

    sidra_chip_destroy(s->chip);
    g_clear_pointer(&s->msix_bh, qemu_bh_delete);
    sidra_executors_finalize(s);
}

/* ---- Properties ---- */

static const QEnumLookup sidra_profiles = {
    .array = (const char *const[]){ [SIDRA_CHIP_Y1] = "y1", [SIDRA_CHIP_SMALL] = "small" },
    .size = 2,
};

static const QEnumLookup sidra_engines = {
    .array = (const char *const[]){
        [SIDRA_CHIP_ENGINE_AUTO] = "auto",
        [SIDRA_CHIP_ENGINE_SCALAR] = "scalar",
        [SIDRA_CHIP_ENGINE_AVX2] = "avx2",
        [SIDRA_CHIP_ENGINE_AVX512] = "avx512",
        [SIDRA_CHIP_ENGINE_NEON] = "neon",
        [SIDRA_CHIP_ENGINE_AMX] = "amx",
        [SIDRA_CHIP_ENGINE_AVX_VNNI] = "avx-vnni",
    },
    .size = 7,
};

static const QEnumLookup sidra_levels = {
    .array = (const char *const[]){ [SIDRA_CHIP_FAST] = "fast", [SIDRA_CHIP_ACCURATE] = "accurate" },
    .size = 2,
};

static bool sidra_settable(Object *obj, const char *name, Error **errp)
{
    if (DEVICE(obj)->realized) {
        error_setg(errp, "sidra: %s can only be given with -device or device_add", name);
        return false;
    }
    return true;
}

static int sidra_get_profile(Object *obj, Error **errp)
{
    return SIDRA(obj)->profile;
}

static void sidra_set_profile(Object *obj, int value, Error **errp)
{
    if (sidra_settable(obj, "profile", errp)) {
        SIDRA(obj)->profile = value;
    }
}

static int sidra_get_engine(Object *obj, Error **errp)
{
    return SIDRA(obj)->engine;
}

static void sidra_set_engine(Object *obj, int value, Error **errp)
{
    if (sidra_settable(obj, "engine", errp)) {
        SIDRA(obj)->engine = value;
    }
}

static int sidra_get_level(Object *obj, Error **errp)
{
    return SIDRA(obj)->level;
}

static void sidra_set_level(Object *obj, int value, Error **errp)
{
    if (sidra_settable(obj, "level", errp)) {
        SIDRA(obj)->level = value;
    }
}

static const Property sidra_properties[] = {
    DEFINE_PROP_UINT32("workers", SidraState, workers, 0),
    DEFINE_PROP_UINT32("executors", SidraState, executors, 1),
    DEFINE_PROP_UINT64("seed", SidraState, seed, 0),
    DEFINE_PROP_UINT32("stuck-ppm", SidraState, stuck_ppm, 0),
    DEFINE_PROP_STRING("state-file", SidraState, state_file),
    DEFINE_PROP_STRING("gdb", SidraState, gdb),
    DEFINE_PROP_STRING("trace-file", SidraState, trace_file),
};

static void sidra_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(klass);
    ResettableClass *rc = RESETTABLE_CLASS(klass);

    pc->realize = sidra_realize;
    pc->exit = sidra_exit;
    pc->config_read = sidra_config_read;
    pc->config_write = sidra_config_write;
    pc->vendor_id = SIDRA_PCI_VENDOR_ID;
    pc->device_id = SIDRA_PCI_DEVICE_ID;
    pc->subsystem_vendor_id = SIDRA_PCI_VENDOR_ID;
    pc->subsystem_id = SIDRA_PCI_DEVICE_ID;
    pc->class_id = SIDRA_PCI_CLASS >> 8;
    rc->phases.enter = sidra_reset_enter;
    rc->phases.hold = sidra_reset_hold;
    rc->phases.exit = sidra_reset_exit;
    dc->desc = "SIDRA memristor accelerator (model of Y1)";
    dc->vmsd = &sidra_vmstate;
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);
    device_class_set_props(dc, sidra_properties);
    object_class_property_add_enum(klass, "profile", "SidraProfile", &sidra_profiles, sidra_get_profile, sidra_set_profile);
    object_class_property_set_description(klass, "profile", "y1 (default) or small (for tests)");
    object_class_property_add_enum(klass, "engine", "SidraEngine", &sidra_engines, sidra_get_engine, sidra_set_engine);
    object_class_property_set_description(klass, "engine", "arithmetic: auto (default), scalar, avx2, avx-vnni, avx512, amx, neon");
    object_class_property_add_enum(klass, "level", "SidraLevel", &sidra_levels, sidra_get_level, sidra_set_level);
    object_class_property_set_description(klass, "level", "fast (default): exact integers; accurate: cells, wires, ADCs");
    sidra_knobs_class_init(klass);
}

static const TypeInfo sidra_info = {
    .name = TYPE_SIDRA,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(SidraState),
    .instance_init = sidra_init,
    .instance_finalize = sidra_finalize,
    .class_init = sidra_class_init,
    .interfaces = (InterfaceInfo[]){ { INTERFACE_PCIE_DEVICE }, {} },
};

static void sidra_register_types(void)
{
    type_register_static(&sidra_info);
}
type_init(sidra_register_types)
