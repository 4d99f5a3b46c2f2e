// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-mapping.h>
#include <linux/nospec.h>
#include <linux/sched/signal.h>

#include "sidra_admin.h"
#include "sidra_chip.h"
#include "sidra_device.h"
#include "sidra_mutex.h"
#include "sidra_report.h"
#include "sidra_store.h"

#define HEADERS_MAX	1024u	/* in one XBAR_READ */

/* ---- NVM and cells by admin commands ---- */

static int sidra_store_nvm_read(void *owner, u64 offset, void *to, u64 size)
{
	struct sidra_device *sdev = owner;
	u64 done, piece;
	int ret;

	for (done = 0; done < size; done += piece) {
		piece = min(size - done, (u64)SIDRA_BOUNCE_SIZE);
		CLASS(sidra_mutex, held)(&sdev->chip.admin_lock);
		if (held.error)
			return held.error;
		/* Do not return old data if the chip stores less than asked */
		memset(sdev->chip.bounce, 0, piece);
		ret = sidra_admin_locked(sdev, SIDRA_ADMIN_NVM_READ, offset + done,
					 sdev->chip.bounce_bus, piece);
		if (ret)
			return ret;
		dma_rmb();
		memcpy(to + done, sdev->chip.bounce, piece);
	}
	return 0;
}

static int sidra_store_nvm_write(void *owner, u64 offset, const void *from, u64 size)
{
	struct sidra_device *sdev = owner;
	u64 done, piece;
	int ret;

	for (done = 0; done < size; done += piece) {
		piece = min(size - done, (u64)SIDRA_BOUNCE_SIZE);
		guard(mutex)(&sdev->chip.admin_lock);
		memcpy(sdev->chip.bounce, from + done, piece);
		ret = sidra_admin_locked(sdev, SIDRA_ADMIN_NVM_WRITE, offset + done,
					 sdev->chip.bounce_bus, piece);
		if (ret)
			return ret;
	}
	return 0;
}

static const struct sidra_nvm_store nvm_store = {
	.read = sidra_store_nvm_read,
	.write = sidra_store_nvm_write,
};

/* The caller holds sidra_chip.admin_lock, and the headers are valid until it releases it. */
static int sidra_store_read_headers(struct sidra_device *sdev, u32 first, u32 count,
				    const struct sidra_hw_xbar **headers)
{
	int ret;

	BUILD_BUG_ON(HEADERS_MAX * sizeof(**headers) > SIDRA_BOUNCE_SIZE);
	/* As in sidra_store_nvm_read() */
	memset(sdev->chip.bounce, 0, count * sizeof(**headers));
	ret = sidra_admin_locked(sdev, SIDRA_ADMIN_XBAR_READ, first, sdev->chip.bounce_bus, count);
	dma_rmb();
	*headers = sdev->chip.bounce;
	return ret;
}

/* Checks for impossible values, which would mislead users of the wear counters. */
static bool sidra_store_headers_vet(const struct sidra_hw_xbar *headers, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (le16_to_cpu(headers[i].programmed_rows) > SIDRA_XBAR_ROWS ||
		    le32_to_cpu(headers[i].stuck_cells) > SIDRA_XBAR_ROWS * SIDRA_XBAR_COLS)
			return false;
	return true;
}

static int sidra_store_copy_headers(struct sidra_device *sdev, u32 first, u32 count,
				    struct sidra_hw_xbar *to)
{
	int ret;

	guard(rwsem_read)(&sdev->reset_lock);
	if (sdev->held)
		return -EAGAIN;
	if (sdev->stopped || sdev->link_gone || READ_ONCE(sdev->removing))
		return -ENODEV;
	guard(mutex)(&sdev->chip.admin_lock);
	memset(sdev->chip.headers, 0, count * sizeof(*to));
	ret = sidra_admin_raw(sdev, SIDRA_ADMIN_XBAR_READ, first, sdev->chip.headers_bus, count);
	if (ret)
		return ret < 0 ? ret : -EIO;
	dma_rmb();
	memcpy(to, sdev->chip.headers, count * sizeof(*to));
	return sidra_store_headers_vet(to, count) ? 0 : -EIO;
}

