// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of quiesce and recovery, with a thread that plays a faulty chip; included by
 * sidra_recovery.c.
 */
#include <linux/kthread.h>

#include "../sidra_call.h"
#include "../sidra_quiesce.h"
#include "sidra_fake.h"

#define SLOT		2
#define INNOCENT	3

enum answer { ACK, REFUSED, BUSY, SILENCE, ONES, ZEROS };
enum level { COMMAND, CONTEXT, DEVICE };

/*
 * The chip's answers to admin commands, and whether it becomes ready after a reset. The expected
 * result: what the driver has reset (@level), and whether it considers the link lost (@gone).
 */
struct scene {
	const char *name;
	u32 op;
	enum answer command, resume, context;
	bool never_ready;
	enum level level;
	bool gone;
};

struct chip {
	const struct scene *scene;
	struct sidra_fake *fake;
	struct sidra_ctx *ctx, *innocent;
	unsigned int resets;
	u32 ops[8];
	unsigned int op_count;
	bool dead;	/* it no longer answers */
};

static enum answer recovery_answer_to(const struct scene *scene, u32 op)
{
	if (op == SIDRA_ADMIN_RESET_CONTEXT)
		return scene->context;
	if (op == SIDRA_ADMIN_RESUME_QUEUE)
		return scene->resume;
	return op == SIDRA_ADMIN_RESUME_CONTEXT ? ACK : scene->command;
}

static void recovery_answer(struct chip *chip, void __iomem *regs, u32 command)
{
	const u32 tag = command & 0xffff0000;

	if (chip->dead)
		return;
	if (chip->op_count < ARRAY_SIZE(chip->ops))
		chip->ops[chip->op_count++] = command & 0xff;
	switch (recovery_answer_to(chip->scene, command & 0xff)) {
	case ACK:
		writel(tag | SIDRA_ADMIN_OK, regs + SIDRA_REG_ADMIN_STATUS);
		break;
	case REFUSED:
		writel(tag | SIDRA_ADMIN_BAD_ARG, regs + SIDRA_REG_ADMIN_STATUS);
		break;
	case BUSY:
		writel(0xabcd0000 | SIDRA_ADMIN_BUSY, regs + SIDRA_REG_ADMIN_STATUS);
		break;
	case SILENCE:
		writel(tag | SIDRA_ADMIN_BUSY, regs + SIDRA_REG_ADMIN_STATUS);
		break;
	case ONES:
		chip->dead = true;
		writel(~0u, regs + SIDRA_REG_ID);
		writel(~0u, regs + SIDRA_REG_STATUS);
		writel(~0u, regs + SIDRA_REG_ADMIN_STATUS);
		break;
	case ZEROS:
		chip->dead = true;
		writel(0, regs + SIDRA_REG_ID);
		writel(0, regs + SIDRA_REG_STATUS);
		writel(0, regs + SIDRA_REG_ADMIN_STATUS);
		break;
	}
}

static int recovery_chip_thread(void *data)
{
	struct chip *chip = data;
	void __iomem *regs = chip->fake->sdev.chip.regs;
	bool stop;

	/* What was written before the end is still seen. */
	do {
		u32 command;

		stop = kthread_should_stop();
		command = readl(regs + SIDRA_REG_ADMIN_CMD);
		if (command) {
			writel(0, regs + SIDRA_REG_ADMIN_CMD);
			recovery_answer(chip, regs, command);
		}
		if (readl(regs + SIDRA_REG_RESET) == SIDRA_RESET_MAGIC) {
			writel(0, regs + SIDRA_REG_RESET);
			chip->resets++;
		}
		usleep_range(20, 50);
	} while (!stop);
	return 0;
}

/*
 * Binds the chip's thread and the test to one CPU: if it is stalled, the driver's timeouts stall as
 * well as the answers. Afterwards both are due, and the chip comes first.
 */
static struct task_struct *recovery_start_chip(struct kunit *test, struct chip *chip)
{
	struct task_struct *thread = kthread_create(recovery_chip_thread, chip, "sidra-test");
	int cpu = raw_smp_processor_id();

	KUNIT_ASSERT_FALSE(test, IS_ERR(thread));
	/* The tests recover the device themselves; the contexts are freed before the device. */
	sidra_recovery_stop(&chip->fake->sdev);
	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(cpu)), 0);
	kthread_bind(thread, cpu);
	sched_set_fifo(thread);
	wake_up_process(thread);
	return thread;
}

