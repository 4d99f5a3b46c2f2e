/* SPDX-License-Identifier: MIT */
#include "services/mailbox.h"

#include "core/log.h"
#include "core/runtime.h"
#include "drivers/copy.h"
#include "drivers/registers.h"
#include "drivers/timer.h"
#include "drivers/watchdog.h"
#include "image/bytes.h"
#include "image/crc32.h"
#include "services/campaign.h"
#include "services/power.h"
#include "services/update.h"
#include "sidra_hw.h"

#define SIZE	     ((uint32_t)sizeof(struct sidra_mailbox_msg))
#define INLINE_MAX   24u
#define LOOPBACK_MAX 4096u

static uint32_t served;	 /* requests read */
static uint32_t replied; /* replies and events written */

static uint8_t buffer[LOG_SIZE];

static uint32_t low(uint64_t value)
{
	return (uint32_t)value;
}

static uint32_t high(uint64_t value)
{
	return (uint32_t)(value >> 32);
}

static uint64_t pair(uint32_t first, uint32_t second)
{
	return first | (uint64_t)second << 32;
}

static uint32_t answer(struct sidra_mailbox_msg *reply, uint64_t first, uint64_t second, uint64_t third)
{
	reply->length = INLINE_MAX;
	reply->inline_data[0] = first;
	reply->inline_data[1] = second;
	reply->inline_data[2] = third;
	return SIDRA_MAILBOX_OK;
}

static uint32_t hello(const struct sidra_mailbox_msg *request, struct sidra_mailbox_msg *reply)
{
	const struct sidra_boot_info *boot = runtime_boot();

	if (request->length < 8)
		return SIDRA_MAILBOX_BAD_LENGTH;
	/* Also sent if the version is not supported, so that the host can report both versions. */
	answer(reply, pair(MAILBOX_VERSION, 0), pair(boot->version, boot->security_version), pair(boot->slot, boot->trial));
	return low(request->inline_data[0]) >> 16 == MAILBOX_VERSION >> 16 ? SIDRA_MAILBOX_OK : SIDRA_MAILBOX_UNSUPPORTED;
}

static uint32_t status(const struct sidra_mailbox_msg *request, struct sidra_mailbox_msg *reply)
{
	(void)request;
	return answer(reply, pair(read_register(SIDRA_MGMT_SYSTEM_STAGE), read_register(SIDRA_MGMT_SYSTEM_HEARTBEAT)),
		      timer_now() * SIDRA_MGMT_CYCLE_NS, pair(runtime_boot()->reason, log_written()));
}

/* Inline bytes are returned unchanged. Other data is inverted in place, which tests both directions. */
static uint32_t loopback(const struct sidra_mailbox_msg *request, struct sidra_mailbox_msg *reply)
{
	if (request->length <= INLINE_MAX) {
		answer(reply, request->inline_data[0], request->inline_data[1], request->inline_data[2]);
		reply->length = request->length;
		return SIDRA_MAILBOX_OK;
	}
	if (request->length > LOOPBACK_MAX)
		return SIDRA_MAILBOX_BAD_LENGTH;
	if (copy_from_host(buffer, request->payload, request->length))
		return SIDRA_MAILBOX_BAD_ARGUMENT;
	for (uint32_t i = 0; i < request->length; i++)
		buffer[i] = (uint8_t)~buffer[i];
	return copy_to_host(request->payload, buffer, request->length) ? SIDRA_MAILBOX_BAD_ARGUMENT : SIDRA_MAILBOX_OK;
}

/* First word of a request: value | 1 << 32 to set it, 0 to query. */
static int is_question(const struct sidra_mailbox_msg *request, uint32_t *status)
{
	*status = request->length != 8 ? SIDRA_MAILBOX_BAD_LENGTH : request->inline_data[0] >> 33 ? SIDRA_MAILBOX_BAD_ARGUMENT : SIDRA_MAILBOX_OK;
	return request->inline_data[0] >> 32 == 0;
}

static uint32_t power_limit(const struct sidra_mailbox_msg *request, struct sidra_mailbox_msg *reply)
{
	struct power_report now;
	uint32_t result;

	if (!is_question(request, &result) && result == SIDRA_MAILBOX_OK)
		result = power_set_limit(low(request->inline_data[0]));
	power_get(&now);
	answer(reply, pair(now.limit_mw, now.power_mw), pair(power_levels[0].rated_mw, power_levels[POWER_HIGHEST].rated_mw),
	       pair(now.limit_level, now.throttled));
	return result;
}