int sidra_store_headers(struct sidra_device *sdev, struct sidra_hw_xbar *headers)
{
	u32 total = sidra_xbars_of(&sdev->chip.info), first, count;
	int ret;

	for (first = 0; first < total; first += count) {
		count = min(total - first, HEADERS_MAX);
		ret = sidra_store_copy_headers(sdev, first, count, headers + first);
		if (ret)
			return ret;
	}
	return total * sizeof(*headers);
}

static void sidra_store_place(struct sidra_object *object, u32 tile, u32 xbar)
{
	object->xbars[tile] = xbar;
	object->tiles[tile] = cpu_to_le32(xbar);
}

/*
 * The grid position of the @at-th tile in the order of allocation. That order is column by column,
 * because the tiles of a column, whose sums are added up, should lie on neighbouring crossbars.
 */
static u32 sidra_store_tile_at(const struct sidra_object *object, u32 at)
{
	u32 columns = DIV_ROUND_UP(object->cols, sidra_tile_outputs(object->encoding));
	u32 rows = object->tile_count / columns;

	return at % rows * columns + at / rows;
}

/*
 * Length of the run of consecutive crossbars that begins at the @at-th tile in that order, at most
 * @most.
 */
static u32 sidra_store_run_at(const struct sidra_object *object, u32 at, u32 most)
{
	u32 first = object->xbars[sidra_store_tile_at(object, at)], length = 1;

	while (at + length < object->tile_count && length < most &&
	       object->xbars[sidra_store_tile_at(object, at + length)] ==
		       first + length)
		length++;
	return length;
}

static int sidra_store_erase_object(struct sidra_device *sdev, const struct sidra_object *object)
{
	u32 at, length;
	int ret;

	for (at = 0; at < object->tile_count; at += length) {
		u32 first = object->xbars[sidra_store_tile_at(object, at)];

		if (first == ~0u) {	/* the object is damaged: this crossbar was not found */
			length = 1;
			continue;
		}
		length = sidra_store_run_at(object, at, sdev->store.xbars.total);
		ret = sidra_admin(sdev, SIDRA_ADMIN_XBAR_ERASE, first, length, 0);
		if (ret)
			return ret;
	}
	return 0;
}

static void sidra_store_mark_unerased(struct sidra_store *store, u32 xbar)
{
	store->unerased[xbar] = 1;
	store->unerased_count++;
}

/* Finds the next run of marked crossbars behind the one that ends at *@end. */
static bool sidra_store_next_marked(struct sidra_store *store, u32 *first, u32 *end)
{
	u32 total = store->xbars.total, at = *end;

	guard(mutex)(&store->lock);
	if (!store->unerased_count)
		return false;
	while (at < total && !store->unerased[at])
		at++;
	*first = at;
	while (at < total && store->unerased[at])
		at++;
	*end = at;
	return *first < at;
}

static void sidra_store_unmark(struct sidra_store *store, u32 first, u32 end, bool taken)
{
	u32 i;

	guard(mutex)(&store->lock);
	for (i = first; i < end; i++) {
		store->unerased[i] = 0;
		if (taken)
			sidra_xbars_free(&store->xbars, &i, 1);
	}
	store->unerased_count -= end - first;
}

/*
 * Erases the marked crossbars, which are free afterwards. The caller holds sidra_store.cells_lock,
 * or nobody else has the device yet.
 */
static int sidra_store_erase_marked(struct sidra_device *sdev, bool taken)
{
	struct sidra_store *store = &sdev->store;
	u32 first, end = 0;
	int ret;

	while (sidra_store_next_marked(store, &first, &end)) {
		ret = fatal_signal_pending(current) ?
			      -EINTR :
			      sidra_admin(sdev, SIDRA_ADMIN_XBAR_ERASE, first, end - first, 0);
		if (ret)
			return ret;
		sidra_store_unmark(store, first, end, taken);
	}
	return 0;
}

