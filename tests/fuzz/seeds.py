#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""seeds.py: writes the files seed-* in corpus/ (README.md): for each target what is valid, of every kind."""
import hashlib
import struct
import zlib
from pathlib import Path

# ---- packets: a byte of switches, then records of 32 bytes: a kind, a queue and fields, as Hostile::record() in packets/hostile.cpp takes them.

SCATTERED, IN_ORDER, READABLE, BODIES, WIDE, ALIAS = 0x00, 0x01, 0x02, 0x06, 0x07, 0x08  # targets of an address, at a multiple of 64 bytes
FROM_END = 0x90  # with one of them: the offset counts from its end
(NOP, SEM_WAIT, SEM_SIGNAL, TIMESTAMP, COPY, FILL, MVM, SORT, VECTOR, MATMUL, LAYER, PROGRAM, READBACK, CALL,
 POOL) = 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15  # places in kOpcodes
ADD_GELU, SOFTMAX, PERMUTE, ADD_ROWS, GATHER, SCATTER, RANDOM, QUANTIZE = range(8)  # kPrograms, those of VECTOR
U8, S8, S32, F32, S16, S64, BOOL, F16, BF16 = range(9)  # enum sidra_type
BODY, PATTERN, RUN, RESET = 10, 17, 21, 23


def record(*fields):
    return bytes(fields).ljust(32, b"\0")


def address(target, offset=0):
    return [target, offset & 255, offset >> 8]


def count(n):
    """1 to 64"""
    return [3, n - 1, 0]


def packet(opcode, *fields, queue=0):
    return record(0, queue, opcode, *fields)


def operand(how, target, offset=0):
    """Of VECTOR `how` is a type, or one and 16 times an extent - 1; of products it changes strides."""
    return [how, *address(target, offset)]


def vector(program, rows, cols, *operands, odd=0):
    return packet(VECTOR, program, odd, *count(rows), *count(cols), 5, *sum(operands, []))


def matmul(program, types, m, n, k, a, b, result_type, result):
    return packet(MATMUL, program, types, *count(m), *count(n), *count(k), *a, *b, result_type, *result)


def layer(program, odd, weights, rows, cols, *rest):
    return packet(LAYER, program, odd, weights, *count(rows), *count(cols), *rest)


def pattern(kind, height, width, channels, kernel, stride, number=0, source=IN_ORDER, offset=0, odd=0, strides=()):
    """Without padding; sizes are codes of dimensions."""
    return record(PATTERN, 0, number, kind * 16 + odd, *address(source, offset), height, width, channels, kernel, kernel, stride, stride, 1, 1, *strides)


def pool(operation, number=0, images=1, result=SCATTERED, odd=0, sizes=()):
    """Of the images of pattern `number`"""
    return packet(POOL, number + 4 * (operation - 1) + 16 * (images - 1), odd, *address(result, 4096), *sizes)


def size(n):
    """The code of a dimension of up to 16"""
    return n - 1


MAX, ARGMAX, AVERAGE = 1, 2, 3  # enum sidra_pool_op
DESCENDING, LONG_INDICES = 1, 2  # of SORT
IMAGE_9 = (F32, size(9), size(3), size(5), size(3), size(1))

