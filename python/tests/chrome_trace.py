# SPDX-License-Identifier: MIT
"""What viewers (chrome://tracing, Perfetto) expect of a file in the Trace Event Format, as its document says: the fields of each kind of event, slices of a row
inside each other or one after another, names for rows, and arrows that begin and end at slices."""
import collections

COMMON = {"ph", "name", "pid", "tid"}
FIELDS = {"X": {"ts", "dur"}, "i": {"ts", "s"}, "s": {"ts", "id", "cat"}, "f": {"ts", "id", "cat", "bp"}, "M": {"args"}}
METADATA = {"process_name": "name", "process_labels": "labels", "process_sort_index": "sort_index", "thread_name": "name", "thread_sort_index": "sort_index"}
ROUNDING = 0.002  # us: times are written in whole nanoseconds, a duration as a difference of two


def check(trace, rows):
    """rows: pids whose rows must have names. Returns the number of slices."""
    assert isinstance(trace, dict) and trace.get("displayTimeUnit", "ms") in ("ms", "ns")
    slices, arrows, names = collections.defaultdict(list), collections.defaultdict(list), set()
    for event in trace["traceEvents"]:
        phase = event["ph"]
        needed = (COMMON | FIELDS[phase]) - ({"tid"} if phase == "M" and event["name"].startswith("process_") else set())
        assert needed <= event.keys(), f"{needed - event.keys()} of {event}"
        assert isinstance(event["name"], str) and event["name"] and isinstance(event.get("args", {}), dict), event
        assert all(isinstance(event.get(field, 0), (int, float)) and event.get(field, 0) >= 0 for field in ("ts", "dur")), event
        if phase == "X":
            slices[event["pid"], event["tid"]].append(event)
        elif phase in "sf":
            arrows[event["cat"], event["name"], event["id"]].append(event)
        elif phase == "M":
            assert METADATA[event["name"]] in event["args"], event
            names.add((event["name"], event["pid"], event.get("tid") if event["name"].startswith("thread_") else None))
    for (pid, tid), of_row in slices.items():
        if pid in rows:
            assert {("process_name", pid, None), ("thread_name", pid, tid), ("thread_sort_index", pid, tid)} <= names, (pid, tid)
        check_row(of_row)
    for ends in arrows.values():
        assert sorted(event["ph"] for event in ends) == ["f", "s"], ends
        end, begin = sorted(ends, key=lambda event: event["ph"])
        assert end["bp"] == "e" and begin["ts"] <= end["ts"] + ROUNDING, ends
        for event in ends:
            at = slices[event["pid"], event["tid"]]
            assert any(one["ts"] - ROUNDING <= event["ts"] <= one["ts"] + one["dur"] + ROUNDING for one in at), event
    return sum(map(len, slices.values()))


def check_row(slices):
    """Each slice is inside the one that is open, or behind it."""
    opened = []
    for one in sorted(slices, key=lambda event: (event["ts"], -event["dur"])):
        end = one["ts"] + one["dur"]
        while opened and opened[-1]["ts"] + opened[-1]["dur"] <= one["ts"] + ROUNDING:
            opened.pop()
        assert not opened or end <= opened[-1]["ts"] + opened[-1]["dur"] + ROUNDING, f"{one}\nbegins inside, but ends behind\n{opened[-1]}"
        opened.append(one)
