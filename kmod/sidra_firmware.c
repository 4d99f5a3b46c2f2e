// SPDX-License-Identifier: GPL-2.0-only
#include <linux/devcoredump.h>
#include <linux/kobject.h>
#include <linux/vmalloc.h>

#include "sidra_device.h"
#include "sidra_firmware.h"
#include "sidra_update.h"

/* Time for the firmware to start; it usually takes some 10 ms */
#define PATIENCE_MS		10000
#define RETRY_MS		10
#define DUMP_MAX		SIDRA_MAILBOX_PAYLOAD

/* Starts the time limit at the newest interrupt or start. */
void sidra_firmware_connect(struct sidra_device *sdev)
{
	struct sidra_firmware *firmware = &sdev->firmware;

	guard(spinlock_irqsave)(&sdev->mailbox.gate);
	WRITE_ONCE(firmware->version, 0);
	WRITE_ONCE(firmware->patience, jiffies + msecs_to_jiffies(PATIENCE_MS));
	if (sdev->mailbox.open)
		mod_delayed_work(system_freezable_wq, &firmware->work, 0);
}

static int sidra_firmware_refused(struct sidra_device *sdev, u32 mailbox)
{
	drm_warn(&sdev->drm,
		 "the firmware has mailbox version %u.%u, this driver has %u.%u: the firmware is not used\n",
		 mailbox >> 16, mailbox & 0xffff, SIDRA_MAILBOX_VERSION >> 16,
		 SIDRA_MAILBOX_VERSION & 0xffff);
	return -EPROTO;
}

/* Exchanges versions. */
static int sidra_firmware_say_hello(struct sidra_device *sdev)
{
	struct sidra_firmware *firmware = &sdev->firmware;
	struct sidra_mailbox_msg msg = {
		.opcode = cpu_to_le16(SIDRA_MAILBOX_HELLO),
		.length = cpu_to_le32(sizeof(msg.inline_data[0])),
		.inline_data = { cpu_to_le64(SIDRA_MAILBOX_VERSION) },
	};
	int ret = sidra_mailbox_call(sdev, &msg);
	u32 status, mailbox, version, slot;

	if (ret)
		return ret;
	status = le32_to_cpu(msg.status);
	mailbox = sidra_mailbox_low(&msg, 0);
	version = sidra_mailbox_low(&msg, 1);
	slot = sidra_mailbox_low(&msg, 2);
	if (status == SIDRA_MAILBOX_UNSUPPORTED || mailbox >> 16 != SIDRA_MAILBOX_VERSION >> 16)
		return sidra_firmware_refused(sdev, mailbox);
	if (status != SIDRA_MAILBOX_OK || le32_to_cpu(msg.length) < sizeof(msg.inline_data) ||
	    !version) {
		drm_warn(&sdev->drm,
			 "the firmware sent no valid reply to HELLO (status %u): it is not used\n",
			 status);
		return -EPROTO;
	}
	firmware->security_version = sidra_mailbox_high(&msg, 1);
	WRITE_ONCE(firmware->version, version);
	sidra_manage_forget(sdev);
	if (firmware->logged != version)
		drm_info(&sdev->drm, "firmware %s, security version %u, slot %u%s\n",
			 sidra_version_text(version).text, firmware->security_version, slot,
			 sidra_mailbox_high(&msg, 2) ? ", on trial" : "");
	firmware->logged = version;
	return 0;
}

/* ---- Panics and hangs ---- */

void sidra_firmware_restarted(struct sidra_device *sdev)
{
	WRITE_ONCE(sdev->firmware.restarted, true);
	sidra_firmware_connect(sdev);
}

static void sidra_firmware_send_uevent(struct sidra_device *sdev, const char *event, u32 panic)
{
	char event_text[40], panic_text[24];
	char *const texts[] = { event_text, panic_text, NULL };

	snprintf(event_text, sizeof(event_text), "SIDRA_EVENT=%s", event);
	snprintf(panic_text, sizeof(panic_text), "SIDRA_PANIC=%#x", panic);
	kobject_uevent_env(&sdev->node.kobj, KOBJ_CHANGE, (char **)texts);
}

/*
 * A panic raises two interrupts: its own, and that of the watchdog that ends it, when the panic
 * code reads 0 again.
 */
