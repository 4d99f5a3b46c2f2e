/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The threads that run the chip (executors). They sleep until the chip kicks them, and then run it slice by slice
 * without the big lock.
 */
#include "qemu/osdep.h"
#include "qemu/lockable.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "exec/address-spaces.h"
#include "hw/core/cpu.h"
#include "sidra.h"
#include "trace.h"

/*
 * Waking a host CPU takes longer than most batches. So an executor that was idle for less than this time polls for work
 * the next time, for up to this time, before it sleeps. It yields while polling, because the virtual CPU that it has
 * just interrupted may need this host CPU.
 */
#define SIDRA_LINGER_NS 300000

/*
 * Callback of the chip; must not block. MMIO handlers call it, too; if the event is set already, it costs one atomic
 * read.
 */
void sidra_kick(void *self)
{
    SidraState *s = self;

    smp_mb(); /* pairs with sidra_linger(): the chip's stores must be visible before `lingering` is read */
    if (!qatomic_read(&s->lingering)) {
        qemu_event_set(&s->kicked);
    }
}

/* Polls for work. One executor at a time; the others may sleep. */
static void sidra_linger(SidraState *s, int64_t end)
{
    if (qatomic_cmpxchg(&s->lingering, false, true)) {
        return;
    }
    while (!qatomic_read(&s->hold) && !sidra_chip_pending(s->chip) && get_clock() < end) {
        g_thread_yield();
    }
    /* Later work kicks an executor; the caller checks once more for earlier work. */
    qatomic_set_mb(&s->lingering, false);
    if (s->threads_count > 1 && sidra_chip_pending(s->chip)) {
        qemu_event_set(&s->kicked); /* nobody was woken meanwhile, but there may be work for several executors */
    }
}

static void sidra_due(void *opaque)
{
    SidraState *s = opaque;

    qemu_mutex_lock(&s->lock);
    s->due = INT64_MAX;
    qemu_mutex_unlock(&s->lock);
    qemu_event_set(&s->kicked);
}

/*
 * While an executor runs the management core, the others read "never". They have set that before the executor itself
 * reads when the core is due next, or read the same: under the lock.
 */
static void sidra_set_due(SidraState *s)
{
    QEMU_LOCK_GUARD(&s->lock);
    int64_t due = MIN(sidra_chip_due_ns(s->chip), INT64_MAX);

    if (due == s->due) {
        return;
    }
    s->due = due;
    if (due == INT64_MAX) {
        timer_del(s->due_timer);
    } else {
        timer_mod(s->due_timer, due);
    }
}

/* Runs the chip until there is no work or a hold is requested. */
static void sidra_run(SidraState *s)
{
    qemu_mutex_lock(&s->lock);
    if (s->hold) {
        qemu_mutex_unlock(&s->lock);
        return;
    }
    s->running++;
    qemu_mutex_unlock(&s->lock);

    while (!qatomic_read(&s->hold) && sidra_chip_run(s->chip)) {
    }

    qemu_mutex_lock(&s->lock);
    if (--s->running == 0) {
        qemu_cond_broadcast(&s->stopped);
    }
    qemu_mutex_unlock(&s->lock);
}

static void *sidra_executor(void *opaque)
{
    SidraState *s = opaque;
    bool linger = false;

    for (;;) {
        int64_t idle;

        /* sidra_run() sees earlier kicks; a later kick ends the wait. */
        qemu_event_reset(&s->kicked);
        sidra_run(s);
        sidra_set_due(s);
        if (qatomic_read(&s->hold) & SIDRA_HOLD_EXIT) {
            break;
        }
        idle = get_clock();
        if (linger) {
            sidra_linger(s, idle + SIDRA_LINGER_NS);
        }
        if (qatomic_read(&s->hold) || !sidra_chip_pending(s->chip)) {
            qemu_event_wait(&s->kicked);
        }
        linger = get_clock() - idle < SIDRA_LINGER_NS;
    }
    qemu_event_set(&s->kicked); /* another executor may need the kick that this one has consumed */
    return NULL;
}

void sidra_hold_begin(SidraState *s, unsigned reason)
{
    g_assert(bql_locked());
    qemu_mutex_lock(&s->lock);
    qatomic_set(&s->hold, s->hold | reason);
    qemu_mutex_unlock(&s->lock);
    trace_sidra_hold(sidra_name(s), s->hold);
}

