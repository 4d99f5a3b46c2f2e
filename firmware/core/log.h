/* SPDX-License-Identifier: MIT */
/* The log: lines of text with a time; the last LOG_SIZE bytes are kept. Hosts read it with LOG_RING; dumps contain its end. */
#ifndef SIDRA_FIRMWARE_LOG_H
#define SIDRA_FIRMWARE_LOG_H

#include <stdint.h>

#define LOG_SIZE 8192u /* a power of two */

/* Append "[seconds.microseconds] text"; log_number() adds " 0xnumber". */
void log_text(const char *text);
void log_number(const char *text, uint32_t number);

/* Total number of bytes written. */
uint32_t log_written(void);
/* Copies the last `bytes` of the log (at most what there is), the oldest first; returns their number. */
uint32_t log_copy(char *to, uint32_t bytes);

#endif
