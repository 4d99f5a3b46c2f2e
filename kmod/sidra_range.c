// SPDX-License-Identifier: GPL-2.0-only
#include "sidra_range.h"

/* A free range, or a spare node; @largest: length of the largest range in its subtree. */
struct sidra_range_node {
	union {
		struct rb_node free;
		struct list_head spare;
	};
	u64 begin, end;
	u64 largest;
};

static struct sidra_range_node *sidra_range_node_of(const struct rb_node *free)
{
	return rb_entry(free, struct sidra_range_node, free);
}

static u64 sidra_range_length(const struct sidra_range_node *node)
{
	return node->end - node->begin;
}

RB_DECLARE_CALLBACKS_MAX(static, sidra_range_augment, struct sidra_range_node, free, u64, largest,
			 sidra_range_length)

static bool sidra_range_less(struct rb_node *a, const struct rb_node *b)
{
	return sidra_range_node_of(a)->begin < sidra_range_node_of(b)->begin;
}

static void sidra_range_add(struct sidra_range *range, struct sidra_range_node *node, u64 begin,
			    u64 end)
{
	node->begin = begin;
	node->end = end;
	node->largest = end - begin;
	rb_add_augmented_cached(&node->free, &range->free, sidra_range_less, &sidra_range_augment);
}

/* Changes its bounds, but not its place in the order. */
static void sidra_range_resize(struct sidra_range_node *node, u64 begin, u64 end)
{
	node->begin = begin;
	node->end = end;
	sidra_range_augment.propagate(&node->free, NULL);
}

static void sidra_range_remove(struct sidra_range *range, struct sidra_range_node *node)
{
	rb_erase_augmented_cached(&node->free, &range->free, &sidra_range_augment);
	list_add(&node->spare, &range->spare);
}

/* The last free range that begins at @address or before it, or NULL. */
static struct sidra_range_node *sidra_range_before(const struct sidra_range *range, u64 address)
{
	struct rb_node *at = range->free.rb_root.rb_node;
	struct sidra_range_node *found = NULL;

	while (at) {
		struct sidra_range_node *node = sidra_range_node_of(at);

		if (node->begin <= address)
			found = node;
		at = node->begin <= address ? at->rb_right : at->rb_left;
	}
	return found;
}

static u64 sidra_range_largest_below(const struct rb_node *at)
{
	return at ? sidra_range_node_of(at)->largest : 0;
}

/* The first range of a subtree that is not shorter than @size, or NULL. */
static struct sidra_range_node *sidra_range_first(struct rb_node *at, u64 size)
{
	if (sidra_range_largest_below(at) < size)
		return NULL;
	for (;;) {
		struct sidra_range_node *node = sidra_range_node_of(at);

		if (sidra_range_largest_below(at->rb_left) >= size) {
			at = at->rb_left;
			continue;
		}
		if (sidra_range_length(node) >= size)
			return node;
		at = at->rb_right;
	}
}

/* The first one behind @node, or NULL. */
static struct sidra_range_node *sidra_range_next(struct sidra_range_node *node, u64 size)
{
	struct sidra_range_node *found = sidra_range_first(node->free.rb_right, size);
	struct rb_node *at = &node->free, *parent;

	for (; !found && (parent = rb_parent(at)); at = parent) {
		if (at != parent->rb_left)
			continue;
		node = sidra_range_node_of(parent);
		found = sidra_range_length(node) >= size ? node :
							   sidra_range_first(parent->rb_right,
									     size);
	}
	return found;
}

/*
 * There are never more free ranges than taken ones plus one. With that many nodes, freeing always
 * finds a spare one. Called before another range is taken.
 */
static int sidra_range_put_aside(struct sidra_range *range)
{
	struct sidra_range_node *node;

	if (range->nodes < range->taken + 2) {
		node = kmalloc(sizeof(*node), GFP_KERNEL_ACCOUNT);
		if (!node)
			return -ENOMEM;
		list_add(&node->spare, &range->spare);
		range->nodes++;
	}
	range->taken++;
	return 0;
}

static struct sidra_range_node *sidra_range_take_spare(struct sidra_range *range)
{
	struct sidra_range_node *node = list_first_entry(&range->spare, struct sidra_range_node,
							 spare);

