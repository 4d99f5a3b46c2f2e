// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of buffers of a device that is being unplugged; included by sidra_bo.c. */
#include "sidra_fake.h"

/* Nothing may be mapped for a device after sidra_bo_unmap_all(). */
static void bo_maps_nothing_for_an_unplugged_device(struct kunit *test)
{
	struct sidra_device *sdev = &fake_device(test)->sdev;
	struct sidra_bo *bo = kunit_kzalloc(test, sizeof(*bo), GFP_KERNEL);
	struct drm_gem_object *imported;
	struct sg_table sgt = {};

	KUNIT_ASSERT_NOT_NULL(test, bo);
	sdev->drm.unplugged = true;
	KUNIT_EXPECT_EQ(test, sidra_bo_map_pages(sdev, bo, &sgt), -ENODEV);
	KUNIT_EXPECT_NULL(test, bo->sgt);
	imported = sidra_bo_prime_import(&sdev->drm, NULL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(imported), -ENODEV);
}

/* An import that was detached has neither an exporter nor pages. */
static void bo_without_pages_is_not_mapped(struct kunit *test)
{
	struct vm_area_struct *vma = kunit_kzalloc(test, sizeof(*vma), GFP_KERNEL);
	struct sidra_bo *bo = kunit_kzalloc(test, sizeof(*bo), GFP_KERNEL);

	KUNIT_ASSERT_TRUE(test, vma && bo);
	KUNIT_EXPECT_EQ(test, host_funcs.mmap(&bo->base.base, vma), -EINVAL);
}

/* Its mapping is about to be undone, and nobody looks for its bindings any more. */
static void bo_that_was_revoked_is_not_bound(struct kunit *test)
{
	struct sidra_vm *vm = kunit_kzalloc(test, sizeof(*vm), GFP_KERNEL);
	struct sidra_bo *bo = kunit_kzalloc(test, sizeof(*bo), GFP_KERNEL);
	struct sg_table sgt = {};
	u64 address;

	KUNIT_ASSERT_TRUE(test, vm && bo);
	mutex_init(&vm->lock);
	vm->binding_count = SIDRA_BINDINGS_MAX;
	bo->kind = SIDRA_BO_PEER;
	bo->sgt = &sgt;
	guard(mutex)(&vm->lock);
	KUNIT_EXPECT_EQ(test, sidra_bo_bind(vm, bo, 1, SIDRA_PTE_READ, 0, &address), -ENOSPC);
	bo->revoked = true;
	KUNIT_EXPECT_EQ(test, sidra_bo_bind(vm, bo, 1, SIDRA_PTE_READ, 0, &address), -ENODEV);
}

static struct kunit_case bo_cases[] = {
	KUNIT_CASE(bo_maps_nothing_for_an_unplugged_device),
	KUNIT_CASE(bo_without_pages_is_not_mapped),
	KUNIT_CASE(bo_that_was_revoked_is_not_bound),
	{}
};

static struct kunit_suite bo_suite = {
	.name = "sidra_bo",
	.test_cases = bo_cases,
};

kunit_test_suite(bo_suite);
