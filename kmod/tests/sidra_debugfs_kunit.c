// SPDX-License-Identifier: GPL-2.0-only
/* KUnit test of files of a device that is being unplugged; included by sidra_debugfs.c. */
#include "sidra_fake.h"

static void debugfs_reads_no_register_of_an_unplugged_device(struct kunit *test)
{
	struct sidra_device *sdev = &fake_device(test)->sdev;
	struct drm_debugfs_entry entry = { .dev = &sdev->drm };
	struct seq_file file = { .private = &entry };
	u64 reads = fake_reads(sdev);

	sdev->drm.unplugged = true;
	KUNIT_EXPECT_EQ(test, sidra_debugfs_regs_show(&file, NULL), -ENODEV);
	KUNIT_EXPECT_EQ(test, fake_reads(sdev), reads);
}

static struct kunit_case debugfs_cases[] = {
	KUNIT_CASE(debugfs_reads_no_register_of_an_unplugged_device),
	{}
};

static struct kunit_suite debugfs_suite = {
	.name = "sidra_debugfs",
	.test_cases = debugfs_cases,
};

kunit_test_suite(debugfs_suite);
