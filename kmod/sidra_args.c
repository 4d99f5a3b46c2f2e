// SPDX-License-Identifier: GPL-2.0-only
#include <linux/uaccess.h>

#include <sidra_accel.h>

#include "sidra_args.h"

int sidra_args_read(void *to, size_t size, u64 from, size_t user_size)
{
	return copy_struct_from_user(to, size, u64_to_user_ptr(from), user_size);
}

int sidra_args_write(u64 to, size_t user_size, const void *from, size_t size)
{
	void __user *user = u64_to_user_ptr(to);
	size_t known = min(user_size, size);

	if (copy_to_user(user, from, known) || clear_user(user + known, user_size - known))
		return -EFAULT;
	return 0;
}

int sidra_args_return(u64 to, u32 *user_size, const void *from, size_t size)
{
	u32 room = *user_size;

	*user_size = size;
	return to ? sidra_args_write(to, room, from, size) : 0;
}

int sidra_args_stride(u32 stride, size_t first_size)
{
	return stride < first_size || stride > SIDRA_STRIDE_MAX ? -EINVAL : 0;
}

int sidra_args_read_array(void *to, size_t size, u64 from, u32 count, u32 stride)
{
	u32 i;
	int ret;

	if (stride == size)
		return copy_from_user(to, u64_to_user_ptr(from), count * size) ? -EFAULT : 0;
	for (i = 0; i < count; i++) {
		ret = sidra_args_read(to + i * size, size, from + (u64)i * stride, stride);
		if (ret)
			return ret;
	}
	return 0;
}

int sidra_args_write_array(u64 to, u32 count, u32 stride, const void *from, size_t size)
{
	u32 i;
	int ret;

	if (stride == size)
		return copy_to_user(u64_to_user_ptr(to), from, count * size) ? -EFAULT : 0;
	for (i = 0; i < count; i++) {
		ret = sidra_args_write(to + (u64)i * stride, stride, from + i * size, size);
		if (ret)
			return ret;
	}
	return 0;
}

#if IS_BUILTIN(CONFIG_KUNIT)
#include "tests/sidra_args_kunit.c"
#endif