/* ---- Objects ---- */

/*
 * The crossbars are charged to @user already; sidra_store_free_object() undoes that. The caller
 * adds it to sidra_store.objects.
 */
static struct sidra_object *sidra_store_alloc_object(struct sidra_device *sdev,
						     struct sidra_user *user, u64 uid, u32 rows,
						     u32 cols, u32 encoding)
{
	struct sidra_object *object = kzalloc(sizeof(*object), GFP_KERNEL_ACCOUNT);
	u32 tile;

	lockdep_assert_not_held(&sdev->store.lock);	/* nobody waits for memory under it */
	if (!object)
		return NULL;
	INIT_LIST_HEAD(&object->link);
	object->user = user;
	object->uid = uid;
	object->rows = rows;
	object->cols = cols;
	object->encoding = encoding;
	object->tile_count = sidra_tile_count(rows, cols, encoding);
	object->xbars = kvmalloc_array(object->tile_count, sizeof(*object->xbars),
				       GFP_KERNEL_ACCOUNT);
	if (!object->xbars)
		goto err_free_object;
	object->tiles = dma_alloc_coherent(sdev->drm.dev,
					   (size_t)object->tile_count * sizeof(*object->tiles),
					   &object->tiles_bus, GFP_KERNEL_ACCOUNT);
	if (!object->tiles)
		goto err_free_xbars;
	for (tile = 0; tile < object->tile_count; tile++)
		sidra_store_place(object, tile, ~0u);
	return object;

err_free_xbars:
	kvfree(object->xbars);
err_free_object:
	kfree(object);
	return NULL;
}

static void sidra_store_free_tiles(struct sidra_device *sdev, struct sidra_object *object)
{
	if (object->tiles)
		dma_free_coherent(sdev->drm.dev,
				  (size_t)object->tile_count * sizeof(*object->tiles),
				  object->tiles, object->tiles_bus);
	object->tiles = NULL;
}

static void sidra_store_free_object(struct sidra_device *sdev, struct sidra_object *object)
{
	if (object->user)	/* not if the device was removed, or the creator undoes it */
		sidra_user_uncharge(sdev, object->user, SIDRA_RESOURCE_XBARS, object->tile_count);
	sidra_store_free_tiles(sdev, object);
	list_del(&object->link);
	kvfree(object->xbars);
	kfree(object);
}

static struct sidra_object *sidra_store_find_object(struct sidra_store *store, u64 uid)
{
	struct sidra_object *object;

	list_for_each_entry(object, &store->objects, link)
		if (object->uid == uid)
			return object;
	return NULL;
}

/* Whether nothing refers to the object any more. Who is told so calls sidra_store_end_object(). */
static bool sidra_store_unused(const struct sidra_store *store, const struct sidra_object *object)
{
	lockdep_assert_held(&store->lock);
	return !object->handles && !object->descriptors &&
		(object->gone || sidra_nvm_find_uid(&store->nvm, object->uid) < 0);
}

/*
 * Erases the cells, and then frees the crossbars and the object. Who creates an object meanwhile
 * waits, because it may need them.
 */
static void sidra_store_end_object(struct sidra_device *sdev, struct sidra_object *object)
{
	struct sidra_store *store = &sdev->store;
	bool erased;
	u32 i;

	guard(mutex)(&store->cells_lock);
	erased = !object->gone && !sidra_store_erase_object(sdev, object);
	guard(mutex)(&store->lock);
	for (i = 0; !object->gone && i < object->tile_count; i++) {
		if (object->xbars[i] == ~0u)
			continue;
		if (erased)
			sidra_xbars_free(&store->xbars, &object->xbars[i], 1);
		else
			sidra_store_mark_unerased(store, object->xbars[i]);
	}
	sidra_store_free_object(sdev, object);
}

