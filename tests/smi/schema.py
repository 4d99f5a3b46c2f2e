#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""schema.py SCHEMA [COMMAND FILE]...: checks that FILE as a whole, or each line of it, follows the JSON Schema and is output of COMMAND.

Supports the keywords that the schema uses and rejects others, so that no keyword is ignored. If the package jsonschema is installed, it
checks the input, too."""
import json
import re
import sys

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
KNOWN = {"$schema", "$comment", "$defs", "$ref", "title", "description", "oneOf", "const", "enum", "type", "pattern", "minimum", "items",
         "properties", "required", "additionalProperties"}


def has_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def errors(value, schema, root, at="$"):
    """Lists the errors of the value as text."""
    assert schema.keys() <= KNOWN, f"unknown keywords {schema.keys() - KNOWN}"
    found = []
    if "$ref" in schema:
        found += errors(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, at)
    if "oneOf" in schema:
        of = [errors(value, one, root, at) for one in schema["oneOf"]]
        if sum(not one for one in of) != 1:
            found.append(f"{at}: matches {sum(not one for one in of)} of the alternatives; the nearest: {min(of, key=len)}")
    if "const" in schema and value != schema["const"]:
        found.append(f"{at}: {value!r} is not {schema['const']!r}")
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{at}: {value!r} is none of {schema['enum']}")
    if "type" in schema:
        names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if not any(has_type(value, name) for name in names):
            found.append(f"{at}: {value!r} is none of {names}")
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        found.append(f"{at}: {value!r} does not match {schema['pattern']}")
    if "minimum" in schema and isinstance(value, (int, float)) and value < schema["minimum"]:
        found.append(f"{at}: {value} is below {schema['minimum']}")
    if isinstance(value, list):
        for n, item in enumerate(value):
            found += errors(item, schema.get("items", {}), root, f"{at}[{n}]")
    if isinstance(value, dict):
        found += [f"{at}: {name} is missing" for name in schema.get("required", []) if name not in value]
        for name, member in value.items():
            rule = schema.get("properties", {}).get(name, schema.get("additionalProperties", {}))
            if rule is False:
                found.append(f"{at}: {name} is unexpected")
            elif isinstance(rule, dict):
                found += errors(member, rule, root, f"{at}.{name}")
    return found


def unique(pairs):
    assert len({key for key, _ in pairs}) == len(pairs), f"a key twice: {pairs}"
    return dict(pairs)


schema = json.load(open(sys.argv[1]))
try:
    import jsonschema
    other = jsonschema.validators.validator_for(schema)(schema)
except ImportError:
    other = None
assert len(sys.argv) > 2 and len(sys.argv) % 2 == 0, __doc__
for command, name in zip(sys.argv[2::2], sys.argv[3::2]):
    text = open(name).read()
    values = [json.loads(line, object_pairs_hook=unique) for line in text.splitlines()] if text.startswith('{"') else \
        [json.loads(text, object_pairs_hook=unique)]
    assert values, f"{command}: nothing was printed"
    for value in values:
        wrong = errors(value, schema, schema)
        assert not wrong, f"{command}: {wrong}"
        assert value["command"] == command, f"{command}: the command is {value['command']}"
        if other:
            other.validate(value)
