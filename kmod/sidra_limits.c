// SPDX-License-Identifier: GPL-2.0-only
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/uidgid.h>

#include "sidra_chip.h"
#include "sidra_device.h"
#include "sidra_limits.h"

/* ---- Attributes: what one user may hold ---- */

static ssize_t sidra_limits_show(struct device *node, struct device_attribute *attr, char *text)
{
	const struct dev_ext_attribute *limit = container_of(attr, struct dev_ext_attribute, attr);
	struct sidra_limits *limits = &sidra_of_node(node)->limits;

	guard(spinlock)(&limits->lock);
	return sysfs_emit(text, "%llu\n", limits->most[(uintptr_t)limit->var]);
}

static ssize_t sidra_limits_store(struct device *node, struct device_attribute *attr,
				  const char *text, size_t count)
{
	const struct dev_ext_attribute *limit = container_of(attr, struct dev_ext_attribute, attr);
	struct sidra_limits *limits = &sidra_of_node(node)->limits;
	u64 most;
	int ret = kstrtou64(text, 0, &most);

	if (ret)
		return ret;
	guard(spinlock)(&limits->lock);
	limits->most[(uintptr_t)limit->var] = most;
	return count;
}

#define SIDRA_LIMIT(name, resource) \
	static struct dev_ext_attribute sidra_limit_##name = { \
		.attr = __ATTR(name, 0644, sidra_limits_show, sidra_limits_store), \
		.var = (void *)(resource), \
	}

SIDRA_LIMIT(contexts, SIDRA_RESOURCE_CONTEXTS);
SIDRA_LIMIT(queues, SIDRA_RESOURCE_QUEUES);
SIDRA_LIMIT(names, SIDRA_RESOURCE_NAMES);
SIDRA_LIMIT(crossbars, SIDRA_RESOURCE_XBARS);
SIDRA_LIMIT(l3, SIDRA_RESOURCE_L3);
SIDRA_LIMIT(data, SIDRA_RESOURCE_DATA);

static struct attribute *sidra_limit_attrs[] = {
	&sidra_limit_contexts.attr.attr,
	&sidra_limit_queues.attr.attr,
	&sidra_limit_names.attr.attr,
	&sidra_limit_crossbars.attr.attr,
	&sidra_limit_l3.attr.attr,
	&sidra_limit_data.attr.attr,
	NULL
};

const struct attribute_group sidra_limits_group = {
	.name = "user_limits",
	.attrs = sidra_limit_attrs,
};

/* ---- Users ---- */

void sidra_limits_init(struct sidra_limits *limits)
{
	spin_lock_init(&limits->lock);
	INIT_LIST_HEAD(&limits->users);
}

void sidra_limits_default(struct sidra_device *sdev)
{
	const struct sidra_info *info = &sdev->chip.info;
	u64 *most = sdev->limits.most;

	most[SIDRA_RESOURCE_CONTEXTS] = info->contexts * 3 / 4;
	most[SIDRA_RESOURCE_QUEUES] = info->queues * 3 / 4;
	most[SIDRA_RESOURCE_NAMES] = SIDRA_NVM_ENTRIES * 3 / 4;
	most[SIDRA_RESOURCE_XBARS] = sidra_xbars_of(info);
	most[SIDRA_RESOURCE_L3] = sdev->l3.size;
	most[SIDRA_RESOURCE_DATA] = (info->nvm_size - SIDRA_NVM_DATA_OFFSET) / 4 * 3;
}

u32 sidra_limits_caller(void)
{
	return from_kuid(&init_user_ns, current_euid());
}

static struct sidra_user *sidra_limits_find_user(struct sidra_limits *limits, u32 uid)
{
	struct sidra_user *user;

	lockdep_assert_held(&limits->lock);
	list_for_each_entry(user, &limits->users, link)
		if (user->uid == uid)
			return user;
	return NULL;
}

struct sidra_user *sidra_user_get(struct sidra_device *sdev, u32 uid)
{
	struct sidra_user *fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT), *user;
	struct sidra_limits *limits = &sdev->limits;

	if (!fresh)
		return NULL;
	fresh->uid = uid;
	scoped_guard(spinlock, &limits->lock) {
		user = sidra_limits_find_user(limits, uid);
		if (!user) {
			user = fresh;
			list_add_tail(&user->link, &limits->users);
			fresh = NULL;
		}
		user->refs++;
	}
	kfree(fresh);
	return user;
}

static void sidra_limits_put_user(struct sidra_user *user)
{
	if (--user->refs)
		return;
	list_del(&user->link);
	kfree(user);
}

void sidra_user_put(struct sidra_device *sdev, struct sidra_user *user)
{
	guard(spinlock)(&sdev->limits.lock);
	sidra_limits_put_user(user);
}

int sidra_user_charge(struct sidra_device *sdev, struct sidra_user *user,
		      enum sidra_resource resource, u64 amount)
{
	struct sidra_limits *limits = &sdev->limits;
	bool within;

	scoped_guard(spinlock, &limits->lock) {
		u64 most = limits->most[resource], held = user->held[resource];

		within = held <= most && amount <= most - held;
		if (within) {
			user->held[resource] += amount;
			user->refs++;
		}
	}
	if (within)
		return 0;
	if (!capable(CAP_SYS_RESOURCE))
		return -EDQUOT;
	sidra_user_charge_always(sdev, user, resource, amount);
	return 0;
}

void sidra_user_charge_always(struct sidra_device *sdev, struct sidra_user *user,
			      enum sidra_resource resource, u64 amount)
{
	guard(spinlock)(&sdev->limits.lock);
	user->held[resource] += amount;
	user->refs++;
}

void sidra_user_uncharge(struct sidra_device *sdev, struct sidra_user *user,
			 enum sidra_resource resource, u64 amount)
{
	guard(spinlock)(&sdev->limits.lock);
	user->held[resource] -= amount;
	sidra_limits_put_user(user);
}

struct sidra_user *sidra_user_find_charged(struct sidra_device *sdev, u32 uid)
{
	guard(spinlock)(&sdev->limits.lock);
	return sidra_limits_find_user(&sdev->limits, uid);
}

/* A limit that is larger than any number that there can be is as good as none. */
static u32 sidra_limits_number(u64 limit)
{
	return min_t(u64, limit, U32_MAX);
}

void sidra_limits_query(struct sidra_device *sdev, struct sidra_user *user,
			struct sidra_query_limits *to)
{
	const u64 *held = user->held, *most = sdev->limits.most;

	guard(spinlock)(&sdev->limits.lock);
	to->contexts = held[SIDRA_RESOURCE_CONTEXTS];
	to->contexts_max = sidra_limits_number(most[SIDRA_RESOURCE_CONTEXTS]);
	to->queues = held[SIDRA_RESOURCE_QUEUES];
	to->queues_max = sidra_limits_number(most[SIDRA_RESOURCE_QUEUES]);
	to->names = held[SIDRA_RESOURCE_NAMES];
	to->names_max = sidra_limits_number(most[SIDRA_RESOURCE_NAMES]);
	to->xbars = held[SIDRA_RESOURCE_XBARS];
	to->xbars_max = sidra_limits_number(most[SIDRA_RESOURCE_XBARS]);
	to->l3 = held[SIDRA_RESOURCE_L3];
	to->l3_max = most[SIDRA_RESOURCE_L3];
	to->data = held[SIDRA_RESOURCE_DATA];
	to->data_max = most[SIDRA_RESOURCE_DATA];
}
