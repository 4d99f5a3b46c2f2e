#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the documents of the tree: no line of a manual or of a Markdown file is longer than 120 columns, and every
link of the latter to a file of the repository, or to a heading in one, is valid. Prints each violation as
FILE:LINE: what, and exits with 1."""

import re
import sys
from pathlib import Path

COLUMNS = 120


def prose(text):
    """The numbered lines outside code blocks."""
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            code = not code
        elif not code:
            yield number, line


def anchors(path):
    """The names by which a document's headings are linked."""
    found = set()
    for _, line in prose(path.read_text()):
        if heading := re.match(r"#+ (.*)", line):
            name = re.sub(r"[^\w\- ]", "", heading[1].lower())
            found.add(name.replace(" ", "-"))
    return found


def long_lines(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if len(line) > COLUMNS:
            yield number, f"{len(line)} columns, at most {COLUMNS} are allowed"


def bad_links(path):
    for number, line in prose(path.read_text()):
        for target in re.findall(r"\]\(([^)\s]+)\)", line):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            linked = path.parent / name if name else path
            if not linked.exists():
                yield number, f"link to {target}: there is no such file"
            elif anchor and linked.suffix == ".md" and anchor not in anchors(linked):
                yield number, f"link to {target}: {linked.name} has no such heading"


def main():
    top = Path(__file__).resolve().parent.parent
    failures = 0
    documents, manuals = top.rglob("*.md"), top.rglob("sidra*.[158]")
    for path in sorted((*documents, *manuals)):
        name = path.relative_to(top)
        if name.parts[0] == "build":
            continue
        for number, what in (*long_lines(path), *(bad_links(path) if path.suffix == ".md" else ())):
            print(f"{name}:{number}: {what}")
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
