// SPDX-License-Identifier: GPL-2.0-only
#include <linux/sched.h>

#include <drm/drm_print.h>

#include <sidra_accel.h>

#include "sidra_file.h"
#include "sidra_refusal.h"

static struct sidra_refusal *sidra_refusal_of(struct drm_file *file)
{
	struct sidra_file *sfile = file->driver_priv;

	return &sfile->refusal;
}

static bool sidra_refusal_is_mine(const struct sidra_refusal *refusal)
{
	lockdep_assert_held(&refusal->lock);
	return refusal->thread == current->pid && refusal->started == current->start_time;
}

static const char *sidra_refusal_name(const char *field)
{
	const char *arrow = strstr(field, "->");

	return arrow ? arrow + 2 : field;
}

int sidra_refusal_note_element(struct drm_file *file, const char *array, u32 index,
			       const char *field, u64 value, int error)
{
	struct sidra_refusal *refusal = sidra_refusal_of(file);

	scoped_guard(spinlock, &refusal->lock) {
		WRITE_ONCE(refusal->thread, current->pid);
		refusal->started = current->start_time;
		refusal->call = 0;
		refusal->error = error;
		refusal->value = value;
		refusal->array = array;
		refusal->index = index;
		refusal->field = field;
	}
	if (array)
		drm_dbg_driver(file->minor->dev, "%s[%u].%s = %#llx is refused: %d\n", array, index,
			       field, value, error);
	else
		drm_dbg_driver(file->minor->dev, "%s = %#llx is refused: %d\n",
			       sidra_refusal_name(field), value, error);
	return error;
}

int sidra_refusal_note(struct drm_file *file, const char *field, u64 value, int error)
{
	return sidra_refusal_note_element(file, NULL, 0, field, value, error);
}

void sidra_refusal_settle(struct drm_file *file, u32 call, int error)
{
	struct sidra_refusal *refusal = sidra_refusal_of(file);

	/* Most calls that fail do so for other reasons, such as a deadline: without the lock */
	if (READ_ONCE(refusal->thread) != current->pid)
		return;
	guard(spinlock)(&refusal->lock);
	if (!sidra_refusal_is_mine(refusal))
		return;
	if (refusal->call || refusal->error != error)
		WRITE_ONCE(refusal->thread, 0);
	else
		refusal->call = call;
}

void sidra_refusal_query(struct drm_file *file, struct sidra_query_refusal *to)
{
	struct sidra_refusal *refusal = sidra_refusal_of(file);

	guard(spinlock)(&refusal->lock);
	if (!sidra_refusal_is_mine(refusal) || !refusal->call)
		return;
	to->call = refusal->call;
	to->error = -refusal->error;
	to->value = refusal->value;
	if (refusal->array)
		snprintf(to->name, sizeof(to->name), "%s[%u].%s", refusal->array, refusal->index,
			 refusal->field);
	else
		strscpy(to->name, sidra_refusal_name(refusal->field));
}
