# SPDX-License-Identifier: MIT
"""Actions of the host for tests in the guest: guest/ask-host ACTION [ARGUMENT...]."""
import contextlib
import time

from machine import Refused


def stop(guest, seconds):
    """Stops the machine for a while."""
    guest.command("stop")
    time.sleep(float(seconds))
    guest.command("cont")


def wake(guest, *knobs):
    """Wakes the guest after it has entered S3. KNOB=VALUE: a property of the first card to set meanwhile."""
    guest.wait_for("sleep of the guest", lambda: guest.command("query-status")["status"] == "suspended")
    for knob in knobs:
        name, _, value = knob.partition("=")
        guest.command("qom-set", path="/machine/peripheral/sidra0", property=name, value=int(value))
    guest.command("system_wakeup")


def migrate(guest):
    """Migrates the running guest to another QEMU through a file."""
    state = guest.folder / "migration"
    guest.command("migrate-set-parameters", max_bandwidth=1 << 32)
    guest.command("migrate", uri=f"file:{state}")
    _migrated(guest)
    guest.restart("-incoming", f"file:{state}")
    _migrated(guest)
    guest.wait_for("run of the guest", lambda: guest.command("query-status")["status"] == "running")
    state.unlink()


def _migrated(guest):
    def over():
        now = guest.command("query-migrate")
        if now.get("status") in ("failed", "cancelled"):
            raise Refused(f"migration: {now.get('error-desc', now['status'])}")
        return now.get("status") == "completed"
    guest.wait_for("migration", over)


def snapshot(guest):
    """Saves the stopped machine into an image, and loads it again."""
    image = guest.folder / "snapshot.qcow2"
    size = 4 << 30  # maximum; only used space takes memory
    file = {"driver": "file", "filename": str(image), "node-name": "snapshot-file"}
    guest.command("stop")
    _job(guest, "blockdev-create", options={"driver": "file", "filename": str(image), "size": 0})
    guest.command("blockdev-add", **file)
    _job(guest, "blockdev-create", options={"driver": "qcow2", "file": "snapshot-file", "size": size})
    guest.command("blockdev-add", driver="qcow2", file="snapshot-file", node_name="snapshot")
    for step in "snapshot-save", "snapshot-load":
        _job(guest, step, tag="sidra", devices=["snapshot"], vmstate="snapshot")
    guest.command("blockdev-del", node_name="snapshot")
    guest.command("blockdev-del", node_name="snapshot-file")
    image.unlink()
    guest.command("cont")


def _job(guest, name, **arguments):
    guest.command(name, job_id="host", **arguments)

    def over():
        (job,) = guest.command("query-jobs")
        return job if job["status"] == "concluded" else None
    job = guest.wait_for(name, over)
    guest.command("job-dismiss", id="host")
    if "error" in job:
        raise Refused(f"{name}: {job['error']}")


ACTIONS = {action.__name__: action for action in (stop, wake, migrate, snapshot)}


def act(guest, words):
    """Performs a requested action, and sends the result to the guest: "done", or an error. Returns an error that could not be sent."""
    name, *arguments = words
    start = time.monotonic()
    early = name == "wake"  # it must go to sleep first
    if early:
        guest.answer("done")
    try:
        if name not in ACTIONS:
            raise Refused(f"the host can only {', '.join(ACTIONS)}")
        ACTIONS[name](guest, *arguments)
        said = "done"
    except (Refused, TypeError, ValueError) as error:
        said = str(error)
        with contextlib.suppress(Refused):
            guest.command("cont")  # otherwise the reply is not read
    if not early:
        guest.answer(said)
    print(f"  host    {' '.join(words)}: {said} ({time.monotonic() - start:.1f} s)", flush=True)
    return f"{name}: {said}" if early and said != "done" else None
