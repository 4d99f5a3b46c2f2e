// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of what other drivers and other cards are refused; included by sidra_peer.c. */
#include "sidra_fake.h"

struct peer_bench {
	struct sidra_device *sdev;
	struct sidra_bo bo;
	struct dma_buf dma_buf;
	struct dma_buf_attachment attach;
};

static struct peer_bench *peer_bench(struct kunit *test)
{
	struct peer_bench *bench = kunit_kzalloc(test, sizeof(*bench), GFP_KERNEL);
	struct drm_gem_object *obj;

	KUNIT_ASSERT_NOT_NULL(test, bench);
	bench->sdev = &fake_device(test)->sdev;
	obj = &bench->bo.base.base;
	obj->dev = &bench->sdev->drm;
	obj->size = SIDRA_PAGE_SIZE;
	dma_resv_init(&obj->_resv);
	obj->resv = &obj->_resv;
	bench->dma_buf.priv = obj;
	bench->attach.dmabuf = &bench->dma_buf;
	bench->attach.importer_ops = &sidra_peer_importer_ops;
	return bench;
}

static void peer_attaches_only_what_can_be_revoked(struct kunit *test)
{
	static const struct dma_buf_attach_ops other_driver = {};
	struct peer_bench *bench = peer_bench(test);

	bench->attach.importer_ops = &other_driver;
	KUNIT_EXPECT_EQ(test, sidra_peer_attach(&bench->dma_buf, &bench->attach), -EOPNOTSUPP);
	bench->attach.importer_ops = NULL;
	KUNIT_EXPECT_EQ(test, sidra_peer_attach(&bench->dma_buf, &bench->attach), -EOPNOTSUPP);
	bench->attach.importer_ops = &sidra_peer_importer_ops;
	bench->sdev->drm.unplugged = true;
	KUNIT_EXPECT_EQ(test, sidra_peer_attach(&bench->dma_buf, &bench->attach), -ENODEV);
}

/* An importer that has attached may still be about to map when the card goes away. */
static void peer_maps_nothing_of_a_card_that_is_removed(struct kunit *test)
{
	struct peer_bench *bench = peer_bench(test);
	struct drm_gem_object *obj = &bench->bo.base.base;
	struct sg_table *sgt;

	dma_resv_lock(obj->resv, NULL);
	bench->bo.revoked = true;
	sgt = sidra_peer_map(&bench->attach, DMA_BIDIRECTIONAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(sgt), -ENODEV);
	/* A scatter list cannot have more */
	bench->bo.revoked = false;
	obj->size = (size_t)UINT_MAX + 1;
	sgt = sidra_peer_map(&bench->attach, DMA_BIDIRECTIONAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(sgt), -E2BIG);
	dma_resv_unlock(obj->resv);
	KUNIT_EXPECT_EQ(test, atomic_read(&bench->sdev->peers.mapped), 0);
	dma_resv_fini(obj->resv);
}

static void peer_exports_nothing_of_a_card_that_is_removed(struct kunit *test)
{
	struct peer_bench *bench = peer_bench(test);
	struct sidra_peers *peers = &bench->sdev->peers;
	static const struct file_operations fops = {};
	static const struct drm_driver driver = { .fops = &fops };
	struct dma_buf *exported;

	bench->sdev->drm.driver = &driver;
	mutex_init(&peers->lock);
	INIT_LIST_HEAD(&peers->exports);
	init_waitqueue_head(&peers->unmapped);
	sidra_peers_revoke(bench->sdev);
	exported = sidra_peer_export(&bench->bo.base.base, 0);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(exported), -ENODEV);
}

static struct kunit_case peer_cases[] = {
	KUNIT_CASE(peer_attaches_only_what_can_be_revoked),
	KUNIT_CASE(peer_maps_nothing_of_a_card_that_is_removed),
	KUNIT_CASE(peer_exports_nothing_of_a_card_that_is_removed),
	{}
};

static struct kunit_suite peer_suite = {
	.name = "sidra_peer",
	.test_cases = peer_cases,
};

kunit_test_suite(peer_suite);
