#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check.py COMPILER: compares sidra.txt with uapi/sidra_accel.h. A compiler for C says whether each struct and each field
has the place and the size that the description gives it, and whether all names exist; the text of the header says
whether the description has all calls, structs, fields and flags."""
import re
import subprocess
import sys
from pathlib import Path

import syzlang

HERE = Path(__file__).resolve().parent
UAPI = HERE.parent.parent / "uapi"
HEADER = UAPI / "sidra_accel.h"

_CALL = re.compile(r"#define\s+(\w*IOCTL_\w+)\s+\w+\([^)]*struct (\w+)\)")
_STRUCT = re.compile(r"^struct (\w+) \{\n(.*?)^\};", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"(\w+)(?:\[[^\]]*\])*\s*[;,]")
# Structs that only the driver writes, as many bytes of them as the caller has room for.
_ANSWER = re.compile(r"sidra_query_\w+|sidra_weights_tile")
_FLAG = re.compile(r"#define\s+(SIDRA_\w+)\s+(?:\(1u(?:ll)? <<|_BITULL?\(|BIT\()")


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def names(description):
    """All names that the compiler has to know."""
    found = {name for values in description.flags.values() for name in values if name[0] != '"'}
    for call in description.calls.values():
        for argument in call.arguments:
            if argument.type.name == "const" and isinstance(argument.type.arguments[0], syzlang.Type):
                found.add(argument.type.arguments[0].name)
    return sorted(found)


def assertions(description):
    """A C file that compiles if the description is true."""
    lines = ["#include <fcntl.h>", "#include <stddef.h>", "#include <sys/mman.h>", f'#include "{HEADER.name}"', ""]
    for struct, fields in description.structs.items():
        lines.append(f'_Static_assert(sizeof(struct {struct}) == {description.size(syzlang.Type(struct))}, "sidra.txt: size of {struct}");')
        for one in fields:
            at, size = description.offsets(struct)[one.name], description.size(one.type)
            lines.append(f'_Static_assert(offsetof(struct {struct}, {one.name}) == {at} && sizeof(((struct {struct} *)0)->{one.name}) == {size}, '
                         f'"sidra.txt: {one.name} of {struct}");')
        for one in fields:
            if one.type.name == "const" and one.name.endswith("stride"):
                array = one.name.removesuffix("stride").rstrip("_")
                element = next(other.type.arguments[1].arguments[0] for other in fields if other.type.name == "ptr64" and array in other.name)
                lines.append(f'_Static_assert({description.size(element)} == {one.type.arguments[0]}, "sidra.txt: {one.name} of {struct}");')
    lines += [f"enum {{ known_{name} = (int)({name}) }};" for name in names(description)]
    for call in description.calls.values():
        if call.name.startswith("ioctl$"):
            request, argument = call.arguments[1].type.arguments[0], call.arguments[2].type.arguments[1]
            lines.append(f'_Static_assert((({request} >> 16) & 0x3fff) == sizeof(struct {argument}), "sidra.txt: argument of {request}");')
    return "\n".join(lines) + "\n"


def missing(description, header):
    """What the header has and the description does not."""
    text = without_comments(header)
    for request, struct in _CALL.findall(text):
        call = description.calls.get(f"ioctl${request}")
        if not call:
            yield f"there is no call ioctl${request}"
        elif call.arguments[2].type.arguments[1].name != struct:
            yield f"ioctl${request} has the argument {call.arguments[2].type.arguments[1]}; in the header it is struct {struct}"
    for struct, body in _STRUCT.findall(text):
        described = [one.name for one in description.structs.get(struct, [])]
        if not described and _ANSWER.fullmatch(struct):
            continue
        if not described:
            yield f"there is no struct {struct}"
        elif described != _FIELD.findall(body):
            yield f"struct {struct} has the fields {', '.join(described)}; in the header they are {', '.join(_FIELD.findall(body))}"
    flags = {name for values in description.flags.values() for name in values}
    for name in _FLAG.findall(text):
        if name not in flags and not name.startswith("SIDRA_DEVICE_") and not name.endswith("_MAX"):  # the former: only told by the driver
            yield f"the flag {name} is missing"


def main():
    try:
        description = syzlang.parse((HERE / "sidra.txt").read_text())
        source = assertions(description)
    except syzlang.Error as error:
        sys.exit(f"sidra.txt: {error}")
    problems = [f"sidra.txt: {problem}" for problem in missing(description, HEADER.read_text())]
    compiled = subprocess.run([sys.argv[1], "-std=gnu11", "-fsyntax-only", "-x", "c", f"-I{UAPI}", "-"], input=source, text=True, stderr=subprocess.PIPE)
    if compiled.returncode:
        problems.append(compiled.stderr)
    print("\n".join(problems) or f"sidra.txt: {len(description.calls)} calls and {len(description.structs)} structs as in {HEADER.name}")
    sys.exit(1 if problems else 0)


main()
