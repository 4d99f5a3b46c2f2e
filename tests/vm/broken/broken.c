// SPDX-License-Identifier: GPL-2.0-only
/*
 * Goes wrong in the way that its parameter says, when it is loaded: the self-test of the VM harness has to notice each of them.
 */
#include <linux/bug.h>
#include <linux/completion.h>
#include <linux/irqflags.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

static char *how = "";
module_param(how, charp, 0);
MODULE_PARM_DESC(how, "warn, oops, overrun, wait (can be killed), stuck (cannot), spin (with interrupts off), leak, sleep (in a spinlock), or invert (two locks)");

static DEFINE_SPINLOCK(spin);
static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);

static noinline void take_both(struct mutex *one, struct mutex *other)
{
	mutex_lock(one);
	mutex_lock(other);
	mutex_unlock(other);
	mutex_unlock(one);
}

static int __init broken_init(void)
{
	DECLARE_COMPLETION_ONSTACK(never);

	if (!strcmp(how, "warn")) {
		WARN(1, "broken: as asked for\n");
	} else if (!strcmp(how, "oops")) {
		WRITE_ONCE(*(volatile int *)8, 1);
	} else if (!strcmp(how, "overrun")) {
		char *object = kmalloc(56, GFP_KERNEL);

		if (!object)
			return -ENOMEM;
		OPTIMIZER_HIDE_VAR(object);
		object[56] = 1;
		kfree(object);
	} else if (!strcmp(how, "wait")) {
		return wait_for_completion_killable(&never);
	} else if (!strcmp(how, "stuck")) {
		wait_for_completion(&never);
	} else if (!strcmp(how, "spin")) {
		local_irq_disable();
		for (;;)
			cpu_relax();
	} else if (!strcmp(how, "leak")) {
		int i;

		/* Several: to one of them a stray value on some stack may point. */
		for (i = 0; i < 16; i++)
			if (!kmalloc(56, GFP_KERNEL))
				return -ENOMEM;
	} else if (!strcmp(how, "sleep")) {
		spin_lock(&spin);
		might_sleep();
		spin_unlock(&spin);
	} else if (!strcmp(how, "invert")) {
		take_both(&first, &second);
		take_both(&second, &first);
	} else {
		return -EINVAL;
	}
	return 0;
}

static void __exit broken_exit(void)
{
}

module_init(broken_init);
module_exit(broken_exit);
MODULE_DESCRIPTION("Self-test of the VM harness");
MODULE_LICENSE("GPL");
