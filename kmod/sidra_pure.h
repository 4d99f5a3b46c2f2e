/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files without hardware or kernel state include: page tables, ranges, crossbars, the NVM directory. They
 * also compile in user space, under the tests, where sidra_shim.h stands for the kernel.
 */
#ifndef __SIDRA_PURE_H__
#define __SIDRA_PURE_H__

#ifdef __KERNEL__
#include <linux/align.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/barrier.h>
#else
#include "sidra_shim.h"
#endif

#include <sidra_accel.h>

#endif