/* Chooses crossbars for all tiles of a new object. */
static int sidra_store_take_free(struct sidra_store *store, struct sidra_object *object)
{
	u32 *list __free(kvfree) = kvmalloc_array(object->tile_count, sizeof(*list),
						  GFP_KERNEL_ACCOUNT);
	u32 i;
	int ret;

	if (!list)
		return -ENOMEM;
	ret = sidra_xbars_alloc(&store->xbars, object->tile_count, list);
	for (i = 0; !ret && i < object->tile_count; i++)
		sidra_store_place(object, sidra_store_tile_at(object, i), list[i]);
	return ret;
}

static int sidra_store_take_wanted(struct sidra_store *store, struct sidra_object *object,
				   const u32 *wanted)
{
	int ret = sidra_xbars_reserve(&store->xbars, wanted, object->tile_count);
	u32 i;

	for (i = 0; !ret && i < object->tile_count; i++)
		sidra_store_place(object, i, wanted[i]);
	return ret;
}

/* The crossbars are charged to @user already; if this fails, the caller undoes that. */
static struct sidra_object *sidra_store_create_charged(struct sidra_device *sdev,
						       struct sidra_user *user, u32 rows, u32 cols,
						       u32 encoding, const u32 *wanted)
{
	struct sidra_store *store = &sdev->store;
	struct sidra_object *object;
	u64 uid;
	int ret;

	CLASS(sidra_mutex, held)(&store->cells_lock);
	if (held.error)
		return ERR_PTR(held.error);
	ret = sidra_admin_await_turn(sdev) ?: sidra_store_erase_marked(sdev, true);
	if (ret)
		return ERR_PTR(ret);
	/* First: a uid may cost a write to the flash memory */
	if (sidra_tile_count(rows, cols, encoding) > store->xbars.free)
		return ERR_PTR(-ENOSPC);
	ret = sidra_nvm_take_uid(&store->nvm, &uid);
	if (ret)
		return ERR_PTR(ret);
	object = sidra_store_alloc_object(sdev, user, uid, rows, cols, encoding);
	if (!object)
		return ERR_PTR(-ENOMEM);
	ret = wanted ? sidra_store_take_wanted(store, object, wanted) :
		       sidra_store_take_free(store, object);
	if (ret) {
		object->user = NULL;
		sidra_store_free_object(sdev, object);
		return ERR_PTR(ret);
	}
	object->handles = 1;
	guard(mutex)(&store->lock);
	list_add_tail(&object->link, &store->objects);
	return object;
}

struct sidra_object *sidra_store_create(struct sidra_device *sdev, struct sidra_user *user,
					u32 rows, u32 cols, u32 encoding, const u32 *wanted)
{
	u64 needed = sidra_tile_count(rows, cols, encoding);
	struct sidra_object *object;
	int ret;

	if (needed > sdev->store.xbars.total)
		return ERR_PTR(-ENOSPC);
	/* First: who may not have more waits for nobody, and costs the chip nothing */
	ret = sidra_user_charge(sdev, user, SIDRA_RESOURCE_XBARS, needed);
	if (ret)
		return ERR_PTR(ret);
	object = sidra_store_create_charged(sdev, user, rows, cols, encoding, wanted);
	if (IS_ERR(object))
		sidra_user_uncharge(sdev, user, SIDRA_RESOURCE_XBARS, needed);
	return object;
}

void sidra_store_get_handle(struct sidra_device *sdev, struct sidra_object *object)
{
	guard(mutex)(&sdev->store.lock);
	object->handles++;
}

void sidra_store_get_descriptor(struct sidra_device *sdev, struct sidra_object *object)
{
	guard(mutex)(&sdev->store.lock);
	object->descriptors++;
}

static void sidra_store_put(struct sidra_device *sdev, struct sidra_object *object, u32 *references)
{
	scoped_guard(mutex, &sdev->store.lock) {
		(*references)--;
		if (!sidra_store_unused(&sdev->store, object))
			return;
	}
	sidra_store_end_object(sdev, object);
}

void sidra_store_put_handle(struct sidra_device *sdev, struct sidra_object *object)
{
	sidra_store_put(sdev, object, &object->handles);
}

void sidra_store_put_descriptor(struct sidra_device *sdev, struct sidra_object *object)
{
	sidra_store_put(sdev, object, &object->descriptors);
}

