/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * L3 for other cards: a dma-buf of a local buffer, which another card of this driver imports. Its
 * chip then accesses BAR2 of this card directly. Reset, suspend and loss of the link end that for a
 * time, in which its packets fault. Removal ends it for good: the other card drops its bindings
 * before remove() returns.
 */
#ifndef __SIDRA_PEER_H__
#define __SIDRA_PEER_H__

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/wait.h>

struct dma_buf;
struct dma_buf_attach_ops;
struct drm_device;
struct drm_gem_object;
struct sidra_device;

/**
 * struct sidra_peers - what other cards have of this one
 * @lock: protects @exports and @closed; outside of reservations
 * @exports: struct sidra_bo by link: local buffers with a dma-buf
 * @closed: the device is being removed: nothing is exported any more
 * @mapped: number of mappings by other cards
 * @unmapped: remove(), which waits until there is none
 */
struct sidra_peers {
	struct mutex lock;	/* of @exports and @closed */
	struct list_head exports;
	bool closed;
	atomic_t mapped;
	wait_queue_head_t unmapped;
};

/* For the module. */
int sidra_peers_begin(void);
void sidra_peers_end(void);

int sidra_peers_init(struct sidra_device *sdev);

/* drm_gem_object_funcs.export of a local buffer. */
struct dma_buf *sidra_peer_export(struct drm_gem_object *obj, int flags);

/* The local buffer behind a dma-buf that sidra_peer_export() has made, or NULL. */
struct drm_gem_object *sidra_peer_exported(const struct dma_buf *dma_buf);

/*
 * What an importer attaches with; importer_priv is its struct sidra_bo. When the buffer is revoked,
 * sidra_bo.drop_work is queued, with a reference to the buffer and to its device.
 */
extern const struct dma_buf_attach_ops sidra_peer_importer_ops;

/*
 * The device is being removed: takes back what other cards have mapped, and waits until they have
 * unmapped it. Without locks, as they need those of theirs.
 */
void sidra_peers_revoke(struct sidra_device *sdev);

#endif
