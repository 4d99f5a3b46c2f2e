# SPDX-License-Identifier: MIT
"""A guest: its QEMU command line, its life cycle, and operations on the running guest.

Serial ports of the guest: ttyS0 is the kernel's console; ttyS1 carries results to the host, and the host's replies (see guest/ask-host) back; a virtio
port is QEMU's monitor (see guest/qmp). A third ISA port would share an interrupt with the console, which QEMU's serial ports do not support.
"""
import argparse
import contextlib
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent

# Detect errors early: guard pages around heap objects, red zones and poison in all slabs, reports of hung tasks.
CHECKS = "kfence.sample_interval=1 slub_debug=FZPU sysctl.kernel.hung_task_timeout_secs=30 sysctl.kernel.hung_task_check_interval_secs=5"
# Hangs are diagnosed by stacks: an NMI from outside causes a panic, and a panic prints the state of every CPU. The debug kernel (see
# debug-kernel.sh) has its own checks, which conflict with these; print each report, not only the first.
DEBUG_CHECKS = "kasan_multi_shot kunit.enable=1 sysctl.kernel.hung_task_timeout_secs=120 sysctl.kernel.hung_task_check_interval_secs=10"
# Skip the boot-time check of the timer: if the host is stalled for a moment, it fails, and the kernel panics.
KERNEL = "console=ttyS0 loglevel=5 nokaslr panic=-1 sysrq_always_enabled unknown_nmi_panic panic_print=0x40 mitigations=off no_timer_check"
TIMED_OUT = 124  # exit status of timeout(1)


def fail(*lines):
    for line in lines:
        print(f"vm: {line}", file=sys.stderr)
    sys.exit(2)


def options(parser):
    """Options of all guests. The names are those of `make vm SMP=2 IOMMU=on ...`, which are passed in the environment."""
    env = os.environ.get
    parser.add_argument("--smp", type=int, default=env("SMP") or 2, metavar="N", help="CPUs (SMP; default 2)")
    parser.add_argument("--memory", default=env("MEMORY"), metavar="SIZE", help="guest memory (MEMORY; default 1G, with the debug kernel 2G)")
    parser.add_argument("--kernel", choices=["stock", "debug"], default=env("KERNEL") or "stock",
                        help="Debian's kernel, or ours that watches itself: KASAN, lockdep, ... (KERNEL; default stock)")
    parser.add_argument("--iommu", choices=["on", "off"], default=env("IOMMU") or "off", help="an Intel IOMMU (IOMMU; default off)")
    parser.add_argument("--devices", type=int, default=env("DEVICES") or 1, metavar="N",
                        help="cards, each below a port of its own (DEVICES; default 1)")
    parser.add_argument("--device", default=env("DEVICE") or "sidra", metavar="NAME[,PROPERTY=...]", help="what a card is (DEVICE; default sidra)")
    parser.add_argument("--state-file", type=Path, default=env("STATE_FILE") or None, metavar="FILE",
                        help="where the first card keeps what survives power-off (STATE_FILE; default: nowhere)")
    parser.add_argument("--small", type=int, default=int(env("SMALL") or 0), metavar="N",
                        help="cards with few crossbars besides, after the others (SMALL; default 0)")
    parser.add_argument("--hotplug", choices=["native", "acpi"], default=env("HOTPLUG") or "native",
                        help="how cards come and go (HOTPLUG; default native, as of PCI Express)")
    parser.add_argument("--nvme", action="store_true", help="an NVMe device that takes everything and keeps nothing: /dev/ng0n1")
    parser.add_argument("--accel", choices=["auto", "tcg", "kvm"], default=env("ACCEL") or "auto", help="auto: KVM if a trial boot works (ACCEL)")
    parser.add_argument("--qemu-args", default=env("QEMU_ARGS") or "", metavar="ARGS", help="more for QEMU (QEMU_ARGS)")
    parser.add_argument("--kernel-args", default=env("KERNEL_ARGS") or "", metavar="ARGS", help="more for the kernel's command line (KERNEL_ARGS)")
    parser.add_argument("--source", type=Path, default=CHECKOUT, metavar="DIR", help="the tree that the guest has in /src (default: this one)")
    parser.add_argument("--root", type=Path, metavar="DIR", help="boot what is in there, as root.sh leaves it (default: the guest's root)")
    parser.add_argument("--module", type=Path, action="append", metavar="FILE", help="load this module, not those of the build; may be repeated")
    parser.add_argument("--no-module", action="store_true", help="load no module of ours")