static u32 sidra_store_rows_of(const struct sidra_object *object, u32 tile)
{
	u32 columns = DIV_ROUND_UP(object->cols, sidra_tile_outputs(object->encoding));

	return min(SIDRA_XBAR_ROWS, object->rows - tile / columns * SIDRA_XBAR_ROWS);
}

int sidra_store_progress(struct sidra_device *sdev, struct sidra_object *object, u32 *programmed,
			 u32 *total)
{
	const struct sidra_hw_xbar *headers;
	u32 at, length, first, i;
	int ret;

	*programmed = 0;
	*total = 0;
	for (at = 0; at < object->tile_count; at += length) {
		length = sidra_store_run_at(object, at, HEADERS_MAX);
		first = object->xbars[sidra_store_tile_at(object, at)];
		CLASS(sidra_mutex, held)(&sdev->chip.admin_lock);
		if (held.error)
			return held.error;
		ret = sidra_store_read_headers(sdev, first, length, &headers);
		if (ret)
			return ret;
		for (i = 0; i < length; i++) {
			u32 rows = sidra_store_rows_of(object, sidra_store_tile_at(object, at + i));

			*total += rows;
			if (le64_to_cpu(headers[i].uid) == object->uid)
				*programmed += min_t(u32, le16_to_cpu(headers[i].programmed_rows),
						     rows);
		}
	}
	return 0;
}

int sidra_store_report(struct sidra_device *sdev, struct sidra_object *object, u32 tile,
		       struct sidra_hw_xbar_report *report)
{
	int ret;

	CLASS(sidra_mutex, held)(&sdev->chip.admin_lock);
	if (held.error)
		return held.error;
	memset(sdev->chip.bounce, 0, sizeof(*report));	/* as in sidra_store_nvm_read() */
	tile = array_index_nospec(tile, object->tile_count);
	ret = sidra_admin_locked(sdev, SIDRA_ADMIN_XBAR_REPORT, object->xbars[tile],
				 sdev->chip.bounce_bus, 1);
	if (ret)
		return ret;
	dma_rmb();
	memcpy(report, sdev->chip.bounce, sizeof(*report));
	return sidra_report_vet(report, object->uid, tile, sidra_store_rows_of(object, tile));
}

/* ---- Names ---- */

/* Charges a user for a name and @size bytes of data. */
static int sidra_store_charge_name(struct sidra_device *sdev, struct sidra_user *user, u64 size)
{
	int ret = sidra_user_charge(sdev, user, SIDRA_RESOURCE_NAMES, 1);

	/* Who holds more than a limit that was lowered may still have names without data. */
	if (ret || !size)
		return ret;
	ret = sidra_user_charge(sdev, user, SIDRA_RESOURCE_DATA, sidra_nvm_extent(size));
	if (ret)
		sidra_user_uncharge(sdev, user, SIDRA_RESOURCE_NAMES, 1);
	return ret;
}

/* The same without a limit, for a name that exists already. */
static void sidra_store_charge_name_always(struct sidra_device *sdev, struct sidra_user *user,
					   u64 size)
{
	sidra_user_charge_always(sdev, user, SIDRA_RESOURCE_NAMES, 1);
	if (size)
		sidra_user_charge_always(sdev, user, SIDRA_RESOURCE_DATA, sidra_nvm_extent(size));
}

static void sidra_store_uncharge_name(struct sidra_device *sdev, struct sidra_user *user, u64 size)
{
	if (size)
		sidra_user_uncharge(sdev, user, SIDRA_RESOURCE_DATA, sidra_nvm_extent(size));
	sidra_user_uncharge(sdev, user, SIDRA_RESOURCE_NAMES, 1);
}

/* Uncharges the owner of an entry that is going away. */
static void sidra_store_uncharge_entry(struct sidra_device *sdev,
				       const struct sidra_nvm_entry *entry)
{
	sidra_store_uncharge_name(sdev, sidra_user_find_charged(sdev, le32_to_cpu(entry->owner)),
				  le64_to_cpu(entry->data_size));
}