PACKETS = {
    "copy": [packet(COPY, 1, *address(SCATTERED), *address(READABLE), *count(60), *count(9))],
    "fill": [packet(FILL, 2, *address(SCATTERED, 4000), *count(64), 2, 7, 0)],
    "semaphores": [packet(SEM_WAIT, 0, *address(IN_ORDER, 8192), *count(1)), record(RUN, 1),
                   packet(SEM_SIGNAL, *address(IN_ORDER, 8192), 2, 0, 9, queue=1)],
    "timelines": [packet(SEM_WAIT, 1 | 1 << 1, *count(2)), packet(NOP, queue=1), record(RUN, 1), packet(NOP, queue=1), record(RUN, 2),
                  packet(SEM_WAIT, 1 | 2 << 1, *count(1)), record(RUN, 1), record(RESET, 2), record(RUN, 1), record(RESET, 0),
                  packet(SEM_WAIT, 1 | 1 << 1 | 1 << 4, *count(1)), record(RESET, 1), packet(NOP, queue=1)],
    "call": [record(BODY, 0, NOP), record(BODY, 1, TIMESTAMP, *address(SCATTERED)), packet(CALL, *address(BODIES, 4096), *count(2))],
    "mvm": [packet(MVM, 0, t, w, *count(3), *address(READABLE), *address(SCATTERED)) for t, w in ((1, 0), (2, 1), (14, 0), (12, 1))],
    "program": [packet(PROGRAM, 0, 2, *address(IN_ORDER)), packet(READBACK, 0, 2, *address(SCATTERED)),
                packet(MVM, 0, 0, 2, *count(2), *address(READABLE), *address(SCATTERED))],
    "vector": [vector(ADD_GELU, 5, 9, operand(F32, IN_ORDER), operand(F32, READABLE), operand(BF16, SCATTERED)),
               vector(SOFTMAX, 4, 33, operand(F32, READABLE), operand(F32, SCATTERED), odd=3), record(RUN, 1),
               vector(PERMUTE, 7, 6, operand(S32, IN_ORDER), operand(S32, SCATTERED)),
               vector(ADD_ROWS, 4, 8, operand(F32, READABLE), operand(F32, SCATTERED)),
               vector(GATHER, 3, 8, operand(S32, IN_ORDER), operand(12 * 16 + F32, READABLE), operand(F32, SCATTERED)), record(RUN, 1),
               vector(SCATTER, 3, 8, operand(S32, IN_ORDER), operand(F16, READABLE), operand(12 * 16 + F16, SCATTERED)),
               vector(RANDOM, 2, 40, operand(S32, SCATTERED), operand(S64, SCATTERED, 4096)),
               vector(QUANTIZE, 3, 64, operand(F32, READABLE), operand(S8, SCATTERED), operand(F32, SCATTERED, 4096))],
    "matmul": [matmul(0, 1, 9, 20, 7, operand(0, READABLE), operand(0, READABLE, 4096), F32, operand(0, SCATTERED)),
               matmul(1, 0, 16, 33, 12, operand(0, IN_ORDER), operand(0, READABLE), F32, operand(0, SCATTERED)), record(RUN, 2),
               matmul(2, 1 | 64, 5, 8, 30, operand(1, READABLE), operand(4, READABLE, 4096), F16, operand(0, SCATTERED))],
    "layer": [layer(0, 0, 0, 2, 3, *address(READABLE), 0, S32, *operand(0, SCATTERED), *operand(0, READABLE)),
              layer(1, 2, 1, 2, 2, F32, *address(READABLE), 0, F32, *operand(0, SCATTERED), *operand(2, READABLE)), record(RUN, 2),
              layer(2, 4, 0, 2, 2, F32, *address(READABLE), 0, F32, *operand(0, SCATTERED), *operand(2, READABLE))],
    "pool": [pattern(F32, size(4), size(4), size(3), size(2), size(2), source=READABLE), pool(MAX),
             pattern(*IMAGE_9, number=1, source=READABLE), pool(AVERAGE, number=1, images=2), pattern(U8, *IMAGE_9[1:], number=2),
             pool(ARGMAX, number=2)],
    "sort": [packet(SORT, F32 * 8, 16, *count(5), *count(33), *address(READABLE), *address(SCATTERED), *count(4)),
             packet(SORT, DESCENDING | LONG_INDICES | S32 * 8, 2 | 32, *count(3), *count(20), *address(IN_ORDER), *address(SCATTERED),
                    *address(SCATTERED, 4096)),
             packet(SORT, F16 * 8, 1 | 8 | 32, *count(2), *count(64), *count(7), *address(READABLE), *address(SCATTERED))],
    "large": [packet(COPY, 1, *address(ALIAS), *address(WIDE), *count(60), *count(9)),
              pattern(U8, size(4), size(4), size(3), size(2), size(2), source=WIDE), pool(MAX, result=ALIAS), record(RUN, 1),
              vector(PERMUTE, 7, 6, operand(U8, WIDE), operand(U8, ALIAS)), vector(SOFTMAX, 4, 33, operand(F32, WIDE), operand(F32, ALIAS))],
    "kernel": [packet(NOP, queue=3), packet(COPY, 0, *address(SCATTERED), *address(IN_ORDER), *count(64), queue=3)],
}
# Inputs that failed once, with packets of today.
FAILED_ONCE = {
    # Of 8 rows of pixels the first two are mapped.
    "pool-faults-in-its-second-row": [pattern(F32, size(8), size(8), size(1), size(2), size(2), source=FROM_END | READABLE, offset=64), pool(MAX)],
    # 1024 x 1024 windows of 8 x 8 x 16 of an image of 65535 x 65535 pixels, which are one.
    "pool-without-a-bound": [pattern(U8, 192, 192, 159, 163, size(1), source=WIDE, odd=4, strides=(224,)),
                             pool(MAX, result=ALIAS, odd=3, sizes=(7, 10, 0, 7, 10, 0))],
}


