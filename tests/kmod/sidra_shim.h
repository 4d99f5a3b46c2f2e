/* SPDX-License-Identifier: MIT */
/* As much of the kernel as the driver's files without hardware need, in user space. */
#ifndef SIDRA_SHIM_H
#define SIDRA_SHIM_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#ifdef __cplusplus
extern "C" {
#endif
/* Allocations fail from the n-th on, as a test wants it; 0: never. How many are alive. How many members of lists and
 * trees were looked at. */
extern unsigned shim_fail_after;
extern long shim_alive;
extern unsigned long shim_visits;
void* shim_alloc(size_t size);
void shim_free(const void* memory);
#ifdef __cplusplus
}
#endif

#ifndef __cplusplus

#define U64_MAX UINT64_MAX
#define GFP_KERNEL 0
#define GFP_KERNEL_ACCOUNT 0
#define kmalloc(size, flags) shim_alloc(size)
#define kvzalloc(size, flags) shim_alloc(size)
#define kvcalloc(count, size, flags) shim_alloc((size_t)(count) * (size))
#define kfree(memory) shim_free(memory)
#define kvfree(memory) shim_free(memory)

#define dma_rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define dma_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)
#define READ_ONCE(place) (*(const volatile __typeof__(place)*)&(place))
#define WRITE_ONCE(place, value) (*(volatile __typeof__(place)*)&(place) = (value))

/* The host is little-endian. */
#define cpu_to_le16(value) ((uint16_t)(value))
#define cpu_to_le32(value) ((uint32_t)(value))
#define cpu_to_le64(value) ((uint64_t)(value))
#define le16_to_cpu(value) ((uint16_t)(value))
#define le32_to_cpu(value) ((uint32_t)(value))
#define le64_to_cpu(value) ((uint64_t)(value))

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define DIV_ROUND_UP(n, d) (((n) + (d)-1) / (d))
#define ALIGN(n, a) (((n) + (a)-1) / (a) * (a))
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define struct_size(pointer, member, count) (sizeof(*(pointer)) + sizeof((pointer)->member[0]) * (count))
#define sort(base, count, size, compare, swap) qsort(base, count, size, compare)

#endif

struct list_head {
    struct list_head *next, *prev;
};

struct rb_node {
    struct rb_node *parent, *rb_left, *rb_right;
    int priority;
};

struct rb_root {
    struct rb_node* rb_node;
};

struct rb_root_cached {
    struct rb_root rb_root;
};

#ifndef __cplusplus

static inline void INIT_LIST_HEAD(struct list_head* list) {
    list->next = list;
    list->prev = list;
}

static inline void list_add(struct list_head* entry, struct list_head* head) {
    entry->next = head->next;
    entry->prev = head;
    head->next->prev = entry;
    head->next = entry;
}

static inline void list_del(struct list_head* entry) {
    entry->next->prev = entry->prev;
    entry->prev->next = entry->next;
}

#define container_of(pointer, type, member) (shim_visits++, (type*)((char*)(pointer)-offsetof(type, member)))
#define list_entry(pointer, type, member) container_of(pointer, type, member)
#define list_first_entry(list, type, member) list_entry((list)->next, type, member)
#define list_for_each_entry_safe(at, after, list, member)             \
    for (at = list_entry((list)->next, __typeof__(*at), member),      \
        after = list_entry(at->member.next, __typeof__(*at), member); \
         &at->member != (list); at = after, after = list_entry(at->member.next, __typeof__(*at), member))

/* Trees are balanced by random priorities: no node has a higher one than its parent. */
struct rb_augment_callbacks {
    void (*propagate)(struct rb_node* node, struct rb_node* stop);
    void (*rotate)(struct rb_node* old, struct rb_node* fresh);
};

