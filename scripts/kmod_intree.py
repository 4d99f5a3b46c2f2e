#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kmod_intree.py TREE OUT: writes the driver as a series of patches for a kernel tree, drivers/accel/sidra, into the folder OUT, with a cover letter.

The sources are those of kmod/, uapi/ and firmware/image. What differs in a kernel's tree is where headers are, how the driver is chosen (kmod/intree has its
Kconfig, its page in Documentation, its entry in MAINTAINERS and the cover letter), and that the differences between kernels (sidra_compat.h) are decided: the probes of
kmod/Kbuild are made in TREE, and unifdef removes what they leave out. TREE itself is only read.
"""
import difflib
import fnmatch
import pathlib
import re
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
DRIVER = "drivers/accel/sidra"
UAPI = "include/uapi/drm"
# What programs may include; HARDWARE is the driver's alone.
INTERFACE = ("sidra_accel.h", "sidra_cmd.h", "sidra_monitor.h", "sidra_state.h", "sidra_vector.h")
HARDWARE = ("sidra_hw.h", "sidra_reg.h")
SENDER = "SIDRA developers <developers@sidra.example.org>"
DATE = "Thu, 1 Jan 2026 00:00:00 +0000"  # the series of the same sources is the same



def sources(*nouns):
    return tuple(f"{DRIVER}/sidra_{noun}.[ch]" for noun in nouns)


TITLE = "accel/sidra: Add a driver for the SIDRA Y1 accelerator"
# Subject, message, files. What is chosen and compiled comes last, so that every step of a bisection builds.
SERIES = (
    ("accel/sidra: Add the interface for programs",
     "The ioctls, and the packets that programs write into rings which they own. No structure of the hardware is part of the interface.",
     (f"{UAPI}/*",)),
    ("accel/sidra: Add the device and its recovery",
     "Probe and removal, access to registers and interrupts, the channel for admin commands, calls and their arguments, and limits of users. "
     "All resets are in one place, and the header of the device has the order of all locks.",
     sources("admin", "args", "call", "chip", "compat", "device", "drv", "event", "file", "hw", "info", "ioctl", "irq", "limits", "mutex", "pure", "quiesce",
             "recovery", "refusal", "reg", "reset", "trace")),
    ("accel/sidra: Add memory",
     "Buffers are shmem pages, SRAM on the card (L3), memory of the caller, or L3 of another card. Address spaces have page tables, through "
     "which the chip translates all addresses of packets. A page is unpinned or freed only after the chip has acknowledged that it no longer "
     "uses it.",
     sources("bo", "dma", "l3", "map", "mmu", "peer", "ptab", "range", "vm")),
    ("accel/sidra: Add contexts, queues and submission",
     "A queue is a ring of packets. The ring of a user queue belongs to the program, which rings a mapped doorbell; into a kernel queue the "
     "driver writes the packets of SUBMIT, with fences, and of io_uring commands. A watchdog stops queues that make no progress.",
     sources("ctx", "epoch", "queue", "queue_memory", "submit", "uring*", "usage", "wait", "watch")),
    ("accel/sidra: Add weights",
     "Weights are matrices in crossbars. They are shared by file descriptors, and those with a name are in a directory in non-volatile memory "
     "of the card, which the driver does not trust.",
     sources("nvm", "report", "store", "table", "weights*", "xbar")),
    ("accel/sidra: Add firmware and monitoring",
     "The mailbox and updates of the signed firmware; files in sysfs and debugfs, hwmon with alarms, and device core dumps. Monitoring "
     "does not slow down work of programs, and their work does not block a reader.",
     (*sources("alarm", "coredump", "debugfs", "firmware", "hwmon", "image", "mailbox", "manage", "query", "ring", "sysfs", "telemetry", "update"),
      f"{DRIVER}/image/*")),
    ("accel/sidra: Add tests for KUnit",
     "They run without a card, on memory that pretends to be registers, when the driver is loaded.",
     (f"{DRIVER}/tests/*",)),
    ("accel/sidra: Add Kconfig, Makefile and documentation",
     "Only now the driver can be chosen. Documentation/accel has what its objects are, and how memory and recovery work; Documentation/ABI "
     "the files in sysfs and debugfs. MAINTAINERS has who answers for them.",
     (f"{DRIVER}/Kconfig", f"{DRIVER}/Makefile", "drivers/accel/Kconfig", "drivers/accel/Makefile", "Documentation/*", "MAINTAINERS")),
)


def fail(message):
    sys.exit(f"kmod_intree: {message}")


def unifdef(text, *options):
    run = subprocess.run(["unifdef", *options], input=text, stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode > 1:
        fail("unifdef failed")
    return re.sub(r"\n{3,}", "\n\n", run.stdout)


def documents(text):
    """The same text with documents and headers where they are in a kernel's tree; documents that stay behind are libsidra's there."""
    text = re.sub(r"docs/(\w+\.md)", r"\1 of libsidra", text.replace("docs/abi/", "Documentation/ABI/testing/"))
    return re.sub(r"(?<!/)\buapi/(sidra_\w+\.h)", lambda match: f"drm/{match[1]}" if match[1] in INTERFACE else match[1], text)


def placed(text):
    """The same for headers, too."""

    def place(match):
        name = match[1]
        if name in INTERFACE:
            return f"#include <drm/{name}>"
        if name in HARDWARE or name.startswith("image/"):
            return f'#include "{name}"'
        return match[0]

    return re.sub(r'#include ["<](?:\.\./firmware/)?([\w/]+\.[ch])[">]', place, documents(text))


def ours(text):
    """A source that firmware and model share, as the driver has it: with a kernel's types, and nothing for other compilers."""
    text = unifdef(text, "-D__KERNEL__", "-U__cplusplus")
    return placed(re.sub(r"\bsidra_les?(16|32|64)\b", r"__le\1", re.sub(r"\buint(8|16|32|64)_t\b", r"u\1", text)))


