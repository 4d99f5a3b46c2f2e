// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of the telemetry page, in plain memory; included by sidra_telemetry.c. */
#include "sidra_fake.h"

static void telemetry_of_another_format_is_refused(struct kunit *test)
{
	static const struct sidra_telemetry pages[] = {
		{ .magic = cpu_to_le32(~SIDRA_TELEMETRY_MAGIC),
		  .version = cpu_to_le16(SIDRA_TELEMETRY_VERSION),
		  .size = cpu_to_le16(sizeof(pages[0])) },
		{ .magic = cpu_to_le32(SIDRA_TELEMETRY_MAGIC),
		  .version = cpu_to_le16(SIDRA_TELEMETRY_VERSION + 1),
		  .size = cpu_to_le16(sizeof(pages[0])) },
		{ .magic = cpu_to_le32(SIDRA_TELEMETRY_MAGIC),
		  .version = cpu_to_le16(SIDRA_TELEMETRY_VERSION),
		  .size = cpu_to_le16(sizeof(pages[0]) - 8) },
	};
	struct sidra_device *sdev = &fake_device(test)->sdev;
	struct sidra_telemetry page;
	unsigned int i;

	mutex_init(&sdev->telemetry.lock);
	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		memcpy_toio(sdev->chip.regs + SIDRA_BAR_TELEMETRY, &pages[i], sizeof(pages[i]));
		KUNIT_EXPECT_EQ(test, sidra_telemetry_read(sdev, &page), -ENODEV);
		sidra_telemetry_renew(sdev);
		KUNIT_EXPECT_EQ(test, sidra_telemetry_show(sdev, &page, false), -ENODEV);
	}
}

/* What a later chip adds is not read. */
static void telemetry_may_be_longer(struct kunit *test)
{
	struct sidra_telemetry full = {
		.magic = cpu_to_le32(SIDRA_TELEMETRY_MAGIC),
		.version = cpu_to_le16(SIDRA_TELEMETRY_VERSION),
	};
	struct sidra_device *sdev = &fake_device(test)->sdev;
	struct sidra_telemetry page;

	mutex_init(&sdev->telemetry.lock);
	full.engine_ns[0] = cpu_to_le64(7);
	full.size = cpu_to_le16(sizeof(full) + 8);
	memcpy_toio(sdev->chip.regs + SIDRA_BAR_TELEMETRY, &full, sizeof(full));
	KUNIT_EXPECT_EQ(test, sidra_telemetry_read(sdev, &page), 0);
	KUNIT_EXPECT_EQ(test, le16_to_cpu(page.size), sizeof(page));
	KUNIT_EXPECT_EQ(test, le64_to_cpu(page.engine_ns[0]), 7);
}

/* Readers of attributes may meet the end of remove(). */
static void telemetry_of_an_unplugged_device_is_refused(struct kunit *test)
{
	struct sidra_device *sdev = &fake_device(test)->sdev;
	struct sidra_telemetry page;
	u64 reads = fake_reads(sdev);
	u32 generation;

	mutex_init(&sdev->telemetry.lock);
	sdev->drm.unplugged = true;
	KUNIT_EXPECT_EQ(test, sidra_telemetry_read(sdev, &page), -ENODEV);
	KUNIT_EXPECT_EQ(test, sidra_telemetry_show(sdev, &page, true), -ENODEV);
	KUNIT_EXPECT_EQ(test, sidra_generation_read(sdev, &generation), -ENODEV);
	KUNIT_EXPECT_EQ_MSG(test, fake_reads(sdev), reads, "registers may be gone");
}

static struct kunit_case telemetry_cases[] = {
	KUNIT_CASE(telemetry_of_another_format_is_refused),
	KUNIT_CASE(telemetry_may_be_longer),
	KUNIT_CASE(telemetry_of_an_unplugged_device_is_refused),
	{}
};

static struct kunit_suite telemetry_suite = {
	.name = "sidra_telemetry",
	.test_cases = telemetry_cases,
};

kunit_test_suite(telemetry_suite);
