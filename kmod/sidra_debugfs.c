// SPDX-License-Identifier: GPL-2.0-only
/* Files in DRM's debugfs directory of the device (docs/abi/debugfs-sidra). */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include <drm/drm_debugfs.h>
#include <drm/drm_file.h>

#include <sidra_reg.h>

#include "sidra_admin.h"
#include "sidra_call.h"
#include "sidra_chip.h"
#include "sidra_ctx.h"
#include "sidra_debugfs.h"
#include "sidra_device.h"
#include "sidra_mutex.h"
#include "sidra_queue.h"

enum { NONE = 0, R = 1, W = 2, RW = R | W };

static const struct reg {
	const char *name;
	u32 offset;
	u8 width;
	u8 access;
} regs[] = {
#define REG(name, bytes, access)	{ #name, SIDRA_REG_##name, bytes, access },
	SIDRA_REGISTERS(REG)
#undef REG
};

static int sidra_debugfs_regs_show(struct seq_file *m, void *unused)
{
	struct drm_debugfs_entry *entry = m->private;
	struct sidra_device *sdev = to_sidra(entry->dev);
	unsigned int i;
	int idx;

	if (!drm_dev_enter(&sdev->drm, &idx))
		return -ENODEV;
	for (i = 0; i < ARRAY_SIZE(regs); i++) {
		u64 value;

		if (!(regs[i].access & R))
			continue;
		value = regs[i].width == 8 ? sidra_read64(sdev, regs[i].offset) :
					     sidra_read32(sdev, regs[i].offset);
		seq_printf(m, "%-20s %#06x %s %#llx\n", regs[i].name, regs[i].offset,
			   regs[i].access & W ? "rw" : "r-", value);
	}
	drm_dev_exit(idx);
	return 0;
}

static void sidra_debugfs_show_counter(struct seq_file *m, const char *name,
				       const atomic64_t *counter)
{
	seq_printf(m, "%s %lld\n", name, atomic64_read(counter));
}

static int sidra_debugfs_counters_show(struct seq_file *m, void *unused)
{
	struct drm_debugfs_entry *entry = m->private;
	struct sidra_counters *counters = &to_sidra(entry->dev)->counters;

	static_branch_enable(&sidra_counting);
	sidra_debugfs_show_counter(m, "mmio_writes", &counters->mmio_writes);
	sidra_debugfs_show_counter(m, "mmio_reads", &counters->mmio_reads);
	sidra_debugfs_show_counter(m, "interrupts", &counters->interrupts);
	sidra_debugfs_show_counter(m, "ioctls", &counters->ioctls);
	sidra_debugfs_show_counter(m, "pins", &counters->pins);
	sidra_debugfs_show_counter(m, "submits", &counters->submits);
	sidra_debugfs_show_counter(m, "submit_allocations", &counters->submit_allocations);
	sidra_debugfs_show_counter(m, "device_resets", &counters->device_resets);
	sidra_debugfs_show_counter(m, "rechecks", &counters->rechecks);
	return 0;
}

/* Makes the chip copy one half of a page to the other half. */
static int sidra_debugfs_test_dma_show(struct seq_file *m, void *unused)
{
	struct drm_debugfs_entry *entry = m->private;
	struct sidra_device *sdev = to_sidra(entry->dev);
	const unsigned int size = 4096;
	unsigned int i;
	u8 *from, *to;
	int ret;

	CLASS(sidra_call, call)(sdev, &sdev->chip.admin_lock);
	if (call.error)
		return call.error;
	from = sdev->chip.bounce;
	to = from + size;
	for (i = 0; i < size; i++) {
		from[i] = i * 7 + (i >> 8);
		to[i] = 0;
	}
	ret = sidra_admin_locked(sdev, SIDRA_ADMIN_TEST_DMA, sdev->chip.bounce_bus,
				 sdev->chip.bounce_bus + size, size);
	if (ret)
		seq_printf(m, "the chip refused to copy %u bytes (%d)\n", size, ret);
	else if (memcmp(from, to, size))
		seq_printf(m, "the copy of %u bytes differs\n", size);
	else
		seq_puts(m, "ok\n");
	return 0;
}

/* Shows each context under sidra_ctx.lock. */
static int sidra_debugfs_show_contexts(struct seq_file *m,
				       int (*show)(struct seq_file *m, struct sidra_ctx *ctx))
{
	struct drm_debugfs_entry *entry = m->private;
	struct sidra_device *sdev = to_sidra(entry->dev);
	u32 slot;
	int ret;

	/* On overflow seq_file calls again with a larger buffer */
	for (slot = 0; slot < SIDRA_CONTEXTS_MAX && !seq_has_overflowed(m); slot++) {
		struct sidra_ctx *ctx __free(sidra_ctx) = sidra_ctx_at(sdev, slot);

		if (!ctx)
			continue;
		CLASS(sidra_lock, locked)(sdev, &ctx->lock);
		if (locked.error)
			return locked.error;
		ret = ctx->dead ? 0 : show(m, ctx);
		if (ret)
			return ret;
	}
	return 0;
}

static int sidra_debugfs_show_context(struct seq_file *m, struct sidra_ctx *ctx)
{
	unsigned int queues = 0, weights = 0;
	unsigned long index;
	void *entry;

	xa_for_each(&ctx->queues, index, entry)
		queues++;
	xa_for_each(&ctx->weights, index, entry)
		weights++;
	CLASS(sidra_mutex, held)(&ctx->vm->lock);
	if (held.error)
		return held.error;
	seq_printf(m,
		   "context=%u handle=%u generation=%u state=%s fault=%u queues=%u weights=%u buffers=%u tables=%llu\n",
		   ctx->slot, ctx->handle, ctx->generation, ctx->lost ? "lost" : "ok",
		   le16_to_cpu(ctx->fault.cause), queues, weights, ctx->vm->binding_count,
		   ctx->vm->ptab.tables);
	return 0;
}

