/* SPDX-License-Identifier: MIT */
/* Functions that a compiler may call implicitly. They copy byte by byte: the flash block moves large data. */
#include <stddef.h>

void *memcpy(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);

void *memcpy(void *to, const void *from, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		((unsigned char *)to)[i] = ((const unsigned char *)from)[i];
	return to;
}

void *memset(void *to, int value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		((unsigned char *)to)[i] = (unsigned char)value;
	return to;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (((const unsigned char *)a)[i] != ((const unsigned char *)b)[i])
			return ((const unsigned char *)a)[i] - ((const unsigned char *)b)[i];
	return 0;
}
