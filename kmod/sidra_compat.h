/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The driver calls everything as the newest kernel has it that it is built for; older ones get here what they lack.
 * Which that is, Kbuild asks their headers.
 */
#ifndef __SIDRA_COMPAT_H__
#define __SIDRA_COMPAT_H__

#include <linux/module.h>

#ifdef SIDRA_IMPORT_NS_BARE
#undef MODULE_IMPORT_NS
#define MODULE_IMPORT_NS(ns)	MODULE_INFO(import_ns, ns)
#endif

/* A line of struct drm_driver. */
#ifdef SIDRA_DRM_HAS_DATE
#define SIDRA_DRM_DATE		.date = "20260101",
#else
#define SIDRA_DRM_DATE
#endif

#endif
