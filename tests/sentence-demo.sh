#!/bin/bash
# SPDX-License-Identifier: MIT
# sentence-demo.sh DEMO: sidra-demo sentence with the real model file, with damaged ones, and with odd input. Without the
# model file only what needs none is tested, and the rest is skipped.
set -euo pipefail
demo=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export SIDRA_DEVICE=embedded SIDRA_QUIET=1
fail() {
    echo "sentence-demo: $*" >&2
    cat "$folder/said" >&2
    exit 1
}
# fails STATUS TEXT ARGUMENT...: the demo ends with this status and says the text.
fails() {
    local wanted=$1 text=$2 status=0
    shift 2
    # An endless input would exhaust the memory before the timeout.
    (ulimit -v 8388608 && exec timeout 120 "$demo" sentence "$@") >"$folder/said" 2>&1 </dev/null || status=$?
    [[ $status == "$wanted" ]] || fail "status $status instead of $wanted: $*"
    grep -q -- "$text" "$folder/said" || fail "does not say '$text': $*"
}
says() { # text, argument...
    "$demo" sentence "${@:2}" >"$folder/said" 2>&1 || fail "status $?: ${*:2}"
    grep -q -- "$1" "$folder/said" || fail "does not say '$1': ${*:2}"
}
: >"$folder/said"

fails 2 "sidra-demo: .*--nope.*(sidra-demo sentence --help)" --nope
fails 2 "--level: .*exact" --level exact
fails 2 "--nearest: .*0" --nearest 0
fails 2 "--repeat: .*0" --repeat 0
fails 1 "cannot open .*$folder/none: No such file.*make sentence" --model "$folder/none"
fails 1 "not a regular file.*make sentence" --model /dev/zero
mkfifo "$folder/pipe"
fails 1 "not a regular file.*make sentence" --model "$folder/pipe"
fails 1 "does not begin with SIDRASEN.*make sentence" --model libsidra/examples/digits/model.bin
XDG_CACHE_HOME=$folder fails 1 "cannot open .*$folder/sidra/sentence.bin"

model=${XDG_CACHE_HOME:-$HOME/.cache}/sidra/sentence.bin
if [[ ! -e $model ]]; then
    echo "sentence-demo: only errors were tested: there is no $model; \`make sentence\` writes it" >&2
    exit 77
fi
size=$(stat -c %s "$model")
for cut in 0 11 63 64 5000 1000000 $((size / 2)) $((size - 1)); do
    head -c "$cut" "$model" >"$folder/model"
    fails 1 "not a model of the sentence encoder.*make sentence" --model "$folder/model"
done
fails 1 "crossbars" --profile small

says "bit-exact, the same as by NumPy" "I forgot my password"
grep -A 1 "^I forgot my password" "$folder/said" | grep -q "How do I reset my password" || fail "another sentence is nearest"
grep -q "6 layers.*10616832 weights" "$folder/said" || fail "says nothing of the model"
[[ $(grep -c "one launch of 39 operations" "$folder/said") == 1 ]] || fail "a sentence is more than one launch"

# Sentences of standard input, the last one without an end; those of a list; bytes that are no text.
printf 'one\n\ntwo \033[31m\nthree' | "$demo" sentence --list README.md --nearest 1 >"$folder/said" || fail "standard input"
[[ $(grep -c "one launch of" "$folder/said") == 3 ]] || fail "three lines are not three sentences"
grep -q "^two ?\[31m" "$folder/said" || fail "a terminal would obey"
grep -q bit-exact "$folder/said" && fail "compares an unknown list"
says "256 tokens" "$(printf 'word %.0s' {1..1000})"
head -c 65536 /dev/urandom | "$demo" sentence >/dev/null || fail "random bytes"
"$demo" sentence </dev/zero >"$folder/said" 2>&1 && fail "a line without an end"
grep -q "a line of standard input has more than" "$folder/said" || fail "a line without an end has another error"
: >"$folder/empty"
fails 1 "the list $folder/empty has no sentence" --list "$folder/empty"
fails 1 "$folder/none" --list "$folder/none"
fails 1 "/dev/zero" --list /dev/zero

# A signal ends it while it waits for a sentence.
for signal in INT TERM; do
    : >"$folder/out" # what the round before said is not an answer
    "$demo" sentence <"$folder/pipe" >"$folder/out" 2>"$folder/said" &
    exec 3>"$folder/pipe"
    echo "hello" >&3
    until grep -q "one launch" "$folder/out"; do kill -0 $! || fail "the demo ended"; done
    kill -s $signal $!
    status=0
    wait $! || status=$?
    [[ $status == $((128 + $(kill -l $signal))) ]] || fail "status $status after SIG$signal"
    grep -q "interrupted by signal" "$folder/said" || fail "does not say that it was interrupted"
    exec 3>&-
done
echo "sentences find their like"
