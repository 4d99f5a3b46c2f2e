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
/* Allocations fail from the n-th on, as a test wants it; 0: never. How many are alive. */
extern unsigned shim_fail_after;
extern long shim_alive;
void* shim_alloc(size_t size);
void shim_free(const void* memory);
#ifdef __cplusplus
}
#endif

#ifndef __cplusplus

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

static inline void list_move(struct list_head* entry, struct list_head* head) {
    list_del(entry);
    list_add(entry, head);
}

#define container_of(pointer, type, member) ((type*)((char*)(pointer)-offsetof(type, member)))
#define list_entry(pointer, type, member) container_of(pointer, type, member)
#define list_first_entry(list, type, member) list_entry((list)->next, type, member)
#define list_for_each_entry(at, list, member)                                           \
    for (at = list_entry((list)->next, __typeof__(*at), member); &at->member != (list); \
         at = list_entry(at->member.next, __typeof__(*at), member))
#define list_for_each_entry_safe(at, after, list, member)             \
    for (at = list_entry((list)->next, __typeof__(*at), member),      \
        after = list_entry(at->member.next, __typeof__(*at), member); \
         &at->member != (list); at = after, after = list_entry(at->member.next, __typeof__(*at), member))

#endif

#endif /* SIDRA_SHIM_H */
