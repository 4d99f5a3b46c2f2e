/* SPDX-License-Identifier: MIT */
#include "core/log.h"

#include "drivers/timer.h"
#include "sidra_management.h"

static char ring[LOG_SIZE];
static uint32_t written;

static void put(char c)
{
	ring[written++ % LOG_SIZE] = c;
}

static void put_text(const char *text)
{
	while (*text)
		put(*text++);
}

static void put_decimal(uint32_t number, uint32_t digits)
{
	char reversed[10];
	uint32_t count = 0;

	do {
		reversed[count++] = (char)('0' + number % 10);
		number /= 10;
	} while (number || count < digits);
	while (count)
		put(reversed[--count]);
}

/* 64-bit division without the compiler's library. `by` is below 2^16. */
static uint64_t divide(uint64_t number, uint32_t by, uint32_t *rest)
{
	const uint32_t halves[2] = { (uint32_t)(number >> 32), (uint32_t)number };
	uint64_t quotient = 0;

	*rest = 0;
	for (uint32_t i = 0; i < 4; i++) {
		const uint32_t half = halves[i / 2];
		const uint32_t digit = *rest << 16 | (i % 2 ? half & 0xffff : half >> 16);

		quotient = quotient << 16 | digit / by;
		*rest = digit % by;
	}
	return quotient;
}

static void put_time(void)
{
	uint32_t cycles, us, ms;
	uint64_t left = divide(timer_now(), 1000 / SIDRA_MGMT_CYCLE_NS, &cycles);

	left = divide(left, 1000, &us);
	left = divide(left, 1000, &ms);
	put('[');
	put_decimal((uint32_t)left, 1);
	put('.');
	put_decimal(ms, 3);
	put_decimal(us, 3);
	put_text("] ");
}

void log_text(const char *text)
{
	put_time();
	put_text(text);
	put('\n');
}

void log_number(const char *text, uint32_t number)
{
	put_time();
	put_text(text);
	put_text(" 0x");
	for (int shift = 28; shift >= 0; shift -= 4)
		put("0123456789abcdef"[number >> shift & 15]);
	put('\n');
}

uint32_t log_written(void)
{
	return written;
}

uint32_t log_copy(char *to, uint32_t bytes)
{
	if (bytes > written)
		bytes = written;
	if (bytes > LOG_SIZE)
		bytes = LOG_SIZE;
	for (uint32_t i = 0; i < bytes; i++)
		to[i] = ring[(written - bytes + i) % LOG_SIZE];
	return bytes;
}