# ---- mailbox: records of 32 bytes: a kind, then a request, as Player::request() in mailbox_fuzz.cpp takes it.
ASK, MOVED, BLOCK_FAILS, TIME, STEP = 0, 12, 13, 14, 15
HELLO, STATUS, CALIBRATE, ISPP_CAMPAIGN, ISPP_REFRESH, OP_QUERY, OP_ABORT, DVFS, POWER_LIMIT, LOG_RING = range(10)  # places in kKnown
FW_CONFIRM, FW_INFO, CRASH_DUMP, LOOPBACK, FW_ACTIVATE, FW_BUILD = range(13, 19)
VERIFY, POLICY = 2, 0  # first words of ISPP_CAMPAIGN
PPM = 1000


def number(value, kind=0):
    return struct.pack("<BH", kind, value)


def in_data(offset):
    """An address in the host's data."""
    return number(offset, 3)


def pair(low, high):
    return number(low | high << 4, 5)


def ask(opcode, *words, kind=ASK):
    """A request with up to three words inside."""
    return (bytes([kind, 4 * opcode, len(words) << 6]) + b"".join(words)).ljust(32, b"\0")


def ask_data(opcode, length, offset):
    """A request with data of the host's."""
    return (bytes([ASK, 4 * opcode, 1 | 2]) + number(length) + in_data(offset)).ljust(32, b"\0")


def update(step):
    return bytes([ASK, 3, 0, step]).ljust(32, b"\0")


def step(kind, *fields):
    return bytes([kind, *fields]).ljust(32, b"\0")


MAILBOX = {
    "questions": b"".join(ask(opcode) for opcode in (STATUS, FW_INFO, FW_BUILD)) + ask(HELLO, number(0)) + ask(DVFS, pair(1, 1))
    + ask(POWER_LIMIT, pair(0, 0)) + ask(LOOPBACK, *[number(7)] * 3),
    "data": ask_data(LOOPBACK, 64, 64) + ask_data(LOG_RING, 512, 0) + ask_data(CRASH_DUMP, 1200, 8),
    "campaign": ask(ISPP_CAMPAIGN, number(VERIFY), pair(0, 4), number(PPM)) + step(STEP) + ask_data(OP_QUERY, 64, 0) + ask(OP_ABORT, number(1))
    + ask(CALIBRATE, pair(0, 2)) + step(STEP) * 2 + ask(ISPP_REFRESH, pair(1, 2), number(PPM)) + step(TIME, 1, 0, 64, 0, 2) + step(STEP) * 2
    + ask(OP_QUERY) + ask(ISPP_CAMPAIGN, number(POLICY), number(0), number(0)),
    "update": update(0) + update(67) * 16 + update(255) + ask(FW_ACTIVATE) + ask(FW_CONFIRM),
    "moved": ask(STATUS, kind=MOVED),
    "block-fails": step(BLOCK_FAILS, 1, 0, 4 * STATUS),
}


# ---- stream and state: a byte of switches, then changes of 16 bytes: a kind, the place of the piece, a place in it, and fields (pieces.h).
WHOLE, TOGETHER = 0x00, 0x04
DROP, DOUBLE, SWAP, SHORTER, LONGER, TAG, NUMBER, FRESH = 6, 7, 8, 9, 10, 12, 14, 15


def change(kind, piece, at=0, fields=b""):
    return struct.pack("<BHH", kind, piece, at) + fields.ljust(11, b"\0")


def changed(*changes, switches=WHOLE):
    return bytes([switches]) + b"".join(changes)


STREAM = {
    "whole": changed(),
    "cut": changed(switches=1 | 40 << 2),
    "wrong-sum": changed(switches=2),
    "precopy": changed(switches=4),
    "precopy-pieces": changed(change(DOUBLE, 1, 2), change(SWAP, 1, 2), switches=4),
    "pieces": changed(change(DOUBLE, 3, 9), change(SWAP, 4, 12), change(DROP, 7)),
    "sizes": changed(change(SHORTER, 5, 128), change(LONGER, 6, 8)),
    "numbers": changed(change(2, 4, 16, struct.pack("<Q", 1 << 62)), change(3, 9, 12, struct.pack("<I", 0xffffffff))),
}
STATE = {
    "whole": changed(),
    "together": changed(switches=TOGETHER),
    "cut": changed(switches=1 | 20 << 3),
    "pieces": changed(change(DOUBLE, 1, 2), change(SWAP, 0, 3), change(DROP, 2)),
    "sizes": changed(change(SHORTER, 2, 200), change(LONGER, 1, 24), change(FRESH, 0, 3, b"\x55")),
    "keys": changed(change(NUMBER, 1, 40), change(TAG, 2, 1)),
    "raw": bytes([2]) + b"SIDRAST\n" + struct.pack("<I", 1).ljust(56, b"\0"),
}

