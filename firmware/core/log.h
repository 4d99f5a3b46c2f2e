/* SPDX-License-Identifier: MIT */
/* The log: text lines with the time, the newest LOG_SIZE bytes of them. Hosts read it by LOG_RING, and its end in a dump. */
#ifndef SIDRA_FIRMWARE_LOG_H
#define SIDRA_FIRMWARE_LOG_H

#include <stdint.h>

#define LOG_SIZE 8192u /* a power of two */

/* "[seconds.microseconds] text", and with log_number() " 0xnumber". */
void log_text(const char *text);
void log_number(const char *text, uint32_t number);

/* How many bytes were ever written. */
uint32_t log_written(void);
/* The last `bytes` of it (no more than there are), the oldest first; returns how many. */
uint32_t log_copy(char *to, uint32_t bytes);

#endif
