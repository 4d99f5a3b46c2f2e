// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/moduleparam.h>
#include <linux/pci-p2pdma.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <drm/drm_gem.h>
#include <drm/drm_managed.h>
#include <drm/drm_prime.h>

#include "sidra_bo.h"
#include "sidra_compat.h"
#include "sidra_device.h"
#include "sidra_dma.h"
#include "sidra_l3.h"
#include "sidra_peer.h"

static bool trust_peer_path;
module_param(trust_peer_path, bool, 0644);
MODULE_PARM_DESC(trust_peer_path,
		 "cards may access each other's L3 where the kernel knows no way between them");

/* ---- Exporter ---- */

/*
 * Whether the other card reaches BAR2. A kernel without CONFIG_PCI_P2PDMA never knows that, others
 * know it of common switches and of some root complexes.
 */
static bool sidra_peer_reaches(struct sidra_device *sdev, struct device *other)
{
	return READ_ONCE(trust_peer_path) || pci_p2pdma_distance(sdev->pdev, other, false) >= 0;
}

/* Only cards of this driver: they drop their bindings when the buffer is revoked. */
static int sidra_peer_attach(struct dma_buf *dma_buf, struct dma_buf_attachment *attach)
{
	struct drm_gem_object *obj = dma_buf->priv;
	struct sidra_device *sdev = to_sidra(obj->dev);
	int ret, idx;

	if (attach->importer_ops != &sidra_peer_importer_ops)
		return -EOPNOTSUPP;
	if (!drm_dev_enter(&sdev->drm, &idx))
		return -ENODEV;
	ret = sidra_peer_reaches(sdev, attach->dev) ? 0 : -EOPNOTSUPP;
	drm_dev_exit(idx);
	return ret;
}

/* L3 never moves. */
static int sidra_peer_pin(struct dma_buf_attachment *attach)
{
	return 0;
}

static void sidra_peer_unpin(struct dma_buf_attachment *attach)
{
}

static struct sg_table *sidra_peer_map(struct dma_buf_attachment *attach,
				       enum dma_data_direction direction)
{
	struct drm_gem_object *obj = attach->dmabuf->priv;
	struct sidra_device *sdev = to_sidra(obj->dev);
	struct sidra_bo *bo = to_sidra_bo(obj);
	struct sg_table *sgt;
	dma_addr_t bus;
	int ret;

	dma_resv_assert_held(obj->resv);
	if (bo->revoked)
		return ERR_PTR(-ENODEV);
	if (obj->size > UINT_MAX)
		return ERR_PTR(-E2BIG);
	sgt = kzalloc(sizeof(*sgt), GFP_KERNEL);
	if (!sgt)
		return ERR_PTR(-ENOMEM);
	ret = sg_alloc_table(sgt, 1, GFP_KERNEL);
	if (ret)
		goto err_free;
	bus = dma_map_resource(attach->dev, sdev->l3.base + bo->part->offset, obj->size, direction,
			       SIDRA_DMA_ATTRS);
	ret = dma_mapping_error(attach->dev, bus);
	if (ret)
		goto err_table;
	/* There are no struct pages behind it. */
	sg_set_page(sgt->sgl, NULL, obj->size, 0);
	sg_dma_address(sgt->sgl) = bus;
	sg_dma_len(sgt->sgl) = obj->size;
	atomic_inc(&sdev->peers.mapped);
	return sgt;

err_table:
	sg_free_table(sgt);
err_free:
	kfree(sgt);
	return ERR_PTR(ret);
}

static void sidra_peer_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
			     enum dma_data_direction direction)
{
	struct drm_gem_object *obj = attach->dmabuf->priv;
	struct sidra_peers *peers = &to_sidra(obj->dev)->peers;

	dma_unmap_resource(attach->dev, sg_dma_address(sgt->sgl), sg_dma_len(sgt->sgl), direction,
			   SIDRA_DMA_ATTRS);
	sg_free_table(sgt);
	kfree(sgt);
	if (atomic_dec_and_test(&peers->mapped))
		wake_up_all(&peers->unmapped);
}