/* The name is charged to @user already. */
static int sidra_store_publish_charged(struct sidra_device *sdev, const struct sidra_user *user,
				       struct sidra_object *object, struct sidra_nvm_entry *entry,
				       const void *data, u64 size)
{
	struct sidra_store *store = &sdev->store;
	u32 programmed, total;
	int ret;

	CLASS(sidra_mutex, held)(&store->data_lock);
	if (held.error)
		return held.error;
	if (sidra_nvm_find_uid(&store->nvm, object->uid) >= 0)
		return -EEXIST;
	ret = sidra_store_progress(sdev, object, &programmed, &total);
	if (ret)
		return ret;
	if (programmed != total)
		return -ENODATA;
	entry->uid = cpu_to_le64(object->uid);
	entry->owner = cpu_to_le32(user->uid);
	entry->rows = cpu_to_le32(object->rows);
	entry->cols = cpu_to_le32(object->cols);
	entry->encoding = cpu_to_le32(object->encoding);
	entry->tile_count = cpu_to_le32(object->tile_count);
	ret = sidra_nvm_add(&store->nvm, entry, data, size);
	if (ret < 0)
		return ret;
	guard(mutex)(&store->lock);
	sidra_nvm_show(&store->nvm, ret, entry);
	return 0;
}

int sidra_store_publish(struct sidra_device *sdev, struct sidra_user *user,
			struct sidra_object *object, struct sidra_nvm_entry *entry,
			const void *data, u64 size)
{
	/* First, as in sidra_store_create() */
	int ret = sidra_store_charge_name(sdev, user, size);

	if (ret)
		return ret;
	ret = sidra_store_publish_charged(sdev, user, object, entry, data, size);
	if (ret)
		sidra_store_uncharge_name(sdev, user, size);
	return ret;
}

/* Returns the number of an entry that the user may know of, or -ENOENT. */
static int sidra_store_find_visible(const struct sidra_nvm *nvm, u32 owner, const char *name,
				    const struct sidra_nvm_user *user)
{
	int number = sidra_nvm_find(nvm, owner, name);

	return number < 0 || sidra_nvm_visible(&nvm->entries[number], user) ? number : -ENOENT;
}

/* Returns a copy of what is kept with an entry. */
static void *sidra_store_read_data(struct sidra_device *sdev, const struct sidra_nvm_entry *entry)
{
	u64 size = le64_to_cpu(entry->data_size);
	void *data = kvmalloc(size ?: 1, GFP_KERNEL_ACCOUNT);
	int ret;

	if (!data)
		return ERR_PTR(-ENOMEM);
	ret = sidra_store_nvm_read(sdev, le64_to_cpu(entry->data_offset), data, size);
	if (!ret)
		return data;
	kvfree(data);
	return ERR_PTR(ret);
}

/* Takes a reference for a handle. Returns the number of the entry, or -errno. */
static int sidra_store_take_named(struct sidra_store *store, u32 owner, const char *name,
				  u32 rights, const struct sidra_nvm_user *user,
				  struct sidra_object **object)
{
	int number;

	CLASS(sidra_mutex, held)(&store->lock);
	if (held.error)
		return held.error;
	number = sidra_store_find_visible(&store->nvm, owner, name, user);
	if (number < 0)
		return number;
	if (rights & ~sidra_nvm_rights(&store->nvm.entries[number], user))
		return -EACCES;
	*object = sidra_store_find_object(store, le64_to_cpu(store->nvm.entries[number].uid));
	if (!*object || (*object)->damaged)
		return -EIO;
	(*object)->handles++;
	return number;
}

