#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kmod_intree.py TREE OUT: writes the driver as a series of patches for a kernel tree, drivers/accel/sidra, into the folder OUT.

The sources are those of kmod/, uapi/ and firmware/image. What differs in a kernel's tree is where headers are, how the driver is chosen (kmod/intree has its
Kconfig, its page in Documentation and its entry in MAINTAINERS), and that the differences between kernels (sidra_compat.h) are decided: the probes of
kmod/Kbuild are made in TREE, and unifdef removes what they leave out. TREE itself is only read.
"""
import difflib
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DRIVER = "drivers/accel/sidra"
UAPI = "include/uapi/drm"
# What programs may include; HARDWARE is the driver's alone.
INTERFACE = ("sidra_accel.h", "sidra_cmd.h", "sidra_monitor.h", "sidra_state.h", "sidra_vector.h")
HARDWARE = ("sidra_hw.h", "sidra_reg.h")
SENDER = "SIDRA developers <developers@sidra.example.org>"
DATE = "Thu, 1 Jan 2026 00:00:00 +0000"  # the series of the same sources is the same

SERIES = (
    ("accel/sidra: Add the interface for programs",
     "The ioctls, and the packets that programs write into rings which they own.\nNo structure of the hardware is part of the interface.",
     (UAPI,)),
    ("accel/sidra: Add a driver for the SIDRA Y1 accelerator",
     "The chip stores matrices in crossbars of memristors, and multiplies vectors\nby them where they are stored. The driver isolates programs by page tables\n"
     "and queues of their own, and recovers contexts or the device when the chip\ndoes not do what it was told.",
     (DRIVER, "drivers/accel/Kconfig", "drivers/accel/Makefile")),
    ("Documentation/accel: Describe the sidra driver",
     "What its objects are, how memory and recovery work, and the files in sysfs\nand debugfs.",
     ("Documentation",)),
    ("MAINTAINERS: Add an entry for accel/sidra", "Who answers for the driver, and where it is discussed.", ("MAINTAINERS",)),
)


def fail(message):
    sys.exit(f"kmod_intree: {message}")


def unifdef(text, *options):
    run = subprocess.run(["unifdef", *options], input=text, stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode > 1:
        fail("unifdef failed")
    return re.sub(r"\n{3,}", "\n\n", run.stdout)


def documents(text):
    """The same text with documents where they are in a kernel's tree; those that stay behind are libsidra's there."""
    return re.sub(r"docs/(\w+\.md)", r"\1 of libsidra", text.replace("docs/abi/", "Documentation/ABI/testing/"))


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
        text = page.read_text().replace("out of tree, sidra 1.0", version).replace("maintainers of this repository", "dri-devel@lists.freedesktop.org")
        files[f"Documentation/ABI/testing/{page.name}"] = text.replace("uapi/sidra_", f"{UAPI}/sidra_")
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


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tree, out = map(pathlib.Path, sys.argv[1:])
    changes = {path: (None, text) for path, text in new_files(tree).items()} | changed_files(tree)
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("*.patch"):
        old.unlink()
    left = dict(changes)
    for number, (subject, message, folders) in enumerate(SERIES, 1):
        mine = sorted(path for path in left if any(path == folder or path.startswith(f"{folder}/") for folder in folders))
        body = "".join(diff(path, *left.pop(path)) for path in mine)
        signed = f"{message}\n\nSigned-off-by: {SENDER}\n" if message else f"Signed-off-by: {SENDER}\n"
        name = f"{number:04}-{re.sub(r'[^A-Za-z0-9]+', '-', subject)}.patch"
        (out / name).write_text(
            f"From: {SENDER}\nDate: {DATE}\nSubject: [PATCH {number}/{len(SERIES)}] {subject}\n\n{signed}---\n\n{body}--\n")
    if left:
        fail(f"no patch of the series has {', '.join(sorted(left))}")


if __name__ == "__main__":
    main()