static uint32_t dvfs(const struct sidra_mailbox_msg *request, struct sidra_mailbox_msg *reply)
{
	const uint32_t level = low(request->inline_data[0]);
	struct power_report now;
	uint32_t result;

	if (!is_question(request, &result) && result == SIDRA_MAILBOX_OK)
		result = power_set_wanted(level);
	if (result != SIDRA_MAILBOX_OK)
		return result;
	if (level > POWER_HIGHEST)
		return SIDRA_MAILBOX_BAD_ARGUMENT;
	power_get(&now);
	return answer(reply, pair(now.wanted_level, now.level), pair(power_levels[level].khz, power_levels[level].millivolt),
		      pair(power_levels[level].rated_mw, SIDRA_MGMT_CLOCK_LEVELS));
}

static uint32_t log_ring(const struct sidra_mailbox_msg *request, struct sidra_mailbox_msg *reply)
{
	const uint32_t bytes = log_copy((char *)buffer, request->length);

	if (bytes && copy_to_host(request->payload, buffer, bytes))
		return SIDRA_MAILBOX_BAD_ARGUMENT;
	return answer(reply, bytes, log_written(), 0);
}

static uint32_t crash_dump(const struct sidra_mailbox_msg *request, struct sidra_mailbox_msg *reply)
{
	const struct sidra_boot_dump *dump = runtime_dump();
	const uint32_t summed = offsetof(struct sidra_boot_dump, crc32);

	if (dump->magic != SIDRA_BOOT_DUMP_MAGIC || dump->size != sizeof(*dump) ||
	    dump->crc32 != sidra_image_crc32(0, (const uint8_t *)dump, summed))
		return answer(reply, 0, 0, 0);
	if (request->length < sizeof(*dump))
		return SIDRA_MAILBOX_BAD_LENGTH;
	if (copy_to_host(request->payload, dump, sizeof(*dump)))
		return SIDRA_MAILBOX_BAD_ARGUMENT;
	return answer(reply, sizeof(*dump), dump->code, 0);
}

static uint32_t fw_begin(const struct sidra_mailbox_msg *request, struct sidra_mailbox_msg *reply)
{
	uint32_t slot = SIDRA_BOOT_NO_SLOT, result;

	if (request->length != 8)
		return SIDRA_MAILBOX_BAD_LENGTH;
	result = update_begin(request->inline_data[0], &slot);
	answer(reply, slot, UPDATE_DATA_MAX, 0);
	return result;
}

static uint32_t fw_data(const struct sidra_mailbox_msg *request, struct sidra_mailbox_msg *reply)
{
	(void)reply;
	return update_data(request->inline_data[0], request->payload, request->length);
}

static uint32_t fw_commit(const struct sidra_mailbox_msg *request, struct sidra_mailbox_msg *reply)
{
	uint32_t image = 0, result;

	if (request->length != 8)
		return SIDRA_MAILBOX_BAD_LENGTH;
	if (request->inline_data[0] > 1)
		return SIDRA_MAILBOX_BAD_ARGUMENT;
	result = update_commit(request->inline_data[0] == 1, &image);
	answer(reply, image, 0, 0);
	return result;
}

static uint32_t fw_activate(const struct sidra_mailbox_msg *request, struct sidra_mailbox_msg *reply)
{
	uint32_t slot = SIDRA_BOOT_NO_SLOT, image = 0, result;

	if (request->length)
		return SIDRA_MAILBOX_BAD_LENGTH;
	result = update_activate(&slot, &image);
	answer(reply, result == SIDRA_MAILBOX_BAD_ARGUMENT ? image : slot, 0, 0);
	return result;
}

static uint32_t fw_confirm(const struct sidra_mailbox_msg *request, struct sidra_mailbox_msg *reply)
{
	(void)request;
	(void)reply;
	return update_confirm();
}

static uint32_t fw_info(const struct sidra_mailbox_msg *request, struct sidra_mailbox_msg *reply)
{
	const uint32_t slot = runtime_boot()->slot;
	struct sidra_boot_record record;
	uint32_t starts;

	(void)request;
	update_record(&record);
	starts = record.trial == slot ? record.tried : record.attempts;
	return answer(reply, pair(record.active, record.trial), pair(slot, starts | record.failed << 16),
		      pair(runtime_boot()->version, read_register(SIDRA_MGMT_SYSTEM_SECURITY)));
}

