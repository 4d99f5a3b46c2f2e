#!/bin/bash
# SPDX-License-Identifier: MIT
# tools.sh BENCH REG DEMO DIGITS MODEL: behaviour of the programs with files that are closed, full, endless, cut short
# or not writable.
set -euo pipefail
bench=$1 reg=$2 demo=$3 digits=$4 model=$5
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export SIDRA_DEVICE=embedded SIDRA_QUIET=1
run=("$demo" --profile small --engine scalar --repeat 1)
small=("${run[@]}" --out "$folder/digits.svg")
fail() {
    echo "tools: $*" >&2
    cat "$folder/said" >&2
    exit 1
}
# fails STATUS TEXT COMMAND...: the command ends with this status and says the text. `output`: where its standard output goes.
fails() {
    local wanted=$1 text=$2 status=0
    shift 2
    # An endless input would exhaust the memory before the timeout.
    (ulimit -v 8388608 && exec timeout 120 "$@") >"${output:-$folder/said}" 2>"$folder/errors" || status=$?
    cat "$folder/errors" >>"$folder/said"
    [[ $status == "$wanted" ]] || fail "status $status instead of $wanted: $*"
    grep -q -- "$text" "$folder/said" || fail "does not say '$text': $*"
    : >"$folder/said"
}
: >"$folder/said"

# Output that cannot be written is a failure.
output=/dev/full fails 1 "cannot write to standard output" "$bench" --list
output=/dev/full fails 1 "cannot write to standard output" "$reg" names
output=/dev/full fails 1 "cannot write to standard output" "${small[@]}"

# Without standard files: files opened later do not take their numbers. `open` runs itself again and reads the output.
"$bench" open --engine scalar >&- || fail "sidra-bench open, standard output closed"
"$bench" --list <&- >"$folder/said" || fail "sidra-bench --list, standard input closed"
grep -q "^bars:" "$folder/said" || fail "sidra-bench --list, standard input closed, says something else"
"${small[@]}" <&- >&- 2>&- || fail "sidra-demo, all standard files closed"
[[ $(head -c 4 "$folder/digits.svg") == "<svg" ]] || fail "the picture has something else in it"
"$reg" names <&- >&- 2>&- || fail "sidra-reg names, all standard files closed"

# Usage errors have their own status.
fails 2 "sidra-bench: .*--nope" "$bench" --nope
fails 2 "sidra-reg: .*--help" "$reg" --nope
fails 2 "sidra-demo: .*--nope" "${small[@]}" --nope

# An empty name is a mistake, not a file less.
for option in --json --figures --nvme; do fails 2 "$option: a file name is empty" "$bench" noop "$option" ""; done
fails 1 "its name is empty" "${run[@]}" --out ""

# A model that has no end, or ends too early. Where its parts begin: header, sizes and scales, first layer, pixels, labels.
fails 1 "not a regular file" "${small[@]}" --model /dev/zero
mkfifo "$folder/pipe"
fails 1 "not a regular file" "${small[@]}" --model "$folder/pipe"
fails 1 "not a digits model" "$digits" /dev/zero
size=$(stat -c %s "$model")
grep -q "digits right" <("$digits" "$model") || fail "the whole model"
for cut in 0 8 23 24 40 60 5000 $((size - 360 - 1)) $((size - 360)) $((size - 1)); do
    head -c "$cut" "$model" >"$folder/model"
    fails 1 "shorter than its header says" "$digits" "$folder/model"
    fails 1 "shorter than its header says" "${small[@]}" --model "$folder/model"
done

# The output path is checked before the work, and an existing picture stays until the new one is complete.
fails 1 "cannot write $model/picture.svg" "${run[@]}" --out "$model/picture.svg"
grep -q "^chip" <("${run[@]}" --out "$model/picture.svg" 2>&1) && fail "the chip ran for a picture that cannot be written"
fails 1 "the folder $folder/no/where does not exist; create it" "${run[@]}" --out "$folder/no/where/digits.svg"
fails 1 "the folder $folder/no does not exist; create it" "$bench" noop --json "$folder/no/bench.json"
[[ ! -e $folder/no ]] || fail "a mistyped name has made a folder"
echo before >"$folder/digits.svg"
ln "$folder/digits.svg" "$folder/kept"
fails 1 "SIDRA_WORKERS" env SIDRA_WORKERS=none "${small[@]}"
[[ $(cat "$folder/digits.svg") == before ]] || fail "a picture was lost to a chip that does not start"
[[ -z $(find "$folder" -name 'digits.svg?*') ]] || fail "half a picture was left behind"
"${small[@]}" >/dev/null
[[ $(head -c 4 "$folder/digits.svg") == "<svg" ]] || fail "no picture"
[[ $(cat "$folder/kept") == before ]] || fail "the new picture was written over the old one, and not beside it"

# A trace is complete, or its failure is reported.
"${small[@]}" --trace "$folder/trace.json" >/dev/null || fail "sidra-demo --trace"
python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))[-1]["name"] == "summary"' "$folder/trace.json" || fail "the trace is not whole"
python3 "$(dirname "$0")/trace.py" "$folder/trace.json" >"$folder/said" || fail "the trace is not in order"
grep -q "weights \['layer 1', 'layer 2'.*operations \['digits 0 to " "$folder/said" || fail "the trace has no names"
fails 1 "trace file '$folder' cannot be written: Is a directory" "${small[@]}" --trace "$folder"
fails 1 "SIDRA_TRACE.*not a regular file.*Give the trace a file of its own" env SIDRA_TRACE=/dev/full "${small[@]}"
fails 1 "No such file or directory.*Name a file.*The environment sets SIDRA_STATE" env SIDRA_STATE="$folder/no/state" "${small[@]}"

fails 1 "cannot write $folder: it is not a regular file" "${small[@]}" --level accurate --trace "$folder"
grep -q "^chip" "$folder/said" && fail "chips ran for a trace that cannot be written"
echo "programs mind their files"
