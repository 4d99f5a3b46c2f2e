/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM sidra

#if !defined(__SIDRA_TRACE_H__) || defined(TRACE_HEADER_MULTI_READ)
#define __SIDRA_TRACE_H__

#include <linux/tracepoint.h>

DECLARE_EVENT_CLASS(sidra_reg,
	TP_PROTO(int device, u32 reg, u64 value),
	TP_ARGS(device, reg, value),
	TP_STRUCT__entry(
		__field(int, device)
		__field(u32, reg)
		__field(u64, value)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->reg = reg;
		__entry->value = value;
	),
	TP_printk("sidra%d reg=%#x value=%#llx", __entry->device, __entry->reg, __entry->value)
);

DEFINE_EVENT(sidra_reg, sidra_reg_read, TP_PROTO(int device, u32 reg, u64 value),
	     TP_ARGS(device, reg, value));
DEFINE_EVENT(sidra_reg, sidra_reg_write, TP_PROTO(int device, u32 reg, u64 value),
	     TP_ARGS(device, reg, value));

TRACE_EVENT(sidra_admin, TP_PROTO(int device, u32 op, u64 arg0, u64 arg1, u64 arg2, int result),
	    TP_ARGS(device, op, arg0, arg1, arg2, result),
	    TP_STRUCT__entry(__field(int, device) __field(u32, op) __field(u64, arg0)
				     __field(u64, arg1) __field(u64, arg2) __field(int, result)),
	    TP_fast_assign(__entry->device = device; __entry->op = op; __entry->arg0 = arg0;
			   __entry->arg1 = arg1; __entry->arg2 = arg2; __entry->result = result;),
	    TP_printk("sidra%d op=%u arg0=%#llx arg1=%#llx arg2=%#llx result=%d", __entry->device,
		      __entry->op, __entry->arg0, __entry->arg1, __entry->arg2, __entry->result));

/* result: of the call; status: enum sidra_mailbox_status of its reply */
TRACE_EVENT(sidra_mailbox, TP_PROTO(int device, u32 op, int result, u32 status),
	    TP_ARGS(device, op, result, status),
	    TP_STRUCT__entry(__field(int, device) __field(u32, op) __field(int, result)
				     __field(u32, status)),
	    TP_fast_assign(__entry->device = device; __entry->op = op; __entry->result = result;
			   __entry->status = status;),
	    TP_printk("sidra%d op=%#x result=%d status=%u", __entry->device, __entry->op,
		      __entry->result, __entry->status));

/* step: 0 acknowledged, 1 the context was reset, 2 the device was reset */
TRACE_EVENT(sidra_quiesce, TP_PROTO(int device, u32 context, u32 op, u64 arg1, u64 arg2, u32 step),
	    TP_ARGS(device, context, op, arg1, arg2, step),
	    TP_STRUCT__entry(__field(int, device) __field(u32, context) __field(u32, op)
				     __field(u64, arg1) __field(u64, arg2) __field(u32, step)),
	    TP_fast_assign(__entry->device = device; __entry->context = context; __entry->op = op;
			   __entry->arg1 = arg1; __entry->arg2 = arg2; __entry->step = step;),
	    TP_printk("sidra%d context=%u op=%u arg1=%#llx arg2=%#llx step=%u", __entry->device,
		      __entry->context, __entry->op, __entry->arg1, __entry->arg2, __entry->step));

TRACE_EVENT(sidra_submit, TP_PROTO(int device, u32 context, u32 queue, u64 value, u32 count),
	    TP_ARGS(device, context, queue, value, count),
	    TP_STRUCT__entry(__field(int, device) __field(u32, context) __field(u32, queue)
				     __field(u64, value) __field(u32, count)),
	    TP_fast_assign(__entry->device = device; __entry->context = context;
			   __entry->queue = queue; __entry->value = value; __entry->count = count;),
	    TP_printk("sidra%d context=%u queue=%u value=%llu count=%u", __entry->device,
		      __entry->context, __entry->queue, __entry->value, __entry->count));

/*
 * The life of a job, by positions in the ring of its queue. @value is the timeline value for which
 * WAIT would wait.
 */
