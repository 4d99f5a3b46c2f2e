#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""seeds.py: writes the seeds of target packets, ordinary work of every kind, into corpus/packets (README.md).

A record is a kind, a queue and fields, as Hostile::record() in packets/hostile.cpp takes them."""
from pathlib import Path

SCATTERED, IN_ORDER, READABLE, BODIES = 0x00, 0x01, 0x02, 0x06  # targets of an address, at a multiple of 64 bytes
NOP, SEM_WAIT, SEM_SIGNAL, TIMESTAMP, COPY, FILL, MVM, VEC, PROGRAM, READBACK, CALL = 0, 2, 3, 4, 5, 6, 7, 8, 12, 13, 14
POOL_MAX, GATHER, TRANSPOSE, ADD, SOFTMAX, QUANTIZE = 22, 27, 26, 2, 15, 0  # places in kVecOps
F32, U8, S8, S32 = 0, 1, 2, 3  # places in kTypes
RUN, BODY, POOL = 21, 10, 17


def record(*fields):
    return bytes(fields).ljust(32, b"\0")


def address(target, offset=0):
    return [target, offset & 255, offset >> 8]


def count(n):
    """1 to 64"""
    return [3, n - 1, 0]


def packet(opcode, *fields, queue=0):
    return record(0, queue, opcode, *fields)


def vec(op, types, rows, cols, second=(), odd=0):
    return packet(VEC, op, types, odd, *count(rows), *count(cols), *address(IN_ORDER), *address(SCATTERED, 4096), *second)


def pool(in_h, in_w, kernel, stride):
    return record(POOL, 0, 0, in_h - 1, in_w - 1, kernel - 1, kernel - 1, stride - 1, stride - 1)


SEEDS = {
    "copy": [packet(COPY, 1, *address(SCATTERED), *address(READABLE), *count(60), *count(9))],
    "fill": [packet(FILL, 2, *address(SCATTERED, 4000), *count(64), 2, 7, 0)],
    "semaphores": [packet(SEM_WAIT, 0, *address(IN_ORDER, 8192), *count(1)), record(RUN, 1),
                   packet(SEM_SIGNAL, *address(IN_ORDER, 8192), 2, 0, 9, queue=1)],
    "call": [record(BODY, 0, NOP), record(BODY, 1, TIMESTAMP, *address(SCATTERED)), packet(CALL, *address(BODIES, 4096), *count(2))],
    "mvm": [packet(MVM, 0, t, w, *count(3), *address(READABLE), *address(SCATTERED)) for t, w in ((1, 0), (2, 1), (14, 0), (12, 1))],
    "program": [packet(PROGRAM, 0, 2, *address(IN_ORDER)), packet(READBACK, 0, 2, *address(SCATTERED)),
                packet(MVM, 0, 0, 2, *count(2), *address(READABLE), *address(SCATTERED))],
    "pool": [pool(4, 4, 2, 2), vec(POOL_MAX, F32, 2, 3, [0]), record(RUN, 1), pool(9, 3, 3, 1), vec(POOL_MAX, U8, 2, 5, [0])],
    "vec": [vec(ADD, F32, 5, 9, address(READABLE)), vec(SOFTMAX, F32, 4, 33), vec(TRANSPOSE, S32, 7, 6), vec(QUANTIZE, F32 | U8 << 2, 3, 8),
            vec(GATHER, U8, 8, 40, address(IN_ORDER))],
    "kernel": [packet(NOP, queue=3), packet(COPY, 0, *address(SCATTERED), *address(IN_ORDER), *count(64), queue=3)],
}
folder = Path(__file__).parent / "corpus" / "packets"
folder.mkdir(parents=True, exist_ok=True)
for name, records in SEEDS.items():
    (folder / f"seed-{name}").write_bytes(b"\0" + b"".join(records))
