#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run.py [options] [-- COMMAND...]: boots the guest, with a shell on the terminal or for one command.

With a command, run.py prints its output and returns its exit status; the kernel's console is in build/vm/console.log.
"""
import os
import shlex
import shutil
import subprocess
import sys
import time

import machine
import symbols

GDB_SCRIPT = """\
# gdb -x build/vm/gdb: debugs the guest's kernel from its first instruction. The gdb command `sidra` loads the modules' symbols.
set pagination off
set confirm off
file {vmlinux}
set substitute-path /build/tree/src {source}
set substitute-path /build/tree-debug/src {source}
target remote :{port}
python
import re
class Sidra(gdb.Command):
    "Reads the symbols of the modules that the guest has loaded (from its console log)."
    def __init__(self):
        super().__init__("sidra", gdb.COMMAND_FILES)
    def invoke(self, argument, tty):
        for line in open("{console}", errors="replace"):
            found = re.search(r"guest: module (\\S+) (.*)", line)
            if found and ".text=" in found.group(2):
                sections = dict(word.split("=") for word in found.group(2).split())
                text = sections.pop(".text")
                rest = " ".join(f"-s {{name}} {{address}}" for name, address in sections.items())
                gdb.execute(f"add-symbol-file {modules}/{{found.group(1)}}.ko {{text}} {{rest}}")
Sidra()
end
"""


def shell(opts):
    columns, rows = shutil.get_terminal_size()
    job = f"""stty -F /dev/ttyS0 rows {rows} cols {columns}
echo "guest: this is a shell in it. exit or Ctrl-D: switches it off. Ctrl-A X: ends QEMU. Ctrl-A C: QEMU's monitor."
TERM={shlex.quote(os.environ.get("TERM", "linux"))} setsid --ctty --wait bash </dev/ttyS0 >/dev/ttyS0 2>&1
"""
    logs = opts.source / "build/vm"
    if opts.gdb:
        kernel = symbols.kernel_with_symbols(opts, machine.root_folder())
        opts.qemu_args += f" -S -gdb tcp:localhost:{opts.gdb}"
        logs.mkdir(parents=True, exist_ok=True)
        (logs / "gdb").write_text(GDB_SCRIPT.format(vmlinux=kernel, port=opts.gdb, console=logs / "console.log",
                                                    modules=logs / ("kmod-debug" if opts.kernel == "debug" else "kmod"),
                                                    source=opts.source))
        print("vm: the guest waits for a debugger. In another terminal:", f"    gdb -x {logs / 'gdb'}",
              "then: continue, Ctrl-C, sidra, break FUNCTION, ...", sep="\n")
    with machine.Machine(opts, job, interactive=True, logs=logs) as guest:
        guest.process.wait()
    return 0


def one_command(opts):
    job = f"{{ {shlex.join(opts.command)}; }} >/dev/ttyS1 2>&1 </dev/null\necho $? >/job/status\n"
    with machine.Machine(opts, job, checks=not opts.no_checks, logs=opts.source / "build/vm") as guest:
        with open(guest.channel, "rb") as results:
            end = time.monotonic() + opts.timeout
            while True:
                over = guest.ended()
                if data := results.read():
                    sys.stdout.buffer.write(data)
                    sys.stdout.flush()
                elif over:
                    break
                elif time.monotonic() > end:
                    guest.show_stacks()
                    machine.fail(f"not done after {opts.timeout:g} s; what the guest did is in {guest.console}")
                else:
                    time.sleep(0.02)
        if (guest.job / "not-loaded").exists():
            print(f"vm: a module could not be loaded; why is in {guest.console}", file=sys.stderr)
        try:
            return int((guest.job / "status").read_text())
        except (OSError, ValueError):
            machine.fail("the guest ended before its command did.", *filter(None, [guest.errors()]),
                         f"Its console is in {guest.console}, whose end is:",
                         *guest.console.read_text(errors="replace").splitlines()[-15:])


def main():
    parser = machine.parser(__doc__)
    parser.add_argument("--gdb", type=int, nargs="?", const=1234, metavar="PORT",
                        help="stop before the first instruction, for a debugger there (default 1234)")
    parser.add_argument("--no-checks", action="store_true", help="a kernel that does not check its allocations: for measurements")
    parser.add_argument("--timeout", type=float, default=300, metavar="SECONDS", help="for a command (default 300)")
    parser.add_argument("command", nargs="*", metavar="COMMAND", help="run this, and not a shell")
    opts = parser.parse_args()
    opts.source = opts.source.resolve()
    machine.die_in_order()
    return one_command(opts) if opts.command else shell(opts)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except subprocess.CalledProcessError as error:
        machine.fail(error)