DECLARE_EVENT_CLASS(sidra_value, TP_PROTO(int device, u32 context, u32 queue, u64 value),
		    TP_ARGS(device, context, queue, value),
		    TP_STRUCT__entry(__field(int, device) __field(u32, context) __field(u32, queue)
					     __field(u64, value)),
		    TP_fast_assign(__entry->device = device; __entry->context = context;
				   __entry->queue = queue; __entry->value = value;),
		    TP_printk("sidra%d context=%u queue=%u value=%llu", __entry->device,
			      __entry->context, __entry->queue, __entry->value));

/* The driver rang the doorbell of a kernel queue for all packets up to value. */
DEFINE_EVENT(sidra_value, sidra_doorbell,
	TP_PROTO(int device, u32 context, u32 queue, u64 value),
	TP_ARGS(device, context, queue, value)
);

/* The chip will raise an interrupt at value. */
DEFINE_EVENT(sidra_value, sidra_arm,
	TP_PROTO(int device, u32 context, u32 queue, u64 value),
	TP_ARGS(device, context, queue, value)
);

/* The driver saw the timeline at value, and woke the waiters for that and lower values. */
DEFINE_EVENT(sidra_value, sidra_reached,
	TP_PROTO(int device, u32 context, u32 queue, u64 value),
	TP_ARGS(device, context, queue, value)
);

/* A process begins to wait for value (WAIT). */
DEFINE_EVENT(sidra_value, sidra_wait,
	TP_PROTO(int device, u32 context, u32 queue, u64 value),
	TP_ARGS(device, context, queue, value)
);

/* The wait has ended with result 0 or -errno. */
DECLARE_EVENT_CLASS(sidra_end, TP_PROTO(int device, u32 context, u32 queue, u64 value, int result),
		    TP_ARGS(device, context, queue, value, result),
		    TP_STRUCT__entry(__field(int, device) __field(u32, context) __field(u32, queue)
					     __field(u64, value) __field(int, result)),
		    TP_fast_assign(__entry->device = device; __entry->context = context;
				   __entry->queue = queue; __entry->value = value;
				   __entry->result = result;),
		    TP_printk("sidra%d context=%u queue=%u value=%llu result=%d", __entry->device,
			      __entry->context, __entry->queue, __entry->value, __entry->result));

DEFINE_EVENT(sidra_end, sidra_fence,
	TP_PROTO(int device, u32 context, u32 queue, u64 value, int result),
	TP_ARGS(device, context, queue, value, result)
);

DEFINE_EVENT(sidra_end, sidra_wait_end,
	TP_PROTO(int device, u32 context, u32 queue, u64 value, int result),
	TP_ARGS(device, context, queue, value, result)
);

TRACE_EVENT(sidra_irq,
	TP_PROTO(int device, u32 vector),
	TP_ARGS(device, vector),
	TP_STRUCT__entry(
		__field(int, device)
		__field(u32, vector)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->vector = vector;
	),
	TP_printk("sidra%d vector=%u", __entry->device, __entry->vector)
);

TRACE_EVENT(sidra_fault,
	    TP_PROTO(int device, u32 context, u32 queue, u32 cause, u64 sequence, u64 address),
	    TP_ARGS(device, context, queue, cause, sequence, address),
	    TP_STRUCT__entry(__field(int, device) __field(u32, context) __field(u32, queue)
				     __field(u32, cause) __field(u64, sequence)
					     __field(u64, address)),
	    TP_fast_assign(__entry->device = device; __entry->context = context;
			   __entry->queue = queue; __entry->cause = cause;
			   __entry->sequence = sequence; __entry->address = address;),
	    TP_printk("sidra%d context=%u queue=%u cause=%u sequence=%llu address=%#llx",
		      __entry->device, __entry->context, __entry->queue, __entry->cause,
		      __entry->sequence, __entry->address));

TRACE_EVENT(sidra_reset,
	TP_PROTO(int device, u32 cause, bool back),
	TP_ARGS(device, cause, back),
	TP_STRUCT__entry(
		__field(int, device)
		__field(u32, cause)
		__field(bool, back)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->cause = cause;
		__entry->back = back;
	),
	TP_printk("sidra%d cause=%u back=%d", __entry->device, __entry->cause, __entry->back)
);

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE sidra_trace
#include <trace/define_trace.h>
