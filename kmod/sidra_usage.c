// SPDX-License-Identifier: GPL-2.0-only
#include <linux/overflow.h>

#include <drm/drm_print.h>

#include "sidra_usage.h"

static __le64 *sidra_usage_counter(struct sidra_queue_state *state, unsigned int number)
{
	switch (number) {
	case SIDRA_USED_DEVICE_PS:
		return &state->device_ps;
	case SIDRA_USED_ENERGY_PJ:
		return &state->energy_pj;
	}
	return &state->engine_ns[number - SIDRA_USED_ENGINE_NS];
}

/* Saturates. */
static void sidra_usage_add(u64 *sum, u64 more)
{
	if (check_add_overflow(*sum, more, sum))
		*sum = U64_MAX;
}

static void sidra_usage_update_seen(struct sidra_use *use)
{
	unsigned int i;

	lockdep_assert_held(&use->account->lock);
	for (i = 0; i < SIDRA_USED_COUNT; i++)
		use->seen[i] = max(use->seen[i],
				   le64_to_cpu(READ_ONCE(*sidra_usage_counter(use->state, i))));
}

void sidra_account_init(struct sidra_account *account)
{
	spin_lock_init(&account->lock);
	INIT_LIST_HEAD(&account->uses);
}

void sidra_account_contexts(struct sidra_account *account, int change)
{
	guard(spinlock)(&account->lock);
	account->contexts += change;
}

void sidra_use_begin(struct sidra_use *use, struct sidra_account *account,
		     struct sidra_queue_state *state)
{
	use->account = account;
	use->state = state;
	guard(spinlock)(&account->lock);
	list_add_tail(&use->link, &account->uses);
}

void sidra_use_restart(struct sidra_use *use)
{
	unsigned int i;

	guard(spinlock)(&use->account->lock);
	sidra_usage_update_seen(use);
	for (i = 0; i < SIDRA_USED_COUNT; i++) {
		sidra_usage_add(&use->before[i], use->seen[i]);
		use->seen[i] = 0;
		/* The value the chip will start with */
		WRITE_ONCE(*sidra_usage_counter(use->state, i), 0);
	}
}

void sidra_use_end(struct sidra_use *use)
{
	unsigned int i;

	guard(spinlock)(&use->account->lock);
	sidra_usage_update_seen(use);
	for (i = 0; i < SIDRA_USED_COUNT; i++) {
		sidra_usage_add(&use->account->gone[i], use->before[i]);
		sidra_usage_add(&use->account->gone[i], use->seen[i]);
	}
	list_del(&use->link);
}

void sidra_account_show(struct sidra_account *account, struct drm_printer *p)
{
	static const char *const engines[SIDRA_HW_ENGINE_COUNT] = { "mvm", "vec", "copy",
								    "program" };
	unsigned int contexts, queues = 0, i;
	u64 sums[SIDRA_USED_COUNT];
	struct sidra_use *use;

	scoped_guard(spinlock, &account->lock) {
		contexts = account->contexts;
		memcpy(sums, account->gone, sizeof(sums));
		list_for_each_entry(use, &account->uses, link) {
			queues++;
			sidra_usage_update_seen(use);
			for (i = 0; i < SIDRA_USED_COUNT; i++) {
				sidra_usage_add(&sums[i], use->before[i]);
				sidra_usage_add(&sums[i], use->seen[i]);
			}
		}
	}
	for (i = 0; i < SIDRA_HW_ENGINE_COUNT; i++)
		drm_printf(p, "drm-engine-%s:\t%llu ns\n", engines[i],
			   sums[SIDRA_USED_ENGINE_NS + i]);
	drm_printf(p, "sidra-contexts:\t%u\n", contexts);
	drm_printf(p, "sidra-queues:\t%u\n", queues);
	drm_printf(p, "sidra-device-time:\t%llu ps\n", sums[SIDRA_USED_DEVICE_PS]);
	drm_printf(p, "sidra-energy:\t%llu pJ\n", sums[SIDRA_USED_ENERGY_PJ]);
}
