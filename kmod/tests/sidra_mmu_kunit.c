// SPDX-License-Identifier: GPL-2.0-only
/* KUnit test of addresses; included by sidra_mmu.c. */
#include <kunit/test.h>
#include <linux/scatterlist.h>

static void mmu_addresses_run_out(struct kunit *test)
{
	struct sidra_vm *vm = kunit_kzalloc(test, sizeof(*vm), GFP_KERNEL);
	u64 quarter = 1ull << (SIDRA_VA_BITS - 2), va;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, vm);
	KUNIT_ASSERT_EQ(test, sidra_range_init(&vm->addresses, SIDRA_VA_BEGIN, SIDRA_VA_END), 0);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, sidra_mmu_reserve(vm, quarter, 0, &va), 0);
	KUNIT_EXPECT_EQ_MSG(test, sidra_mmu_reserve(vm, quarter, 0, &va), -ENOSPC,
			    "as BUFFER_BIND documents");
	KUNIT_EXPECT_EQ(test, sidra_mmu_reserve(vm, SIDRA_PAGE_SIZE, 0, &va), 0);
	sidra_range_fini(&vm->addresses);
}

/* Nothing is mapped of a table that DMA mapped other than asked. */
static void mmu_wrong_tables_are_refused(struct kunit *test)
{
	struct sidra_vm *vm = kunit_kzalloc(test, sizeof(*vm), GFP_KERNEL);
	struct scatterlist sg = {};
	struct sg_table table = { .sgl = &sg, .nents = 1, .orig_nents = 1 };

	KUNIT_ASSERT_NOT_NULL(test, vm);
	sg_init_table(&sg, 1);
	sg_dma_len(&sg) = SIDRA_PAGE_SIZE;
	sg_dma_address(&sg) = 1;	/* in the middle of a page */
	KUNIT_EXPECT_EQ(test, sidra_mmu_map_sgt(vm, 0, &table, 0, SIDRA_PAGE_SIZE, 0), -EINVAL);
	sg_dma_address(&sg) = 1ull << 63;	/* where the chip has no address bits */
	KUNIT_EXPECT_EQ(test, sidra_mmu_map_sgt(vm, 0, &table, 0, SIDRA_PAGE_SIZE, 0), -EINVAL);
	sg_dma_address(&sg) = 0;	/* shorter than asked for */
	KUNIT_EXPECT_EQ(test, sidra_mmu_map_sgt(vm, 0, &table, SIDRA_PAGE_SIZE, SIDRA_PAGE_SIZE, 0),
			-EINVAL);
}

static struct kunit_case mmu_cases[] = {
	KUNIT_CASE(mmu_addresses_run_out),
	KUNIT_CASE(mmu_wrong_tables_are_refused),
	{}
};

static struct kunit_suite mmu_suite = {
	.name = "sidra_mmu",
	.test_cases = mmu_cases,
};

kunit_test_suite(mmu_suite);
