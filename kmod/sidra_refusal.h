/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which argument was the reason why a call failed: for SIDRA_QUERY_REFUSAL, and for DRM's debug
 * messages. Each open file remembers one, of the thread that failed last.
 *   return sidra_refuse(file, args->field, -ENOENT);
 *   ret = sidra_check_bits(file, args->flags, KNOWN_FLAGS) ?:
 *         sidra_check_arg(file, args->count, args->count <= MAX) ?:
 *         sidra_check_zero(file, args->pad);
 */
#ifndef __SIDRA_REFUSAL_H__
#define __SIDRA_REFUSAL_H__

#include <linux/spinlock.h>
#include <linux/types.h>

#include "sidra_args.h"

struct drm_file;
struct sidra_query_refusal;

/**
 * struct sidra_refusal - the argument that a call refused last
 * @lock: protects the others
 * @thread: who called, in the initial namespace; 0: no call has refused anything
 * @started: when that thread started, because numbers of threads are used again
 * @call: number of the call; 0 until it returns
 * @error: what it returned
 * @value: the argument
 * @array: field that points to an array with the argument, or NULL
 * @index: element of the array
 * @field: the field, of the element or of the struct of the call; its name follows "->", if there
 *         is one
 */
struct sidra_refusal {
	spinlock_t lock;	/* of the others */
	pid_t thread;
	u64 started;
	u32 call;
	int error;
	u64 value;
	const char *array;
	u32 index;
	const char *field;
};

/* Remembers an argument, and returns @error. The names are kept. Only called by ioctls. */
int sidra_refusal_note(struct drm_file *file, const char *field, u64 value, int error);
int sidra_refusal_note_element(struct drm_file *file, const char *array, u32 index,
			       const char *field, u64 value, int error);
/* A call of this thread has failed with @error; forgets an argument of an earlier one. */
void sidra_refusal_settle(struct drm_file *file, u32 call, int error);
/* What the calling thread's latest failed call refused; zeros if that is not known. */
void sidra_refusal_query(struct drm_file *file, struct sidra_query_refusal *to);

static inline int sidra_refusal_bits(struct drm_file *file, const char *field, u64 value, u64 known)
{
	return value & ~known ? sidra_refusal_note(file, field, value, -EINVAL) : 0;
}

static inline int sidra_refusal_unless(struct drm_file *file, const char *field, u64 value,
				       bool valid)
{
	return valid ? 0 : sidra_refusal_note(file, field, value, -EINVAL);
}

static inline int sidra_refusal_stride(struct drm_file *file, const char *field, u32 value,
				       size_t first_size)
{
	return sidra_refusal_unless(file, field, value, !sidra_args_stride(value, first_size));
}

/* Returns @error, for which @arg is the reason: a field of the struct of the call. */
#define sidra_refuse(file, arg, error) \
	sidra_refusal_note(file, #arg, arg, error)

/* 0, or -EINVAL if an argument has other bits than @known, */
#define sidra_check_bits(file, arg, known) \
	sidra_refusal_bits(file, #arg, arg, known)
/* or is not zero, */
#define sidra_check_zero(file, arg) \
	sidra_refusal_bits(file, #arg, arg, 0)
/* or is not valid, */
#define sidra_check_arg(file, arg, valid) \
	sidra_refusal_unless(file, #arg, arg, valid)
/* or is not a stride of elements that have @first_size bytes or more. */
#define sidra_check_stride(file, arg, first_size) \
	sidra_refusal_stride(file, #arg, arg, first_size)

#endif
