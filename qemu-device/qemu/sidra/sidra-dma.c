/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guest memory accesses of the chip. They use the bus master address space, so bus mastering and an IOMMU apply. Only
 * RAM is accessible, and RAM behind BARs, such as L3 of another card: accesses that need a bounce buffer or registers of
 * a device are refused. A mapping exists for at most one slice of work, or while what the slice has begun goes on
 * without it. QUIESCE, reset and a stop of the machine wait for both, so none is left afterwards.
 *
 * Called without the big lock, from executors and from threads of the chip's engine.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "system/dma.h"
#include "sidra.h"
#include "trace.h"

/*
 * Every thread that uses RCU must be registered. QEMU did not create the engine's threads and does not see them end, so
 * each thread registers itself at its first access, and thread-specific data unregisters it when it ends.
 */
static void sidra_rcu_leave(void *registered)
{
    rcu_unregister_thread();
}

static GPrivate sidra_rcu_registered = G_PRIVATE_INIT(sidra_rcu_leave);

static void sidra_rcu_enter(void)
{
    if (unlikely(!g_private_get(&sidra_rcu_registered)) && !bql_locked()) {
        rcu_register_thread();
        g_private_set(&sidra_rcu_registered, &sidra_rcu_registered);
    }
}

/* Returns a pointer to RAM at a bus address, with a reference to its region; NULL: the device may not access it. */
static void *sidra_translate(SidraState *s, uint64_t bus, hwaddr *length, bool write)
{
    AddressSpace *as = pci_get_address_space(PCI_DEVICE(s));
    const MemTxAttrs attrs = MEMTXATTRS_UNSPECIFIED;
    MemoryRegion *mr;
    hwaddr offset;

    RCU_READ_LOCK_GUARD();
    mr = address_space_translate(as, bus, &offset, length, write, attrs);
    if (*length == 0 || !memory_access_is_direct(mr, write, attrs)) {
        return NULL;
    }
    memory_region_ref(mr);
    return memory_region_get_ram_ptr(mr) + offset;
}

void *sidra_dma_map(void *self, uint64_t bus, uint64_t *length, bool write)
{
    SidraState *s = self;
    hwaddr some = *length;
    void *pointer = NULL;

    sidra_rcu_enter();
    if (some != 0 && bus + some - 1 >= bus) {
        if (s->translated) {
            /* A failed translation is reported to the guest by an interrupt, which requires the lock. */
            BQL_LOCK_GUARD();
            pointer = sidra_translate(s, bus, &some, write);
        } else {
            pointer = sidra_translate(s, bus, &some, write);
        }
    }
    if (!pointer) {
        trace_sidra_err_dma(sidra_name(s), bus, *length, write);
        qemu_log_mask(LOG_GUEST_ERROR, "sidra: %s of %" PRIu64 " bytes at bus address 0x%" PRIx64 " refused: the device has no "
                      "access to RAM there\n", write ? "write" : "read", *length, bus);
        return NULL;
    }
    *length = MIN(*length, some);
    trace_sidra_dma_map(sidra_name(s), bus, *length, write);
    return pointer;
}

static void sidra_unref_device(void *device)
{
    object_unref(OBJECT(device));
}

/*
 * A mapping may be the last reference to a device: another card that has been unplugged meanwhile. Freeing it requires
 * the big lock, so the main loop does that.
 */
void sidra_dma_unmap(void *self, void *pointer, uint64_t length, bool write)
{
    SidraState *s = self;
    ram_addr_t offset;
    DeviceState *device = memory_region_from_host(pointer, &offset)->dev;

    if (device == DEVICE(s)) {
        device = NULL; /* this card outlives its executors, and so its mappings of its own L3 */
    }
    if (device) {
        object_ref(OBJECT(device));
    }
    dma_memory_unmap(pci_get_address_space(PCI_DEVICE(s)), pointer, length,
                     write ? DMA_DIRECTION_FROM_DEVICE : DMA_DIRECTION_TO_DEVICE, length);
    if (device) {
        aio_bh_schedule_oneshot(qemu_get_aio_context(), sidra_unref_device, device);
    }
}

static uint64_t *sidra_map_word(SidraState *s, uint64_t bus, bool write)
{
    uint64_t length = sizeof(uint64_t);
    uint64_t *word;

    if (bus % sizeof(uint64_t)) {
        trace_sidra_err_dma(sidra_name(s), bus, length, write);
        return NULL;
    }
    word = sidra_dma_map(s, bus, &length, write);
    if (word && (length < sizeof(uint64_t) || (uintptr_t)word % sizeof(uint64_t))) {
        trace_sidra_err_dma(sidra_name(s), bus, length, write);
        sidra_dma_unmap(s, word, length, false);
        return NULL;
    }
    return word;
}

bool sidra_load64_acquire(void *self, uint64_t bus, uint64_t *value)
{
    uint64_t *word = sidra_map_word(self, bus, false);

    if (!word) {
        return false;
    }
    *value = le64_to_cpu(qatomic_load_acquire(word));
    sidra_dma_unmap(self, word, sizeof(*word), false);
    return true;
}

bool sidra_max64_release(void *self, uint64_t bus, uint64_t value)
{
    uint64_t *word = sidra_map_word(self, bus, true);
    uint64_t now;

    if (!word) {
        return false;
    }
    for (;;) {
        now = qatomic_read(word);
        if (le64_to_cpu(now) >= value || qatomic_cmpxchg(word, now, cpu_to_le64(value)) == now) {
            break;
        }
    }
    sidra_dma_unmap(self, word, sizeof(*word), true);
    return true;
}
