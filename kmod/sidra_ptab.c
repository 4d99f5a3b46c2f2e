// SPDX-License-Identifier: GPL-2.0-only
#include "sidra_ptab.h"

#define LEAF_LEVEL	0u
#define HUGE_LEVEL	1u
#define ROOT_LEVEL	(SIDRA_PT_LEVELS - 1)

/**
 * struct sidra_pt - a page table with the driver's own data about it
 * @entries: the table that the chip reads
 * @bus: its bus address
 * @next: next in the list of unlinked tables
 * @level: 0 if its entries are 4 KiB leaves
 * @used: number of entries that are not zero
 * @leaves: a bit for each entry: whether it is a leaf. @entries cannot tell: the chip can write to
 *          the page
 * @children: tables below it; none at level 0
 */
struct sidra_pt {
	__le64 *entries;
	u64 bus;
	struct sidra_pt *next;
	unsigned int level;
	unsigned int used;
	u64 leaves[SIDRA_PT_ENTRIES / 64];
	struct sidra_pt *children[];
};

static unsigned int sidra_ptab_index_at(u64 va, unsigned int level)
{
	return (va >> (SIDRA_PAGE_SHIFT + 9 * level)) & (SIDRA_PT_ENTRIES - 1);
}

static void sidra_ptab_set_entry(struct sidra_pt *pt, unsigned int index, u64 entry)
{
	dma_wmb();	/* the lower table is complete before the chip can reach it */
	WRITE_ONCE(pt->entries[index], cpu_to_le64(entry));
}

static struct sidra_pt *sidra_ptab_pt_alloc(struct sidra_ptab *ptab, unsigned int level)
{
	unsigned int children = level == LEAF_LEVEL ? 0 : SIDRA_PT_ENTRIES;
	struct sidra_pt *pt = kvzalloc(struct_size(pt, children, children), GFP_KERNEL_ACCOUNT);

	if (!pt)
		return NULL;
	pt->entries = ptab->memory->alloc(ptab->owner, &pt->bus);
	if (!pt->entries) {
		kvfree(pt);
		return NULL;
	}
	pt->level = level;
	ptab->tables++;
	return pt;
}

static void sidra_ptab_pt_free(struct sidra_ptab *ptab, struct sidra_pt *pt)
{
	ptab->memory->free(ptab->owner, pt->entries, pt->bus);
	ptab->tables--;
	kvfree(pt);
}

static void sidra_ptab_pt_free_below(struct sidra_ptab *ptab, struct sidra_pt *pt)
{
	unsigned int i;

	for (i = 0; pt->level != LEAF_LEVEL && i < SIDRA_PT_ENTRIES; i++)
		if (pt->children[i])
			sidra_ptab_pt_free_below(ptab, pt->children[i]);
	sidra_ptab_pt_free(ptab, pt);
}

int sidra_ptab_init(struct sidra_ptab *ptab, const struct sidra_ptab_memory *memory, void *owner)
{
	*ptab = (struct sidra_ptab){ .memory = memory, .owner = owner };
	ptab->root = sidra_ptab_pt_alloc(ptab, ROOT_LEVEL);
	return ptab->root ? 0 : -ENOMEM;
}

void sidra_ptab_fini(struct sidra_ptab *ptab)
{
	sidra_ptab_free_unlinked(ptab);
	if (ptab->root)
		sidra_ptab_pt_free_below(ptab, ptab->root);
	ptab->root = NULL;
}

u64 sidra_ptab_root(const struct sidra_ptab *ptab)
{
	return ptab->root->bus;
}

static struct sidra_pt *sidra_ptab_child(struct sidra_ptab *ptab, struct sidra_pt *parent,
					 unsigned int index)
{
	struct sidra_pt *pt = parent->children[index];

	if (pt)
		return pt;
	pt = sidra_ptab_pt_alloc(ptab, parent->level - 1);
	if (!pt)
		return NULL;
	parent->children[index] = pt;
	parent->used++;
	sidra_ptab_set_entry(parent, index, pt->bus | SIDRA_PTE_VALID);
	return pt;
}

int sidra_ptab_map(struct sidra_ptab *ptab, u64 va, u64 bus, u64 size, u64 flags)
{
	u64 leaf = flags | SIDRA_PTE_VALID | SIDRA_PTE_LEAF;
	u64 begin = va;

	while (size) {
		struct sidra_pt *pt = sidra_ptab_child(ptab, ptab->root,
						       sidra_ptab_index_at(va, ROOT_LEVEL));
		unsigned int index = sidra_ptab_index_at(va, HUGE_LEVEL);
		u64 step = SIDRA_HUGE_SIZE;

		if (pt && (((va | bus) & (SIDRA_HUGE_SIZE - 1)) || size < SIDRA_HUGE_SIZE)) {
			pt = sidra_ptab_child(ptab, pt, index);
			index = sidra_ptab_index_at(va, LEAF_LEVEL);
			step = SIDRA_PAGE_SIZE;
		}
		if (!pt) {
			/*
			 * The failed step may have left an empty table: unmapping one more page
			 * removes it.
			 */
			sidra_ptab_unmap(ptab, begin, va - begin + SIDRA_PAGE_SIZE);
			return -ENOMEM;
		}
		sidra_ptab_set_entry(pt, index, bus | leaf);
		pt->leaves[index / 64] |= 1ull << index % 64;
		pt->used++;
		va += step;
		bus += step;
		size -= step;
	}
	return 0;
}

