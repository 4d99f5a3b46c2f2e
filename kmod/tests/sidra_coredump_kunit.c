// SPDX-License-Identifier: GPL-2.0-only
/* KUnit test of a dump while another call ends a queue; included by sidra_coredump.c. */
#include "sidra_fake.h"

/* Ring and index of such a queue are gone, or will be before the next dump. */
static void coredump_leaves_out_a_queue_that_ends(struct kunit *test)
{
	struct sidra_device *sdev = &fake_device(test)->sdev;
	struct sidra_queue *queue = kunit_kzalloc(test, sizeof(*queue), GFP_KERNEL);
	struct sidra_ctx *ctx = kunit_kzalloc(test, sizeof(*ctx), GFP_KERNEL);
	char *memory = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	struct sidra_queue_state *state = kunit_kzalloc(test, sizeof(*state), GFP_KERNEL);
	__le64 *index = kunit_kzalloc(test, sizeof(*index), GFP_KERNEL);
	struct seq_buf text;

	KUNIT_ASSERT_TRUE(test, queue && ctx && memory && state && index);
	kref_init(&queue->ref);
	queue->sdev = sdev;
	queue->kind = SIDRA_QUEUE_KERNEL;
	queue->timeline.state = state;
	xa_init(&ctx->queues);
	KUNIT_ASSERT_EQ(test, xa_err(xa_store(&ctx->queues, 0, queue, GFP_KERNEL)), 0);

	queue->index = index;
	seq_buf_init(&text, memory, PAGE_SIZE);
	sidra_coredump_put_context(&text, ctx);
	KUNIT_EXPECT_NOT_NULL(test, strstr(seq_buf_str(&text), "queue.0.0"));

	queue->destroyed = true;
	queue->index = NULL;
	seq_buf_clear(&text);
	sidra_coredump_put_context(&text, ctx);
	KUNIT_EXPECT_NOT_NULL(test, strstr(seq_buf_str(&text), "context.0"));
	KUNIT_EXPECT_NULL(test, strstr(seq_buf_str(&text), "queue.0.0"));
	KUNIT_EXPECT_EQ(test, kref_read(&queue->ref), 1);
	xa_destroy(&ctx->queues);
}

static struct kunit_case coredump_cases[] = {
	KUNIT_CASE(coredump_leaves_out_a_queue_that_ends),
	{}
};

static struct kunit_suite coredump_suite = {
	.name = "sidra_coredump",
	.test_cases = coredump_cases,
};

kunit_test_suite(coredump_suite);
