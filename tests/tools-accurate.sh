#!/bin/bash
# SPDX-License-Identifier: MIT
# tools-accurate.sh DEMO: the many chips of sidra-demo --level accurate do not use resources of which only one chip can
# have one; a single one has the trace, and its programming is printed.
set -euo pipefail
demo=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export SIDRA_DEVICE=embedded SIDRA_QUIET=1
fail() {
    echo "tools-accurate: $*" >&2
    cat "$folder/said" >&2
    exit 1
}
run=("$demo" --profile small --repeat 1 --out "$folder/digits.svg")

"${run[@]}" --trace "$folder/trace.json" >"$folder/said" 2>&1 || fail "sidra-demo --trace"
SIDRA_STATE=$folder/state SIDRA_GDB=$folder/gdb SIDRA_TRACE=$folder/accurate.json \
    "${run[@]}" --level accurate --plot "$folder/plot.svg" >"$folder/said" 2>&1 || fail "sidra-demo --level accurate, with a state file and a trace"
grep -q "^plot  *$folder/plot.svg" "$folder/said" || fail "no plot of the levels"
programmed() { # trace, regular expression of the line: the trace agrees with the demo's programming time, except for the surrounding packets
    python3 -c 'import json, re, sys
took = json.load(open(sys.argv[1]))[-1]["args"]["opcodes"]["PROGRAM"]["device_ps"] * 1e-6
said = float(re.search("^programmed (.*) µs of device time" + sys.argv[2], open(sys.argv[3]).read(), re.MULTILINE)[1])
assert took <= said < 1.01 * took, (took, said)' "$1" "$2" "$folder/said"
}
programmed "$folder/trace.json" ", " || fail "the trace is not of the chip of level fast"
programmed "$folder/accurate.json" " .* at level accurate" || fail "the trace is not of the chip of level accurate"
echo "level accurate has a trace, and its chips share nothing"
