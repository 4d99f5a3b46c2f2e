#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the table of docs/environment.md with the variables that the sources read, and checks that a test names each of them. Then checks what the
variables of the scripts do, with right and wrong values; the others have their tests in tests/libsidra, tests/embedded and python/tests."""
import os
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
PAGE = TOP / "docs/environment.md"
FOLDERS = ["compiler", "firmware", "kmod", "libsidra", "python", "qemu-device", "scripts", "tools", "uapi", ".ci", "Makefile"]
TESTS = ["tests", "python/tests"]
PYTHON = re.compile(r"""(?:environ(?:ment)?(?:\.get\(|\[)|chosen\()\s*["'](SIDRA_\w+)["'](?!\]\s*=[^=])""")
SHELL = re.compile(r"\$[({]?(SIDRA_\w+)")


def read_by(path):
    """The variables that a source reads."""
    text = path.read_text(errors="replace")
    if path.suffix in (".cpp", ".c", ".h", ".inc"):
        return set(re.findall(r'"(SIDRA_[A-Z_0-9]+)"', text)) if re.search(r"\bgetenv\(", text) else set()
    if path.suffix == ".py" or text.startswith("#!/usr/bin/env python3"):
        return set(PYTHON.findall(text))
    if path.suffix in ("", ".sh"):
        assigned = set(re.findall(r"^\s*(?:export |local )?(SIDRA_\w+)\s*[:?]?=", text, re.M))
        return set(SHELL.findall(text)) - assigned
    return set()


def sources(*roots):
    """Files of the repository, or what lies there if this is no checkout of git."""
    listed = subprocess.run(["git", "-C", TOP, "ls-files", "--", *roots], capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return [TOP / name for name in listed.stdout.splitlines() if (TOP / name).is_file()]
    return [path for root in roots for path in ([TOP / root] if (TOP / root).is_file() else (TOP / root).rglob("*")) if path.is_file()]


def documented():
    return re.findall(r"^\| `(SIDRA_\w+)` \|", PAGE.read_text(), re.M)


def run(*command, **environment):
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, env={**os.environ, **environment}, timeout=60)
    return done.returncode, done.stdout + done.stderr


def check_table():
    read = {}
    for path in sources(*FOLDERS):
        if not any(path.is_relative_to(TOP / tests) for tests in TESTS):
            for name in read_by(path):
                read.setdefault(name, path.relative_to(TOP))
    table = documented()
    assert len(table) == len(set(table)), f"{PAGE.name} has a variable twice"
    for name in sorted(set(read) - set(table)):
        yield f"{name} is read in {read[name]}, but {PAGE.name} does not list it"
    for name in sorted(set(table) - set(read)):
        yield f"{PAGE.name} lists {name}, but nothing reads it"
    named = "".join(path.read_text(errors="replace") for path in sources(*TESTS))
    for name in table:
        if name not in named:
            yield f"no test names {name}"


def check_self():
    """Whether the search itself finds what it should."""
    for text, suffix, expected in [
        ('f(getenv("SIDRA_ONE")); g("SIDRA_TWO", "of SIDRA_NOT")', ".cpp", {"SIDRA_ONE", "SIDRA_TWO"}),
        ('name("SIDRA_NOT");', ".cpp", set()),
        ('os.environ["SIDRA_ONE"]\nos.environ.get("SIDRA_TWO", "")\nos.environ["SIDRA_NOT"] = "1"\n', ".py", {"SIDRA_ONE", "SIDRA_TWO"}),
        ('SIDRA_NOT=1\n[[ ${SIDRA_ONE:-} ]] && echo $SIDRA_TWO $SIDRA_NOT', ".sh", {"SIDRA_ONE", "SIDRA_TWO"}),
    ]:
        class Text:
            def read_text(self, errors=None, text=text):
                return text
        source = Text()
        source.suffix = suffix
        if read_by(source) != expected:
            yield f"the search finds {read_by(source)} in {text!r}"


def check_scripts():
    def expect(what, result, code, *words):
        if result[0] != code or not all(word in result[1] for word in words):
            yield f"{what}: exit status {result[0]}, expected {code} and {words}:\n{result[1]}"

    setup = TOP / "scripts/setup.sh"
    yield from expect("SIDRA_SETUP=skip", run(setup, "nonsense", SIDRA_SETUP="skip"), 0)
    yield from expect("SIDRA_SETUP=no", run(setup, "nonsense", SIDRA_SETUP="no"), 1, "no group 'nonsense'")
    archives = ["bash", "-c", "set -e; . scripts/vm/common.sh; debian_archives trixie sid"]
    yield from expect("SIDRA_DEBIAN_MIRROR=URI", run(*archives, SIDRA_DEBIAN_MIRROR="file:/srv/debian"), 0,
                      "deb file:/srv/debian trixie main\ndeb file:/srv/debian sid main\n")
    yield from expect("SIDRA_DEBIAN_MIRROR=word", run(*archives, SIDRA_DEBIAN_MIRROR="srv"), 1, 'SIDRA_DEBIAN_MIRROR="srv"', "URI")
    qemu = [sys.executable, "-B", "-c", "import sys; sys.path.insert(0, 'scripts/vm'); import machine; print(machine.qemu_binary())"]
    yield from expect("SIDRA_QEMU=program", run(*qemu, SIDRA_QEMU="/bin/true"), 0, "/bin/true\n")
    yield from expect("SIDRA_QEMU=nothing", run(*qemu, SIDRA_QEMU="/nowhere/qemu"), 2, 'SIDRA_QEMU="/nowhere/qemu"')


def main():
    findings = [*check_self(), *check_table(), *check_scripts()]
    print(*findings, sep="\n", end="\n" if findings else "")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
