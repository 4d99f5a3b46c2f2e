// SPDX-License-Identifier: GPL-2.0-only
/* Registers by name, and the driver's counters; below the device's directory of DRM. */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include <drm/drm_debugfs.h>
#include <drm/drm_file.h>

#include "sidra_debugfs.h"
#include "sidra_drv.h"

struct reg {
	const char *name;
	u32 offset;
	u8 width;
	bool writable;	/* what cannot make the device lose or harm anything of a user's */
};

#define R32(name)	{ #name, SIDRA_REG_##name, 4, false }
#define R64(name)	{ #name, SIDRA_REG_##name, 8, false }
#define W32(name)	{ #name, SIDRA_REG_##name, 4, true }

static const struct reg regs[] = {
	R32(ID), R32(HW_VERSION), R64(FEATURES), R32(GEOMETRY0), R32(GEOMETRY1), R32(GEOMETRY2), R32(LIMITS0),
	R32(LIMITS1), R32(VA_BITS), R32(L1_SIZE), R32(L2_SIZE), R64(L3_SIZE), R64(NVM_SIZE), R32(STATUS),
	R32(BOOT_REASON), R32(HEARTBEAT), R32(PANIC), R32(GENERATION), W32(SCRATCH), R64(CLOCK), R32(CONTROL),
	R32(INT_STATUS), R32(INT_ENABLE), R64(CONTEXT_TABLE), R32(ADMIN_STATUS),
	{ "TEST_IRQ", SIDRA_REG_TEST_IRQ, 4, true },
};

static int regs_show(struct seq_file *m, void *unused)
{
	struct drm_debugfs_entry *entry = m->private;
	struct sidra_device *sdev = to_sidra(entry->dev);
	unsigned int i;
	int idx;

	if (!drm_dev_enter(&sdev->drm, &idx))
		return -ENODEV;
	for (i = 0; i < ARRAY_SIZE(regs); i++) {
		u64 value = regs[i].width == 8 ? sidra_read64(sdev, regs[i].offset) :
						 sidra_read32(sdev, regs[i].offset);

		seq_printf(m, "%-14s %#06x %s %#llx\n", regs[i].name, regs[i].offset,
			   regs[i].writable ? "rw" : "r-", value);
	}
	drm_dev_exit(idx);
	return 0;
}

static int counters_show(struct seq_file *m, void *unused)
{
	struct drm_debugfs_entry *entry = m->private;
	struct sidra_counters *counters = &to_sidra(entry->dev)->counters;

#define SHOW(name) seq_printf(m, #name " %lld\n", atomic64_read(&counters->name))
	SHOW(mmio_writes);
	SHOW(mmio_reads);
	SHOW(interrupts);
	SHOW(ioctls);
	SHOW(pins);
	SHOW(submits);
	SHOW(submit_allocations);
	SHOW(device_resets);
	SHOW(rechecks);
#undef SHOW
	return 0;
}

static const struct drm_debugfs_info files[] = {
	{ "regs", regs_show },
	{ "counters", counters_show },
};

/* "NAME VALUE" */
static ssize_t reg_write(struct file *filp, const char __user *from, size_t count, loff_t *pos)
{
	struct sidra_device *sdev = filp->private_data;
	char text[64], *name = text, *value;
	unsigned int i;
	u32 number;
	int idx;

	if (count >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, count))
		return -EFAULT;
	text[count] = '\0';
	name = strim(text);
	value = strchr(name, ' ');
	if (!value)
		return -EINVAL;
	*value++ = '\0';
	if (kstrtou32(strim(value), 0, &number))
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(regs) && strcmp(regs[i].name, name); i++)
		;
	if (i == ARRAY_SIZE(regs))
		return -ENOENT;
	if (!regs[i].writable)
		return -EACCES;
	if (!drm_dev_enter(&sdev->drm, &idx))
		return -ENODEV;
	sidra_write32(sdev, regs[i].offset, number);
	drm_dev_exit(idx);
	return count;
}

static const struct file_operations reg_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = reg_write,
	.llseek = noop_llseek,
};

void sidra_debugfs_init(struct sidra_device *sdev)
{
	drm_debugfs_add_files(&sdev->drm, files, ARRAY_SIZE(files));
	debugfs_create_file("reg", 0200, sdev->drm.debugfs_root, sdev, &reg_fops);
}