static void sidra_ptab_unlink_table(struct sidra_ptab *ptab, struct sidra_pt *parent,
				    unsigned int index)
{
	struct sidra_pt *pt = parent->children[index];

	sidra_ptab_set_entry(parent, index, 0);
	parent->used--;
	parent->children[index] = NULL;
	pt->next = ptab->unlinked;
	ptab->unlinked = pt;
}

static bool sidra_ptab_is_leaf(const struct sidra_pt *pt, unsigned int index)
{
	return pt->leaves[index / 64] >> index % 64 & 1;
}

static void sidra_ptab_clear_leaf(struct sidra_pt *pt, unsigned int index)
{
	if (!sidra_ptab_is_leaf(pt, index))
		return;
	sidra_ptab_set_entry(pt, index, 0);
	pt->leaves[index / 64] &= ~(1ull << index % 64);
	pt->used--;
}

void sidra_ptab_unmap(struct sidra_ptab *ptab, u64 va, u64 size)
{
	u64 end = va + size;

	while (va < end) {
		unsigned int root_index = sidra_ptab_index_at(va, ROOT_LEVEL),
			     huge_index = sidra_ptab_index_at(va, HUGE_LEVEL);
		struct sidra_pt *middle = ptab->root->children[root_index];
		struct sidra_pt *low = middle ? middle->children[huge_index] : NULL;
		u64 stop = min(end, (va | (SIDRA_HUGE_SIZE - 1)) + 1);

		if (low) {
			for (; va < stop; va += SIDRA_PAGE_SIZE)
				sidra_ptab_clear_leaf(low, sidra_ptab_index_at(va, LEAF_LEVEL));
			if (!low->used)
				sidra_ptab_unlink_table(ptab, middle, huge_index);
		} else if (middle) {
			sidra_ptab_clear_leaf(middle, huge_index);
		}
		if (middle && !middle->used)
			sidra_ptab_unlink_table(ptab, ptab->root, root_index);
		va = stop;
	}
}

void sidra_ptab_free_unlinked(struct sidra_ptab *ptab)
{
	while (ptab->unlinked) {
		struct sidra_pt *pt = ptab->unlinked;

		ptab->unlinked = pt->next;
		sidra_ptab_pt_free(ptab, pt);
	}
}

struct walk {
	struct sidra_ptab_run run;	/* the run collected so far */
	void (*found)(void *to, const struct sidra_ptab_run *run);
	void *to;
};

static void sidra_ptab_walk_leaf(struct walk *walk, u64 va, u64 entry, u64 size)
{
	const u64 bus = entry & SIDRA_PTE_ADDR,
		  flags = entry & (SIDRA_PTE_READ | SIDRA_PTE_WRITE | SIDRA_PTE_LOCAL);
	struct sidra_ptab_run *run = &walk->run;

	if (run->size && run->va + run->size == va && run->bus + run->size == bus &&
	    run->flags == flags) {
		run->size += size;
		return;
	}
	if (run->size)
		walk->found(walk->to, run);
	*run = (struct sidra_ptab_run){ .va = va, .bus = bus, .size = size, .flags = flags };
}

static void sidra_ptab_walk_table(struct walk *walk, const struct sidra_pt *pt, u64 va)
{
	const u64 size = (u64)SIDRA_PAGE_SIZE << 9 * pt->level;
	unsigned int i;

	for (i = 0; i < SIDRA_PT_ENTRIES; i++, va += size) {
		if (pt->level != LEAF_LEVEL && pt->children[i])
			sidra_ptab_walk_table(walk, pt->children[i], va);
		else if (sidra_ptab_is_leaf(pt, i))
			sidra_ptab_walk_leaf(walk, va, le64_to_cpu(pt->entries[i]), size);
	}
}

void sidra_ptab_runs(const struct sidra_ptab *ptab,
		     void (*run)(void *to, const struct sidra_ptab_run *run), void *to)
{
	struct walk walk = { .found = run, .to = to };

	sidra_ptab_walk_table(&walk, ptab->root, 0);
	if (walk.run.size)
		run(to, &walk.run);
}
