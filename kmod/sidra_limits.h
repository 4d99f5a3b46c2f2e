/* SPDX-License-Identifier: GPL-2.0-only */
/* What the open files of each user hold of the chip, and may hold at most. */
#ifndef __SIDRA_LIMITS_H__
#define __SIDRA_LIMITS_H__

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct sidra_device;
struct sidra_query_limits;

extern const struct attribute_group sidra_limits_group;

/**
 * enum sidra_resource - what is limited for each user
 * @SIDRA_RESOURCE_CONTEXTS: contexts
 * @SIDRA_RESOURCE_QUEUES: queues
 * @SIDRA_RESOURCE_NAMES: names of weights
 * @SIDRA_RESOURCE_XBARS: crossbars
 * @SIDRA_RESOURCE_L3: bytes of L3
 * @SIDRA_RESOURCE_DATA: bytes of non-volatile memory with data of names
 * @SIDRA_RESOURCE_COUNT: number of these
 */
enum sidra_resource {
	SIDRA_RESOURCE_CONTEXTS,
	SIDRA_RESOURCE_QUEUES,
	SIDRA_RESOURCE_NAMES,
	SIDRA_RESOURCE_XBARS,
	SIDRA_RESOURCE_L3,
	SIDRA_RESOURCE_DATA,
	SIDRA_RESOURCE_COUNT
};

/**
 * struct sidra_user - a user who has files open, weights, names or L3
 * @link: in sidra_limits.users
 * @refs: number of references; protected by sidra_limits.lock, like the rest
 * @uid: in the initial user namespace
 * @held: by enum sidra_resource
 */
struct sidra_user {
	struct list_head link;
	unsigned int refs;
	u32 uid;
	u64 held[SIDRA_RESOURCE_COUNT];
};

/**
 * struct sidra_limits - limits of each user, and all users
 * @lock: protects the rest; innermost
 * @users: struct sidra_user
 * @most: by enum sidra_resource: what one user may hold; set in sysfs
 */
struct sidra_limits {
	spinlock_t lock;	/* of all users */
	struct list_head users;
	u64 most[SIDRA_RESOURCE_COUNT];
};

void sidra_limits_init(struct sidra_limits *limits);
/*
 * Sets the limits that hold until an administrator sets others: three quarters of the chip's
 * contexts, queues, names and room for data of names.
 */
void sidra_limits_default(struct sidra_device *sdev);

/* The id of the calling user, in the initial user namespace. */
u32 sidra_limits_caller(void);

/* Returns the user with a reference, or NULL without memory. */
struct sidra_user *sidra_user_get(struct sidra_device *sdev, u32 uid);
void sidra_user_put(struct sidra_device *sdev, struct sidra_user *user);

/*
 * Adds to what the user holds, with a reference: 0, or -EDQUOT if it would exceed the limit and the
 * caller lacks CAP_SYS_RESOURCE.
 */
int sidra_user_charge(struct sidra_device *sdev, struct sidra_user *user,
		      enum sidra_resource resource, u64 amount);
/* The same without a limit, for what exists already. */
void sidra_user_charge_always(struct sidra_device *sdev, struct sidra_user *user,
			      enum sidra_resource resource, u64 amount);
/* Undoes a charge. */
void sidra_user_uncharge(struct sidra_device *sdev, struct sidra_user *user,
			 enum sidra_resource resource, u64 amount);

/* Returns a user who is charged for something. No reference is taken. */
struct sidra_user *sidra_user_find_charged(struct sidra_device *sdev, u32 uid);

void sidra_limits_query(struct sidra_device *sdev, struct sidra_user *user,
			struct sidra_query_limits *to);

#endif