static struct sidra_ctx *recovery_add_context(struct kunit *test, struct sidra_device *sdev,
					      u32 slot)
{
	struct sidra_ctx *ctx = kunit_kzalloc(test, sizeof(*ctx), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ctx);
	mutex_init(&ctx->lock);
	ctx->sdev = sdev;
	ctx->slot = slot;
	xa_init(&ctx->queues);
	sdev->ctxs[slot] = ctx;
	sdev->ctx_table[slot].flags = cpu_to_le32(SIDRA_HW_CONTEXT_VALID);
	return ctx;
}

static const struct scene scenes[] = {
	{ .name = "acknowledged", .op = SIDRA_ADMIN_QUIESCE_RANGE, .level = COMMAND },
	{ .name = "acknowledged with resume", .op = SIDRA_ADMIN_RESET_QUEUE, .level = COMMAND },
	{ .name = "resume refused",
	  .op = SIDRA_ADMIN_RESET_QUEUE,
	  .resume = REFUSED,
	  .level = CONTEXT },
	{ .name = "refused",
	  .op = SIDRA_ADMIN_QUIESCE_RANGE,
	  .command = REFUSED,
	  .level = CONTEXT },
	{ .name = "silence",
	  .op = SIDRA_ADMIN_QUIESCE_WEIGHTS,
	  .command = SILENCE,
	  .level = CONTEXT },
	{ .name = "busy", .op = SIDRA_ADMIN_QUIESCE_RANGE, .command = BUSY, .level = CONTEXT },
	{ .name = "busy throughout",
	  .op = SIDRA_ADMIN_QUIESCE_RANGE,
	  .command = SILENCE,
	  .context = BUSY,
	  .level = DEVICE },
	{ .name = "silence throughout",
	  .op = SIDRA_ADMIN_QUIESCE_RANGE,
	  .command = SILENCE,
	  .context = SILENCE,
	  .level = DEVICE },
	{ .name = "refused throughout",
	  .op = SIDRA_ADMIN_QUIESCE_RANGE,
	  .command = REFUSED,
	  .context = REFUSED,
	  .level = DEVICE },
	{ .name = "context refused",
	  .op = SIDRA_ADMIN_RESET_CONTEXT,
	  .context = REFUSED,
	  .level = DEVICE },
	{ .name = "all ones",
	  .op = SIDRA_ADMIN_QUIESCE_RANGE,
	  .command = ONES,
	  .level = DEVICE,
	  .gone = true },
	{ .name = "zeros",
	  .op = SIDRA_ADMIN_QUIESCE_RANGE,
	  .command = ZEROS,
	  .level = DEVICE,
	  .gone = true },
	{ .name = "ones at the reset",
	  .op = SIDRA_ADMIN_QUIESCE_RANGE,
	  .command = SILENCE,
	  .context = ONES,
	  .level = DEVICE,
	  .gone = true },
	{ .name = "never ready",
	  .op = SIDRA_ADMIN_QUIESCE_RANGE,
	  .command = SILENCE,
	  .context = SILENCE,
	  .never_ready = true,
	  .level = DEVICE,
	  .gone = true },
};