def decided(tree, kbuild, text):
    """sidra_compat.h as this tree needs it."""
    options = []
    for header, pattern, name in re.findall(r"\$\(call sidra-probe,([^,]+),'([^']+)',(\w+)\)", kbuild):
        found = subprocess.run(["grep", "-qsE", pattern, tree / "include" / header], check=False).returncode == 0
        options.append(f"-{'D' if found else 'U'}{name}")
    if not options:
        fail("kmod/Kbuild has no probes that this script understands")
    return unifdef(text, "-k", *options).replace("; the probes in Kbuild find that out from the kernel's headers", "")


def makefile(kbuild):
    objects = re.search(r"^sidra-y := .*?^(?=ccflags-y)", kbuild, re.DOTALL | re.MULTILINE)
    if not objects:
        fail("kmod/Kbuild has no list of objects before its flags")
    return f"# SPDX-License-Identifier: GPL-2.0-only\nobj-$(CONFIG_DRM_ACCEL_SIDRA) := sidra.o\n\n{objects[0]}ccflags-y := -I$(src)\n"


def next_version(tree):
    """The release that a series for this tree would come with."""
    try:
        makefile = (tree / "Makefile").read_text()
        version, level = (int(re.search(rf"^{name} = (\d+)$", makefile, re.MULTILINE)[1]) for name in ("VERSION", "PATCHLEVEL"))
    except (OSError, TypeError):
        fail(f"{tree} is no kernel tree: its Makefile names no version")
    return f"{version}.{level + 1}"


def new_files(tree):
    """Path in the tree -> text."""
    files = {}
    kbuild = (ROOT / "kmod/Kbuild").read_text()
    for source in sorted((ROOT / "kmod").glob("*.[ch]")) + sorted((ROOT / "kmod/tests").glob("*.[ch]")):
        text = source.read_text()
        if source.name == "sidra_compat.h":
            text = decided(tree, kbuild, text)
        text = text.replace("#if IS_BUILTIN(CONFIG_KUNIT)", "#if IS_ENABLED(CONFIG_DRM_ACCEL_SIDRA_KUNIT_TEST)")
        files[f"{DRIVER}/{source.relative_to(ROOT / 'kmod')}"] = placed(text)
    for source in sorted((ROOT / "firmware/image").glob("*.[ch]")):
        files[f"{DRIVER}/image/{source.name}"] = ours(source.read_text())
    for name in HARDWARE:
        files[f"{DRIVER}/{name}"] = ours((ROOT / "uapi" / name).read_text())
    for name in INTERFACE:
        files[f"{UAPI}/{name}"] = documents((ROOT / "uapi" / name).read_text())
    files[f"{DRIVER}/Makefile"] = makefile(kbuild)
    files[f"{DRIVER}/Kconfig"] = (ROOT / "kmod/intree/Kconfig").read_text()
    files["Documentation/accel/sidra/index.rst"] = (ROOT / "kmod/intree/index.rst").read_text()
    version = next_version(tree)
    for page in sorted((ROOT / "docs/abi").iterdir()):
        text = re.sub(r"out of tree, sidra \d+\.\d+", version, page.read_text())
        text = text.replace("maintainers of this repository", "dri-devel@lists.freedesktop.org")
        files[f"Documentation/ABI/testing/{page.name}"] = documents(text)
    for path, text in files.items():
        # What only this repository knows is a riddle in a kernel's tree.
        if found := re.search(r"(?i)out of tree|this repository|(?<![\w/])(docs|uapi|kmod|tests|scripts)/\w+", text.replace("tests/sidra_", "")):
            fail(f"{path} says {found[0]!r}")
    return files