#define RB_ROOT_CACHED ((struct rb_root_cached){{NULL}})
#define rb_entry(pointer, type, member) container_of(pointer, type, member)
#define rb_parent(node) ((node)->parent)
#define RB_DECLARE_CALLBACKS_MAX(scope, name, structure, field, scalar, augmented, compute)        \
    static scalar name##_max(const structure* node) {                                              \
        const struct rb_node* children[] = {node->field.rb_left, node->field.rb_right};            \
        scalar most = compute(node);                                                               \
        for (int i = 0; i < 2; i++)                                                                \
            if (children[i]) most = max(most, rb_entry(children[i], structure, field)->augmented); \
        return most;                                                                               \
    }                                                                                              \
    static void name##_propagate(struct rb_node* node, struct rb_node* stop) {                     \
        for (; node != stop; node = node->parent) {                                                \
            structure* at = rb_entry(node, structure, field);                                      \
            const scalar most = name##_max(at);                                                    \
            if (at->augmented == most) break;                                                      \
            at->augmented = most;                                                                  \
        }                                                                                          \
    }                                                                                              \
    static void name##_rotate(struct rb_node* old, struct rb_node* fresh) {                        \
        structure* below = rb_entry(old, structure, field);                                        \
        rb_entry(fresh, structure, field)->augmented = below->augmented;                           \
        below->augmented = name##_max(below);                                                      \
    }                                                                                              \
    scope const struct rb_augment_callbacks name = {name##_propagate, name##_rotate};

static inline struct rb_node** shim_link_to(struct rb_node* node, struct rb_root_cached* tree) {
    struct rb_node* parent = node->parent;
    if (!parent) return &tree->rb_root.rb_node;
    return parent->rb_left == node ? &parent->rb_left : &parent->rb_right;
}

/* Exchanges a node with its parent. */
static inline void shim_rotate(struct rb_node* node, struct rb_root_cached* tree,
                               const struct rb_augment_callbacks* augment) {
    struct rb_node* parent = node->parent;
    const int left = parent->rb_left == node;
    struct rb_node** inner = left ? &node->rb_right : &node->rb_left;
    *shim_link_to(parent, tree) = node;
    node->parent = parent->parent;
    *(left ? &parent->rb_left : &parent->rb_right) = *inner;
    if (*inner) (*inner)->parent = parent;
    *inner = parent;
    parent->parent = node;
    augment->rotate(parent, node);
}

static inline void rb_add_augmented_cached(struct rb_node* node, struct rb_root_cached* tree,
                                           bool (*less)(struct rb_node*, const struct rb_node*),
                                           const struct rb_augment_callbacks* augment) {
    struct rb_node **link = &tree->rb_root.rb_node, *parent = NULL;
    while (*link) {
        parent = *link;
        link = less(node, parent) ? &parent->rb_left : &parent->rb_right;
    }
    *node = (struct rb_node){parent, NULL, NULL, rand()};
    *link = node;
    augment->propagate(parent, NULL);
    while (node->parent && node->parent->priority < node->priority) shim_rotate(node, tree, augment);
}

static inline void rb_erase_augmented_cached(struct rb_node* node, struct rb_root_cached* tree,
                                             const struct rb_augment_callbacks* augment) {
    while (node->rb_left || node->rb_right) {
        const int left = !node->rb_right || (node->rb_left && node->rb_left->priority > node->rb_right->priority);
        shim_rotate(left ? node->rb_left : node->rb_right, tree, augment);
    }
    *shim_link_to(node, tree) = NULL;
    augment->propagate(node->parent, NULL);
}

static inline struct rb_node* rb_first_cached(const struct rb_root_cached* tree) {
    struct rb_node* node = tree->rb_root.rb_node;
    while (node && node->rb_left) node = node->rb_left;
    return node;
}

static inline struct rb_node* rb_next(const struct rb_node* node) {
    struct rb_node* next = node->rb_right;
    if (!next) {
        while (node->parent && node->parent->rb_right == node) node = node->parent;
        return node->parent;
    }
    while (next->rb_left) next = next->rb_left;
    return next;
}

#endif

#endif /* SIDRA_SHIM_H */
