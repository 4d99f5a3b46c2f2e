# SPDX-License-Identifier: MIT
"""Kernel function names for a debugger without Debian's debug package (hundreds of megabytes): a guest prints them once."""
import subprocess

import machine


def kernel_with_symbols(opts, root):
    """The kernel as an ELF file with symbols, beside the one that is booted. If the root contains Debian's debug package, that is used."""
    if opts.kernel == "debug":
        return machine.debug_kernel()
    debug = root / "root/usr/lib/debug/boot" / f"vmlinux-{(root / 'release').read_text().strip()}"
    made = root / "vmlinux.symbols"
    if debug.exists():
        return debug
    if not made.exists():
        print("vm: reading the kernel's symbols (once, a boot)", flush=True)
        with machine.Machine(opts, "grep -v '\\[' /proc/kallsyms >/job/kallsyms\n", load=False, logs=opts.source / "build/vm") as guest:
            try:
                guest.process.wait(120)
                lines = (guest.job / "kallsyms").read_text().splitlines()
            except (OSError, subprocess.TimeoutExpired):
                machine.fail(f"the guest did not tell its symbols; its console is in {guest.console}")
            _add_symbols(root / "vmlinux", [line.split()[:3] for line in lines], guest.folder / "symbols", guest.folder / "vmlinux")
            # Another run may do the same, so rename the complete file.
            part = made.with_suffix(f".{guest.process.pid}")
            part.write_bytes((guest.folder / "vmlinux").read_bytes())
            part.replace(made)
    return made


def _add_symbols(kernel, symbols, script, output):
    start = next(int(address, 16) for address, _, name in symbols if name == "_text")
    end = next(int(address, 16) for address, _, name in symbols if name == "_etext")
    with open(script, "w") as options:
        for address, kind, name in symbols:
            offset = int(address, 16) - start
            if kind in "tTwW" and 0 <= offset < end - start:
                options.write(f"--add-symbol {name}=.text:{offset:#x},function,{'global' if kind in 'TW' else 'local'}\n")
    subprocess.run(["objcopy", f"@{script}", kernel, output], check=True)
