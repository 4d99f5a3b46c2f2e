#!/bin/bash
# SPDX-License-Identifier: MIT
# exporter.sh SIDRA_SMI: `sidra-smi exporter` as it is shipped: a single run and the server, its values compared with
# the published ones and with sidra-smi query, its start and its end. promtool parses the text and tests the alert
# rules, and a server of Prometheus scrapes it (scripts/prometheus.sh). Without Prometheus the rest is tested, and the
# test counts as skipped; in continuous integration (CI is set) that is a failure.
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
    echo "exporter: $*" >&2
    cat "$folder/said" "$folder/log" >&2 2>/dev/null || :
    exit 1
}
waits() { # condition...
    local tries
    for ((tries = 0; tries < 400; ++tries)); do
        "$@" && return 0
        sleep 0.05
    done
    return 1
}
fails() { # status, text, command...: one line
    local wanted=$1 text=$2 status=0
    shift 2
    timeout 60 "$@" >"$folder/out" 2>"$folder/said" </dev/null || status=$?
    [[ $status == "$wanted" ]] || fail "status $status instead of $wanted: $*"
    [[ $(wc -l <"$folder/said") == 1 ]] || fail "not one line: $*"
    grep -qF -- "$text" "$folder/said" || fail "does not say '$text': $*"
}

# Two idle chips: ten steps of tests/publish.py.
coproc PUBLISHER { exec tests/publish.py "$folder/run" 2; }
pids+=("$PUBLISHER_PID")
to_publisher=${PUBLISHER[1]}
read -r first <&"${PUBLISHER[0]}"
read -r second <&"${PUBLISHER[0]}"
run=("$smi" --root "$folder/root" --runtime "$folder/run")
mkdir "$folder/root"

