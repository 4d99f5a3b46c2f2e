#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""fields.py: finds fields of ioctls, by the comments of uapi/sidra_accel.h, that ioctl_test.cpp forgets: those that the caller sets without a wrong
value, and those that the call returns."""
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEADER = HERE.parent.parent / "uapi/sidra_accel.h"
TEST = HERE / "ioctl_test.cpp"

# Any value of these is right, by itself.
ANY = {
    "sidra_ioctl_wait.deadline": "a moment",
    "sidra_ioctl_arm.value": "a point of a timeline",
    "sidra_ioctl_submit.limit_ns": "a duration",
    "sidra_ioctl_weights_create.xbars": "only counts with xbar_ids",
    "sidra_ioctl_weights_publish.hash": "the caller's own",
    "sidra_ioctl_weights_share.data": "only counts with data_size",
    "sidra_ioctl_weights_query.xbars": "only counts with xbar_ids",
    "sidra_ioctl_weights_list.cursor": "behind the last object there is none",
}


def fields_of(header, direction):
    """{struct: its fields with this direction} of the arguments of ioctls."""
    arguments = set(calls_of(header).values())
    found = {}
    for comment, struct in re.findall(r"/\*\*\n((?: \*.*\n)*?) \*/\nstruct (\w+) \{", header):
        if struct in arguments:
            found[struct] = re.findall(rf"^ \* @(\w+): (?:{direction})\b", comment, re.MULTILINE)
    missing = arguments - set(found)
    if missing:
        sys.exit(f"{HEADER}: no comment describes {', '.join(sorted(missing))}")
    return found


def calls_of(header):
    """{call: its struct}"""
    return dict(re.findall(r"#define SIDRA_IOCTL_(\w+)\s+SIDRA_IOCTL\(0x\w+, struct (\w+)\)", header))


def main():
    test = TEST.read_text()
    header = HEADER.read_text()
    names = dict(re.findall(r"using (\w+) = (sidra_ioctl_\w+);", test))
    tried = {f"{names[alias]}.{field}" for alias, field in re.findall(r"\b(?:WHOLE|BEYOND|WRONG|WRONG_FOR)\((\w+), (\w+)", test) if alias in names}
    known = {f"{struct}.{field}" for struct, fields in fields_of(header, "in|inout").items() for field in fields}
    returned = fields_of(header, "out")
    returned = {f"{call}.{field}" for call, struct in calls_of(header).items() for field in returned[struct]}
    checked = {f"{call}.{field}" for call, field in re.findall(r"\bOUT(?:_OR)?\((\w+), \w+, (\w+)", test)}
    faults = [f"{name} is set by the caller, and no call with a wrong one is tried" for name in sorted(known - tried - set(ANY))]
    faults += [f"{name} is no field that a caller sets" for name in sorted(set(ANY) - known)]
    faults += [f"{name} is returned, and nobody looks at it after a failure" for name in sorted(returned - checked)]
    faults += [f"any {name} is right here, and {TEST.name} knows a wrong one" for name in sorted(set(ANY) & tried)]
    for fault in faults:
        print(f"fields: {fault}")
    if len(known) < 100 or len(returned) < 40:
        print(f"fields: {HEADER.name} seems to have only {len(known)} fields that a caller sets, and {len(returned)} that calls return")
    return 1 if faults or len(known) < 100 or len(returned) < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