static void recovery_name_scene(const struct scene *scene, char *name)
{
	strscpy(name, scene->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(scene, scenes, recovery_name_scene);

static void recovery_ends_each_quiesce(struct kunit *test)
{
	struct chip *chip = kunit_kzalloc(test, sizeof(*chip), GFP_KERNEL);
	const struct scene *scene = test->param_value;
	struct sidra_device *sdev;
	struct task_struct *thread;

	KUNIT_ASSERT_NOT_NULL(test, chip);
	chip->scene = scene;
	chip->fake = fake_device(test);
	sdev = &chip->fake->sdev;
	chip->ctx = recovery_add_context(test, sdev, SLOT);
	chip->innocent = recovery_add_context(test, sdev, INNOCENT);
	if (scene->never_ready)
		writel(0, sdev->chip.regs + SIDRA_REG_STATUS);
	thread = recovery_start_chip(test, chip);

	scoped_guard(rwsem_write, &sdev->reset_lock) {
		int ret = sidra_quiesce(chip->ctx, scene->op, 0, 0);

		KUNIT_EXPECT_EQ(test, ret, scene->level == COMMAND ? 0 : -ESTALE);
		KUNIT_EXPECT_EQ_MSG(test, !!(chip->fake->command & PCI_COMMAND_MASTER),
				    scene->level != DEVICE,
				    "no DMA reaches memory that the caller is about to free");
		KUNIT_EXPECT_FALSE_MSG(test, chip->ctx->lost, "only the recovery does that");
		sidra_recover(sdev);
	}
	kthread_stop(thread);

	KUNIT_EXPECT_EQ(test, chip->ctx->lost, scene->level != COMMAND);
	KUNIT_EXPECT_EQ(test, chip->innocent->lost, scene->level == DEVICE);
	KUNIT_EXPECT_EQ(test, atomic64_read(&sdev->counters.device_resets), scene->level == DEVICE);
	KUNIT_EXPECT_EQ(test, sdev->link_gone, scene->gone);
	KUNIT_EXPECT_EQ_MSG(test, !!(chip->fake->command & PCI_COMMAND_MASTER), !scene->gone,
			    "bus mastering is on only if the chip has become ready");
	KUNIT_EXPECT_EQ(test, le32_to_cpu(sdev->ctx_table[SLOT].flags),
			scene->level == COMMAND ? SIDRA_HW_CONTEXT_VALID : 0);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(sdev->ctx_table[INNOCENT].flags),
			scene->level == DEVICE ? 0 : SIDRA_HW_CONTEXT_VALID);
	if (scene->op != SIDRA_ADMIN_RESET_CONTEXT)
		KUNIT_EXPECT_EQ(test, chip->ops[0], scene->op);
}

/* A command without a context: after a timeout the device is isolated, and then reset. */
static void recovery_follows_a_command_given_up(struct kunit *test)
{
	static const struct scene silent = { .command = SILENCE };
	struct chip *chip = kunit_kzalloc(test, sizeof(*chip), GFP_KERNEL);
	struct sidra_device *sdev;
	struct task_struct *thread;

	KUNIT_ASSERT_NOT_NULL(test, chip);
	chip->scene = &silent;
	chip->fake = fake_device(test);
	sdev = &chip->fake->sdev;
	thread = recovery_start_chip(test, chip);
	scoped_guard(rwsem_write, &sdev->reset_lock) {
		KUNIT_EXPECT_EQ(test, sidra_admin(sdev, SIDRA_ADMIN_L3_ZERO, 0, 0, 0), -EIO);
		KUNIT_EXPECT_TRUE(test, sdev->isolated);
		KUNIT_EXPECT_FALSE(test, chip->fake->command & PCI_COMMAND_MASTER);
		KUNIT_EXPECT_EQ_MSG(test, sidra_admin(sdev, SIDRA_ADMIN_L3_ZERO, 0, 0, 0), -EIO,
				    "no command reaches a device that is isolated");
		KUNIT_EXPECT_EQ(test, sidra_recover(sdev), 0);
	}
	kthread_stop(thread);
	KUNIT_EXPECT_TRUE(test, chip->fake->command & PCI_COMMAND_MASTER);
	KUNIT_EXPECT_EQ(test, chip->op_count, 1);
	KUNIT_EXPECT_EQ(test, chip->resets, 1);
	KUNIT_EXPECT_EQ(test, atomic64_read(&sdev->counters.device_resets), 1);
	KUNIT_EXPECT_FALSE(test, sdev->link_gone);
}

#define TIMEOUT_MS	200	/* of a command without an answer, in this suite */
#define LONG_TIMEOUT_MS	60000	/* no machine is that slow */

/* A chip that works still quiesces. Of another one nobody waits for more than isolation. */
static void recovery_is_left_to_a_removal(struct kunit *test)
{
	static const struct scene prompt = {}, silent = { .command = SILENCE };
	struct chip *chip = kunit_kzalloc(test, sizeof(*chip), GFP_KERNEL);
	unsigned long begin = jiffies;
	struct sidra_device *sdev;
	struct task_struct *thread;

	KUNIT_ASSERT_NOT_NULL(test, chip);
	chip->scene = &prompt;
	chip->fake = fake_device(test);
	sdev = &chip->fake->sdev;
	chip->ctx = recovery_add_context(test, sdev, SLOT);
	thread = recovery_start_chip(test, chip);
	sidra_admin_timeout_ms = LONG_TIMEOUT_MS;
	sidra_admin_hurry(sdev);
	scoped_guard(rwsem_write, &sdev->reset_lock) {
		KUNIT_EXPECT_EQ(test, sidra_quiesce(chip->ctx, SIDRA_ADMIN_QUIESCE_RANGE, 0, 0), 0);
		KUNIT_EXPECT_TRUE(test, chip->fake->command & PCI_COMMAND_MASTER);
		KUNIT_EXPECT_EQ_MSG(test, sidra_admin(sdev, SIDRA_ADMIN_L3_ZERO, 0, 0, 0), -ENODEV,
				    "no command begins after which nobody frees memory");
		WRITE_ONCE(chip->scene, &silent);
		KUNIT_EXPECT_EQ(test, sidra_quiesce(chip->ctx, SIDRA_ADMIN_QUIESCE_RANGE, 0, 0),
				-ESTALE);
		KUNIT_EXPECT_FALSE(test, chip->fake->command & PCI_COMMAND_MASTER);
		KUNIT_EXPECT_EQ_MSG(test, sidra_recover(sdev), -ENODEV, "the removal does more");
		KUNIT_EXPECT_FALSE(test, chip->ctx->lost);
	}
	KUNIT_EXPECT_EQ_MSG(test, sidra_probe_device(sdev), -ENODEV,
			    "no call waits for a recovery that does not come");
	kthread_stop(thread);
	sidra_admin_timeout_ms = TIMEOUT_MS;
	KUNIT_EXPECT_LT(test, jiffies - begin, msecs_to_jiffies(LONG_TIMEOUT_MS));
	KUNIT_EXPECT_EQ_MSG(test, chip->op_count, 2, "the context is not reset before the device");
	KUNIT_EXPECT_EQ(test, chip->resets, 1);
}

/* Removal has stopped the device for good, after this recovery was requested. */
static void recovery_leaves_a_stopped_chip_alone(struct kunit *test)
{
	struct sidra_fake *fake = fake_device(test);
	struct sidra_device *sdev = &fake->sdev;

	sdev->stopped = true;
	sdev->isolated = true;
	guard(rwsem_write)(&sdev->reset_lock);
	KUNIT_EXPECT_EQ(test, sidra_recover(sdev), -ENODEV);
	KUNIT_EXPECT_TRUE(test, sdev->isolated);
	KUNIT_EXPECT_EQ(test, fake_writes(sdev), 0);
}

/* Its watchdogs have failed jobs whose packets are still in the rings. */
static void recovery_after_an_isolated_suspend_loses_contexts(struct kunit *test)
{
	struct sidra_fake *fake = fake_device(test);
	struct sidra_device *sdev = &fake->sdev;
	struct sidra_ctx *ctx = recovery_add_context(test, sdev, SLOT);

	sidra_recovery_stop(sdev);
	sdev->stopped = true;
	sdev->isolated = true;
	scoped_guard(rwsem_write, &sdev->reset_lock)
		KUNIT_EXPECT_EQ(test, sidra_resume_device(sdev), 0);
	KUNIT_EXPECT_TRUE(test, ctx->lost);
	KUNIT_EXPECT_FALSE(test, sdev->isolated);
	KUNIT_EXPECT_FALSE(test, sdev->stopped);
}

static unsigned int usual_timeout_ms;

static int recovery_suite_init(struct kunit_suite *suite)
{
	usual_timeout_ms = sidra_admin_timeout_ms;
	sidra_admin_timeout_ms = TIMEOUT_MS;
	return 0;
}

static void recovery_suite_exit(struct kunit_suite *suite)
{
	sidra_admin_timeout_ms = usual_timeout_ms;
}

static struct kunit_case recovery_cases[] = {
	KUNIT_CASE_PARAM_ATTR(recovery_ends_each_quiesce, scene_gen_params,
			      { .speed = KUNIT_SPEED_SLOW }),
	KUNIT_CASE(recovery_follows_a_command_given_up),
	KUNIT_CASE(recovery_is_left_to_a_removal),
	KUNIT_CASE(recovery_leaves_a_stopped_chip_alone),
	KUNIT_CASE(recovery_after_an_isolated_suspend_loses_contexts),
	{}
};

static struct kunit_suite recovery_suite = {
	.name = "sidra_recovery",
	.suite_init = recovery_suite_init,
	.suite_exit = recovery_suite_exit,
	.test_cases = recovery_cases,
};

kunit_test_suite(recovery_suite);
