// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit test of what probe reads of the chip, on registers in plain memory; included by
 * sidra_chip.c.
 */
#include "sidra_fake.h"

static void chip_of_another_kind_is_refused(struct kunit *test)
{
	struct sidra_device *sdev = &fake_device(test)->sdev;

	writel(SIDRA_ID_MAGIC + 1, sdev->chip.regs + SIDRA_REG_ID);
	KUNIT_EXPECT_EQ(test, sidra_chip_init(sdev), -ENODEV);
	writel(SIDRA_ID_MAGIC, sdev->chip.regs + SIDRA_REG_ID);
	writel((SIDRA_HW_VERSION_MAJOR + 1) << 16, sdev->chip.regs + SIDRA_REG_HW_VERSION);
	KUNIT_EXPECT_EQ(test, sidra_chip_init(sdev), -EPROTO);
	/* Of this version, but without crossbars */
	writel(SIDRA_HW_VERSION_MAJOR << 16, sdev->chip.regs + SIDRA_REG_HW_VERSION);
	KUNIT_EXPECT_EQ(test, sidra_chip_init(sdev), -EPROTO);
}

static struct kunit_case chip_cases[] = {
	KUNIT_CASE(chip_of_another_kind_is_refused),
	{}
};

static struct kunit_suite chip_suite = {
	.name = "sidra_chip",
	.test_cases = chip_cases,
};

kunit_test_suite(chip_suite);
