#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""table.py OUTPUT: the calls of tests/syzkaller/sidra.txt as tables of C++, for program.cpp."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "syzkaller"))
import syzlang  # noqa: E402


def identifier(name):
    return name.replace("$", "_")


class Tables:
    def __init__(self, description):
        self.of = description
        self.resources, self.flags = list(description.resources), list(description.flags)
        self.structs = [struct for struct in description.structs if not struct.startswith("io_uring_sqe$")]  # program.cpp makes those

    def leaves(self, struct, offset=0, prefix="", direction=None):
        """The fields of a struct, those of structs in it too, as (name, offset, direction, type)."""
        for one in self.of.structs[struct]:
            at, name = offset + self.of.offsets(struct)[one.name], prefix + one.name
            if one.type.name in self.of.structs:
                yield from self.leaves(one.type.name, at, f"{name}.", one.direction)
            else:
                yield name, at, direction or one.direction, one.type

    def leaf(self, struct, name, offset, direction, type):
        kind, first, second, third = self.kind(struct, type)
        flows = {"in": "true, false", "out": "false, true", "inout": "true, true"}[direction]
        return f'{{"{name}", {offset}, {self.of.size(type)}, Kind::{kind}, {flows}, {first}, {second}, {third}}}'

    def kind(self, struct, type):
        """Kind, and what it needs."""
        of = self.of
        if type.name in syzlang.INTEGERS:
            return "integer", *(type.arguments[0] if type.arguments else (1, 0)), 0
        if type.name in of.resources:
            return "resource", self.resources.index(type.name), int(of.is_fd(type.name)), 0
        if type.name == "const":
            return "constant", type.arguments[0], 0, 0
        if type.name == "flags":
            return "flags", self.flags.index(type.arguments[0].name), 0, 0
        if type.name in ("len", "bytesize"):
            names = [name for name, *_ in self.leaves(struct)]
            return "length", names.index(type.arguments[0].name), int(type.name == "bytesize"), 0
        if type.name == "array":
            return "bytes", 0, 0, 0
        if type.name == "vma64":
            return "memory", 0, 0, 0
        if type.name == "ptr64":
            what = type.arguments[1]
            if what.name == "string":
                return "text", self.flags.index(what.arguments[0].name), 0, 0
            element, *count = what.arguments
            low, high = (count[0], count[0]) if isinstance(count[0], int) else count[0]
            if element.name in of.structs:
                return "structs", self.structs.index(element.name), low, high
            return "block", of.size(element), low, high
        raise syzlang.Error(f"{type}: the fuzzer does not know how to make one")

    def text(self):
        lines = ["// Made by table.py from tests/syzkaller/sidra.txt.", ""]
        lines += [f"inline constexpr int {name}_resource = {number};" for number, name in enumerate(self.resources)]
        lines += [f"inline constexpr size_t kResources = {len(self.resources)};", ""]
        for name, values in self.of.flags.items():
            type = "const char*" if values[0][0] == '"' else "uint64_t"
            lines.append(f"inline constexpr {type} {name}_values[] = {{{', '.join(values)}}};")
        names = ", ".join(f"{{{name}_values, {{}}}}" if values[0][0] != '"' else f"{{{{}}, {name}_values}}" for name, values in self.of.flags.items())
        lines += [f"inline constexpr Flags kFlags[] = {{{names}}};", ""]
        for struct in self.structs:
            lines.append(f"inline constexpr Leaf {identifier(struct)}_leaves[] = {{")
            lines += [f"    {self.leaf(struct, *leaf)}," for leaf in self.leaves(struct)]
            lines.append("};")
        lines.append("inline constexpr Struct kStructs[] = {")
        lines += [f'    {{"{struct}", {self.of.size(syzlang.Type(struct))}, {identifier(struct)}_leaves}},' for struct in self.structs]
        lines += ["};", f"inline constexpr size_t sidra_uring_cmd_struct = {self.structs.index('sidra_uring_cmd')};", "inline constexpr Ioctl kIoctls[] = {"]
        for call in self.of.calls.values():
            if call.name.startswith("ioctl$"):
                request, struct = call.arguments[1].type.arguments[0], call.arguments[2].type.arguments[1].name
                lines.append(f'    {{"{request}", {request}, {self.structs.index(struct)}}},')
        return "\n".join([*lines, "};", ""])


Path(sys.argv[1]).write_text(Tables(syzlang.parse((Path(__file__).resolve().parent.parent / "syzkaller/sidra.txt").read_text())).text())
