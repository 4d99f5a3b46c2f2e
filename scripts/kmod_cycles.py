#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kmod_cycles.py DIR: prints the cycles among the driver's sources, from its object files in DIR; prints nothing, if there are none.

A source depends on another if it uses a function or a variable that the other defines (`nm`). Sources that depend on each other, directly or through
others, form one cycle, whatever its number of ways round. For each cycle are printed its sources, and for each two of them that depend on each other
directly the symbols that one of them has from the other: these are what must move.
"""
import subprocess
import sys
from pathlib import Path


def symbols(path):
    """The names that an object uses, and those that it defines for others."""
    uses, defines = set(), set()
    for line in subprocess.check_output(["nm", "--extern-only", path], text=True).splitlines():
        kind, name = line.split()[-2:]
        (uses if kind == "U" else defines).add(name)
    return uses, defines


def dependencies(folder):
    """For each source: the sources that it depends on, each with the symbols that it uses."""
    objects = {path.stem: symbols(path) for path in sorted(folder.glob("sidra_*.o")) if not path.stem.endswith(".mod")}
    if not objects:
        sys.exit(f"kmod_cycles: {folder} has no objects of the driver; compile it first")
    home = {name: source for source, (_, defines) in objects.items() for name in defines}
    found = {}
    for source, (uses, _) in objects.items():
        found[source] = {}
        for name in sorted(uses):
            if name in home and home[name] != source:
                found[source].setdefault(home[name], []).append(name)
    return found


def reachable(graph, source):
    seen, rest = set(), [source]
    while rest:
        for other in graph[rest.pop()]:
            if other not in seen:
                seen.add(other)
                rest.append(other)
    return seen


def cycles(graph):
    """Sets of sources that reach each other."""
    reached = {source: reachable(graph, source) for source in graph}
    groups = {frozenset(other for other in reached[source] if source in reached[other]) for source in graph}
    return sorted((sorted(group) for group in groups if group), key=len)


def main():
    graph = dependencies(Path(sys.argv[1]))
    for cycle in cycles(graph):
        print(f"cycle of {len(cycle)} sources: {' '.join(name + '.c' for name in cycle)}")
        for source in cycle:
            for other in cycle:
                if source < other and other in graph[source] and source in graph[other]:
                    print(f"    {source}.c uses {', '.join(graph[source][other])} of {other}.c,")
                    print(f"        which uses {', '.join(graph[other][source])} of it")


main()