def modules(opts):
    """The out-of-tree modules for the guest."""
    if opts.no_module:
        return []
    if not opts.module:
        return sorted((opts.source / ("build/vm/kmod-debug" if opts.kernel == "debug" else "build/vm/kmod")).glob("*.ko"))
    for module in opts.module:
        if not module.exists():
            fail(f"there is no module {module}")
    return opts.module


class Refused(Exception):
    """QEMU refused a command."""


class Machine:
    """Starts a guest that runs a job (text of a shell script, which `main` runs). A context manager: leaving it ends QEMU."""

    def __init__(self, opts, job, *, interactive=False, checks=False, logs=None, channel="output", files=(), load=True):
        self.opts = opts
        self.folder = Path(tempfile.mkdtemp(prefix="sidra-vm-"))
        self.job = self.folder / "job"
        self.logs = Path(logs) if logs else self.folder
        self.console, self.channel = self.logs / "console.log", self.logs / channel
        self.process = self._answers = self._monitor = None
        try:
            self.logs.mkdir(parents=True, exist_ok=True)
            self.job.mkdir()
            for path in [*files, *modules(opts)]:
                shutil.copy(path, self.job / path.name)
            (self.job / "modules").write_text(" ".join(f"/job/{m.name}" for m in modules(opts) if load) + "\n")
            (self.job / "job").write_text(job)
            for path in [self.console, self.channel]:
                path.write_bytes(b"")
            self._start(interactive, checks)
        except BaseException:
            self.close()
            raise

    def _start(self, interactive, checks):
        opts = self.opts
        build = opts.source / "build/vm"
        build.mkdir(parents=True, exist_ok=True)
        root = opts.root or root_folder()
        initramfs = self.folder / "initramfs"
        debug = opts.kernel == "debug"
        subprocess.run([sys.executable, HERE / "initramfs.py", root / "root", initramfs, *(["bare"] if debug else [])], check=True)
        kernel = debug_kernel() if debug else root / "vmlinux"
        qemu = qemu_binary()
        self.accel = accel = ("kvm" if kvm_works(qemu, root) else "tcg") if opts.accel == "auto" else opts.accel
        machine = "q35" + (",kernel-irqchip=split" if accel == "kvm" and opts.iommu == "on" else "")
        # A folder as 9p, read-only unless needed, so that a misbehaving guest cannot damage it.
        def share(tag, path, extra=",readonly=on"):
            return ["-fsdev", f"local,id={tag},path={path},security_model=none{extra}", "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]
        command = [qemu, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                   "-machine", machine, "-accel", accel, "-m", opts.memory or ("2G" if debug else "1G"), "-smp", str(opts.smp),
                   "-name", "sidra-vm",
                   "-kernel", kernel, "-initrd", initramfs, "-append", self._kernel_line(checks),
                   "-drive", f"if=none,id=root,format=raw,readonly=on,file={root / 'root.erofs'}", "-device", "virtio-blk-pci,drive=root",
                   *share("src", opts.source), *share("build", build), *share("job", self.job, ""),
                   "-object", "rng-random,id=rng,filename=/dev/urandom", "-device", "virtio-rng-pci,rng=rng"]
        if interactive:
            command += ["-chardev", f"stdio,id=console,mux=on,signal=off,logfile={self.console}", "-mon", "chardev=console,mode=readline"]
        else:
            command += ["-chardev", f"socket,id=console,path={self.folder}/console,server=on,wait=off,telnet=on,logfile={self.console},logappend=on"]
        # Data in the pipe stays there for whichever QEMU reads it. QEMU waits until a writer opens it.
        answers = self.folder / "answers"
        os.mkfifo(answers)
        self._answers = os.open(answers, os.O_RDWR | os.O_CLOEXEC)
        command += ["-serial", "chardev:console", "-chardev", f"file,id=results,path={self.channel},append=on,input-path={answers}",
                    "-serial", "chardev:results",
                    # The guest's monitor: QEMU connects to itself.
                    "-chardev", f"socket,id=monitor,path={self.folder}/guest-monitor,server=on,wait=off", "-mon", "chardev=monitor,mode=control",
                    "-chardev", f"socket,id=guest,path={self.folder}/guest-monitor",
                    "-device", "virtio-serial-pci,max_ports=2", "-device", "virtserialport,chardev=guest,name=qemu",
                    "-qmp", f"unix:{self.folder}/monitor,server=on,wait=off"]
        # Native hotplug by default: with ACPI hotplug QEMU never reports an active link, and Linux gives up a port after a reset.
        command += ["-global", f"ICH9-LPC.acpi-pci-hotplug-with-bridge-support={'on' if opts.hotplug == 'acpi' else 'off'}"]
        if opts.iommu == "on":
            command += ["-device", "intel-iommu,intremap=on,caching-mode=on"]
        cards = [opts.device] * opts.devices + ["sidra,profile=small"] * opts.small
        if opts.state_file:
            if not cards:
                fail("there is no card that could have the state file")
            cards[0] += ",state-file=" + str(opts.state_file.absolute()).replace(",", ",,")
        for number, card in enumerate(cards):
            if number and card.startswith("sidra") and "seed=" not in card:
                card += f",seed={number}"  # each chip is different: UUID, cells
            command += ["-device", f"pcie-root-port,id=port{number},chassis={number + 1},slot={number + 1}",
                        "-device", f"{card},bus=port{number},id=sidra{number}"]
        if opts.nvme:
            command += ["-blockdev", "null-co,node-name=nothing,size=1073741824,read-zeroes=on",
                        "-device", "nvme,serial=nothing,id=nvme", "-device", "nvme-ns,drive=nothing,bus=nvme"]
        command += shlex.split(opts.qemu_args)
        # QEMU is killed when this process ends for any reason.
        command = ["setpriv", "--pdeathsig", "KILL", *command]
        (self.logs / "qemu.command").write_text(shlex.join(map(str, command)) + "\n")
        self._errors = None if interactive else open(self.folder / "qemu.errors", "w+b")
        # An interactive guest receives Ctrl-C; otherwise this process handles it, and shuts QEMU down in order.
        self._launch = lambda *more: subprocess.Popen([*command, *more], stdin=None if interactive else subprocess.DEVNULL,
                                                      stdout=None if interactive else self._errors, stderr=self._errors,
                                                      start_new_session=not interactive)
        self.process = self._launch()

    def _kernel_line(self, checks):
        checked = DEBUG_CHECKS if self.opts.kernel == "debug" else CHECKS if checks else ""
        return " ".join([KERNEL, checked, "intel_iommu=on" if self.opts.iommu == "on" else "intel_iommu=off", self.opts.kernel_args])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.wait()
        self._leave_monitor()

    def close(self):
        self._kill()
        if self._answers is not None:
            os.close(self._answers)
        shutil.rmtree(self.folder, ignore_errors=True)

    def ended(self):
        return self.process.poll() is not None

    def errors(self):
        """The error output of QEMU."""
        if not self._errors:
            return ""
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace").strip()

    def command(self, name, *, timeout=120, **arguments):
        """Sends a command to QEMU's monitor, and returns the reply. Raises Refused."""
        try:
            if not self._monitor:
                self._monitor = socket.socket(socket.AF_UNIX)
                self._monitor.connect(f"{self.folder}/monitor")
                self._replies = self._monitor.makefile("rb")
                self._tell("qmp_capabilities", {}, timeout)
            answer = self._tell(name, {key.replace("_", "-"): value for key, value in arguments.items()}, timeout)
        except (OSError, ValueError) as error:
            self._leave_monitor()
            raise Refused(f"{name}: the monitor does not answer: {error}") from error
        if "error" in answer:
            raise Refused(f"{name}: {answer['error']['desc']}")
        return answer["return"]

    def _tell(self, name, arguments, timeout):
        self._monitor.settimeout(timeout)
        self._monitor.sendall(json.dumps({"execute": name, "arguments": arguments}).encode() + b"\n")
        while (answer := json.loads(self._replies.readline())).keys().isdisjoint({"return", "error"}):
            pass  # greeting, or events
        return answer

    def _leave_monitor(self):
        if self._monitor:
            self._monitor.close()
        self._monitor = None

    def wait_for(self, what, done, seconds=300.0):
        """Polls until done() returns a true value, and returns it."""
        end = time.monotonic() + seconds
        while not (found := done()):
            if self.ended() or time.monotonic() > end:
                raise Refused(f"{what}: has not happened")
            time.sleep(0.05)
        return found

    def restart(self, *more):
        """Replaces this QEMU by another one with more options."""
        self._kill()
        self.process = self._launch(*more)
        self.wait_for("monitor of the next QEMU", self._monitored)

    def _monitored(self):
        with contextlib.suppress(Refused):
            return self.command("query-status")

    def answer(self, text):
        """Sends a reply to the guest."""
        os.write(self._answers, text.encode() + b"\n")

    def show_stacks(self):
        """Makes a hung guest print its stacks to the console log, and ends it."""
        # Send a BREAK and a letter on the console, as on a real machine: CPUs, waiting tasks, all tasks.
        with socket.socket(socket.AF_UNIX) as console, contextlib.suppress(OSError):
            console.connect(f"{self.folder}/console")
            for key in b"lwt":
                console.sendall(bytes([255, 243, key]))
                self._console_settles()
        # If no CPU handles interrupts, inject an NMI.
        with contextlib.suppress(Refused):
            self.command("inject-nmi", timeout=20)
        end = time.monotonic() + 60  # the resulting panic ends the guest
        while not self.ended() and time.monotonic() < end:
            time.sleep(0.1)

    def _console_settles(self):
        size, end, quiet = -1, time.monotonic() + 20, time.monotonic()
        while time.monotonic() < end and time.monotonic() - quiet < 1:
            time.sleep(0.1)
            if (now := self.console.stat().st_size) != size:
                size, quiet = now, time.monotonic()


def made_by(script):
    """Runs a script that creates a folder if necessary and prints its path."""
    made = subprocess.run([HERE / script], stdout=subprocess.PIPE, text=True)
    if made.returncode:
        sys.exit(2)
    return Path(made.stdout.strip())


def root_folder():
    """The folder of the guest's root."""
    return made_by("root.sh")


def debug_kernel():
    """The debug kernel as an ELF file with symbols."""
    return made_by("debug-kernel.sh") / "vmlinux"


def qemu_binary():
    """The QEMU of this tree, built if necessary; SIDRA_QEMU=FILE: that binary."""
    if given := os.environ.get("SIDRA_QEMU"):
        if not os.access(given, os.X_OK):
            fail(f'SIDRA_QEMU="{given}": there is no such program')
        return given
    script = CHECKOUT / "scripts/qemu.sh"
    if not script.exists():
        fail("this tree cannot build QEMU (no scripts/qemu.sh); say which binary to use: SIDRA_QEMU=FILE")
    built = subprocess.run([script, "build"], stdout=subprocess.PIPE, text=True)
    if built.returncode:
        sys.exit(2)
    return built.stdout.strip()


def kvm_works(qemu, root):
    """Whether a guest boots with KVM; the device node alone does not show that. Cached for each boot of this machine and each QEMU."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    memory = root.parent / "kvm"
    question = f"{boot} {qemu} {Path(qemu).stat().st_mtime_ns}"
    with contextlib.suppress(OSError, ValueError):
        asked, answer = memory.read_text().rsplit(" ", 1)
        if asked == question:
            return answer == "works"
    with tempfile.NamedTemporaryFile() as console:
        # Without an initramfs the kernel panics after booting, and QEMU exits.
        command = ["timeout", "10", qemu, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                   "-machine", "q35,accel=kvm", "-m", "512",
                   "-kernel", root / "vmlinux", "-append", "console=ttyS0 panic=-1", "-serial", f"file:{console.name}"]
        trial = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        works = b"Unable to mount root fs" in console.read()
    # A busy machine may have been too slow for the trial, which says nothing about the next one.
    if works or trial.returncode != TIMED_OUT:
        new = memory.with_name(f"kvm.{os.getpid()}")
        new.write_text(f"{question} {'works' if works else 'fails'}")
        new.replace(memory)
    return works


class Parser(argparse.ArgumentParser):
    """Also validates defaults, because they come from the environment."""
    def parse_args(self, *given):
        opts = super().parse_args(*given)
        for action in self._actions:
            if action.choices and getattr(opts, action.dest) not in action.choices:
                self.error(f"{action.dest.upper()}={getattr(opts, action.dest)}: choose from {', '.join(action.choices)}")
        return opts


def parser(description):
    made = Parser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options(made)
    return made


def die_in_order():
    """Makes SIGTERM and SIGHUP end a run like Ctrl-C, with cleanup."""
    def stop(number, _):
        raise SystemExit(128 + number)
    for one in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, stop)