int sidra_store_open(struct sidra_device *sdev, u32 owner, const char *name, u32 rights,
		     const struct sidra_nvm_user *user, struct sidra_object **object, void **data,
		     u64 *size)
{
	struct sidra_store *store = &sdev->store;
	int number;

	CLASS(sidra_mutex, held)(&store->data_lock);
	if (held.error)
		return held.error;
	number = sidra_store_take_named(store, owner, name, rights, user, object);
	if (number < 0)
		return number;
	*data = sidra_store_read_data(sdev, &store->nvm.entries[number]);
	if (IS_ERR(*data)) {
		sidra_store_put_handle(sdev, *object);
		return PTR_ERR(*data);
	}
	*size = le64_to_cpu(store->nvm.entries[number].data_size);
	return 0;
}

/* Returns the number of an entry that the user may remove, or -errno. */
static int sidra_store_find_own(struct sidra_store *store, u32 owner, const char *name, bool evict,
				const struct sidra_nvm_user *user, struct sidra_object **object)
{
	int number;

	CLASS(sidra_mutex, held)(&store->lock);
	if (held.error)
		return held.error;
	number = sidra_store_find_visible(&store->nvm, owner, name, user);
	if (number < 0)
		return number;
	if (!user->admin && user->uid != owner)
		return -EACCES;
	*object = sidra_store_find_object(store, le64_to_cpu(store->nvm.entries[number].uid));
	if (evict && *object && ((*object)->handles || (*object)->descriptors))
		return -EBUSY;
	return number;
}

/* @unused: the object, if nothing refers to it any more. */
static int sidra_store_remove_name(struct sidra_device *sdev, u32 owner, const char *name,
				   bool evict, const struct sidra_nvm_user *user,
				   struct sidra_object **unused)
{
	struct sidra_store *store = &sdev->store;
	struct sidra_object *object;
	int number, ret;

	/* Nobody can open the object meanwhile, so what was not in use stays so. */
	CLASS(sidra_mutex, data)(&store->data_lock);
	if (data.error)
		return data.error;
	number = sidra_store_find_own(store, owner, name, evict, user, &object);
	if (number < 0)
		return number;
	ret = sidra_admin_await_turn(sdev) ?: sidra_nvm_remove(&store->nvm, number);
	if (ret)
		return ret;
	sidra_store_uncharge_entry(sdev, &store->nvm.entries[number]);
	guard(mutex)(&store->lock);
	sidra_nvm_hide(&store->nvm, number);
	if (object && sidra_store_unused(store, object))
		*unused = object;
	return 0;
}

int sidra_store_unlink(struct sidra_device *sdev, u32 owner, const char *name, bool evict,
		       const struct sidra_nvm_user *user)
{
	struct sidra_object *unused = NULL;
	int ret = sidra_store_remove_name(sdev, owner, name, evict, user, &unused);

	if (unused)
		sidra_store_end_object(sdev, unused);
	return ret;
}

/* ---- Start and end ---- */

static int sidra_store_find_tiles(struct sidra_device *sdev)
{
	struct sidra_store *store = &sdev->store;
	const struct sidra_hw_xbar *headers;
	struct sidra_object *object;
	u32 first, count, tile, i;
	int ret;

	for (first = 0; first < store->xbars.total; first += count) {
		count = min(HEADERS_MAX, store->xbars.total - first);
		guard(mutex)(&sdev->chip.admin_lock);
		ret = sidra_store_read_headers(sdev, first, count, &headers);
		if (ret)
			return ret;
		for (i = 0; i < count; i++) {
			if (!headers[i].uid)
				continue;
			object = sidra_store_find_object(store, le64_to_cpu(headers[i].uid));
			tile = le32_to_cpu(READ_ONCE(headers[i].tile));
			if (object && tile < object->tile_count &&
			    object->xbars[tile] == ~0u)
				sidra_store_place(object, tile, first + i);
			else
				sidra_store_mark_unerased(store, first + i);
		}
	}
	return sidra_store_erase_marked(sdev, false);
}