static int sidra_debugfs_contexts_show(struct seq_file *m, void *unused)
{
	return sidra_debugfs_show_contexts(m, sidra_debugfs_show_context);
}

static int sidra_debugfs_show_queues(struct seq_file *m, struct sidra_ctx *ctx)
{
	struct sidra_queue *queue;
	unsigned long number;

	xa_for_each(&ctx->queues, number, queue)
		seq_printf(m,
			   "context=%u queue=%u kind=%s priority=%u ring=%llu state=%u parked=%u timeline=%llu index=%llu vector=%u armed=%llu fault=%u\n",
			   queue->slot, queue->number,
			   queue->kind == SIDRA_QUEUE_KERNEL ? "kernel" : "user", queue->priority,
			   sidra_queue_capacity(queue), sidra_timeline_run_state(&queue->timeline),
			   le32_to_cpu(READ_ONCE(queue->timeline.state->parked)),
			   sidra_timeline_value(&queue->timeline),
			   le64_to_cpu(READ_ONCE(*sidra_queue_index(queue))),
			   queue->timeline.vector->number, READ_ONCE(queue->timeline.programmed),
			   le16_to_cpu(queue->timeline.state->fault.cause));
	return 0;
}

static int sidra_debugfs_queues_show(struct seq_file *m, void *unused)
{
	return sidra_debugfs_show_contexts(m, sidra_debugfs_show_queues);
}

static void sidra_debugfs_show_run(void *to, const struct sidra_ptab_run *run)
{
	seq_printf(to, "  %#011llx..%#011llx %s %#llx r%c\n", run->va, run->va + run->size - 1,
		   run->flags & SIDRA_PTE_LOCAL ? "l3 " : "bus", run->bus,
		   run->flags & SIDRA_PTE_WRITE ? 'w' : '-');
}

static int sidra_debugfs_show_page_tables(struct seq_file *m, struct sidra_ctx *ctx)
{
	seq_printf(m, "context %u\n", ctx->slot);
	CLASS(sidra_mutex, held)(&ctx->vm->lock);
	if (held.error)
		return held.error;
	/* A CONTEXT_CREATE that failed leaves a context without one */
	if (!ctx->vm->dead)
		sidra_ptab_runs(&ctx->vm->ptab, sidra_debugfs_show_run, m);
	return 0;
}

static int sidra_debugfs_page_tables_show(struct seq_file *m, void *unused)
{
	return sidra_debugfs_show_contexts(m, sidra_debugfs_show_page_tables);
}

/* Waits like a reader of firmware_log: without a lock, for one second at most. */
static int sidra_debugfs_log_show(struct seq_file *m, void *unused)
{
	struct drm_debugfs_entry *entry = m->private;
	ssize_t bytes;
	char *to;

	if (seq_get_buf(m, &to) < SIDRA_MAILBOX_PAYLOAD) {
		seq_commit(m, -1);	/* on overflow seq_file calls again with a larger buffer */
		return 0;
	}
	bytes = sidra_manage_log(to_sidra(entry->dev), to, 0, SIDRA_MAILBOX_PAYLOAD);
	if (bytes < 0)
		return bytes;
	seq_commit(m, bytes);
	return 0;
}

static const struct drm_debugfs_info files[] = {
	{ "regs", sidra_debugfs_regs_show },
	{ "counters", sidra_debugfs_counters_show },
	{ "test_dma", sidra_debugfs_test_dma_show },
	{ "contexts", sidra_debugfs_contexts_show },
	{ "queues", sidra_debugfs_queues_show },
	{ "page_tables", sidra_debugfs_page_tables_show },
};

/* "NAME VALUE" */
static ssize_t sidra_debugfs_reg_write(struct file *filp, const char __user *from, size_t count,
				       loff_t *pos)
{
	struct sidra_device *sdev = filp->private_data;
	char text[64], *name = text, *value;
	unsigned int i;
	u32 number;
	int idx;

	if (count >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, count))
		return -EFAULT;
	text[count] = '\0';
	name = strim(text);
	value = strchr(name, ' ');
	if (!value)
		return -EINVAL;
	*value++ = '\0';
	if (kstrtou32(strim(value), 0, &number))
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(regs) && strcmp(regs[i].name, name); i++)
		;
	if (i == ARRAY_SIZE(regs))
		return -ENOENT;
	if (!(regs[i].access & W))
		return -EACCES;
	if (!drm_dev_enter(&sdev->drm, &idx))
		return -ENODEV;
	sidra_write32(sdev, regs[i].offset, number);
	drm_dev_exit(idx);
	return count;
}

static const struct file_operations reg_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = sidra_debugfs_reg_write,
	.llseek = noop_llseek,
};

void sidra_debugfs_init(struct sidra_device *sdev)
{
	drm_debugfs_add_files(&sdev->drm, files, ARRAY_SIZE(files));
	if (sdev->mailbox.memory)
		drm_debugfs_add_file(&sdev->drm, "log", sidra_debugfs_log_show, NULL);
}

void sidra_debugfs_begin(struct sidra_device *sdev)
{
	debugfs_create_file("reg", 0200, sdev->drm.debugfs_root, sdev, &reg_fops);
}

#if IS_BUILTIN(CONFIG_KUNIT)
#include "tests/sidra_debugfs_kunit.c"
#endif
