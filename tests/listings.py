#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""listings.py DOCUMENT FOLDER [CMAKE_OPTION...]: builds and runs the programs of a document, and compares what they print
with what the document says. FOLDER is made for them.

- A block `cpp` is the program whose name is the last `NAME.cpp` in the text before the block. The block `cmake` builds
  all of them.
- The text after it says "It prints `LINE`.", or "It prints:" before a block `text` with the lines. After "It prints, for
  example:" numbers in them may be others.
- If it says neither, a block `sh` follows whose lines have the form: COMMAND # prints "LINE". These run one after the
  other in FOLDER.
"""
import pathlib
import re
import subprocess
import sys


def fail(message):
    sys.exit(f"listings: {message}")


class Listing:
    """A program of a document."""

    def __init__(self, name):
        self.name = name
        self.runs = []  # commands, and what each prints
        self.numbers_vary = False

    def check(self, folder):
        for command, wanted in self.runs:
            result = subprocess.run(command, shell=True, cwd=folder, stdout=subprocess.PIPE, text=True)
            if result.returncode != 0:
                fail(f"{self.name}: `{command}` failed with {result.returncode}")
            got = result.stdout
            if self.numbers_vary:
                got, wanted = (re.sub(r"\d+", "0", text) for text in (got, wanted))
            if got != wanted:
                fail(f"{self.name}: `{command}` printed\n{result.stdout}and the document says\n{wanted}")


def blocks(text):
    """Each code block: the text before it, its language and its content."""
    parts = re.split(r"^```(\w*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    yield from zip(parts[0::3], parts[1::3] + [""], parts[2::3] + [""])


def read(document, folder):
    """Writes the programs and their CMakeLists.txt; returns the listings."""
    listings = []
    for before, language, content in blocks(document.read_text()):
        last = listings[-1] if listings else None
        if last and not last.runs:
            prints = re.search(r"^It\s+prints(?:\s+`([^`]+)`|(,\s+for\s+example)?:)", before.lstrip())
            if prints:
                if not prints[1] and language != "text":
                    fail(f"{last.name}: no block `text` with what it prints")
                last.numbers_vary = bool(prints[2])
                last.runs = [(f"build/{last.name}", prints[1] + "\n" if prints[1] else content)]
            elif language == "sh":
                last.runs = [(command, line + "\n")
                             for command, line in re.findall(r'^(.*?\S) +# prints "(.*)"$', content, re.MULTILINE)]
            elif language == "cpp":
                fail(f"{last.name}: the document does not say what it prints")
        if language == "cmake":
            (folder / "CMakeLists.txt").write_text(content)
        elif language == "cpp":
            names = re.findall(r"`(\w+)\.cpp`", before)
            if not names:
                fail(f"a program without a name:\n{content}")
            if any(listing.name == names[-1] for listing in listings):
                fail(f"two programs are called {names[-1]}.cpp")
            (folder / f"{names[-1]}.cpp").write_text(content)
            listings.append(Listing(names[-1]))
    if not listings or not listings[-1].runs:
        fail(f"{document}: no programs, or the last one prints nothing")
    return listings


def run(*command):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        fail(f"{' '.join(map(str, command))}:\n{result.stdout}")


def main():
    document, folder, options = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]
    folder.mkdir()
    listings = read(document, folder)
    run("cmake", "-S", folder, "-B", folder / "build", *options)
    run("cmake", "--build", folder / "build")
    for listing in listings:
        listing.check(folder)
    print(f"{len(listings)} programs of {document}: {', '.join(listing.name for listing in listings)}")


if __name__ == "__main__":
    main()
