#!/bin/bash
# SPDX-License-Identifier: MIT
# health.sh SIDRA_SMI: the health policy and acknowledgements as operators use them: with `sidra-smi health`, and in the exporter.
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
    echo "health: $*" >&2
    cat "$folder/out" "$folder/said" >&2 2>/dev/null || :
    exit 1
}
gives() { # status, command...
    local wanted=$1 status=0
    shift
    "$@" >"$folder/out" 2>"$folder/said" </dev/null || status=$?
    [[ $status == "$wanted" ]] || fail "status $status instead of $wanted: $*"
}
ends() { # status, text, command...: one line on standard error, and nothing else
    gives "$1" "${@:3}"
    grep -qF -- "$2" "$folder/said" || fail "does not say '$2': ${*:3}"
    [[ ! -s $folder/out && $(wc -l <"$folder/said") == 1 ]] || fail "says more: ${*:3}"
}

# Two chips with two DMA errors each. Root keeps its state in the tree, others in their own folder.
export XDG_STATE_HOME=$folder/own
mkdir "$folder/root"
coproc PUBLISHER { exec tests/publish.py "$folder/run" 2 0.1; }
pids+=("$PUBLISHER_PID")
to_publisher=${PUBLISHER[1]}
read -r first <&"${PUBLISHER[0]}"
read -r second <&"${PUBLISHER[0]}"
run=("$smi" --root "$folder/root" --runtime "$folder/run")
policy() { mkdir -p "$folder/root/etc/sidra" && cat >"$folder/root/etc/sidra/health.conf"; }

gives 8 "${run[@]}" health
grep -q -- "sidra-smi health --acknowledge dma" "$folder/out" || fail "does not say how to acknowledge"
[[ ! -e $folder/own && ! -e $folder/root/var ]] || fail "a check has written something"

# Acknowledged for one chip, then for all, with a reason.
gives 0 "${run[@]}" health --acknowledge dma --chip "$first" --note "a bad cable"
gives 0 "${run[@]}" health --chip "$first"
grep -q "ok *dma *2 DMA errors (acknowledged by .*: a bad cable)" "$folder/out" || fail "an acknowledged problem is not ok"
gives 8 "${run[@]}" health --chip "$second"
gives 0 "${run[@]}" health --acknowledge dma --for 2h
grep -q "acknowledged by .* until 20..-..-.. ..:.. UTC" "$folder/out" || fail "no end of the acknowledgement"
gives 0 "${run[@]}" health --format json
tests/smi/schema.py tools/sidra-smi/sidra-smi.schema.json health "$folder/out" 2>"$folder/said" || fail "JSON does not follow the schema"
python3 - "$folder/out" <<'PYTHON' || fail "acknowledged in JSON"
import json, sys
for chip in json.load(open(sys.argv[1]))["chips"]:
    known = {finding["check"]: finding["acknowledged"] for finding in chip["findings"]}
    assert known["dma"] and known["dma"]["until"] > known["dma"]["time"], known
    assert known["cells"] is None, known
PYTHON
gives 8 "${run[@]}" health --withdraw dma --chip 1
gives 0 "${run[@]}" health --chip 0
ends 2 "no problem of the check 'dma' is acknowledged here" "${run[@]}" health --withdraw dma --chip 1
ends 2 "the check 'cells' reports no problem that could be acknowledged" "${run[@]}" health --acknowledge cells
ends 2 "no such check: 'nope'" "${run[@]}" health --acknowledge nope
for wrong in 0h 12 h -1h 1.5h 99999999999999999999d 4000d; do
    ends 2 "is no duration" "${run[@]}" health --acknowledge dma --for "$wrong"
done
ends 2 "--for" "${run[@]}" health --for 1h
ends 2 "--withdraw" "${run[@]}" health --acknowledge dma --withdraw dma
if ((EUID == 0)) && command -v setpriv >/dev/null; then
    # What root has acknowledged holds for others, who cannot change it.
    chmod -R go+rX "$folder"
    nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups env -u HOME -u XDG_STATE_HOME)
    if "${nobody[@]}" test -x "$smi"; then
        gives 1 "${nobody[@]}" "$smi" --root "$folder/root" health # others see no models
        grep -q "acknowledged" "$folder/root/var/lib/sidra/acknowledged.toml" || fail "root keeps its state elsewhere"
    fi
fi

# The policy: of health, and of the exporter.
policy <<<$'[dma]\nwarning = 3\n'
gives 0 "${run[@]}" health --chip 1
policy <<<$'[temperature]\nwarning = 62\ncritical = 200\n'
gives 8 "${run[@]}" health --chip 1
grep -q "warning *temperature *62.2 C, at or above the limit of 62 C" "$folder/out" || fail "the policy's threshold"
severity() { # chip, check: by the metrics in $folder/metrics
    sed -n "s/^sidra_health_status{device=\"$1\".*check=\"$2\"} //p" "$folder/metrics"
}
"${run[@]}" exporter --once >"$folder/metrics"
[[ $(severity "$second" temperature) == 1 && $(severity "$first" temperature) == 0 ]] || fail "the exporter has another policy"
[[ $(severity "$first" dma) == 0 && $(severity "$second" dma) == 1 ]] || fail "the exporter knows of no acknowledgements"
grep -q "^sidra_health_acknowledged{device=\"$first\".*check=\"dma\"} 1" "$folder/metrics" || fail "no metric of acknowledgements"
policy <<<$'[temperature]\n\nhot = 1\n'
for command in health "exporter --once" "exporter --listen unix:$folder/socket" events; do
    # shellcheck disable=SC2086 # words
    ends 2 "health.conf:3: the check 'temperature' has no 'hot'; it has warning, critical, hold" "${run[@]}" $command
done

# A hold time over several runs.
policy <<<$'[temperature]\nwarning = 62\nhold = 2\n[dma]\nwarning = 3\n'
gives 0 "${run[@]}" health --chip 1
grep -q "62.2 C, at or above the limit of 62 C (for 0 of 2 s)" "$folder/out" || fail "no hold time"
sleep 2
gives 8 "${run[@]}" health --chip 1

# A server takes a changed policy over, and keeps it when the next one is wrong.
policy <<<""
"${run[@]}" exporter --listen "unix:$folder/socket" >"$folder/out" 2>"$folder/log" &
server=$!
pids+=("$server")
until grep -qs "serving metrics" "$folder/log"; do sleep 0.02; done
ask() {
    python3 - "$folder/socket" >"$folder/metrics" <<'PYTHON'
import http.client, socket, sys
connection = http.client.HTTPConnection("localhost")
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect(sys.argv[1])
connection.request("GET", "/metrics")
print(connection.getresponse().read().decode(), end="")
PYTHON
}
ask
[[ $(severity "$second" temperature) == 0 ]] || fail "a warning without a policy"
policy <<<$'[temperature]\nwarning = 62\n'
ask
[[ $(severity "$second" temperature) == 1 ]] || fail "the server does not take the policy over"
policy <<<"nonsense"
ask
ask
[[ $(severity "$second" temperature) == 1 ]] || fail "the server drops the policy"
[[ $(grep -c "health.conf:1: " "$folder/log") == 1 ]] || fail "the server does not say once what is wrong"
kill -TERM "$server"
wait "$server" || fail "the server's status"
exec {to_publisher}>&-
echo "policies and acknowledgements hold in all tools"
