#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Reads a trace as a viewer does, with another reader of JSON than the chip's tests, and checks what docs/trace.md says
# of any trace: slices of a track do not overlap, packets of a queue are in order, and a SEM_WAIT does not begin before
# what it waits for has ended. Prints the names of weights and of operations that it found.
import json
import re
import sys
from collections import defaultdict
from decimal import Decimal

EVENTS = json.load(open(sys.argv[1], encoding="utf-8"), parse_float=Decimal)
SLICES = [e for e in EVENTS if e["ph"] == "X"]
TRACKS = {(e["pid"], e["tid"]): e["args"]["name"] for e in EVENTS if e["ph"] == "M" and e["name"] == "thread_name"}
QUEUES = {e["pid"]: e["args"]["name"] for e in EVENTS if e["ph"] == "M" and e["name"] == "process_name"}


def fail(what, *events):
    sys.exit(f"{sys.argv[1]}: {what}" + "".join(f"\n  {e}" for e in events))


def end(event):
    return event["ts"] + event["dur"]


def track(event):
    return TRACKS[event["pid"], event["tid"]]


if not SLICES:
    fail("no slices")
by_track = defaultdict(list)
for event in SLICES:
    if (event["pid"], event["tid"]) not in TRACKS:
        fail("a track has no name", event)
    if event["dur"] <= 0 and event["name"] != "CALL":
        fail("a slice takes no time", event)
    if not re.fullmatch(r"operations|packets|VEC|DMA|cluster \d+ CU \d+", track(event)):
        fail(f"unknown track {track(event)}", event)
    by_track[event["pid"], event["tid"]].append(event)

# A CALL encloses its packets; all others follow each other.
for events in by_track.values():
    plain = sorted((e for e in events if e["name"] != "CALL"), key=lambda e: e["ts"])
    for first, second in zip(plain, plain[1:]):
        if end(first) > second["ts"]:
            fail(f"slices of '{track(first)}' overlap", first, second)
    for call in (e for e in events if e["name"] == "CALL"):
        for event in plain:
            if event["ts"] < end(call) and end(event) > call["ts"]:
                if not (call["ts"] <= event["ts"] and end(event) <= end(call)):
                    fail("a packet lies across the end of a CALL", call, event)

packets = [e for e in SLICES if track(e) == "packets"]
retired = {}
for pid in QUEUES:
    mine = [e for e in packets if e["pid"] == pid and "in_call" not in e["args"]]
    for first, second in zip(mine, mine[1:]):
        if end(first) > end(second):
            fail("packets are not in order", first, second)
    retired[QUEUES[pid]] = {e["args"]["sequence"]: end(e) for e in mine}

waits = 0
for wait in (e for e in packets if e["name"] == "SEM_WAIT"):
    context = QUEUES[wait["pid"]].rsplit(" queue ")[0]
    arguments = wait["args"]
    if arguments["value"] == 0:
        ended = 0
    elif "word" in arguments:
        ends = [end(e) for e in packets if e["name"] == "SEM_SIGNAL" and QUEUES[e["pid"]].startswith(context + " ")
                and e["args"]["word"] == arguments["word"] and e["args"]["value"] >= arguments["value"]]
        ended = min(ends, default=0)  # no signal: by the host
    else:
        ended = retired[f"{context} queue {arguments['queue']}"].get(arguments["value"] - 1, 0)
    waits += ended > 0
    if wait["ts"] < ended:
        fail(f"a wait begins at {wait['ts']}, but what it waits for ends at {ended}", wait)

names = sorted({e["args"]["weights"] for e in packets if "weights" in e["args"]})
operations = sorted({e["name"] for e in SLICES if track(e) == "operations"})
for event in packets:
    if event["args"].get("operation", "") not in ["", *operations]:
        fail("an operation has no slice", event)
print(f"{len(packets)} packets, {waits} waits, weights {names}, operations {operations}")