def insert_sorted(path, text, line, like):
    """Adds a line to the run of lines that match a pattern, which is sorted by what the pattern's group finds."""
    lines = text.splitlines(keepends=True)
    key = re.match(like, line)[1]
    places = [(index, match[1]) for index, each in enumerate(lines) if (match := re.match(like, each))]
    if not places:
        fail(f"{path} has no line like {line.strip()!r}")
    if any(found == key for _, found in places):
        fail(f"{path} has sidra already: this takes a tree without it")
    at = next((index for index, found in places if found > key), places[-1][0] + 1)
    lines.insert(at, line)
    return "".join(lines)


def changed_files(tree):
    """Path in the tree -> old text, new text."""
    changes = {}

    def change(path, made):
        try:
            old = (tree / path).read_text()
        except OSError as error:
            fail(f"{tree} is no kernel tree with drivers/accel: {error}")
        changes[path] = old, made(path, old)

    change("drivers/accel/Kconfig", lambda path, old: insert_sorted(path, old, f'source "{DRIVER}/Kconfig"\n', r'source "(drivers/accel/\w+/Kconfig)"'))
    change("drivers/accel/Makefile", lambda path, old: insert_sorted(path, old, "obj-$(CONFIG_DRM_ACCEL_SIDRA)\t\t+= sidra/\n", r"obj-\S+\s*\+= (\w+/)"))
    change("Documentation/accel/index.rst", lambda path, old: insert_sorted(path, old, "   sidra/index\n", r"   (\w+/index)$"))
    entry = (ROOT / "kmod/intree/MAINTAINERS").read_text()

    def maintainers(path, old):
        title = entry.split("\n", 1)[0]
        for match in re.finditer(r"(?<=\n\n)[^\n]+\n[A-Z]:\t", old):
            if match[0].split("\n", 1)[0] > title:
                return old[: match.start()] + entry + old[match.start() :]
        return fail(f"{path} has no entry after {title!r}")

    change("MAINTAINERS", maintainers)
    return changes


def diff(path, old, new):
    """In git's format."""
    head = f"diff --git a/{path} b/{path}\n" + ("" if old is not None else "new file mode 100644\n")
    if old is not None and old == new:
        return ""
    before, after = (old or "").splitlines(keepends=True), new.splitlines(keepends=True)
    if not new.endswith("\n"):
        fail(f"{path} does not end in a newline")
    return head + "".join(difflib.unified_diff(before, after, "/dev/null" if old is None else f"a/{path}", f"b/{path}"))


def wrapped(text, indent=""):
    return textwrap.fill(text, 72, initial_indent=indent, subsequent_indent=indent)


def cover_letter(bodies):
    """What kmod/intree/cover-letter says, with the series and its sizes."""
    text = (ROOT / "kmod/intree/cover-letter").read_text()
    parts = []
    for number, ((subject, message, _), body) in enumerate(zip(SERIES, bodies, strict=True), 1):
        lines = len(re.findall(r"^\+(?!\+\+ )", body, re.MULTILINE))
        parts.append(wrapped(f"{number}. {subject.split(': ', 1)[1]} ({lines:,} lines)") + "\n" + wrapped(message, "   "))
    series = "".join(bodies)
    files = len(re.findall(r"^diff --git ", series, re.MULTILINE))
    added = len(re.findall(r"^\+(?!\+\+ )", series, re.MULTILINE))
    removed = len(re.findall(r"^-(?!-- )", series, re.MULTILINE))
    text = text.replace("@SERIES@", "\n\n".join(parts))
    return f"{text}\n {files} files changed, {added} insertions(+), {removed} deletions(-)\n"


def mail(number, subject, text):
    return f"From: {SENDER}\nDate: {DATE}\nSubject: [PATCH {number}/{len(SERIES)}] {subject}\n\n{text}--\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tree, out = map(pathlib.Path, sys.argv[1:])
    left = {path: (None, text) for path, text in new_files(tree).items()} | changed_files(tree)
    bodies = []
    for subject, _, patterns in SERIES:
        mine = sorted(path for path in left if any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns))
        if not mine:
            fail(f"the patch {subject!r} is empty")
        bodies.append("".join(diff(path, *left.pop(path)) for path in mine))
    if left:
        fail(f"no patch of the series has {', '.join(sorted(left))}")
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("*.patch"):
        old.unlink()
    (out / "0000-cover-letter.patch").write_text(mail(0, TITLE, cover_letter(bodies)))
    for number, ((subject, message, _), body) in enumerate(zip(SERIES, bodies, strict=True), 1):
        name = f"{number:04}-{re.sub(r'[^A-Za-z0-9]+', '-', subject)}.patch"
        (out / name).write_text(mail(number, subject, f"{wrapped(message)}\n\nSigned-off-by: {SENDER}\n---\n\n{body}"))


if __name__ == "__main__":
    main()
