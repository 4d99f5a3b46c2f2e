// SPDX-License-Identifier: GPL-2.0-only
#include "sidra_admin.h"
#include "sidra_chip.h"
#include "sidra_coredump.h"
#include "sidra_ctx.h"
#include "sidra_quiesce.h"
#include "sidra_table.h"
#include "sidra_trace.h"

static bool sidra_quiesce_done(struct sidra_ctx *ctx, u32 op, u64 arg1, u64 arg2)
{
	return sidra_admin_raw(ctx->sdev, op, ctx->slot, arg1, arg2) == SIDRA_ADMIN_OK;
}

static bool sidra_quiesce_acknowledged(struct sidra_ctx *ctx, u32 op, u64 arg1, u64 arg2)
{
	if (!sidra_quiesce_done(ctx, op, arg1, arg2))
		return false;
	if (op == SIDRA_ADMIN_RESET_QUEUE)
		return sidra_quiesce_done(ctx, SIDRA_ADMIN_RESUME_QUEUE, arg1, arg2);
	if (op == SIDRA_ADMIN_RESET_CONTEXT)
		return sidra_quiesce_done(ctx, SIDRA_ADMIN_RESUME_CONTEXT, arg1, arg2);
	return true;
}

int sidra_quiesce(struct sidra_ctx *ctx, u32 op, u64 arg1, u64 arg2)
{
	struct sidra_device *sdev = ctx->sdev;
	bool removing;

	lockdep_assert_held(&sdev->reset_lock);
	guard(mutex)(&sdev->chip.admin_lock);
	if (ctx->lost || ctx->failed || sdev->stopped || READ_ONCE(sdev->isolated))
		return -ESTALE;	/* a reset has ended everything already */
	if (sidra_quiesce_acknowledged(ctx, op, arg1, arg2)) {
		trace_sidra_quiesce(sdev->ordinal, ctx->slot, op, arg1, arg2, 0);
		return 0;
	}
	removing = READ_ONCE(sdev->removing);
	if (!removing)
		sidra_coredump(sdev, sidra_chip_answers(sdev) ? "no-acknowledgement" : "link-lost",
			       "admin command %u of context %u", op, ctx->slot);
	ctx->failed = true;
	sidra_entry_revoke(&sdev->ctx_table[ctx->slot].flags);
	/* A removal resets the device next: it does not wait for a reset of the context as well */
	if (op != SIDRA_ADMIN_RESET_CONTEXT && !removing &&
	    sidra_quiesce_acknowledged(ctx, SIDRA_ADMIN_RESET_CONTEXT, 0, 0)) {
		drm_warn(&sdev->drm,
			 "context %u was reset: no acknowledgement of admin command %u\n",
			 ctx->slot, op);
		trace_sidra_quiesce(sdev->ordinal, ctx->slot, op, arg1, arg2, 1);
		sidra_recovery_request(sdev);
		return -ESTALE;
	}
	if (!removing)
		drm_warn(&sdev->drm,
			 "resetting the device: no acknowledgement of admin command %u of context %u\n",
			 op, ctx->slot);
	trace_sidra_quiesce(sdev->ordinal, ctx->slot, op, arg1, arg2, 2);
	sidra_admin_give_up(sdev);
	return -ESTALE;
}
