// SPDX-License-Identifier: GPL-2.0-only
#include <linux/devcoredump.h>
#include <linux/seq_buf.h>
#include <linux/utsname.h>
#include <linux/vmalloc.h>

#include <sidra_reg.h>

#include "sidra_chip.h"
#include "sidra_coredump.h"
#include "sidra_ctx.h"
#include "sidra_device.h"
#include "sidra_queue.h"

/* Raised when the meaning of a line changes, not when a line is added */
#define FORMAT		1
#define TEXT_MAX	(128u << 10)
#define PACKETS_MAX	8u

static void sidra_coredump_put_fault(struct seq_buf *text, const struct sidra_fault *fault)
{
	seq_buf_printf(text,
		       " fault=%u fault_clock_ns=%llu fault_sequence=%llu fault_address=%#llx\n",
		       le16_to_cpu(fault->cause), le64_to_cpu(fault->clock_ns),
		       le64_to_cpu(fault->sequence), le64_to_cpu(fault->address));
}

/*
 * A user's ring is written by its owner: the index may have any value, and only opcodes are
 * printed.
 */
static void sidra_coredump_put_packets(struct seq_buf *text, struct sidra_queue *queue, u64 retired,
				       u64 index)
{
	u64 mask = sidra_queue_capacity(queue) - 1, at;

	for (at = retired; at != index && at - retired < min_t(u64, PACKETS_MAX, mask + 1); at++) {
		u64 offset = (at & mask) * SIDRA_CMD_SIZE;
		const union sidra_cmd *packet;

		seq_buf_printf(text, "packet.%u.%u.%llu:", queue->slot, queue->number, at);
		if (queue->kind == SIDRA_QUEUE_KERNEL) {
			packet = &queue->ring[at & mask];
			seq_buf_printf(text, " opcode=%u raw=%*phN\n", packet->hdr.opcode,
				       SIDRA_CMD_SIZE, packet);
		} else {
			packet = page_address(queue->pages[offset >> PAGE_SHIFT]) +
				offset_in_page(offset);
			seq_buf_printf(text, " opcode=%u\n", READ_ONCE(packet->hdr.opcode));
		}
	}
}

static void sidra_coredump_put_queue(struct seq_buf *text, struct sidra_queue *queue)
{
	const struct sidra_queue_state *state = queue->timeline.state;
	u64 retired = sidra_timeline_value(&queue->timeline),
	    index = le64_to_cpu(READ_ONCE(*sidra_queue_index(queue)));

	seq_buf_printf(text,
		       "queue.%u.%u: kind=%u log2=%u priority=%u state=%u timeline=%llu index=%llu progress=%llu parked=%u",
		       queue->slot, queue->number, queue->kind, queue->ring_log2, queue->priority,
		       sidra_timeline_run_state(&queue->timeline), retired, index,
		       le64_to_cpu(READ_ONCE(state->progress)),
		       le32_to_cpu(READ_ONCE(state->parked)));
	sidra_coredump_put_fault(text, &state->fault);
	sidra_coredump_put_packets(text, queue, retired, index);
}

static void sidra_coredump_put_context(struct seq_buf *text, struct sidra_ctx *ctx)
{
	struct sidra_queue *queue;
	unsigned long number;

	seq_buf_printf(text, "context.%u: lost=%u generation=%u", ctx->slot, ctx->lost,
		       ctx->generation);
	sidra_coredump_put_fault(text, &ctx->fault);
	xa_for_each(&ctx->queues, number, queue) {
		struct sidra_queue *held __free(sidra_queue) = sidra_queue_find(ctx, number);

		/* Who destroys it takes the lock of the dump before its memory goes */
		if (held && !smp_load_acquire(&held->destroyed))
			sidra_coredump_put_queue(text, held);
	}
}

static void sidra_coredump_put_registers(struct seq_buf *text, struct sidra_device *sdev)
{
#define REG(name, bytes, access)	{ #name, SIDRA_REG_##name, bytes, access },
	enum { NONE = 0, R = 1, W = 2, RW = R | W };
	static const struct {
		const char *name;
		u32 offset;
		u8 width, access;
	} regs[] = { SIDRA_REGISTERS(REG) };
#undef REG
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(regs); i++)
		if (regs[i].access & R)
			seq_buf_printf(text, "register.%s: %#llx\n", regs[i].name,
				       regs[i].width == 8 ? sidra_read64(sdev, regs[i].offset) :
							    sidra_read32(sdev, regs[i].offset));
}