	list_del(&node->spare);
	return node;
}

int sidra_range_init(struct sidra_range *range, u64 begin, u64 end)
{
	struct sidra_range_node *node;

	range->free = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&range->spare);
	range->total = 0;
	range->taken = 0;
	range->nodes = 0;
	if (begin >= end)
		return 0;
	node = kmalloc(sizeof(*node), GFP_KERNEL_ACCOUNT);
	if (!node)
		return -ENOMEM;
	sidra_range_add(range, node, begin, end);
	range->total = end - begin;
	range->nodes = 1;
	return 0;
}

void sidra_range_fini(struct sidra_range *range)
{
	struct sidra_range_node *node, *next;
	struct rb_node *first;

	while ((first = rb_first_cached(&range->free)))
		sidra_range_remove(range, sidra_range_node_of(first));
	list_for_each_entry_safe(node, next, &range->spare, spare)
		kfree(node);
	INIT_LIST_HEAD(&range->spare);
}

/*
 * Takes [begin, end) out of a free node. Uses a spare node if both sides stay free, and returns one
 * if neither does.
 */
static void sidra_range_take_from_node(struct sidra_range *range, struct sidra_range_node *node,
				       u64 begin, u64 end)
{
	u64 node_end = node->end;

	if (node->begin == begin && node_end == end) {
		sidra_range_remove(range, node);
	} else if (node->begin == begin) {
		sidra_range_resize(node, end, node_end);
	} else {
		sidra_range_resize(node, node->begin, begin);
		if (node_end != end)
			sidra_range_add(range, sidra_range_take_spare(range), end, node_end);
	}
	range->total -= end - begin;
}

static int sidra_range_alloc_from(struct sidra_range *range, u64 size, u64 alignment, u64 phase,
				  u64 from, u64 *address)
{
	struct sidra_range_node *node = sidra_range_before(range, from);

	if (!node)
		node = sidra_range_first(range->free.rb_root.rb_node, size);
	for (; node; node = sidra_range_next(node, size)) {
		u64 begin = max(node->begin, from);
		u64 pad = (phase + alignment - begin % alignment) % alignment;

		if (begin >= node->end || node->end - begin < size ||
		    pad > node->end - begin - size)
			continue;
		if (sidra_range_put_aside(range))
			return -ENOMEM;
		*address = begin + pad;
		sidra_range_take_from_node(range, node, *address, *address + size);
		return 0;
	}
	return -ENOSPC;
}

int sidra_range_alloc(struct sidra_range *range, u64 size, u64 alignment, u64 phase, u64 from,
		      u64 *address)
{
	int ret = sidra_range_alloc_from(range, size, alignment, phase, from, address);

	return ret == -ENOSPC && from ?
		sidra_range_alloc_from(range, size, alignment, phase, 0, address) :
		ret;
}

int sidra_range_reserve(struct sidra_range *range, u64 begin, u64 size)
{
	struct sidra_range_node *node = sidra_range_before(range, begin);

	if (!node || begin >= node->end || node->end - begin < size)
		return -ENOSPC;
	if (sidra_range_put_aside(range))
		return -ENOMEM;
	sidra_range_take_from_node(range, node, begin, begin + size);
	return 0;
}

void sidra_range_free(struct sidra_range *range, u64 begin, u64 size)
{
	struct sidra_range_node *previous = sidra_range_before(range, begin), *next;
	struct rb_node *behind = previous ? rb_next(&previous->free) :
					    rb_first_cached(&range->free);
	u64 end = begin + size;

	next = behind ? sidra_range_node_of(behind) : NULL;
	range->total += size;
	range->taken--;
	if (previous && previous->end != begin)
		previous = NULL;
	if (next && next->begin != end)
		next = NULL;
	if (previous && next) {
		end = next->end;
		sidra_range_remove(range, next);
		sidra_range_resize(previous, previous->begin, end);
	} else if (previous) {
		sidra_range_resize(previous, previous->begin, end);
	} else if (next) {
		sidra_range_resize(next, begin, next->end);
	} else {
		sidra_range_add(range, sidra_range_take_spare(range), begin, end);
	}
}

u64 sidra_range_largest(const struct sidra_range *range)
{
	return sidra_range_largest_below(range->free.rb_root.rb_node);
}
