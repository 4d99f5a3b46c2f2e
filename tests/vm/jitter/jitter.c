// SPDX-License-Identifier: GPL-2.0-only
/*
 * Delays functions of the kernel at random, so that events come in orders that are rare otherwise.
 *
 * Each function whose name (MODULE:FUNCTION) is written to the parameter `function` is delayed at its entry, once in
 * `rarity` calls on average, by up to `longest` microseconds; short delays are as likely as long ones at each order of
 * magnitude. The CPU waits busily, in whatever context the function was called: it is what the other CPUs do meanwhile
 * that matters.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>

static unsigned int rarity = 50;
module_param(rarity, uint, 0600);
MODULE_PARM_DESC(rarity, "one call in so many is delayed");

static unsigned int longest = 40000;
module_param(longest, uint, 0600);
MODULE_PARM_DESC(longest, "microseconds of the longest delay");

#define ORDERS 12 /* powers of two between the longest delay and the shortest one */

static DEFINE_MUTEX(lock); /* probes, count */
static struct kprobe* probes[4096];
static unsigned int count;

static int delay_entry(struct kprobe* probe, struct pt_regs* regs) {
    unsigned int us;

    if (get_random_u32_below(max(rarity, 1u))) return 0;
    us = longest >> get_random_u32_below(ORDERS);
    mdelay(us / 1000);
    udelay(us % 1000);
    return 0;
}
NOKPROBE_SYMBOL(delay_entry);

static int add_function(const char* value, const struct kernel_param* param) {
    struct kprobe* probe;
    int ret = -ENOMEM;

    guard(mutex)(&lock);
    if (count == ARRAY_SIZE(probes)) return -ENOSPC;
    probe = kzalloc(sizeof(*probe), GFP_KERNEL);
    if (!probe) return -ENOMEM;
    probe->pre_handler = delay_entry;
    probe->symbol_name = kstrndup(value, strcspn(value, "\n"), GFP_KERNEL);
    if (probe->symbol_name) ret = register_kprobe(probe);
    if (ret) {
        kfree(probe->symbol_name);
        kfree(probe);
        return ret;
    }
    probes[count++] = probe;
    return 0;
}

static int count_functions(char* buffer, const struct kernel_param* param) { return sysfs_emit(buffer, "%u\n", count); }

static const struct kernel_param_ops function_ops = {.set = add_function, .get = count_functions};
module_param_cb(function, &function_ops, NULL, 0600);
MODULE_PARM_DESC(function, "write: one more function to delay; read: how many there are");

static int __init jitter_init(void) { return 0; }

static void __exit jitter_exit(void) {
    unsigned int i;

    unregister_kprobes(probes, count);
    for (i = 0; i < count; i++) {
        kfree(probes[i]->symbol_name);
        kfree(probes[i]);
    }
}

module_init(jitter_init);
module_exit(jitter_exit);
MODULE_DESCRIPTION("Random delays in chosen functions");
MODULE_LICENSE("GPL");
