/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Included by files that use neither hardware nor kernel state: page tables, ranges, crossbars, the
 * NVM directory. Tests compile them in user space, too, where sidra_shim.h replaces the kernel's
 * headers.
 */
#ifndef __SIDRA_PURE_H__
#define __SIDRA_PURE_H__

#ifdef __KERNEL__
#include <linux/align.h>
#include <linux/array_size.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/rbtree_augmented.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/barrier.h>
#include <asm/byteorder.h>
#else
#include "sidra_shim.h"
#endif

#include <sidra_accel.h>
#include <sidra_hw.h>

#endif
