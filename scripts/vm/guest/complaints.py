# SPDX-License-Identifier: MIT
"""Recognises kernel log messages that indicate errors. Used in the guest for each test, and on the host for the whole console."""
import re

_WRONG = re.compile(
    r"\bBUG\b[: ]|\bWARNING: |\bOops\b|Kernel panic|general protection fault|Unable to handle|"
    r"blocked for more than \d+ seconds|rcu: INFO:|soft lockup|hard LOCKUP|hung_task:|"
    r"\bK[A-Z]+SAN: |\bUBSAN: |possible (circular|recursive|irq)|inconsistent lock state|suspicious RCU|"
    r"refcount_t: |list_(add|del) corruption|usercopy: |nobody cared|page allocation failure|stack-protector|"
    r"DMAR: .*fault|INTR-REMAP: .*fault|Bad page|slab .*: (Redzone|Poison)|\bFIX [a-z]|"
    # Debug kernels. The DMA mapping checks also print lines that are not complaints.
    r"possible deadlock|held lock freed|trying to register non-static key|turning off the locking correctness validator|"
    r"ODEBUG: |DMA-API: (?!Mapped at|preallocated|debugging enabled|dma_debug_entry pool)|"
    r"kmemleak: (\d+ new suspected|Cannot|Memory pool|Found|.* unknown object|Kernel memory leak detector disabled)|"
    r"sidra-vm: report: "
)
# A test writes this to the log before it provokes a complaint; the rest of the line is a regular expression, valid until the test ends. The
# taint of a BUG or WARNING is never accepted.
_EXPECT = re.compile(r"sidra-vm: expect (.*)")
_BEGIN = re.compile(r"sidra-vm: begin ")

# Documentation/admin-guide/tainted-kernels.rst. The driver is an out-of-tree module (O) without a signature (E), and on the debug kernel it
# contains tests (N).
_TAINTS = "PFSRMBUDAWCIOELKXTN"
_FINE = {"O", "E", "N"}


class Log:
    """Reads a kernel's log line by line."""

    def __init__(self):
        self._expected = []

    def wrong(self, line):
        """Whether a line indicates an error."""
        if _BEGIN.search(line):
            self._expected = []
        expect = _EXPECT.search(line)
        if expect:
            self._expected.append(re.compile(expect.group(1).strip()))
            return False
        return bool(_WRONG.search(line)) and not any(e.search(line) for e in self._expected)


def reports(lines):
    """The first wrong line of each report; the kernel delimits some reports with "cut here" and "end trace"."""
    log, cut, told, found = Log(), False, False, []
    for line in lines:
        if "[ cut here ]" in line:
            cut, told = True, False
        if log.wrong(line):
            if not (cut and told):
                found.append(line)
            told = True
        if "[ end trace " in line:
            cut = False
    return found


def first_report(lines, test=None, length=40):
    """The first report in a kernel's log (of a test, or of the whole log), for a person: the line that is wrong, and the lines after it."""
    log, inside = Log(), test is None
    for number, line in enumerate(lines):
        if begun := _BEGIN.search(line):
            inside = test in (None, line[begun.end():].strip())
        if log.wrong(line) and inside:
            return lines[number:number + length]
    return []


def bad_taints(value):
    """The letters of unexpected bits in /proc/sys/kernel/tainted."""
    return {letter for bit, letter in enumerate(_TAINTS) if value >> bit & 1} - _FINE
