#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""unpack_kernel.py BZIMAGE ELF: extracts the kernel's ELF file from the compressed kernel."""
import lzma
import struct
import subprocess
import sys
from pathlib import Path

image = Path(sys.argv[1]).read_bytes()
# Documentation/arch/x86/boot.rst: the payload offset is relative to the protected-mode code.
if image[0x202:0x206] != b"HdrS":
    sys.exit(f"{sys.argv[1]}: not a bzImage")
sectors = image[0x1F1] or 4
offset, length = struct.unpack_from("<II", image, 0x248)
start = (sectors + 1) * 512 + offset
payload = image[start : start + length - 4]  # the last four bytes are the unpacked size
if payload.startswith(b"\x28\xb5\x2f\xfd"):
    elf = subprocess.run(["zstd", "-dc"], input=payload, stdout=subprocess.PIPE, check=True).stdout
elif payload.startswith(b"\xfd7zXZ"):
    elf = lzma.decompress(payload)
elif payload.startswith(b"\x7fELF"):
    elf = payload
else:
    sys.exit(f"{sys.argv[1]}: the payload is packed in a way that is not known here ({payload[:6].hex()})")
Path(sys.argv[2]).write_bytes(elf)
