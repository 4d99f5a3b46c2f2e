#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""schema.py < FILE: checks a file against the specification of CDI 0.6.0, with a parser that is independent of the writer. Prints the kind, and each
device with its nodes, one per line."""
import json
import re
import sys

EDITS = {"env", "deviceNodes", "hooks", "mounts"}
NODE = {"path", "hostPath", "type", "major", "minor", "fileMode", "permissions", "uid", "gid"}


def unique(pairs):
    assert len({key for key, _ in pairs}) == len(pairs), f"a key twice: {pairs}"
    return dict(pairs)


def check_edits(edits):
    assert edits and edits.keys() <= EDITS, edits
    for node in edits.get("deviceNodes", []):
        assert node.keys() <= NODE and re.fullmatch(r"/dev/[\w./-]+", node["path"]), node
        assert set(node.get("permissions", "rwm")) <= set("rwm"), node
    return [node["path"] for node in edits["deviceNodes"]]


text = sys.stdin.read()
assert text.endswith("}\n") and text.isascii()
spec = json.loads(text, object_pairs_hook=unique)
assert spec.keys() <= {"cdiVersion", "kind", "annotations", "devices", "containerEdits"}, spec.keys()
assert re.fullmatch(r"\d+\.\d+\.\d+", spec["cdiVersion"]) and tuple(map(int, spec["cdiVersion"].split("."))) >= (0, 6, 0)
vendor, kind = spec["kind"].split("/")
assert re.fullmatch(r"[A-Za-z]([\w.-]*[A-Za-z0-9])?", vendor) and re.fullmatch(r"[A-Za-z]([\w-]*[A-Za-z0-9])?", kind)
assert spec["devices"] and len({device["name"] for device in spec["devices"]}) == len(spec["devices"])
print(spec["kind"])
for device in spec["devices"]:
    assert device.keys() <= {"name", "annotations", "containerEdits"}, device
    assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?", device["name"]), device
    print(device["name"], *check_edits(device["containerEdits"]))
