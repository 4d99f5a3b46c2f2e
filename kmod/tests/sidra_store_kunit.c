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
	sdev->removing = true;
	KUNIT_EXPECT_EQ(test, sidra_store_headers(sdev, &header), -ENODEV);
	sdev->removing = false;
	sdev->stopped = true;
	KUNIT_EXPECT_EQ(test, sidra_store_headers(sdev, &header), -ENODEV);
	KUNIT_EXPECT_EQ_MSG(test, fake_writes(sdev), writes, "no command was given");
}

/* The store of a card with one crossbar, which goes away. */
static struct sidra_store *store_fake(struct kunit *test, struct sidra_device *sdev)
{
	struct sidra_store *store = &sdev->store;

	mutex_init(&store->cells_lock);
	mutex_init(&store->lock);
	INIT_LIST_HEAD(&store->objects);
	sdev->chip.bounce = kunit_kzalloc(test, SIDRA_BOUNCE_SIZE, GFP_KERNEL);
	store->nvm.entries = kunit_kcalloc(test, SIDRA_NVM_ENTRIES, sizeof(*store->nvm.entries),
					   GFP_KERNEL);
	store->unerased = kunit_kzalloc(test, 1, GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, sdev->chip.bounce && store->nvm.entries && store->unerased);
	store->xbars.total = 1;
	store->xbars.per_unit = 1;
	sdev->stopped = true;
	return store;
}

static void store_load_fails_without_a_chip(struct kunit *test)
{
	struct sidra_device *sdev = &fake_device(test)->sdev;
	struct sidra_store *store = store_fake(test, sdev);

	store->nvm.next_uid = 2;	/* so there may be objects */
	guard(rwsem_read)(&sdev->reset_lock);
	KUNIT_EXPECT_EQ(test, sidra_store_load(sdev), -ENODEV);
	/* Nor can cells be erased, which stay marked. */
	sidra_store_mark_unerased(store, 0);
	KUNIT_EXPECT_EQ(test, sidra_store_erase_marked(sdev, true), -ENODEV);
	KUNIT_EXPECT_EQ(test, store->unerased_count, 1);
	KUNIT_EXPECT_EQ(test, store->unerased[0], 1);
}

/* A start that fails after the first of two names, so nobody is charged for the second. */
static void store_that_was_half_read_ends(struct kunit *test)
{
	struct sidra_device *sdev = &fake_device(test)->sdev;
	struct sidra_store *store = &sdev->store;
	struct sidra_nvm_entry *entries = kvcalloc(SIDRA_NVM_ENTRIES, sizeof(*entries), GFP_KERNEL);
	struct sidra_user *user;

	KUNIT_ASSERT_NOT_NULL(test, entries);
	mutex_init(&store->lock);
	INIT_LIST_HEAD(&store->objects);
	sidra_limits_init(&sdev->limits);
	store->nvm.entries = entries;
	/* More tiles than the card has crossbars, so that there are names without objects. */
	entries[0] = (struct sidra_nvm_entry){ .uid = cpu_to_le64(1), .owner = cpu_to_le32(1000),
					       .tile_count = cpu_to_le32(1),
					       .data_size = cpu_to_le64(1) };
	entries[1] = (struct sidra_nvm_entry){ .uid = cpu_to_le64(2), .owner = cpu_to_le32(1001),
					       .tile_count = cpu_to_le32(1),
					       .data_size = cpu_to_le64(1) };
	KUNIT_EXPECT_EQ(test, sidra_store_load_entry(sdev, &entries[0]), 0);
	store->charged = 1;
	user = sidra_user_find_charged(sdev, 1000);
	KUNIT_ASSERT_NOT_NULL(test, user);
	KUNIT_EXPECT_EQ(test, user->held[SIDRA_RESOURCE_NAMES], 1);
	KUNIT_EXPECT_EQ(test, user->held[SIDRA_RESOURCE_DATA], sidra_nvm_extent(1));
	sidra_store_fini(sdev);
	KUNIT_EXPECT_TRUE_MSG(test, list_empty(&sdev->limits.users), "each charge was undone once");
	KUNIT_EXPECT_NULL(test, store->nvm.entries);
}

/* There is no list of crossbars for the chip, so the driver does not read it. */
static void store_object_ends_without_a_chip(struct kunit *test)
{
	struct sidra_device *sdev = &fake_device(test)->sdev;
	struct sidra_store *store = store_fake(test, sdev);
	struct sidra_object *object = kzalloc(sizeof(*object), GFP_KERNEL);
	u32 *xbars = kzalloc(sizeof(*xbars), GFP_KERNEL);

	KUNIT_ASSERT_TRUE(test, object && xbars);
	*object = (struct sidra_object){ .uid = 1, .rows = 1, .cols = 1, .tile_count = 1,
					 .xbars = xbars, .handles = 1, .descriptors = 1 };
	list_add_tail(&object->link, &store->objects);
	guard(rwsem_read)(&sdev->reset_lock);
	sidra_store_put_handle(sdev, object);
	KUNIT_EXPECT_FALSE(test, list_empty(&store->objects));
	sidra_store_put_descriptor(sdev, object);
	KUNIT_EXPECT_TRUE(test, list_empty(&store->objects));
	KUNIT_EXPECT_EQ_MSG(test, store->unerased_count, 1,
			    "nobody said that its cells are empty");
}

static struct kunit_case store_cases[] = {
	KUNIT_CASE(store_headers_of_a_stopped_chip_are_refused),
	KUNIT_CASE(store_load_fails_without_a_chip),
	KUNIT_CASE(store_that_was_half_read_ends),
	KUNIT_CASE(store_object_ends_without_a_chip),
	{}
};

static struct kunit_suite store_suite = {
	.name = "sidra_store",
	.test_cases = store_cases,
};

kunit_test_suite(store_suite);
