# SPDX-License-Identifier: MIT
"""Reads descriptions in the language of syzkaller, as far as sidra.txt uses it."""
import re
from dataclasses import dataclass, field

INTEGERS = {"int8": 1, "int16": 2, "int32": 4, "int64": 8}
POINTERS = {"ptr64": 8, "vma64": 8}
# Resources that other descriptions in sys/linux have: what they consist of.
ELSEWHERE = {"fd": "int32", "fd_dri": "fd", "drm_gem_handle": "int32", "drm_syncobj": "int32", "ring_params_ptr": "int64", "ring_ptr": "int64", "sqes_ptr": "int64"}


class Error(Exception):
    """A line that this does not understand."""


@dataclass
class Type:
    """name[argument, ...]; an argument is a Type, a number, a text or a range."""
    name: str
    arguments: list = field(default_factory=list)

    def __str__(self):
        return self.name + (f"[{', '.join(map(str, self.arguments))}]" if self.arguments else "")


@dataclass
class Field:
    name: str
    type: Type
    direction: str  # in, out or inout


@dataclass
class Call:
    name: str  # with its variant: ioctl$NAME
    arguments: list
    result: str


@dataclass
class Description:
    resources: dict = field(default_factory=dict)  # name: what it consists of
    calls: dict = field(default_factory=dict)
    structs: dict = field(default_factory=dict)  # name: list of Field
    flags: dict = field(default_factory=dict)  # name: list of names or texts

    def base(self, resource):
        """What a resource consists of, or None."""
        return self.resources.get(resource, ELSEWHERE.get(resource))

    def is_fd(self, resource):
        return resource == "fd" or (self.base(resource) is not None and self.is_fd(self.base(resource)))

    def size(self, type):
        """Bytes of a type in memory."""
        if type.name in INTEGERS:
            return INTEGERS[type.name]
        if type.name in POINTERS:
            return POINTERS[type.name]
        if self.base(type.name):
            return self.size(Type(self.base(type.name)))
        if type.name in ("const", "flags", "len", "bytesize"):
            return self.size(type.arguments[1])
        if type.name == "array" and isinstance(type.arguments[1], int):
            return self.size(type.arguments[0]) * type.arguments[1]
        if type.name in self.structs:
            fields = self.structs[type.name]
            last = fields[-1]
            end = self.offsets(type.name)[last.name] + self.size(last.type)
            return _up(end, max(self.alignment(one.type) for one in fields))
        raise Error(f"{type}: has no size that is known here")

    def alignment(self, type):
        if type.name == "array":
            return self.alignment(type.arguments[0])
        if type.name in self.structs:
            return max(self.alignment(one.type) for one in self.structs[type.name])
        return self.size(type)

    def offsets(self, struct):
        """Where each field of a struct begins."""
        found, at = {}, 0
        for one in self.structs[struct]:
            at = _up(at, self.alignment(one.type))
            found[one.name] = at
            at += self.size(one.type)
        return found


def _up(value, alignment):
    return -(-value // alignment) * alignment


_TOKEN = re.compile(r'\s*("[^"]*"|[\w$.-]+|[\[\](),:=])')


class _Line:
    def __init__(self, text):
        self.tokens = _TOKEN.findall(text)
        if "".join(self.tokens) != re.sub(r'\s+(?=(?:[^"]*"[^"]*")*[^"]*$)', "", text):
            raise Error(f"what is this: {text}")

    def take(self, wanted=None):
        if not self.tokens or (wanted and self.tokens[0] != wanted):
            raise Error(f"'{wanted or 'more'}' is missing before: {' '.join(self.tokens)}")
        return self.tokens.pop(0)

    def sees(self, wanted):
        return bool(self.tokens) and self.tokens[0] == wanted

    def type(self):
        word = self.take()
        if word[0] == '"':
            return word[1:-1]
        if self.sees(":"):
            self.take()
            return (_number(word), _number(self.take()))
        if re.fullmatch(r"-?(0x[0-9a-f]+|\d+)", word):
            return _number(word)
        made = Type(word)
        if self.sees("["):
            self.take()
            while not self.sees("]"):
                made.arguments.append(self.type())
                if self.sees(","):
                    self.take()
            self.take()
        return made


def _number(word):
    return int(word, 0)


def parse(text):
    made = Description()
    struct = None
    for number, line in enumerate(text.splitlines(), 1):
        try:
            if not line.strip() or line.startswith(("#", "include ", "_ = ")):
                continue
            if line == "}":
                struct = None
            elif struct is not None:
                name, what, *attribute = line.strip().split("\t")
                made.structs[struct].append(Field(name, _Line(what).type(), attribute[0].strip("()") if attribute else "in"))
            elif found := re.fullmatch(r"resource (\w+)\[(\w+)\](?:: .*)?", line):
                made.resources[found[1]] = found[2]
            elif found := re.fullmatch(r"([\w$]+) \{", line):
                struct = found[1]
                made.structs[struct] = []
            elif found := re.fullmatch(r"(\w+) = (.*)", line):
                made.flags[found[1]] = [word.strip() for word in found[2].split(",")]
            elif found := re.fullmatch(r"([\w$]+)\((.*)\)(?: (\w+))?", line):
                rest = _Line(found[2])
                arguments = []
                while rest.tokens:
                    arguments.append(Field(rest.take(), rest.type(), "in"))
                    if rest.tokens:
                        rest.take(",")
                made.calls[found[1]] = Call(found[1], arguments, found[3] or "")
            else:
                raise Error(f"what is this: {line}")
        except (Error, ValueError, IndexError) as error:
            raise Error(f"line {number}: {error}") from error
    return made