static void sidra_firmware_report_restart(struct sidra_device *sdev)
{
	struct sidra_firmware *firmware = &sdev->firmware;
	struct sidra_mailbox_health health;

	if (!xchg(&firmware->restarted, false) || sidra_mailbox_read_health(sdev, &health))
		return;
	if (health.panic || health.reason == SIDRA_BOOT_PANIC) {
		if (firmware->panicked && (!health.panic || health.panic == firmware->panic_code))
			return;
		firmware->panicked = true;
		firmware->panic_code = health.panic;
		drm_err_ratelimited(&sdev->drm,
				    "firmware panic %#x: its watchdog restarts it; queues continue\n",
				    health.panic);
		sidra_firmware_send_uevent(sdev, "firmware-panic", health.panic);
	} else if (health.reason == SIDRA_BOOT_WATCHDOG) {
		drm_err_ratelimited(&sdev->drm,
				    "the firmware hung: its watchdog has restarted it; queues continue\n");
		sidra_firmware_send_uevent(sdev, "firmware-watchdog", 0);
	}
}

/*
 * Fetches the dump that the previous firmware left with the running one, and publishes it
 * unchanged: its reader checks it. It belongs to the node, not to the card, so that it and the
 * driver's own dump (sidra_coredump()) do not displace each other.
 */
static void sidra_firmware_fetch_dump(struct sidra_device *sdev)
{
	struct sidra_mailbox_msg msg = { .opcode = cpu_to_le16(SIDRA_MAILBOX_CRASH_DUMP) };
	struct sidra_firmware *firmware = &sdev->firmware;
	u32 code = firmware->panic_code;
	void *dump;
	int ret;

	dump = __vmalloc(DUMP_MAX, GFP_KERNEL | __GFP_NOWARN);
	ret = dump ? sidra_mailbox_fetch(sdev, &msg, dump, DUMP_MAX) : -ENOMEM;
	if (ret == -ECONNRESET || ret == -ENODEV) {	/* the next firmware has it, too */
		vfree(dump);
		return;
	}
	firmware->panicked = false;
	if (ret || msg.status != cpu_to_le32(SIDRA_MAILBOX_OK) || !msg.inline_data[0] ||
	    (code && sidra_mailbox_word(&msg, 1) != code)) {
		drm_notice(&sdev->drm, "no dump of firmware panic %#x (error %d, status %u)\n",
			   code, ret, le32_to_cpu(msg.status));
		vfree(dump);
		return;
	}
	/* Takes ownership of the memory */
	dev_coredumpv(&sdev->node, dump, sidra_mailbox_word(&msg, 0), GFP_KERNEL);
}

/* ---- Connecting ---- */

static void sidra_firmware_connect_work(struct work_struct *work)
{
	struct sidra_device *sdev = container_of(to_delayed_work(work), struct sidra_device,
						 firmware.work);
	struct sidra_firmware *firmware = &sdev->firmware;
	int ret;

	sidra_firmware_report_restart(sdev);
	ret = sidra_mailbox_connect(sdev);
	if (ret >= 0)
		ret = sidra_firmware_say_hello(sdev);
	else
		/* HELLO was answered while the driver was shutting this down */
		WRITE_ONCE(firmware->version, 0);
	if (!ret && firmware->panicked)
		sidra_firmware_fetch_dump(sdev);
	if (!ret && !firmware->offered) {
		firmware->offered = true;
		sidra_update(sdev, false);
	}
	if (ret != -EAGAIN && ret != -ECONNRESET && ret != -ETIMEDOUT)
		return;
	if (time_after(jiffies, READ_ONCE(firmware->patience))) {
		if (ret == -EAGAIN)
			drm_warn(&sdev->drm,
				 "the firmware did not start (stage %#x): queues work without it\n",
				 sdev->mailbox.status & SIDRA_STATUS_STAGE_MASK);
		return;
	}
	queue_delayed_work(system_freezable_wq, &firmware->work, msecs_to_jiffies(RETRY_MS));
}

void sidra_firmware_init(struct sidra_device *sdev)
{
	sidra_mailbox_init(sdev);
	mutex_init(&sdev->firmware.update_lock);
	INIT_DELAYED_WORK(&sdev->firmware.work, sidra_firmware_connect_work);
}

void sidra_firmware_begin(struct sidra_device *sdev)
{
	guard(rwsem_read)(&sdev->reset_lock);
	scoped_guard(spinlock_irqsave, &sdev->mailbox.gate)
		sdev->mailbox.on = true;
	if (sdev->stopped || sdev->link_gone)
		return;
	sidra_mailbox_open(sdev);
	sidra_firmware_connect(sdev);
}

void sidra_firmware_end(struct sidra_device *sdev)
{
	scoped_guard(spinlock_irqsave, &sdev->mailbox.gate)
		sdev->mailbox.on = false;
	sidra_mailbox_close(sdev);
	cancel_delayed_work_sync(&sdev->firmware.work);
	dev_coredump_put(&sdev->node);
}

#if IS_BUILTIN(CONFIG_KUNIT)
#include "tests/sidra_firmware_kunit.c"
#endif
