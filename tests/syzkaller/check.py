#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check.py COMPILER [OPTION...]: compares sidra.txt with uapi/sidra_accel.h. A compiler for C, with its options, says whether
each struct and each field has the place and the size that the description gives it, and whether all names exist; the
text of the header says whether the description has all calls, structs, fields and flags. Two rules are those of
syzkaller's own compiler: calls use all that is described, and each resource is made by a call and taken by one."""
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
_COMMAND = re.compile(r"^\t(SIDRA_URING_\w+)\s+=", re.MULTILINE)
_FLAG = re.compile(r"#define\s+(SIDRA_\w+)\s+(?:\(1u(?:ll)? <<|_BITULL?\(|BIT\()")


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def c_name(struct):
    """The struct of C of which this is a variant."""
    return struct.split("$")[0]


def types(description):
    """All types that stand somewhere."""
    rest = [one.type for fields in description.structs.values() for one in fields]
    rest += [argument.type for call in description.calls.values() for argument in call.arguments]
    while rest:
        yield rest[-1]
        rest += [argument for argument in rest.pop().arguments if isinstance(argument, syzlang.Type)]


def names(description):
    """All names that the compiler has to know."""
    found = {name for values in description.flags.values() for name in values if name[0] != '"'}
    found |= {type.arguments[0].name for type in types(description) if type.name == "const" and isinstance(type.arguments[0], syzlang.Type)}
    return sorted(found)


def assertions(description):
    """A C file that compiles if the description is true."""
    lines = ["#include <drm.h>", "#include <fcntl.h>", "#include <linux/io_uring.h>", "#include <stddef.h>", "#include <sys/mman.h>",
             f'#include "{HEADER.name}"', ""]
    for struct, fields in description.structs.items():
        name = c_name(struct)
        # The struct of an SQE ends where its command begins.
        sqe = name == "io_uring_sqe"
        size = sum(description.size(one.type) for one in fields if one.name == "packet") if sqe else 0
        if sqe:
            lines.append(f'_Static_assert(2 * sizeof(struct {name}) == {description.size(syzlang.Type(struct))} && '
                         f'{size} == SIDRA_CMD_SIZE, "sidra.txt: size of {struct}");')
        else:
            lines.append(f'_Static_assert(sizeof(struct {name}) == {description.size(syzlang.Type(struct))}, "sidra.txt: size of {struct}");')
        for one in fields:
            at, size = description.offsets(struct)[one.name], description.size(one.type)
            place = f"offsetof(struct {name}, {one.name}) == {at}"
            if sqe and one.name == "packet":
                place = f"sizeof(struct {name}) == {at}"
            elif not sqe or one.name != "cmd":
                place += f" && sizeof(((struct {name} *)0)->{one.name}) == {size}"
            lines.append(f'_Static_assert({place}, "sidra.txt: {one.name} of {struct}");')
        for one in fields:
            if one.type.name == "const" and one.name.endswith("stride"):
                array = one.name.removesuffix("stride").rstrip("_")
                element = next(other.type.arguments[1].arguments[0] for other in fields if other.type.name == "ptr64" and array in other.name)
                lines.append(f'_Static_assert({description.size(element)} == {one.type.arguments[0]}, "sidra.txt: {one.name} of {struct}");')
    lines += [f"enum {{ known_{name} = (int)({name}) }};" for name in names(description)]
    for call in description.calls.values():
        if call.name.startswith("ioctl$"):
            request, argument = call.arguments[1].type.arguments[0], call.arguments[2].type.arguments[1]
            lines.append(f'_Static_assert((({request} >> 16) & 0x3fff) == sizeof(struct {c_name(argument.name)}), "sidra.txt: argument of {request}");')
    return "\n".join(lines) + "\n"


def used(description):
    """Names of resources, structs and flags that calls use, directly or through others."""
    found = set()

    def see(type):
        if type.name in ("flags", "string") and isinstance(type.arguments[0], syzlang.Type):
            found.add(type.arguments[0].name)
        if type.name in ("ptr", "ptr64", "array"):
            for argument in type.arguments:
                if isinstance(argument, syzlang.Type):
                    see(argument)
        if type.name in found:
            return
        if type.name in description.structs or type.name in description.resources:
            found.add(type.name)
        for one in description.structs.get(type.name, []):
            see(one.type)
        if type.name in description.resources:
            see(syzlang.Type(description.resources[type.name]))

    for call in description.calls.values():
        for argument in call.arguments:
            see(argument.type)
        if call.result:
            see(syzlang.Type(call.result))
    return found


def made_and_taken(description):
    """Resources that calls make, and those that they take. A field of what a call both reads and writes makes one only if it says so itself, which
    is stricter than syzkaller."""
    made, taken, seen = set(), set(), set()

    def see(type, direction):
        if (type.name, direction) in seen:
            return
        if type.name in ("ptr", "ptr64"):
            see(type.arguments[1], type.arguments[0].name)
        elif type.name == "array":
            see(type.arguments[0], direction)
        elif type.name in description.structs:
            seen.add((type.name, direction))
            for one in description.structs[type.name]:
                see(one.type, "out" if direction == "out" else one.direction)
        elif type.name in description.resources:
            if direction != "in":
                made.add(type.name)
            if direction != "out":
                taken.add(type.name)
            see(syzlang.Type(description.resources[type.name]), direction)

    for call in description.calls.values():
        for argument in call.arguments:
            see(argument.type, "in")
        if call.result:
            see(syzlang.Type(call.result), "out")
    return made, taken


def useless(description):
    """What syzkaller's compiler refuses, because no program of a fuzzer could use it."""
    known = used(description)
    for what, named in (("resource", description.resources), ("struct", description.structs), ("flags", description.flags)):
        yield from (f"no call uses the {what} {name}" for name in named if name not in known)
    made, taken = made_and_taken(description)
    for name in known & description.resources.keys():
        if name not in made:
            yield f"no call makes the resource {name}"
        if name not in taken:
            yield f"no call takes the resource {name}"


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
        variants = {name: [one.name for one in fields] for name, fields in description.structs.items() if c_name(name) == struct}
        if not variants and not _ANSWER.fullmatch(struct):
            yield f"there is no struct {struct}"
        for name, described in variants.items():
            if described != _FIELD.findall(body):
                yield f"struct {name} has the fields {', '.join(described)}; in the header they are {', '.join(_FIELD.findall(body))}"
    for command in _COMMAND.findall(text):
        if f"syz_io_uring_submit${command}" not in description.calls:
            yield f"there is no call syz_io_uring_submit${command}"
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
    problems = [f"sidra.txt: {problem}" for problem in (*missing(description, HEADER.read_text()), *sorted(useless(description)))]
    compiled = subprocess.run([*sys.argv[1:], "-std=gnu11", "-fsyntax-only", "-x", "c", f"-I{UAPI}", "-"], input=source, text=True, stderr=subprocess.PIPE)
    if compiled.returncode:
        problems.append(compiled.stderr)
    print("\n".join(problems) or f"sidra.txt: {len(description.calls)} calls and {len(description.structs)} structs as in {HEADER.name}")
    sys.exit(1 if problems else 0)


main()