/*
 * What works for the chip behind an IOMMU takes the big lock to translate an address (sidra-dma.c). So a thread that
 * waits for it releases the big lock meanwhile, as pause_all_vcpus() does. Other threads may then reset other devices or
 * unplug this one. A virtual CPU must not do this in the middle of an access: until the access ends, QEMU refuses all
 * other accesses to the device that it goes through (the host bridge, for configuration space), so other CPUs would
 * read all ones.
 */
bool sidra_may_wait(SidraState *s)
{
    return !s->translated || !current_cpu;
}

void sidra_hold_wait(SidraState *s)
{
    g_assert(bql_locked());
    object_ref(OBJECT(s));
    qemu_mutex_lock(&s->lock);
    /* First for executors: during a hold they begin nothing more that goes on without them. */
    while (s->running || sidra_chip_in_flight(s->chip)) {
        const bool translated = s->translated;

        if (translated) {
            bql_unlock();
        }
        if (s->running) {
            qemu_cond_wait(&s->stopped, &s->lock);
            qemu_mutex_unlock(&s->lock);
        } else {
            qemu_mutex_unlock(&s->lock);
            sidra_chip_settle(s->chip);
        }
        if (translated) {
            bql_lock();
        }
        qemu_mutex_lock(&s->lock);
    }
    qemu_mutex_unlock(&s->lock);
    object_unref(OBJECT(s));
}

void sidra_hold(SidraState *s, unsigned reason)
{
    sidra_hold_begin(s, reason);
    sidra_hold_wait(s);
}

void sidra_release(SidraState *s, unsigned reason)
{
    PCIDevice *pci = PCI_DEVICE(s);

    g_assert(bql_locked());
    qemu_mutex_lock(&s->lock);
    if (s->hold == reason) {
        s->translated = pci_device_iommu_address_space(pci) != &address_space_memory;
    }
    qatomic_set(&s->hold, s->hold & ~reason);
    qemu_mutex_unlock(&s->lock);
    trace_sidra_release(sidra_name(s), s->hold);
    qemu_event_set(&s->kicked);
}

static void sidra_vm_state_change(void *opaque, bool running, RunState state)
{
    SidraState *s = opaque;

    if (running) {
        /* After a load: interrupts that the source machine had not delivered. All devices are loaded now. */
        if (qatomic_read(&s->msix_pending)) {
            qemu_bh_schedule(s->msix_bh);
        }
        sidra_release(s, SIDRA_HOLD_VM);
    } else {
        sidra_hold(s, SIDRA_HOLD_VM);
        sidra_chip_sync(s->chip); /* also called when the machine ends */
    }
}

void sidra_executors_init(SidraState *s)
{
    qemu_mutex_init(&s->lock);
    qemu_cond_init(&s->stopped);
    qemu_event_init(&s->kicked, false);
}

/* Called in finalize: when the device is unplugged, a thread in sidra_hold_wait() may still use these. */
void sidra_executors_finalize(SidraState *s)
{
    qemu_event_destroy(&s->kicked);
    qemu_cond_destroy(&s->stopped);
    qemu_mutex_destroy(&s->lock);
}

void sidra_executors_prepare(SidraState *s)
{
    s->due_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, sidra_due, s);
    s->due = INT64_MAX;
    s->hold = SIDRA_HOLD_VM;
}

void sidra_executors_start(SidraState *s)
{
    s->threads = g_new0(QemuThread, s->executors);
    for (; s->threads_count < s->executors; s->threads_count++) {
        g_autofree char *name = g_strdup_printf("sidra-%u", s->threads_count);

        qemu_thread_create(&s->threads[s->threads_count], name, sidra_executor, s, QEMU_THREAD_JOINABLE);
    }
    s->vm_state = qdev_add_vm_change_state_handler(DEVICE(s), sidra_vm_state_change, s);
    if (runstate_is_running()) {
        sidra_release(s, SIDRA_HOLD_VM);
    }
}

void sidra_executors_exit(SidraState *s)
{
    if (s->vm_state) {
        qemu_del_vm_change_state_handler(s->vm_state);
        s->vm_state = NULL;
    }
    sidra_hold(s, SIDRA_HOLD_EXIT);
    qemu_event_set(&s->kicked);
    for (uint32_t i = 0; i < s->threads_count; i++) {
        qemu_thread_join(&s->threads[i]);
    }
    s->threads_count = 0;
    g_clear_pointer(&s->threads, g_free);
    g_clear_pointer(&s->due_timer, timer_free);
}
