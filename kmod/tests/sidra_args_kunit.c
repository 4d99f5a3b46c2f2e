// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of structs of a caller that lack fields; included by sidra_args.c. */
#include <kunit/test.h>
#include <linux/mman.h>

#define NEW_SIZE	24u	/* of a struct that had FIRST_SIZE bytes once */
#define FIRST_SIZE	16u

/* Not inlined, so that the sweep of refused memory knows it by its name. */
static noinline u64 args_user_page(struct kunit *test)
{
	unsigned long page = kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
					   MAP_ANONYMOUS | MAP_PRIVATE, 0);

	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(page) || !page);
	KUNIT_ASSERT_EQ(test, clear_user((void __user *)page, PAGE_SIZE), 0);
	return page;
}

static void args_that_a_caller_lacks_are_zero(struct kunit *test)
{
	u64 page = args_user_page(test), ones[NEW_SIZE / sizeof(u64)] = { 1, 2, 3 };
	u64 got[ARRAY_SIZE(ones)];

	KUNIT_ASSERT_EQ(test, sidra_args_write(page, sizeof(ones), ones, sizeof(ones)), 0);
	KUNIT_EXPECT_EQ(test, sidra_args_read(got, NEW_SIZE, page, FIRST_SIZE), 0);
	KUNIT_EXPECT_EQ(test, got[1], 2);
	KUNIT_EXPECT_EQ(test, got[2], 0);

	ones[1] = 4;
	ones[2] = 5;
	KUNIT_EXPECT_EQ(test, sidra_args_write(page, FIRST_SIZE, ones, NEW_SIZE), 0);
	KUNIT_EXPECT_EQ(test, sidra_args_read(got, NEW_SIZE, page, NEW_SIZE), 0);
	KUNIT_EXPECT_EQ(test, got[1], 4);
	KUNIT_EXPECT_EQ_MSG(test, got[2], 3, "behind the caller's struct");
}

static void args_of_arrays_may_be_smaller_too(struct kunit *test)
{
	u64 page = args_user_page(test), old[4] = { 1, 2, 3, 4 };
	u64 got[2][NEW_SIZE / sizeof(u64)];

	KUNIT_EXPECT_EQ(test, sidra_args_stride(FIRST_SIZE - 8, FIRST_SIZE), -EINVAL);
	KUNIT_ASSERT_EQ(test, sidra_args_stride(FIRST_SIZE, FIRST_SIZE), 0);
	KUNIT_ASSERT_EQ(test, sidra_args_write(page, sizeof(old), old, sizeof(old)), 0);
	KUNIT_EXPECT_EQ(test, sidra_args_read_array(got, NEW_SIZE, page, 2, FIRST_SIZE), 0);
	KUNIT_EXPECT_EQ(test, got[0][1], 2);
	KUNIT_EXPECT_EQ(test, got[0][2], 0);
	KUNIT_EXPECT_EQ(test, got[1][0], 3);
	KUNIT_EXPECT_EQ(test, got[1][2], 0);

	got[1][0] = 7;
	got[1][2] = 9;
	KUNIT_EXPECT_EQ(test, sidra_args_write_array(page, 2, FIRST_SIZE, got, NEW_SIZE), 0);
	KUNIT_EXPECT_EQ(test, sidra_args_read(got, NEW_SIZE, page + FIRST_SIZE, NEW_SIZE), 0);
	KUNIT_EXPECT_EQ(test, got[0][0], 7);
	KUNIT_EXPECT_EQ_MSG(test, got[0][2], 0, "behind the second element");
}

static struct kunit_case args_cases[] = {
	KUNIT_CASE(args_that_a_caller_lacks_are_zero),
	KUNIT_CASE(args_of_arrays_may_be_smaller_too),
	{}
};

static struct kunit_suite args_suite = {
	.name = "sidra_args",
	.test_cases = args_cases,
};

kunit_test_suite(args_suite);
