// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of what weights need of a chip that is not there; included by sidra_store.c. */
#include "sidra_fake.h"

static void store_headers_of_a_stopped_chip_are_refused(struct kunit *test)
{
	struct sidra_device *sdev = &fake_device(test)->sdev;
	struct sidra_hw_xbar header;
	u64 writes = fake_writes(sdev);

	sdev->chip.info = (struct sidra_info){ .clusters = 1, .cus_per_cluster = 1,
					       .xbars_per_cu = 1 };
	sdev->held = true;
	KUNIT_EXPECT_EQ_MSG(test, sidra_store_headers(sdev, &header), -EAGAIN,
			    "the reader tries again after the suspend");
	sdev->held = false;
	sdev->link_gone = true;
	KUNIT_EXPECT_EQ(test, sidra_store_headers(sdev, &header), -ENODEV);
	sdev->link_gone = false;
	sdev->stopped = true;
	KUNIT_EXPECT_EQ(test, sidra_store_headers(sdev, &header), -ENODEV);
	KUNIT_EXPECT_EQ_MSG(test, fake_writes(sdev), writes, "no command was given");
}

/* A card that goes away while its cells are read at probe. */
static void store_load_fails_without_a_chip(struct kunit *test)
{
	struct sidra_device *sdev = &fake_device(test)->sdev;
	struct sidra_store *store = &sdev->store;

	mutex_init(&store->lock);
	INIT_LIST_HEAD(&store->objects);
	sdev->chip.bounce = kunit_kzalloc(test, SIDRA_BOUNCE_SIZE, GFP_KERNEL);
	store->nvm.entries = kunit_kcalloc(test, SIDRA_NVM_ENTRIES, sizeof(*store->nvm.entries),
					   GFP_KERNEL);
	store->unerased = kunit_kzalloc(test, 1, GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, sdev->chip.bounce && store->nvm.entries && store->unerased);
	store->nvm.next_uid = 2;	/* so there may be objects */
	store->xbars.total = 1;
	store->xbars.per_unit = 1;
	sdev->stopped = true;
	guard(rwsem_read)(&sdev->reset_lock);
	KUNIT_EXPECT_EQ(test, sidra_store_load(sdev), -ENODEV);
	/* Nor can cells be erased, which stay marked. */
	sidra_store_mark_unerased(store, 0);
	KUNIT_EXPECT_EQ(test, sidra_store_erase_marked(sdev, true), -ENODEV);
	KUNIT_EXPECT_EQ(test, store->unerased_count, 1);
	KUNIT_EXPECT_EQ(test, store->unerased[0], 1);
}

static struct kunit_case store_cases[] = {
	KUNIT_CASE(store_headers_of_a_stopped_chip_are_refused),
	KUNIT_CASE(store_load_fails_without_a_chip),
	{}
};

static struct kunit_suite store_suite = {
	.name = "sidra_store",
	.test_cases = store_cases,
};

kunit_test_suite(store_suite);