# The published values in base units, derived from the struct, not from the export.
cat >"$folder/expected" <<EOF
sidra_up 1
sidra_ready 1
sidra_throttled 0
sidra_firmware_alive 1
sidra_generation 1
sidra_temperature_celsius 61.25
sidra_temperature_max_celsius 95
sidra_temperature_crit_celsius 105
sidra_power_watts 22.5
sidra_power_limit_watts 75
sidra_clock_hertz 800000000
sidra_clock_max_hertz 1000000000
sidra_device_clock_seconds_total 1
sidra_busy_seconds_total 0.45
sidra_mvm_seconds_total 0.41
sidra_vec_seconds_total 0.12
sidra_copy_seconds_total 0.07
sidra_program_seconds_total 0.03
sidra_packets_total 10000
sidra_mvms_total 9000
sidra_macs_total 1280000
sidra_copied_bytes_total 1500000000
sidra_programmed_cells_total 25000
sidra_program_pulses_total 30
sidra_modelled_seconds_total 0.02
sidra_modelled_joules_total 0.03
sidra_dma_errors_total 2
sidra_crossbars 32
sidra_crossbars_programmed 3
sidra_stuck_cells 7
sidra_l3_size_bytes 16777216
sidra_l3_used_bytes 4194304
EOF
has_values() { # file
    local metric value
    while read -r metric value; do
        grep -qxF "$metric{device=\"$first\",uuid=\"abababab-abab-abab-abab-abababababab\",user=\"$EUID\"} $value" "$1" || fail "not $metric $value in $(grep "^$metric{" "$1")"
    done <"$folder/expected"
}
"${run[@]}" exporter --once >"$folder/once"
has_values "$folder/once"
grep -qx "sidra_chips 2" "$folder/once" || fail "not two chips"
grep -qxF "sidra_temperature_celsius{device=\"$second\",uuid=\"acacacac-acac-acac-acac-acacacacacac\",user=\"$EUID\"} 62.25" "$folder/once" || fail "not the second chip"
grep -q "^sidra_info{device=\"$first\".*kind=\"model\",hardware=\"1.2\",driver=\"1.0\",firmware=\"1.2.3\",level=\"fast\",process=\"publisher\"} 1" "$folder/once" || fail "no sidra_info"
grep -q "^sidra_pci" "$folder/once" && fail "a metric of something absent"

# The same numbers as query's, field by field.
"${run[@]}" -i "$first" query --format json --fields packets,mvms,macs,copy.bytes,mvm.time,energy,temperature,power,clock >"$folder/query.json"
python3 - "$folder/query.json" "$folder/once" "$first" <<'EOF' || fail "query has other numbers"
import json, sys
chip = json.load(open(sys.argv[1]))["chips"][0]
metrics = dict(line.rsplit(" ", 1) for line in open(sys.argv[2]) if not line.startswith("#"))
names = {"packets": ("packets_total", 1), "mvms": ("mvms_total", 1), "macs": ("macs_total", 1), "copy.bytes": ("copied_bytes_total", 1),
         "mvm.time": ("mvm_seconds_total", 1e9), "energy": ("modelled_joules_total", 1e12), "temperature": ("temperature_celsius", 1),
         "power": ("power_watts", 1), "clock": ("clock_hertz", 1e-6)}
for field, (metric, scale) in names.items():
    found = [float(value) for name, value in metrics.items() if name.startswith(f'sidra_{metric}{{device="{sys.argv[3]}"')]
    assert len(found) == 1 and abs(chip[field] / scale - found[0]) <= 1e-12 * found[0], (field, chip[field], found)
EOF

# Every metric is in the help, and every HELP is a sentence.
"${run[@]}" exporter --help-fields >"$folder/fields"
while read -r _ _ name text; do
    grep -q "^$name " "$folder/fields" || fail "--help-fields does not name $name"
    [[ $text =~ ^[A-Z].*\ .*\ .*[.]$ ]] || fail "the HELP of $name is a fragment: $text"
done < <(grep '^# HELP' "$folder/once")

# To a file: completely or not at all, and only to an existing folder.
fails 64 "the folder $folder/text does not exist; create it" "${run[@]}" exporter --once --output "$folder/text/sidra.prom"
mkdir "$folder/text"
"${run[@]}" exporter --once --output "$folder/text/sidra.prom"
diff <(grep -v _age_ "$folder/text/sidra.prom") <(grep -v _age_ "$folder/once") >"$folder/said" || fail "another text in the file"
[[ $(ls "$folder/text") == sidra.prom ]] || fail "something is left beside the file"
fails 64 "cannot write /dev/full" "${run[@]}" exporter --once --output /dev/full
fails 64 "cannot write to standard output" sh -c 'exec "$@" >/dev/full' sh "${run[@]}" exporter --once
# Without a chip the text says so.
"$smi" --root "$folder/root" --runtime "$folder/none" exporter --once >"$folder/none.prom"
[[ $(grep -v '^#' "$folder/none.prom") == $'sidra_chips 0\nsidra_chips_left_out 0' ]] || fail "without a chip"

fails 2 "0.0.0.0:0 can be reached from other machines" "${run[@]}" exporter --listen 0.0.0.0:0
fails 2 "'localhost' is not a numeric address" "${run[@]}" exporter --listen localhost:1
fails 2 "'99999' is not a port number" "${run[@]}" exporter --listen 127.0.0.1:99999
fails 2 "--listen" "${run[@]}" exporter --once --listen 127.0.0.1:0
fails 2 "--output" "${run[@]}" exporter --output "$folder/x"
fails 2 "exporter always exports all chips" "${run[@]}" -i 0 exporter --once
fails 64 "Cannot assign requested address" "${run[@]}" exporter --allow-remote --listen 192.0.2.1:0
fails 64 "is not a socket" "${run[@]}" exporter --listen "unix:$folder/once"

# A server on two addresses.
serve() { # addresses...
    : >"$folder/log" # discards the previous server's messages
    "${run[@]}" exporter "$@" >"$folder/out" 2>"$folder/log" &
    server=$!
    pids+=("$server")
    waits grep -q "serving metrics at unix:" "$folder/log" || fail "does not listen"
}
serve --listen 127.0.0.1:0 --listen "unix:$folder/socket"
port=$(sed -n 's/^sidra-smi: serving metrics at 127.0.0.1:\([0-9]*\)$/\1/p' "$folder/log")
ask() { # METHOD PATH: the body to `body`, the status to standard output
    python3 - "$folder/socket" "$1" "$2" "$folder/body" <<'EOF'
import http.client, socket, sys
connection = http.client.HTTPConnection("localhost")
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.settimeout(30)
connection.sock.connect(sys.argv[1])
connection.request(sys.argv[2], sys.argv[3])
answer = connection.getresponse()
print(answer.status, answer.getheader("Content-Type"))
open(sys.argv[4], "wb").write(answer.read())
EOF
}
[[ $(ask GET /metrics) == "200 text/plain; version=0.0.4; charset=utf-8" ]] || fail "GET /metrics"
has_values "$folder/body"
[[ $(ask HEAD /metrics) == 200* && ! -s $folder/body ]] || fail "HEAD /metrics"
[[ $(ask GET /) == 404* && $(<"$folder/body") == "Not found. Metrics: /metrics" ]] || fail "GET /"
[[ $(ask DELETE /metrics) == 405* ]] || fail "DELETE /metrics"
fails 6 "cannot listen on 127.0.0.1:$port: the address is in use" "${run[@]}" exporter --listen "127.0.0.1:$port"
fails 6 "cannot listen on unix:$folder/socket: the address is in use" "${run[@]}" exporter --listen "unix:$folder/socket"

tools=$(scripts/prometheus.sh) || [[ ! ${CI:-} ]] || fail "Prometheus is neither installed nor to be had from Debian"
if [[ $tools ]]; then
    "$tools/promtool" check metrics <"$folder/once" >"$folder/said" 2>&1 || fail "promtool has something to say"
    [[ ! -s $folder/said ]] || fail "promtool has something to say"
    "$tools/promtool" check rules tools/sidra-smi/prometheus/sidra.rules.yml >"$folder/said" 2>&1 || fail "promtool does not like the alert rules"
    "$tools/promtool" test rules tests/exporter/rules.yml >"$folder/said" 2>&1 || fail "the alert rules do not alert as they should"
    cat >"$folder/prometheus.yml" <<EOF
scrape_configs:
  - job_name: sidra
    scrape_interval: 1s
    static_configs: [{targets: ['127.0.0.1:$port']}]
EOF
    free=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    "$tools/prometheus" --config.file="$folder/prometheus.yml" --storage.tsdb.path="$folder/tsdb" --web.listen-address="127.0.0.1:$free" \
        >"$folder/prometheus.log" 2>&1 &
    pids+=($!)
    # All that was exported has arrived, with its values.
    cat >"$folder/compare.py" <<'EOF'
import json, sys, urllib.error, urllib.parse, urllib.request
def ask(expression):
    url = f"http://127.0.0.1:{sys.argv[1]}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
    return json.load(urllib.request.urlopen(url, timeout=10))["data"]["result"]
try:
    for line in open(sys.argv[2]):
        metric, value = line.split()
        found = ask(f'{metric}{{device="{sys.argv[3]}"}}')
        assert len(found) == 1 and float(found[0]["value"][1]) == float(value), (metric, found)
except (OSError, AssertionError, urllib.error.URLError) as e:
    sys.exit(str(e))
EOF
    waits python3 "$folder/compare.py" "$free" "$folder/expected" "$first" 2>"$folder/said" || { cat "$folder/prometheus.log" >&2; fail "Prometheus has other values"; }
    # Every expression of the dashboard is one.
    python3 - "$free" tools/sidra-smi/grafana/sidra.json >"$folder/said" 2>&1 <<'EOF' || fail "the dashboard asks for nonsense"
import json, sys, urllib.parse, urllib.request
for panel in json.load(open(sys.argv[2]))["panels"]:
    for target in panel.get("targets", []):
        expression = target["expr"].replace("$device", ".*").replace("$instance", ".*").replace("$__rate_interval", "1m")
        query = urllib.parse.urlencode({"query": expression})
        answer = json.load(urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/api/v1/query?{query}", timeout=10))
        assert answer["status"] == "success", expression
EOF
    scraped=", and a server of Prometheus has scraped it"
elif [[ ${CI:-} ]]; then
    fail "continuous integration has to have Prometheus"
fi

# A stopped process: its chip is reported down, and its last values are not reported as current.
echo "stale 1" >&"$to_publisher"
stale() { ask GET /metrics >"$folder/said" && grep -qxF "sidra_up{device=\"$second\",uuid=\"acacacac-acac-acac-acac-acacacacacac\",user=\"$EUID\"} 0" "$folder/body"; }
waits stale || fail "a stale chip is up: $(grep "$second" "$folder/body")"
grep -q "^sidra_temperature_celsius{device=\"$second\"" "$folder/body" && fail "a stale chip has a temperature"
grep -q "^sidra_info{device=\"$second\"" "$folder/body" || fail "a stale chip has no sidra_info"

# A chip disappears with its process.
echo "gone 1" >&"$to_publisher"
one_chip() { ask GET /metrics >"$folder/said" && grep -qx "sidra_chips 1" "$folder/body"; }
waits one_chip || fail "still two chips"
grep -q "device=\"$second\"" "$folder/body" && fail "series of a chip that is gone"

# It ends as a service should.
kill -TERM "$server"
status=0
wait "$server" || status=$?
[[ $status == 0 ]] || fail "status $status at SIGTERM"
[[ ! -e $folder/socket ]] || fail "the socket is left behind"
# The socket of a killed server is reused.
serve --listen "unix:$folder/socket"
disown "$server"
kill -KILL "$server"
gone() { ! kill -0 "$server" 2>/dev/null; }
waits gone
[[ -S $folder/socket ]] || fail "the file of the socket is gone with the server that was killed"
serve --listen "unix:$folder/socket"
[[ $(ask GET /metrics) == 200* ]] || fail "does not take over"
# Of two that start on such a socket at once, one serves. The other one says that the address is in use.
for pair in {1..20}; do
    python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$folder/pair-$pair"
    : >"$folder/said"
    both=()
    for _ in 1 2; do
        "${run[@]}" exporter --listen "unix:$folder/pair-$pair" 2>>"$folder/said" &
        both+=($!)
    done
    pids+=("${both[@]}")
    one_ended() { ! kill -0 "${both[0]}" 2>/dev/null || ! kill -0 "${both[1]}" 2>/dev/null; }
    one_serves() { grep -q "serving metrics" "$folder/said"; }
    waits one_ended || fail "two servers on one stale socket"
    waits one_serves || fail "no server on a stale socket"
    kill "${both[@]}" 2>/dev/null || :
    ends=()
    for one in "${both[@]}"; do
        status=0
        wait "$one" || status=$?
        ends+=("$status")
    done
    pids=("${pids[@]:0:${#pids[@]}-2}") # others may have these numbers from now on
    [[ ${ends[*]} == "0 6" || ${ends[*]} == "6 0" ]] || fail "two on a stale socket end with ${ends[*]}"
    [[ $(grep -c "the address is in use" "$folder/said") == 1 && ! -e $folder/pair-$pair ]] || fail "two on a stale socket leave it, or say something else"
done
mkdir "$folder/locked"
flock "$folder/locked" timeout 60 "${run[@]}" exporter --listen "unix:$folder/locked/socket" 2>"$folder/said" </dev/null && fail "serves in a locked folder"
grep -q "another program has locked the folder" "$folder/said" || fail "does not say that the folder is locked"

# A card that is gone is reported as down, without other series.
mkdir -p "$folder/root/sys/class/sidra" "$folder/root/sys/bus/pci/devices"
card() {
    mkdir -p "$folder/root/sys/devices/0000:01:00.0" "$folder/root/sys/class/sidra/sidra0"
    ln -sfn ../../../devices/0000:01:00.0 "$folder/root/sys/class/sidra/sidra0/device"
    echo c0ffee00-0000-4000-8000-000000000000 >"$folder/root/sys/class/sidra/sidra0/uuid"
    echo 16777216 >"$folder/root/sys/class/sidra/sidra0/l3_size"
}
card
labels='{device="sidra0",bdf="0000:01:00.0",uuid="c0ffee00-0000-4000-8000-000000000000"}'
ask GET /metrics >/dev/null
grep -qxF "sidra_l3_size_bytes$labels 16777216" "$folder/body" || fail "no card: $(grep sidra0 "$folder/body")"
rm -r "$folder/root/sys/class/sidra/sidra0"
ask GET /metrics >/dev/null
[[ $(grep 'sidra0' "$folder/body") == "sidra_up$labels 0" ]] || fail "of a card that is gone: $(grep sidra0 "$folder/body")"

# A card whose driver is unbound and bound again has one name at a time.
function=$folder/root/sys/bus/pci/devices/0000:01:00.0
mkdir "$function"
echo 0x5349 >"$function/vendor"
echo 0x5931 >"$function/device"
up() { [[ $(ask GET /metrics) == 200* ]] && grep -c '^sidra_up.*bdf="0000:01:00.0"' "$folder/body"; }
[[ $(up) == 1 ]] || fail "of a card whose driver has gone: $(grep ^sidra_up "$folder/body")"
grep -q '^sidra_up{device="0000:01:00.0"' "$folder/body" || fail "by its node still: $(grep ^sidra_up "$folder/body")"
card
[[ $(up) == 1 ]] || fail "of a card whose driver has come: $(grep ^sidra_up "$folder/body")"
grep -qxF "sidra_up$labels 0" "$folder/body" || grep -qxF "sidra_up$labels 1" "$folder/body" || fail "not by its node: $(grep ^sidra_up "$folder/body")"

# Every option is in the manual.
for option in $("$smi" exporter --help | grep -oE -- '--[a-z-]+' | sort -u); do
    [[ $option =~ ^--(help|chip|root|runtime|version)$ ]] || grep -qF -- "$option" <(sed 's/\\-/-/g' tools/sidra-smi/exporter/sidra-smi-exporter.1) || fail "the manual page does not know $option"
done

if [[ ! $tools ]]; then
    echo "exporter: no Prometheus: the alert rules were not tested, and nothing scraped the metrics" >&2
    exit 77
fi
echo "metrics are what was published${scraped:-}"
