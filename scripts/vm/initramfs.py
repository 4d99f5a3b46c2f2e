#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""initramfs.py ROOT OUTPUT [bare]: builds the guest's initramfs: busybox and modules from the root (bare: none, for a kernel with all of them
built in), and the scripts of guest/. Not compressed: unpacking would only cost the guest time."""
import lzma
import sys
from pathlib import Path

# crc32c is requested by the name of its algorithm, not by a symbol, so it is not in the dependency tables.
MODULES = ["crc32c_generic", "virtio_blk", "virtio_rng", "erofs", "overlay", "9pnet_virtio", "9p"]

root, output, bare = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:] == ["bare"]
guest = Path(__file__).resolve().parent / "guest"
folder = next((root / "usr/lib/modules").iterdir())


def modules():
    """The modules in loading order."""
    needs = {}
    for line in (folder / "modules.dep").read_text().splitlines():
        path, _, others = line.partition(":")
        needs[path] = others.split()
    by_name = {Path(path).name.split(".")[0].replace("-", "_"): path for path in needs}
    order = []
    for name in MODULES:
        path = by_name[name]
        for one in [*reversed(needs[path]), path]:
            if one not in order:
                order.append(one)
    return order


archive = bytearray()


def add(name, mode, data=b""):
    """Appends one file in the `newc` format of cpio: Documentation/driver-api/early-userspace/buffer-format.rst."""
    fields = [len(archive), mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
    archive.extend(b"070701" + b"".join(b"%08X" % f for f in fields) + name.encode() + b"\0")
    archive.extend(bytes(-len(archive) % 4))
    archive.extend(data + bytes(-len(data) % 4))


for name in ["bin", "modules", "guest", "dev"]:
    add(name, 0o040755)
add("bin/busybox", 0o100755, (root / "usr/bin/busybox").read_bytes())
for number, path in enumerate([] if bare else modules()):
    data = (folder / path).read_bytes()
    add(f"modules/{number:02}-{Path(path).name.removesuffix('.xz')}", 0o100644, lzma.decompress(data) if path.endswith(".xz") else data)
for path in sorted(guest.iterdir()):
    if path.is_file():
        add("init" if path.name == "init" else f"guest/{path.name}", 0o100755, path.read_bytes())
add("TRAILER!!!", 0)
temporary = output.with_suffix(".new")
temporary.write_bytes(archive)
temporary.replace(output)
