// SPDX-License-Identifier: GPL-2.0-only
#include "sidra_range.h"

struct sidra_range_node {
	struct list_head link;
	u64 begin, end;
};

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
		list_add(&node->link, &range->spare);
		range->nodes++;
	}
	range->taken++;
	return 0;
}

static struct sidra_range_node *sidra_range_take_spare(struct sidra_range *range)
{
	struct sidra_range_node *node = list_first_entry(&range->spare, struct sidra_range_node,
							 link);

	list_del(&node->link);
	return node;
}

int sidra_range_init(struct sidra_range *range, u64 begin, u64 end)
{
	struct sidra_range_node *node;

	INIT_LIST_HEAD(&range->free);
	INIT_LIST_HEAD(&range->spare);
	range->total = 0;
	range->taken = 0;
	range->nodes = 0;
	if (begin >= end)
		return 0;
	node = kmalloc(sizeof(*node), GFP_KERNEL_ACCOUNT);
	if (!node)
		return -ENOMEM;
	node->begin = begin;
	node->end = end;
	list_add(&node->link, &range->free);
	range->total = end - begin;
	range->nodes = 1;
	return 0;
}

static void sidra_range_free_nodes(struct list_head *list)
{
	struct sidra_range_node *node, *next;

	list_for_each_entry_safe(node, next, list, link)
		kfree(node);
	INIT_LIST_HEAD(list);
}

void sidra_range_fini(struct sidra_range *range)
{
	sidra_range_free_nodes(&range->free);
	sidra_range_free_nodes(&range->spare);
}

/*
 * Takes [begin, end) out of a free node. Uses a spare node if both sides stay free, and returns one
 * if neither does.
 */
static void sidra_range_take_from_node(struct sidra_range *range, struct sidra_range_node *node,
				       u64 begin, u64 end)
{
	if (node->begin == begin && node->end == end) {
		list_move(&node->link, &range->spare);
	} else if (node->begin == begin) {
		node->begin = end;
	} else {
		if (node->end != end) {
			struct sidra_range_node *rest = sidra_range_take_spare(range);

			rest->begin = end;
			rest->end = node->end;
			list_add(&rest->link, &node->link);
		}
		node->end = begin;
	}
	range->total -= end - begin;
}

static int sidra_range_alloc_from(struct sidra_range *range, u64 size, u64 alignment, u64 phase,
				  u64 from, u64 *address)
{
	struct sidra_range_node *node;

	list_for_each_entry(node, &range->free, link) {
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
	struct sidra_range_node *node;

	list_for_each_entry(node, &range->free, link) {
		if (begin < node->begin || begin >= node->end || node->end - begin < size)
			continue;
		if (sidra_range_put_aside(range))
			return -ENOMEM;
		sidra_range_take_from_node(range, node, begin, begin + size);
		return 0;
	}
	return -ENOSPC;
}

void sidra_range_free(struct sidra_range *range, u64 begin, u64 size)
{
	struct sidra_range_node *node, *previous = NULL, *next = NULL;
	u64 end = begin + size;

	list_for_each_entry(node, &range->free, link) {
		if (node->begin >= end) {
			next = node;
			break;
		}
		previous = node;
	}
	range->total += size;
	range->taken--;
	if (next && next->begin == end) {
		next->begin = begin;
		if (previous && previous->end == begin) {
			previous->end = next->end;
			list_move(&next->link, &range->spare);
		}
	} else if (previous && previous->end == begin) {
		previous->end = end;
	} else {
		node = sidra_range_take_spare(range);
		node->begin = begin;
		node->end = end;
		list_add(&node->link, previous ? &previous->link : &range->free);
	}
}

u64 sidra_range_largest(const struct sidra_range *range)
{
	struct sidra_range_node *node;
	u64 largest = 0;

	list_for_each_entry(node, &range->free, link)
		largest = max(largest, node->end - node->begin);
	return largest;
}