/* Charges the owner for an entry of the directory, its data and its crossbars. */
static int sidra_store_load_entry(struct sidra_device *sdev, const struct sidra_nvm_entry *entry)
{
	u32 tile_count = le32_to_cpu(entry->tile_count);
	u64 data_size = le64_to_cpu(entry->data_size);
	struct sidra_user *user = sidra_user_get(sdev, le32_to_cpu(entry->owner));
	struct sidra_object *object;
	int ret = 0;

	if (!user)
		return -ENOMEM;
	sidra_store_charge_name_always(sdev, user, data_size);
	if (tile_count <= sdev->store.xbars.total) {
		sidra_user_charge_always(sdev, user, SIDRA_RESOURCE_XBARS, tile_count);
		object = sidra_store_alloc_object(sdev, user, le64_to_cpu(entry->uid),
						  le32_to_cpu(entry->rows),
						  le32_to_cpu(entry->cols),
						  le32_to_cpu(entry->encoding));
		if (object) {
			list_add_tail(&object->link, &sdev->store.objects);
		} else {
			sidra_user_uncharge(sdev, user, SIDRA_RESOURCE_XBARS, tile_count);
			ret = -ENOMEM;
		}
	}
	if (ret)
		sidra_store_uncharge_name(sdev, user, data_size);
	sidra_user_put(sdev, user);
	return ret;
}

static int sidra_store_load(struct sidra_device *sdev)
{
	struct sidra_store *store = &sdev->store;
	struct sidra_object *object;
	u32 i;
	int ret;

	for (; store->charged < SIDRA_NVM_ENTRIES; store->charged++) {
		const struct sidra_nvm_entry *entry = &store->nvm.entries[store->charged];

		ret = entry->uid ? sidra_store_load_entry(sdev, entry) : 0;
		if (ret)
			return ret;
	}
	if (sidra_nvm_fresh(&store->nvm))
		return 0;	/* no uid was ever assigned, so the crossbars are empty */
	ret = sidra_store_find_tiles(sdev);
	if (ret)
		return ret;
	list_for_each_entry(object, &store->objects, link) {
		for (i = 0; i < object->tile_count; i++) {
			if (object->xbars[i] == ~0u)
				object->damaged = true;
			else
				sidra_xbars_reserve(&store->xbars, &object->xbars[i], 1);
		}
	}
	return 0;
}

int sidra_store_init(struct sidra_device *sdev)
{
	const struct sidra_info *info = &sdev->chip.info;
	struct sidra_store *store = &sdev->store;
	int ret;

	INIT_LIST_HEAD(&store->objects);
	ret = sidra_xbars_init(&store->xbars, sidra_xbars_of(info), info->xbars_per_cu);
	if (ret)
		return ret;
	store->unerased = kvcalloc(store->xbars.total, sizeof(*store->unerased), GFP_KERNEL);
	if (!store->unerased)
		return -ENOMEM;
	ret = sidra_nvm_load(&store->nvm, &nvm_store, sdev, info->nvm_size);
	if (!ret)
		ret = sidra_store_load(sdev);
	if (ret)
		drm_err(&sdev->drm, "the directory of named weights cannot be read (%d)\n", ret);
	return ret;
}

void sidra_store_fini(struct sidra_device *sdev)
{
	struct sidra_store *store = &sdev->store;
	struct sidra_object *object, *next;
	u32 i;

	guard(mutex)(&store->lock);
	if (!store->objects.next)
		return;	/* never initialised */
	for (i = 0; i < store->charged; i++)
		if (store->nvm.entries[i].uid)
			sidra_store_uncharge_entry(sdev, &store->nvm.entries[i]);
	list_for_each_entry_safe(object, next, &store->objects, link) {
		sidra_user_uncharge(sdev, object->user, SIDRA_RESOURCE_XBARS, object->tile_count);
		object->user = NULL;
		sidra_store_free_tiles(sdev, object);
		list_del_init(&object->link);
		object->gone = true;
		if (object->handles || object->descriptors)
			continue;	/* the last file descriptor frees it */
		kvfree(object->xbars);
		kfree(object);
	}
	sidra_nvm_fini(&store->nvm);
	kvfree(store->unerased);
	store->unerased = NULL;
	sidra_xbars_fini(&store->xbars);
}

#if IS_BUILTIN(CONFIG_KUNIT)
#include "tests/sidra_store_kunit.c"
#endif
