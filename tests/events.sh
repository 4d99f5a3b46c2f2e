#!/bin/bash
# SPDX-License-Identifier: MIT
# events.sh SIDRA_SMI: `sidra-smi events` as it is shipped: what is there at first, what happens then, and its ends.
set -euo pipefail
smi=$1
folder=$(mktemp -d)
pids=()
clean() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || :; done
    rm -rf "$folder"
}
trap clean EXIT
fail() {
    echo "events: $*" >&2
    cat "$folder/out" "$folder/said" >&2 2>/dev/null || :
    exit 1
}
waits() { # condition...
    local tries
    for ((tries = 0; tries < 1200; ++tries)); do
        "$@" && return 0
        sleep 0.05
    done
    return 1
}
mkdir "$folder/root"
coproc PUBLISHER { exec tests/publish.py "$folder/run" 2 0.1; }
pids+=("$PUBLISHER_PID")
to_publisher=${PUBLISHER[1]}
read -r first <&"${PUBLISHER[0]}"
read -r second <&"${PUBLISHER[0]}"
run=("$smi" --root "$folder/root" --runtime "$folder/run")

# Without --follow: what is there.
"${run[@]}" events >"$folder/out" 2>"$folder/said" || fail "status $?"
[[ $(awk '{ print $2, $3, $4 }' "$folder/out" | paste -sd,) == "$first ok present,$first warning health,$second ok present,$second warning health" ]] ||
    fail "other events"
"${run[@]}" events --chip "$second" >"$folder/out"
[[ $(awk '{ print $2 }' "$folder/out" | sort -u) == "$second" ]] || fail "--chip"
for wrong in "--chip 7" "--interval 1" "--follow --interval 0" "--format csv"; do
    status=0
    # shellcheck disable=SC2086 # words
    "${run[@]}" events $wrong >"$folder/out" 2>"$folder/said" || status=$?
    [[ $status == $([[ $wrong == "--chip 7" ]] && echo 1 || echo 2) && $(wc -l <"$folder/said") == 1 ]] || fail "status $status: $wrong"
done
status=0
"$smi" --root "$folder/root" --runtime "$folder/none" events >"$folder/out" 2>"$folder/said" || status=$?
[[ $status == 1 ]] || fail "status $status without a chip"

# A follower whose reader has gone ends, also if nothing happens any more.
set +o pipefail
timeout 60 "${run[@]}" events --follow --interval 0.05 2>"$folder/said" | head -n 4 >"$folder/out"
piped=("${PIPESTATUS[@]}")
set -o pipefail
[[ ${piped[0]} == 141 && ! -s $folder/said && $(wc -l <"$folder/out") == 4 ]] || fail "events --follow | head: status ${piped[0]}"

# With it: what happens, also to chips that come later.
"${run[@]}" events --follow --interval 0.05 --format json >"$folder/out" 2>"$folder/said" &
follower=$!
pids+=("$follower")
has() { grep -qE "$1" "$folder/out"; }
waits has "\"name\":\"$second\".*\"type\":\"present\".*\"initial\":true" || fail "nothing at first"
echo hot >&"$to_publisher"
waits has "\"name\":\"$first\".*\"type\":\"health\",\"severity\":\"critical\".*\"check\":\"temperature\".*\"initial\":false" || fail "no event of the temperature"
echo "gone 1" >&"$to_publisher"
waits has "\"name\":\"$second\".*\"type\":\"gone\"" || fail "no event of a chip that is gone"
mkfifo "$folder/to_later"
tests/publish.py "$folder/run" 1 0.1 <"$folder/to_later" >"$folder/third" &
pids+=($!)
exec {to_later}>"$folder/to_later"
waits test -s "$folder/third" || fail "no third chip"
third=$(<"$folder/third")
waits has "\"name\":\"$third\".*\"type\":\"present\".*\"initial\":false" || fail "no event of a chip that comes"
kill "$follower"
wait "$follower" 2>/dev/null || :
tests/smi/schema.py tools/sidra-smi/sidra-smi.schema.json events "$folder/out" 2>"$folder/said" || fail "JSON does not follow the schema"
exec {to_publisher}>&- {to_later}>&-
echo "events of chips are reported"