static uint32_t fw_build(const struct sidra_mailbox_msg *request, struct sidra_mailbox_msg *reply)
{
	const struct sidra_boot_info *boot = runtime_boot();
	uint8_t *const bytes = (uint8_t *)reply->inline_data;

	if (request->length)
		return SIDRA_MAILBOX_BAD_LENGTH;
	reply->length = sizeof(boot->build_id);
	for (uint32_t i = 0; i < sizeof(boot->build_id); i++)
		bytes[i] = boot->build_id[i];
	return SIDRA_MAILBOX_OK;
}

static uint32_t ispp_campaign(const struct sidra_mailbox_msg *request, struct sidra_mailbox_msg *reply)
{
	struct sequencer_policy policy;
	uint32_t number = 0, result = SIDRA_MAILBOX_OK;

	if (request->length != INLINE_MAX)
		return SIDRA_MAILBOX_BAD_LENGTH;
	switch (request->inline_data[0]) {
	case CAMPAIGN_VERIFY:
		result = campaign_begin(SIDRA_OPERATION_VERIFY, low(request->inline_data[1]), high(request->inline_data[1]), request->inline_data[2], &number);
		answer(reply, number, 0, 0);
		return result;
	case CAMPAIGN_SET_POLICY:
		policy.mode = low(request->inline_data[1]);
		policy.tries = high(request->inline_data[1]);
		policy.tolerance_ppm = low(request->inline_data[2]);
		policy.retries = high(request->inline_data[2]) & 0xffff;
		policy.spare = high(request->inline_data[2]) >> 16;
		if (sequencer_set_policy(&policy))
			result = SIDRA_MAILBOX_BAD_ARGUMENT;
		break;
	case CAMPAIGN_GET_POLICY:
		break;
	default:
		return SIDRA_MAILBOX_BAD_ARGUMENT;
	}
	sequencer_policy(&policy);
	answer(reply, 0, pair(policy.mode, policy.tries), pair(policy.tolerance_ppm, policy.retries | policy.spare << 16));
	return result;
}

static uint32_t ispp_refresh(const struct sidra_mailbox_msg *request, struct sidra_mailbox_msg *reply)
{
	uint32_t number = 0, result;

	if (request->length != 16)
		return SIDRA_MAILBOX_BAD_LENGTH;
	result = campaign_begin(SIDRA_OPERATION_REFRESH, low(request->inline_data[0]), high(request->inline_data[0]), request->inline_data[1], &number);
	answer(reply, number, 0, 0);
	return result;
}

static uint32_t calibrate(const struct sidra_mailbox_msg *request, struct sidra_mailbox_msg *reply)
{
	uint32_t number = 0, result;

	if (request->length != 8)
		return SIDRA_MAILBOX_BAD_LENGTH;
	result = campaign_begin(SIDRA_OPERATION_CALIBRATE, low(request->inline_data[0]), high(request->inline_data[0]), 0, &number);
	answer(reply, number, 0, 0);
	return result;
}

static uint32_t op_query(const struct sidra_mailbox_msg *request, struct sidra_mailbox_msg *reply)
{
	const struct sidra_operation *operation = campaign_operation(request->inline_data[0]);

	if (!operation)
		return SIDRA_MAILBOX_BAD_ARGUMENT;
	if (request->length && request->length < sizeof(*operation))
		return SIDRA_MAILBOX_BAD_LENGTH;
	if (request->length && copy_to_host(request->payload, operation, sizeof(*operation)))
		return SIDRA_MAILBOX_BAD_ARGUMENT;
	return answer(reply, pair(operation->number, operation->state), campaign_percent(operation), operation->off);
}

static uint32_t op_abort(const struct sidra_mailbox_msg *request, struct sidra_mailbox_msg *reply)
{
	(void)reply;
	return request->length == 8 ? campaign_abort(request->inline_data[0]) : SIDRA_MAILBOX_BAD_LENGTH;
}

