/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SIDRA accelerator: PCI front end of the chip model. The model (chip/, behind sidra_chip.h) does the work; the files
 * here provide memory, interrupts, time and threads, and present it on PCI. docs/device.md describes the device.
 *
 *   sidra-pci.c       BARs, capabilities, reset, properties
 *   sidra-executor.c  the threads that run the chip, and how they are held
 *   sidra-dma.c       guest memory
 *   sidra-msix.c      interrupts
 *   sidra-knobs.c     fault knobs
 *   sidra-vmstate.c   migration, snapshots
 *   sidra-precopy.c   cells, which cross before the machine stops
 *
 * Locks. MMIO, configuration space, reset and VM state hold the big lock. Executors run without it; `lock` protects
 * their number and their timer. A thread that waits for them, or for what they have begun, holds nothing that these
 * may wait for (sidra_hold).
 */
#ifndef HW_MISC_SIDRA_H
#define HW_MISC_SIDRA_H

#include "hw/pci/pci_device.h"
#include "qemu/notify.h"
#include "qemu/thread.h"
#include "system/runstate.h"
#include "qom/object.h"
#include "sidra_chip.h"
#include "sidra_hw.h"

#define TYPE_SIDRA "sidra"
OBJECT_DECLARE_SIMPLE_TYPE(SidraState, SIDRA)

#define SIDRA_EXECUTORS_MAX 16

/* Reasons to hold executors; each is sufficient. */
enum {
    SIDRA_HOLD_VM = 1 << 0,     /* the machine is stopped */
    SIDRA_HOLD_RESET = 1 << 1,
    SIDRA_HOLD_POWER = 1 << 2,  /* not in D0 */
    SIDRA_HOLD_EXIT = 1 << 3,   /* final: the threads exit */
    SIDRA_HOLD_KNOB = 1 << 4,   /* a fault knob changes */
};

struct SidraState {
    PCIDevice parent_obj;

    sidra_chip *chip;
    MemoryRegion bar0;          /* container: registers below, MSI-X table and PBA above */
    MemoryRegion registers;
    MemoryRegion l3;
    MemoryRegion lost_bar[2];   /* cover both BARs while the link is lost */
    bool pristine;              /* no access since the device was powered on */
    Notifier end;               /* at the end of QEMU, which does not unplug devices */

    /* Properties. */
    int32_t profile;
    int32_t engine;
    int32_t level;
    uint32_t stuck_ppm;
    uint32_t workers;
    uint32_t executors;
    uint64_t seed;
    char *state_file;
    char *gdb;
    char *trace_file;

    /* sidra-executor.c */
    QemuThread *threads;
    uint32_t threads_count;
    QemuEvent kicked;
    QEMUTimer *due_timer;       /* kicks an executor when the chip is due */
    int64_t due;                /* of the timer; INT64_MAX: it is not set */
    bool lingering;             /* atomic; an executor polls for work */
    QemuMutex lock;             /* protects running, due and the timer */
    QemuCond stopped;           /* signalled when running becomes 0 */
    unsigned running;
    unsigned hold;              /* SIDRA_HOLD_*; written under the big lock and `lock` */
    VMChangeStateEntry *vm_state;
    bool translated;            /* behind an IOMMU; changes only during a hold */

    /* sidra-msix.c */
    QEMUBH *msix_bh;
    uint32_t msix_pending;      /* atomic; one bit per vector */

    /* sidra-knobs.c */
    uint64_t knob[SIDRA_KNOB_COUNT];
    uint32_t knobs_set;         /* one bit per knob */
    bool link_lost;

    /* sidra-precopy.c */
    char *cells;                /* their name in a migration's stream */
    bool saving;                /* from the setup of a migration's cells until their cleanup */
    NotifierWithReturn migration_end;   /* of a card that is unplugged while saving */
};

/* Name of the device in trace events and messages. */
static inline const char *sidra_name(SidraState *s)
{
    return DEVICE(s)->id ?: TYPE_SIDRA;
}

/* Called with the big lock held. */
void sidra_executors_init(SidraState *s);   /* with the object */
void sidra_executors_finalize(SidraState *s);
void sidra_executors_prepare(SidraState *s);    /* with the device */
void sidra_executors_start(SidraState *s);
void sidra_executors_exit(SidraState *s);   /* after sidra_executors_prepare(), started or not */
/* Until sidra_release(), executors begin no slice. Never releases the big lock. */
void sidra_hold_begin(SidraState *s, unsigned reason);
/*
 * Returns when no executor accesses chip or guest memory, and nothing that executors have begun goes on without them
 * (sidra_chip_settle()). May release the big lock: not for the enter phase of a reset.
 */
void sidra_hold_wait(SidraState *s);
bool sidra_may_wait(SidraState *s);         /* false for a CPU in an access that would release the big lock */
void sidra_hold(SidraState *s, unsigned reason);    /* begins and waits */
void sidra_release(SidraState *s, unsigned reason);

/* Any thread. */
void sidra_kick(void *self);
void sidra_msix(void *self, unsigned vector);
void *sidra_dma_map(void *self, uint64_t bus, uint64_t *length, bool write);
void sidra_dma_unmap(void *self, void *pointer, uint64_t length, bool write);
bool sidra_load64_acquire(void *self, uint64_t bus, uint64_t *value);
bool sidra_max64_release(void *self, uint64_t bus, uint64_t value);

bool sidra_msix_init(SidraState *s, Error **errp);
void sidra_msix_deliver(void *opaque);      /* the bottom half */
void sidra_msix_clear(SidraState *s);
void sidra_msix_exit(SidraState *s);

void sidra_power_update(SidraState *s);     /* after the power state may have changed */
void sidra_link_set(SidraState *s, bool lost); /* executors are held */
extern const VMStateDescription sidra_vmstate;
bool sidra_stream_write(void *opaque, const void *data, size_t size);   /* of a QEMUFile, for the chip */
bool sidra_stream_read(void *opaque, void *data, size_t size);
void sidra_precopy_init(SidraState *s);     /* with the device */
void sidra_precopy_exit(SidraState *s);

void sidra_knobs_class_init(ObjectClass *klass);
bool sidra_knobs_apply(SidraState *s, Error **errp);

/* Warnings are errors in these files, independent of the rest of the build. */
#pragma GCC diagnostic error "-Wall"
#pragma GCC diagnostic error "-Wextra"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#endif