# ---- image: a byte of switches (its sums and its signature are made right), then the image.
HEADER, RAM, CHIP = 256, 0x10000000, 0x5931


def tlv(kind, value):
    return struct.pack("<HHI", kind, 0, len(value)) + value.ljust((len(value) + 7) // 8 * 8, b"\0")


def image(payload, *tlvs):
    header = struct.pack("<IHHIIIIIIIIIIII20sIQ8I", 0x57464453, 1, HEADER, 1, 0, CHIP, 0xffffffff, RAM, RAM, len(payload), 4096, 1024,
                         1 << 24, 1, 0, b"build", sum(map(len, tlvs)), 0, *[1 << 16] * 5, 0, 0, 0)
    return bytes([1 | 2 | 4 | 8]) + header.ljust(HEADER, b"\0") + payload + b"".join(tlvs)


SIGNED = [tlv(1, bytes(32)), tlv(2, bytes(32)), tlv(3, bytes(64))]
IMAGE = {
    "signed": image(bytes(64), *SIGNED),
    "strings": image(bytes(8), *SIGNED, tlv(4, b"text\0more\0")),
    "unsigned": image(bytes(8)),
}

# ---- files: a byte that says what it is, then the file (files_fuzz.cpp).
PROGRAM_FILE, SYMBOLS, KEY, DUMP, FDINFO, TELEMETRY, PUBLISHED, DIGITS, SENTENCE, CONVNET, UEVENT, POLICY = range(12)


def elf():
    code, names = bytes(16), b"\0main\0$x\0"
    symbols = bytes(16) + struct.pack("<IIIBBH", 1, RAM, 16, 2, 0, 1) + struct.pack("<IIIBBH", 6, RAM, 0, 0, 0, 1)
    at_code, at_names = 52 + 32, 52 + 32 + len(code)
    at_symbols = at_names + len(names)
    sections = [bytes(40), struct.pack("<10I", 0, 1, 6, RAM, at_code, len(code), 0, 0, 4, 0),
                struct.pack("<10I", 0, 2, 0, 0, at_symbols, len(symbols), 3, 0, 4, 16),
                struct.pack("<10I", 0, 3, 0, 0, at_names, len(names), 0, 0, 1, 0)]
    head = b"\x7fELF\1\1\1".ljust(16, b"\0") + struct.pack("<HHIIIIIHHHHHH", 2, 243, 1, RAM, 52, at_symbols + len(symbols), 0, 52, 32, 1, 40, 4, 0)
    segment = struct.pack("<8I", 1, at_code, RAM, RAM, len(code), 64, 5, 4)
    return head + segment + code + names + symbols + b"".join(sections)


def key(public=bytes(range(32))):
    return (f"# a key\nsidra-firmware-key 1\nkind: public\nalgorithm: ed25519\nname: fuzz\npublic: {public.hex()}\n"
            f"hash: {hashlib.sha256(public).hexdigest()}\n").encode()


def firmware_dump(log=b"booted\ntrap\n"):
    size = 24 + 32 * 4 + 20 + 1024 + 4
    dump = struct.pack("<IIIIQ32I5I1024s", 0x44464453, size, 0x10002, 1 << 24, 1000, *range(32), RAM, 2, 0, 0, len(log), log)
    return dump + struct.pack("<I", zlib.crc32(dump))


def telemetry():
    return struct.pack("<IHHQ", 0x4c544453, 1, 512, 15).ljust(512, b"\1")


def published():
    head = struct.pack("<IHHQQQIIQII16s16sQIIIIIIQQQQIIIIIIQQQ", 0x42504453, 1, 256, 256 + 2 * 512 + 64, 2, 1, 1, 0, 1, 0, 0, b"fuzz", bytes(16), 0,
                       1, 1, 1, 1, 1, 8, 1 << 20, 4096, 1 << 20, 4096, 1, 0, 1, 1, 1, 1, 256, 256 + 2 * 512, 256 + 512)
    return head.ljust(256, b"\0") + telemetry() * 2 + bytes(64)


def digits(outputs=3):
    return (b"SIDRAMLP" + struct.pack("<4I2If", 1, 1, 1, 0, 64, outputs, 0.5) + struct.pack(f"<{65 * outputs}f", *range(65 * outputs))
            + bytes(i % 17 for i in range(64)) + bytes([2]))


def sentence():
    arrays = [("vocabulary", 0, 1, b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na"), ("words", 3, 6, struct.pack("<12f", *range(12))),
              ("layer0.out.codes", 1, 2, bytes(4)), ("layer0.out.sums", 2, 1, bytes(8)), ("list", 0, 1, b"a b\nc")]
    head = struct.pack("<8s8If20x", b"SIDRASEN", 2, len(arrays), 1, 2, 1, 2, 6, 4, 1e-6)
    table, data, start = b"", b"", 64 + 64 * len(arrays)
    for name, kind, rows, array in arrays:
        data += bytes(-len(data) % 64)
        table += struct.pack("<40s4IQ", name.encode(), kind, rows, len(array) // rows // (4 if kind > 1 else 1), 0, start + len(data))
        data += array
    return head + table + data


def convnet():
    # Kind, kernel, stride, pad, sides and channels: 8 x 8 pixels to 1 x 1 through every kind.
    shapes = [(0, 3, 2, 1, 8, 1, 4, 16), (1, 3, 1, 1, 4, 16, 4, 16), (2, 3, 2, 1, 4, 16, 2, 16), (0, 1, 1, 0, 2, 16, 2, 2), (3, 2, 1, 0, 2, 2, 1, 2),
              (4, 1, 1, 0, 1, 2, 1, 10)]
    data = bytes(1024)
    at = 32 + 56 * len(shapes)
    layers = b"".join(struct.pack("<8IifIIII", *shape, 0, 0.5, 0, *((at, at, at) if shape[0] not in (2, 3) else (0, 0, 0))) for shape in shapes)
    return struct.pack("<8s6I", b"SIDRACNV", 1, len(shapes), 1, 1, 0, 0) + layers + data


FILES = {
    "program": bytes([PROGRAM_FILE]) + elf(),
    "symbols": bytes([SYMBOLS]) + elf(),
    "key": bytes([KEY]) + key(),
    "firmware-dump": bytes([DUMP]) + firmware_dump(),
    "driver-dump": bytes([DUMP]) + b"sidra-coredump: 1\ncause: queue-timeout\nregister.STATUS: 0x5ff\nregister.PANIC: 0x10002\n"
    b"queue.0.1: kind=1 log2=6 state=3 fault=17\npacket.0: opcode=7 raw=00ff\n",
    "fdinfo": bytes([FDINFO]) + b"drm-driver:\tsidra\ndrm-client-id:\t17\ndrm-pdev:\t0000:01:00.0\nsidra-contexts:\t2\nsidra-queues:\t5\n"
    b"drm-engine-mvm:\t1000000 ns\ndrm-total-memory:\t64 KiB\ndrm-total-l3:\t1 MiB\n",
    "telemetry": bytes([TELEMETRY]) + telemetry(),
    "published": bytes([PUBLISHED]) + published(),
    "digits": bytes([DIGITS]) + digits(),
    "sentence": bytes([SENTENCE]) + sentence(),
    "convnet": bytes([CONVNET]) + convnet(),
    "uevent": bytes([UEVENT]) + b"change@/devices/sidra0\0ACTION=change\0SUBSYSTEM=sidra\0DEVNAME=sidra0\0SIDRA_EVENT=reset\0SIDRA_CAUSE=18\0"
    b"SIDRA_GENERATION=8\0",
    "policy": bytes([POLICY]) + b"[temperature]\nwarning = 80\ncritical = 90.5\nhold = 30\n[dma]\nwindow = 3600\n",
    "acknowledged": bytes([POLICY]) + b'[[acknowledged]]\nuuid = "c0ffee"\ncheck = "dma"\nseverity = "warning"\nmeasure = 3.0\ntime = 1\nuntil = 0\n'
    b'by = "root"\nnote = ""\n',
    "history": bytes([POLICY]) + b"[c0ffee]\nseen = 9\n[c0ffee.dma]\nwarning_since = 1\ncritical_since = 0\ngrowths = [{time = 2, count = 3}]\n",
}

def packets(inputs):
    """By name: in order, with no switch set."""
    return {name: b"\0" + b"".join(records) for name, records in inputs.items()}


SEEDS = {"packets": packets(PACKETS), "mailbox": MAILBOX, "stream": STREAM, "state": STATE, "image": IMAGE, "files": FILES}
CORPUS = Path(__file__).parent / "corpus"
for target, seeds in SEEDS.items():
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    for name, seed in seeds.items():
        (folder / f"seed-{name}").write_bytes(seed)
for name, data in packets(FAILED_ONCE).items():
    (CORPUS / "packets" / name).write_bytes(data)