static void sidra_peer_release(struct dma_buf *dma_buf)
{
	struct drm_gem_object *obj = dma_buf->priv;
	struct sidra_bo *bo = to_sidra_bo(obj);

	scoped_guard(mutex, &to_sidra(obj->dev)->peers.lock) {
		list_del_init(&bo->link);
		bo->exported = NULL;
	}
	drm_gem_dmabuf_release(dma_buf);
}

static const struct dma_buf_ops dmabuf_ops = {
	.attach = sidra_peer_attach,
	.pin = sidra_peer_pin,
	.unpin = sidra_peer_unpin,
	.map_dma_buf = sidra_peer_map,
	.unmap_dma_buf = sidra_peer_unmap,
	.release = sidra_peer_release,
};

struct dma_buf *sidra_peer_export(struct drm_gem_object *obj, int flags)
{
	struct sidra_peers *peers = &to_sidra(obj->dev)->peers;
	struct sidra_bo *bo = to_sidra_bo(obj);
	struct dma_buf_export_info info = {
		.exp_name = KBUILD_MODNAME,
		.owner = obj->dev->driver->fops->owner,
		.ops = &dmabuf_ops,
		.size = obj->size,
		.flags = flags,
		.priv = obj,
		.resv = obj->resv,
	};
	struct dma_buf *dma_buf;

	guard(mutex)(&peers->lock);
	if (peers->closed)
		return ERR_PTR(-ENODEV);
	dma_buf = drm_gem_dmabuf_export(obj->dev, &info);
	if (!IS_ERR(dma_buf)) {
		bo->exported = dma_buf;
		list_add(&bo->link, &peers->exports);
	}
	return dma_buf;
}

struct drm_gem_object *sidra_peer_exported(const struct dma_buf *dma_buf)
{
	return dma_buf->ops == &dmabuf_ops ? dma_buf->priv : NULL;
}

void sidra_peers_revoke(struct sidra_device *sdev)
{
	struct sidra_peers *peers = &sdev->peers;
	struct sidra_bo *bo;

	scoped_guard(mutex, &peers->lock) {
		peers->closed = true;
		/* A dma-buf that is in this list is released after it has left it. */
		list_for_each_entry(bo, &peers->exports, link) {
			dma_resv_lock(bo->exported->resv, NULL);
			WRITE_ONCE(bo->revoked, true);
			dma_buf_invalidate_mappings(bo->exported);
			dma_resv_unlock(bo->exported->resv);
		}
	}
	wait_event(peers->unmapped, !atomic_read(&peers->mapped));
}

int sidra_peers_init(struct sidra_device *sdev)
{
	struct sidra_peers *peers = &sdev->peers;

	INIT_LIST_HEAD(&peers->exports);
	init_waitqueue_head(&peers->unmapped);
	return drmm_mutex_init(&sdev->drm, &peers->lock);
}

/* ---- Importer ---- */

/* A queue of the module's own, so that its code stays until the last of this work has ended. */
static struct workqueue_struct *drop_queue;

int __init sidra_peers_begin(void)
{
	drop_queue = alloc_workqueue("sidra-peer", WQ_UNBOUND, 0);
	return drop_queue ? 0 : -ENOMEM;
}

void sidra_peers_end(void)
{
	destroy_workqueue(drop_queue);
}

/*
 * The exporter's reservation is held, and nothing here may wait for a card. A buffer that is just
 * being freed has no binding, and unmaps itself.
 */
static void sidra_peer_moved(struct dma_buf_attachment *attach)
{
	struct sidra_bo *bo = attach->importer_priv;

	dma_resv_assert_held(attach->dmabuf->resv);
	if (bo->revoked || !kref_get_unless_zero(&bo->base.base.refcount))
		return;
	WRITE_ONCE(bo->revoked, true);	/* before the work looks for its bindings */
	drm_dev_get(bo->base.base.dev);
	queue_work(drop_queue, &bo->drop_work);
}

const struct dma_buf_attach_ops sidra_peer_importer_ops = {
	.allow_peer2peer = true,
	.invalidate_mappings = sidra_peer_moved,
};

#if IS_BUILTIN(CONFIG_KUNIT)
#include "tests/sidra_peer_kunit.c"
#endif