static void sidra_coredump_put_all(struct seq_buf *text, struct sidra_device *sdev)
{
	const struct sidra_info *info = &sdev->chip.info;
	bool answers = !sdev->stopped && sidra_chip_answers(sdev);
	u32 slot;

	seq_buf_printf(text, "kernel: %s\ndriver: %u.%u\nuapi: %u.%u\n", init_utsname()->release,
		       SIDRA_DRIVER_VERSION >> 16, SIDRA_DRIVER_VERSION & 0xffff,
		       SIDRA_UAPI_VERSION_MAJOR, SIDRA_UAPI_VERSION_MINOR);
	seq_buf_printf(text,
		       "card: %s\nuuid: %pUb\nhardware: %u.%u\ncrossbars: %u\nfeatures: %#llx\n",
		       pci_name(sdev->pdev), info->uuid, info->hw_version >> 16,
		       info->hw_version & 0xffff, sidra_xbars_of(info), info->features);
	seq_buf_printf(text, "monotonic_ns: %llu\nresets: %lld\nlink: %s\nstopped: %u\n",
		       ktime_get_ns(), atomic64_read(&sdev->counters.device_resets),
		       answers ? "up" : "lost", sdev->stopped);
	seq_buf_printf(text, "admin: op=%u tag=%u\n", sdev->chip.admin_op, sdev->chip.admin_tag);
	if (answers)
		sidra_coredump_put_registers(text, sdev);
	for (slot = 0; slot < SIDRA_CONTEXTS_MAX; slot++) {
		struct sidra_ctx *ctx __free(sidra_ctx) = sidra_ctx_at(sdev, slot);

		if (ctx)
			sidra_coredump_put_context(text, ctx);
	}
}

void sidra_coredump(struct sidra_device *sdev, const char *cause, const char *format, ...)
{
	struct sidra_coredump *dump = &sdev->coredump;
	struct seq_buf text;
	va_list args;

	lockdep_assert_held(&sdev->reset_lock);
	guard(mutex)(&dump->lock);
	if (!IS_ENABLED(CONFIG_DEV_COREDUMP) || dump->length)
		return;
	if (dump->text) {
		seq_buf_init(&text, dump->text, TEXT_MAX);
		va_start(args, format);
		seq_buf_printf(&text, "sidra-coredump: %u\ncause: %s\nsubject: %pV\n", FORMAT,
			       cause, &(struct va_format){ .fmt = format, .va = &args });
		va_end(args);
		sidra_coredump_put_all(&text, sdev);
		dump->length = seq_buf_used(&text);
	}
	queue_work(sdev->wq, &dump->work);
}

static void sidra_coredump_hand_over(struct work_struct *work)
{
	struct sidra_device *sdev = container_of(work, struct sidra_device, coredump.work);
	struct sidra_coredump *dump = &sdev->coredump;
	char *text = NULL;
	size_t length;

	/* Not before who took it has done what it tells of, if that is a reset */
	scoped_guard(rwsem_read, &sdev->reset_lock) {
		guard(mutex)(&dump->lock);
		length = dump->length;
		if (length)
			swap(text, dump->text);
	}
	if (text)
		/* Takes ownership of the memory */
		dev_coredumpv(&sdev->pdev->dev, text, length, GFP_KERNEL);
	text = __vmalloc(TEXT_MAX, GFP_KERNEL | __GFP_NOWARN);
	scoped_guard(mutex, &dump->lock) {
		if (length)
			dump->length = 0;
		if (!dump->text)
			swap(text, dump->text);
	}
	vfree(text);
}

void sidra_coredump_init(struct sidra_device *sdev)
{
	INIT_WORK(&sdev->coredump.work, sidra_coredump_hand_over);
	if (IS_ENABLED(CONFIG_DEV_COREDUMP))
		queue_work(sdev->wq, &sdev->coredump.work);
}

void sidra_coredump_fini(struct sidra_device *sdev)
{
	cancel_work_sync(&sdev->coredump.work);
	dev_coredump_put(&sdev->pdev->dev);
	vfree(sdev->coredump.text);
}

#if IS_BUILTIN(CONFIG_KUNIT)
#include "tests/sidra_coredump_kunit.c"
#endif
