// SPDX-License-Identifier: GPL-2.0-only
#include <linux/kobject.h>

#include "sidra_device.h"
#include "sidra_event.h"
#include "sidra_telemetry.h"

#define TEXT	40

/* @what: name of an additional number, or NULL. */
static void sidra_event_send(struct sidra_device *sdev, const char *event, u32 cause,
			     const char *what, u32 number)
{
	char texts[3][TEXT], *env[4] = {};
	unsigned int count = 0;

	snprintf(texts[count++], TEXT, "SIDRA_EVENT=%s", event);
	snprintf(texts[count++], TEXT, "SIDRA_CAUSE=%u", cause);
	if (what)
		snprintf(texts[count++], TEXT, "%s=%u", what, number);
	while (count--)
		env[count] = texts[count];
	kobject_uevent_env(&sdev->node.kobj, KOBJ_CHANGE, env);
}

/* Takes a lost context that has not been reported yet: its number, or SIDRA_CONTEXTS_MAX. */
static u32 sidra_event_take_lost(struct sidra_events *events, u32 *cause)
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

static u32 sidra_event_take_reset(struct sidra_events *events)
{
	guard(spinlock_irqsave)(&events->lock);
	return xchg(&events->reset, SIDRA_FAULT_NONE);
}

/* Keeps the event for later, unless there was a newer one. */
static void sidra_event_put_back_reset(struct sidra_events *events, u32 cause)
{
	guard(spinlock_irqsave)(&events->lock);
	if (events->reset == SIDRA_FAULT_NONE)
		events->reset = cause;
}

/* The event contains the new generation, so it is delayed while the device is held. */
static void sidra_event_send_reset(struct sidra_device *sdev)
{
	struct sidra_events *events = &sdev->events;
	u32 cause = sidra_event_take_reset(events), generation = 0;
	int ret;

	if (cause == SIDRA_FAULT_NONE)
		return;
	ret = sidra_generation_read(sdev, &generation);
	if (ret == -EAGAIN)
		sidra_event_put_back_reset(events, cause);
	else
		sidra_event_send(sdev, "reset", cause, ret ? NULL : "SIDRA_GENERATION", generation);
}

static void sidra_event_work(struct work_struct *work)
{
	struct sidra_device *sdev = container_of(work, struct sidra_device, events.work);
	u32 context, cause;

	while ((context = sidra_event_take_lost(&sdev->events, &cause)) < SIDRA_CONTEXTS_MAX)
		sidra_event_send(sdev, "context-lost", cause, "SIDRA_CONTEXT", context);
	sidra_event_send_reset(sdev);
}

void sidra_events_init(struct sidra_device *sdev)
{
	spin_lock_init(&sdev->events.lock);
	INIT_WORK(&sdev->events.work, sidra_event_work);
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

void sidra_events_resume(struct sidra_device *sdev)
{
	guard(spinlock_irqsave)(&sdev->events.lock);
	if (sdev->events.on)
		queue_work(system_freezable_wq, &sdev->events.work);
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
