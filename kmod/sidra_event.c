// SPDX-License-Identifier: GPL-2.0-only
#include <linux/kobject.h>

#include "sidra_drv.h"
#include "sidra_event.h"
#include "sidra_telemetry.h"

#define TEXT	40

/* What is behind the numbers is told as well, where the chip can be asked. */
static void send(struct sidra_device *sdev, const char *event, const char *what, u32 number, u32 cause)
{
	char texts[4][TEXT], *env[5] = {};
	struct sidra_telemetry page;
	unsigned int count = 0;

	snprintf(texts[count++], TEXT, "SIDRA_EVENT=%s", event);
	snprintf(texts[count++], TEXT, "SIDRA_CAUSE=%u", cause);
	if (what)
		snprintf(texts[count++], TEXT, "%s=%u", what, number);
	else if (!sidra_telemetry_read(sdev, &page))
		snprintf(texts[count++], TEXT, "SIDRA_GENERATION=%u", page.generation);
	while (count--)
		env[count] = texts[count];
	kobject_uevent_env(&sdev->node.kobj, KOBJ_CHANGE, env);
}

/* The number of a context that was lost, which is told of now, or SIDRA_CONTEXTS_MAX. */
static u32 take_lost(struct sidra_events *events, u32 *cause)
{
	u32 context;

	guard(spinlock_irqsave)(&events->lock);
	context = find_first_bit(events->lost, SIDRA_CONTEXTS_MAX);
	if (context == SIDRA_CONTEXTS_MAX)
		return context;
	__clear_bit(context, events->lost);
	*cause = events->cause[context];
	return context;
}

static void event_work(struct work_struct *work)
{
	struct sidra_device *sdev = container_of(work, struct sidra_device, events.work);
	struct sidra_events *events = &sdev->events;
	u32 context, cause;

	while ((context = take_lost(events, &cause)) < SIDRA_CONTEXTS_MAX)
		send(sdev, "context-lost", "SIDRA_CONTEXT", context, cause);
	scoped_guard(spinlock_irqsave, &events->lock) {
		cause = events->reset;
		events->reset = SIDRA_FAULT_NONE;
	}
	if (cause != SIDRA_FAULT_NONE)
		send(sdev, "reset", NULL, 0, cause);
}

void sidra_events_init(struct sidra_device *sdev)
{
	spin_lock_init(&sdev->events.lock);
	INIT_WORK(&sdev->events.work, event_work);
}

void sidra_events_begin(struct sidra_device *sdev)
{
	guard(spinlock_irqsave)(&sdev->events.lock);
	sdev->events.on = true;
}

void sidra_events_end(struct sidra_device *sdev)
{
	scoped_guard(spinlock_irqsave, &sdev->events.lock)
		sdev->events.on = false;
	cancel_work_sync(&sdev->events.work);
}

void sidra_event_reset(struct sidra_device *sdev, enum sidra_fault_cause cause)
{
	guard(spinlock_irqsave)(&sdev->events.lock);
	if (!sdev->events.on)
		return;
	sdev->events.reset = cause;
	queue_work(system_freezable_wq, &sdev->events.work);
}

void sidra_event_context_lost(struct sidra_device *sdev, u32 context, enum sidra_fault_cause cause)
{
	guard(spinlock_irqsave)(&sdev->events.lock);
	if (!sdev->events.on)
		return;
	sdev->events.cause[context] = cause;
	__set_bit(context, sdev->events.lost);
	queue_work(system_freezable_wq, &sdev->events.work);
}