static uint32_t handle(const struct sidra_mailbox_msg *request, struct sidra_mailbox_msg *reply)
{
	static const struct {
		uint16_t opcode;
		uint32_t (*handler)(const struct sidra_mailbox_msg *request, struct sidra_mailbox_msg *reply);
	} handlers[] = {
		{ SIDRA_MAILBOX_HELLO, hello },
		{ SIDRA_MAILBOX_STATUS, status },
		{ SIDRA_MAILBOX_POWER_LIMIT, power_limit },
		{ SIDRA_MAILBOX_DVFS, dvfs },
		{ SIDRA_MAILBOX_ISPP_CAMPAIGN, ispp_campaign },
		{ SIDRA_MAILBOX_ISPP_REFRESH, ispp_refresh },
		{ SIDRA_MAILBOX_CALIBRATE, calibrate },
		{ SIDRA_MAILBOX_OP_QUERY, op_query },
		{ SIDRA_MAILBOX_OP_ABORT, op_abort },
		{ SIDRA_MAILBOX_LOG_RING, log_ring },
		{ SIDRA_MAILBOX_FW_BEGIN, fw_begin },
		{ SIDRA_MAILBOX_FW_DATA, fw_data },
		{ SIDRA_MAILBOX_FW_COMMIT, fw_commit },
		{ SIDRA_MAILBOX_FW_CONFIRM, fw_confirm },
		{ SIDRA_MAILBOX_FW_INFO, fw_info },
		{ SIDRA_MAILBOX_FW_ACTIVATE, fw_activate },
		{ SIDRA_MAILBOX_FW_BUILD, fw_build },
		{ SIDRA_MAILBOX_CRASH_DUMP, crash_dump },
		{ SIDRA_MAILBOX_LOOPBACK, loopback },
	};

	if (request->flags)
		return SIDRA_MAILBOX_BAD_ARGUMENT;
	if (request->deadline && timer_now() * SIDRA_MGMT_CYCLE_NS > request->deadline)
		return SIDRA_MAILBOX_DEADLINE;
	for (uint32_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++)
		if (handlers[i].opcode == request->opcode)
			return handlers[i].handler(request, reply);
	return SIDRA_MAILBOX_UNSUPPORTED;
}

static uint64_t address(uint32_t where)
{
	return pair(read_register(where), read_register(where + 4));
}

static int is_ring(uint32_t entries)
{
	return entries >= 2 && entries <= 256 && !(entries & (entries - 1));
}

static int has_room(uint32_t entries)
{
	return replied - read_register(SIDRA_MGMT_MAILBOX_REPLY_READ) < entries;
}

static uint32_t give(struct sidra_mailbox_msg *message, uint32_t entries)
{
	message->sequence = replied;
	return copy_to_host(address(SIDRA_MGMT_MAILBOX_REPLY) + (uint64_t)(replied % entries) * SIZE, message, SIZE);
}

void mailbox_event(enum mailbox_event what, uint32_t detail, uint64_t second, uint64_t third)
{
	const uint32_t entries = read_register(SIDRA_MGMT_MAILBOX_ENTRIES);
	struct sidra_mailbox_msg event = { .opcode = SIDRA_MAILBOX_EVENT };

	answer(&event, pair(what, detail), second, third);
	/* The log has it even if the host does not receive it. */
	if (is_ring(entries) && has_room(entries) && !give(&event, entries))
		write_register(SIDRA_MGMT_MAILBOX_REPLY_INDEX, ++replied);
}

void mailbox_serve(void)
{
	const uint32_t entries = read_register(SIDRA_MGMT_MAILBOX_ENTRIES);
	const uint32_t asked = read_register(SIDRA_MGMT_MAILBOX_DOORBELL);

	if (!is_ring(entries)) {
		log_number("mailbox: invalid ring size, entries", entries);
		return;
	}
	if (asked - served > entries) {
		log_number("mailbox: doorbell beyond the ring, index", asked);
		served = asked;
		return;
	}
	while (served != asked) {
		struct sidra_mailbox_msg request, reply = { 0 };

		/* If the reply ring is full, wait for the next doorbell. */
		if (!has_room(entries))
			return;
		if (copy_from_host(&request, address(SIDRA_MGMT_MAILBOX_REQUEST) + (uint64_t)(served % entries) * SIZE, SIZE)) {
			log_text("mailbox: cannot read requests");
			served = asked;
			return;
		}
		served++;
		reply.opcode = request.opcode | SIDRA_MAILBOX_REPLY;
		reply.cookie = request.cookie;
		reply.status = handle(&request, &reply);
		if (give(&reply, entries))
			log_text("mailbox: cannot write a reply");
		write_register(SIDRA_MGMT_MAILBOX_REPLY_INDEX, ++replied);
		watchdog_feed();
	}
}
