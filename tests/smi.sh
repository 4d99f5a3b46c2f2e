#!/bin/bash
# SPDX-License-Identifier: MIT
# smi.sh SIDRA_SMI: the program as it is shipped, on trees of files like the driver's: its output (tests/smi/golden) and
# its exit status.
set -euo pipefail
smi=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "smi: $*" >&2
    cat "$folder/said" >&2
    exit 1
}
# ends STATUS TEXT COMMAND...: ends with this status, says the text on standard error in one line, and nothing on standard output.
ends() {
    local wanted=$1 text=$2 status=0
    shift 2
    "$@" >"$folder/out" 2>"$folder/said" </dev/null || status=$?
    [[ $status == "$wanted" ]] || fail "status $status instead of $wanted: $*"
    grep -qF -- "$text" "$folder/said" || fail "does not say '$text': $*"
    [[ ! -s $folder/out ]] || fail "prints something: $*"
    [[ $(wc -l <"$folder/said") == 1 ]] || fail "says more than a line: $*"
}
gives() { # status, command...: ends with this status; what it printed is in $folder/out
    local wanted=$1 status=0
    shift
    "$@" >"$folder/out" 2>"$folder/said" </dev/null || status=$?
    [[ $status == "$wanted" ]] || fail "status $status instead of $wanted: $*"
}
golden() { # name of the golden file, command..., which ends with $status
    gives "${status:-0}" "${@:2}"
    # Except for the time and the user.
    sed -E -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{12}Z/TIME/' -e 's/("uid": )[0-9]+/\1UID/' \
        -e 's/("user": )"[^"]+"/\1"USER"/' -e 's/^([0-9]+,sidra[0-9]+,[0-9]+,)[^,]*,[^,]*,/\1UID,USER,/' \
        -e 's/^( +[0-9]+ +[0-9]+) [^ ]+ +/\1 USER /' -e 's/^[0-9]{2}:[0-9]{2}:[0-9]{2} /hh:mm:ss /' "$folder/out" >"$folder/same"
    diff "tests/smi/golden/$1" "$folder/same" >"$folder/said" || fail "other than tests/smi/golden/$1: ${*:2}"
}

# A tree with cards: node and place of each.
tree() { # folder, N...
    python3 - "$@" <<'PYTHON'
import os, struct, sys
root = sys.argv[1]
def put(path, data):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())
for number in map(int, sys.argv[2:]):
    bdf = f"0000:0{number + 1}:00.0"
    function = f"sys/devices/pci0000:00/0000:00:03.0/{bdf}"
    for name, text in [("vendor", "0x5349\n"), ("device", "0x5931\n"), ("current_link_speed", "16.0 GT/s PCIe\n"),
                       ("max_link_speed", "16.0 GT/s PCIe\n"), ("current_link_width", "8\n"), ("max_link_width", "8\n"),
                       ("numa_node", "-1\n"), ("local_cpulist", "0-3\n"), ("reset", ""), ("hwmon/hwmon3/power1_cap", "60000000\n")]:
        put(f"{function}/{name}", text)
    os.makedirs(f"{root}/sys/bus/pci/devices", exist_ok=True)
    os.symlink(f"../../../devices/pci0000:00/0000:00:03.0/{bdf}", f"{root}/sys/bus/pci/devices/{bdf}")
    node = f"sys/class/sidra/sidra{number}"
    # magic, version, size, valid; clock to dma_errors; crossbars to reserved0; engines to spare columns; status to throttles.
    page = struct.pack("<IHHQ", 0x4C544453, 1, 512, 15) + struct.pack("<18Q", 10**9, *range(1, 18))
    page += struct.pack("<4I", 6400, 128, 0, 0) + struct.pack("<iIII", 45500, 12250, 10**6, 0) + struct.pack("<10Q", *range(18, 28))
    page += struct.pack("<5I", 0x510, 7, 1, 99, 0) + struct.pack("<ii5I", 95000, 105000, 60000, 10000, 75000, 1200000, 4)
    put(f"{node}/telemetry", page.ljust(512, b"\0"))
    for name, text in [("uuid", f"c0ffee0{number}-0000-4000-8000-000000000000\n"), ("hw_version", "2.0\n"), ("driver_version", "1.1\n"),
                       ("firmware_version", "1.0.3\n"), ("resets", "6\n"), ("features", "0x1\n"), ("geometry", "10 32 20\n"),
                       ("l3_size", "16777216\n"), ("l3_free", "16773120\n"), ("nvm_size", "1048576\n"), ("pids", ""),
                       ("firmware_slots", "running=A active=A trial=B starts=0 security=1 failed=-\n"), ("firmware_update", ""),
                       ("firmware_activate", ""), ("firmware_log", "[0.001] running\n\x1b[31mred\n"), ("clock_level", "2\n"),
                       ("clock_khz_levels", "600000 800000 1000000\n"), ("campaign", "state=done number=3 percent=100 off=17\n")]:
        put(f"{node}/{name}", text)
    os.symlink(f"../../../devices/pci0000:00/0000:00:03.0/{bdf}", f"{root}/{node}/device")
PYTHON
}
mkdir "$folder/empty"
tree "$folder/one" 0
tree "$folder/two" 0 1
tree "$folder/bare" 0
rm -r "$folder/bare/sys/class"
one=("$smi" --root "$folder/one") two=("$smi" --root "$folder/two") bare=("$smi" --root "$folder/bare") none=("$smi" --root "$folder/empty")

# What it prints.
golden query.json "${two[@]}" query --format json --fields index,name,uuid,temperature,utilization,pid,ready,numa.node
golden query.csv "${two[@]}" query --format csv --why --fields index,name,pci.speed,numa.node,packets
golden query.text "${one[@]}" query --why --fields 'power.*,pid,version.*,macs,clock.device,l3.*,energy,macs.rate'
golden list.text "${two[@]}" list
golden topo.text "${one[@]}" topo
status=8 golden health.text "${one[@]}" health
golden summary.text "${two[@]}"
golden fw.text "${one[@]}" fw show
golden clock.text "${one[@]}" clock
golden power.text "${one[@]}" power
golden log.text "${one[@]}" log
golden refresh.text "${one[@]}" refresh --show
# Users: one visible process, one whose files are unreadable, and cards without information.
tree "$folder/users" 0 1 2
users=$folder/users
mkdir -p "$users"/proc/47{11,12}/fd "$users/proc/4711/fdinfo"
echo train >"$users/proc/4711/comm"
echo "qu,oted" >"$users/proc/4712/comm"
ln -s /dev/sidra0 "$users/proc/4711/fd/3"
printf '%s:\t%s\n' drm-driver sidra drm-client-id 17 drm-pdev 0000:01:00.0 sidra-contexts 2 sidra-queues 5 drm-engine-mvm "1000 ns" \
    drm-engine-vec "2 ns" drm-engine-copy "3 ns" drm-engine-program "4 ns" drm-total-memory "64 KiB" >"$users/proc/4711/fdinfo/3"
printf '4711\n4712\n' >"$users/sys/class/sidra/sidra0/pids"
rm "$users/sys/class/sidra/sidra1/pids"
rm -r "$users/sys/class/sidra/sidra2"
for format in text json csv; do golden "ps.$format" "$smi" --root "$users" ps --format "$format"; done
golden watch.text "${two[@]}" watch -n 0.01 -c 1
golden watch-units.text "${one[@]}" watch -n 0.01 -c 1 --fields name,power,clock.device,copy.bytes,energy,macs
for text in summary list watch; do
    [[ $(wc -L <tests/smi/golden/$text.text) -le 80 ]] || fail "$text is wider than a terminal"
done
grep -q $'\x1b' <("${one[@]}") && fail "colours in a pipe"

# The same chip by all of its names.
for chip in 1 0000:02:00.0 02:00.0 sidra1 /dev/sidra1 c0ffee01 C0FFEE01-0000-4000-8000-000000000000; do
    gives 0 "${two[@]}" query --fields name --format csv --chip "$chip"
    [[ $(tail -n 1 "$folder/out") == sidra1 ]] || fail "--chip $chip is not sidra1"
done

# Every line of watch is a JSON document.
gives 0 "${two[@]}" watch -n 0.01 -c 5 --format json --fields all
python3 - "$folder/out" <<'PYTHON' || fail "watch --format json"
import json, sys
lines = open(sys.argv[1]).read().splitlines()
assert len(lines) == 5
for line in lines:
    whole = json.loads(line)
    assert whole["schema"] == "sidra-smi/1" and [chip["index"] for chip in whole["chips"]] == [0, 1]
    assert whole["chips"][0]["pid"] is None and whole["chips"][0]["packets"] == 1
PYTHON
gives 0 "${one[@]}" watch -n 0.01 -c 3 --format csv --fields name,pid,packets
[[ $(cut -d, -f2- "$folder/out" | paste -sd' ') == "name,pid,packets sidra0,,1 sidra0,,1 sidra0,,1" ]] || fail "watch --format csv"

# Every command has JSON, which follows the installed schema: the end of this script checks all of it.
documents=()
json() { # status, command as the JSON names it, arguments...
    gives "$1" "${@:3}" --format json
    documents+=("$2" "$folder/document-${#documents[@]}")
    cp "$folder/out" "${documents[-1]}"
}
tree "$folder/json" 0
in_json=("$smi" --root "$folder/json")
for command in list topo power clock; do json 0 "$command" "${in_json[@]}" "$command"; done
json 0 query "${in_json[@]}" query --why --fields all,debug
json 0 fields "${in_json[@]}" query --help-fields
json 0 watch "${in_json[@]}" watch -n 0.01 -c 3
json 0 ps "$smi" --root "$users" ps
json 8 health "${in_json[@]}" health
json 0 events "${in_json[@]}" events
json 9 health "${bare[@]}" health
json 9 doctor "${in_json[@]}" doctor
json 9 diag "${in_json[@]}" diag
json 0 diag "$smi" diag --model
json 0 log "${in_json[@]}" log
json 0 dump "${in_json[@]}" dump
json 0 refresh "${in_json[@]}" refresh --show
for command in show update activate; do json 0 "fw $command" "${in_json[@]}" fw "$command"; done
json 0 power "${in_json[@]}" power --limit 42.5
json 0 clock "${in_json[@]}" clock --level 1
# The map of a chip, which has only this format: crossbar 5 has two bad cells, and 6,399 is in use.
python3 - "$folder/json/sys/class/sidra/sidra0/crossbars" <<'PYTHON'
import struct, sys
header = lambda uid, stuck: struct.pack("<QIIHHIQ", uid, 0, 1, 0, 0, stuck, 0)
open(sys.argv[1], "wb").write(b"".join(header(9 if i == 6399 else 0, 2 if i == 5 else 0) for i in range(6400)))
PYTHON
gives 0 "${in_json[@]}" map
cp "$folder/out" "$folder/document-map"
documents+=(map "$folder/document-map")
python3 - "$folder/out" <<'PYTHON' || fail "map: $(cat "$folder/out")"
import json, sys
chip, = json.load(open(sys.argv[1]))["chips"]
assert (chip["clusters"], chip["cus_per_cluster"], chip["crossbars_per_cu"]) == (10, 32, 20)
assert chip["bad"] == [{"crossbar": 5, "cells": 2}] and chip["in_use"] == [6399]
PYTHON
ends 1 "no SIDRA card found" "${none[@]}" map
# Commands without --format or without CSV refuse it with a message.
ends 2 "'csv' is not supported here: use text or json" "${in_json[@]}" health --format csv
ends 2 "--format" "${in_json[@]}" exporter --once --format json
gives 0 "${in_json[@]}" query --help-fields --format csv
[[ $(wc -l <"$folder/out") -gt 80 && $(head -n 1 "$folder/out") == name,unit,kind,metric,debug,description ]] || fail "query --help-fields --format csv"
# The manual page names the commands without --format, and under each command the options that this one has.
python3 - "$smi" >"$folder/said" 2>&1 <<'PYTHON' || fail "the manual page promises something else"
import re, subprocess, sys
page = open("tools/sidra-smi/sidra-smi.1").read().replace("\\-", "-")
def help_of(*command):
    return subprocess.run([sys.argv[1], *command, "--help"], check=True, capture_output=True, text=True).stdout
def options(text):
    return set(re.findall("--[a-z][a-z-]*", text))
def commands(text):
    return re.findall(r"^  ([a-z]+) ", text.partition("ubcommands:")[2], re.M)
entries = dict(re.findall(r"^\.TP\n\.BR? \"?([a-z]+)\b(.*?)(?=^\.TP|^\.SH)", page.partition("SH COMMANDS")[2].partition(".SH EXIT")[0] + ".SH", re.M | re.S))
exceptions = set(re.findall(r"^\.BR? ([a-z]+)", re.search("All commands but\n(.*?)support text and JSON", page, re.M | re.S)[1], re.M))
found = []
for command in commands(help_of()):
    has = help_of(command)
    for inner in commands(has):
        has += help_of(command, inner)
    has = options(has)
    if ("--format" in has) == (command in exceptions):
        found.append(f"{command} {'has' if '--format' in has else 'has no'} --format")
    promised, whole = options(entries[command].partition("\n")[0]), options(entries[command])
    found += [f"{command} has no {option}" for option in promised - has]
    found += [f"{command} {option} is not there" for option in has - whole - {"--help", "--format"} if command != "top"]
    if re.search("options of", entries[command].partition("\n")[0]):
        found.append(f"{command} has the options of another command")
sys.exit("\n".join(found) or None)
PYTHON
# Fields for debugging only are not part of `all`.
gives 0 "${in_json[@]}" query --format csv
grep -q "doorbells" "$folder/out" && fail "all has fields for debugging"
gives 0 "${in_json[@]}" query --format csv --fields debug
grep -q "doorbells" "$folder/out" || fail "debug has no fields for debugging"

# The values that the kernel receives.
gives 0 "${one[@]}" power --limit 42.5
[[ $(<"$folder/one/sys/bus/pci/devices/0000:01:00.0/hwmon/hwmon3/power1_cap") == 42500000 ]] || fail "power --limit"
gives 0 "${one[@]}" clock --level 1
[[ $(head -c 1 "$folder/one/sys/class/sidra/sidra0/clock_level") == 1 ]] || fail "clock --level"
gives 0 "${one[@]}" fw update
[[ $(<"$folder/one/sys/class/sidra/sidra0/firmware_update") == 1 ]] || fail "fw update"
grep -q "slot B was already on trial" "$folder/out" || fail "fw update with a slot to be tried"
gives 0 "${one[@]}" fw activate
[[ $(<"$folder/one/sys/class/sidra/sidra0/firmware_activate") == 1 ]] || fail "fw activate"
# The result of an update: here the written 1 overwrites the first trial=, as if the driver had stored the image.
tree "$folder/update" 0
slots=$folder/update/sys/class/sidra/sidra0/firmware_slots
echo " trial=- trial=B running=A active=A starts=0 security=1 failed=-" >"$slots"
gives 0 "$smi" --root "$folder/update" fw update
grep -q "nothing to do" "$folder/out" || fail "fw update to what runs"
for attribute in update activate; do ln -sf firmware_slots "${slots%_slots}_$attribute"; done
golden fw-update.text "$smi" --root "$folder/update" fw update
printf ' ' | dd of="$slots" conv=notrunc status=none
gives 0 "$smi" --root "$folder/update" fw activate
grep -q "slot B is tried at the next reset" "$folder/out" || fail "fw activate does not say what is next"
echo "running=A active=A trial=- starts=0 security=1 failed=B" >"$slots"
gives 0 "$smi" --root "$folder/update" fw show
grep -q "slot B failed its trial" "$folder/out" || fail "fw show does not say what failed"

# An error is one line, with the exit status of the table in the manual.
ends 2 "no such field: 'nope'" "${one[@]}" query --fields index,nope
ends 2 "no such field: ''" "${one[@]}" query --fields index,
ends 2 "no such field: '?[31mred?'" "${one[@]}" query --fields $'\e[31mred\n'
ends 2 "xxx..." "${one[@]}" query --fields "$(printf 'x%.0s' {1..100000})"
ends 2 "--root: Directory does not exist: $folder/nowhere" "$smi" --root "$folder/nowhere" list
ends 2 "--root: Directory is actually a file" "$smi" --root "$0" list
ends 2 "sidra-smi --help" "${one[@]}" query --nope
ends 2 "no such command: 'nope'" "${one[@]}" nope
ends 2 "sidra-smi --help" "${one[@]}" query --format xml
ends 2 "sidra-smi --help" "${one[@]}" watch -n 0
ends 2 "empty selector beside a comma" "${one[@]}" list --chip 0,
ends 2 "2 cards match: select one of them with --chip" "${two[@]}" reset
ends 2 "not between 10 W and 75 W" "${one[@]}" power --limit 80
ends 2 "no level 3" "${one[@]}" clock --level 3
ends 2 "crossbars 0 to 6399" "${one[@]}" refresh --first 6399 --count 2
ends 2 "crossbars 0 to 6399" "${one[@]}" calibrate --first 6400
ends 2 "sidra-smi --help" "${one[@]}" calibrate --ppm 3
ends 1 "no SIDRA card found" "${none[@]}"
ends 1 "no SIDRA card found" "${none[@]}" query
ends 1 "no such chip: '7' (see sidra-smi list)" "${two[@]}" list --chip 7
sed -i 's/c0ffee01/c0ffee00/; s/0000$/0001/' "$folder/two/sys/class/sidra/sidra1/uuid"
ends 2 "matches both sidra0 and sidra1" "${two[@]}" list --chip c0ffee00
ends 3 "has no driver" "${bare[@]}" fw update
# shellcheck disable=SC2016 # another shell's
ends 64 "cannot write to standard output: No space left" sh -c '"$0" "$@" >/dev/full' "${one[@]}" query
# shellcheck disable=SC2016
# A reader that closes the pipe early, like `head`, ends the program silently, as by SIGPIPE.
set +o pipefail
"${one[@]}" watch -n 0.01 --format csv 2>"$folder/said" | head -n 2 >/dev/null
piped=("${PIPESTATUS[@]}")
set -o pipefail
[[ ${piped[0]} == 141 && ! -s $folder/said ]] || fail "watch | head: status ${piped[0]}"

# What was mistyped.
ends 2 "no such command: 'qeury' (did you mean 'query'?)" "${one[@]}" qeury
ends 2 "no such command: 'topp' (did you mean" "${one[@]}" topp --format json
ends 2 "no such command: 'frobnicate' (see sidra-smi help)" "${one[@]}" frobnicate
ends 2 "no such command: 'healht' (did you mean 'health'?)" "${one[@]}" help healht
gives 0 "$smi" help
grep -q "^  watch  *print fields periodically" "$folder/out" || fail "help lists no commands"
gives 0 "$smi" help watch
grep -q -- "--interval" "$folder/out" || fail "help watch"

# A variable that was not set selects nothing: it must not reset the only card.
for empty in "" " " ","; do
    ends 2 "selector" "${one[@]}" -i "$empty" reset
    ends 2 "selector" "${one[@]}" list -i "$empty"
done
[[ ! -s $folder/one/sys/bus/pci/devices/0000:01:00.0/reset ]] || fail "an empty selector has reset the card"

# Models: an unsupported command is not reported as a lack of cards, or as too many of them. One model is stale.
coproc PUBLISHER { exec tests/publish.py "$folder/run" 2; }
to_publisher=${PUBLISHER[1]}
read -r first <&"${PUBLISHER[0]}"
read -r second <&"${PUBLISHER[0]}"
models=("$smi" --root "$folder/empty" --runtime "$folder/run")
ends 2 "is an embedded model: it can be monitored but not managed" "${models[@]}" -i 0,1 reset
ends 2 "$first is an embedded model" "${models[@]}" -i 0 clock --level 1
ends 1 "no SIDRA card found; embedded models can be monitored but not managed" "${models[@]}" reset
for command in power clock; do
    gives 0 "${models[@]}" "$command"
    [[ $(grep -c "^[0-9]*-[01]: " "$folder/out") == 2 ]] || fail "$command does not show models"
    json 0 "$command" "${models[@]}" "$command"
done
gives 0 "${models[@]}" query --why --fields pci.speed
grep -q "not applicable: embedded model" "$folder/out" || fail "query --why of a model"
echo "stale 1" >&"$to_publisher"
until [[ $("${models[@]}" -i 1 query --fields stale --format csv | tail -n 1) == yes ]]; do sleep 0.02; done
gives 0 "${models[@]}" list
grep -q "^1 .* stale$" "$folder/out" || fail "list does not mark a stale chip"
gives 0 "${models[@]}" -i 1 query --format json --fields temperature,packets,utilization,status,name --why
python3 - "$folder/out" <<'PYTHON' || fail "query of a stale chip"
import json, sys
chip = json.load(open(sys.argv[1]))["chips"][0]
assert chip["status"] == "stale" and chip["temperature"] is chip["packets"] is chip["utilization"] is None, chip
assert chip["why"]["temperature"].startswith("stale"), chip
PYTHON
gives 0 "${models[@]}" ps
grep -q "$second is stale: no data for " "$folder/out" || fail "ps does not mark a stale chip"
json 0 ps "${models[@]}" ps
json 8 health "${models[@]}" health
gives 0 "${models[@]}"
grep -q "stale" "$folder/out" || fail "the summary does not mark a stale chip"
exec {to_publisher}>&-
wait "$PUBLISHER_PID" 2>/dev/null || :

# The exit status of health.
gives 9 "${bare[@]}" health
grep -q "no driver is bound" "$folder/out" || fail "health without a driver"
gives 9 "${bare[@]}" doctor
grep -q "modprobe sidra" "$folder/out" || fail "doctor without a driver"
gives 8 "${none[@]}" doctor

# A chip in the process instead of a card: every step succeeds. The clock of a card in a tree of files stands still, unless
# it is moved.
gives 0 "$smi" diag --model --level full
[[ $(awk '{ print $1, $2 }' "$folder/out" | paste -sd,) == "open ok,copy ok,program ok,multiply ok" ]] || fail "diag --model"
gives 0 "$smi" diag --model
[[ $(awk '{ print $1, $2 }' "$folder/out") == "open ok" ]] || fail "diag --model --level quick does more than to open it"
gives 9 "${one[@]}" diag
grep -q "^registers *FAILED .*the clock of the chip stands still" "$folder/out" || fail "diag of a clock that stands still"
ends 3 "has no driver" "${bare[@]}" diag --level full
# The driver may give the same page several times: here until two readings have had it, and then for the count of reads again.
cat >"$folder/moving.py" <<'PYTHON'
import ctypes, os, subprocess, sys, threading
CLOCK, READS, IN_CLOSE_NOWRITE, EVENT = 16, 64, 0x10, 16
libc = ctypes.CDLL(None)
watch = libc.inotify_init()
assert watch >= 0 and libc.inotify_add_watch(watch, sys.argv[1].encode(), IN_CLOSE_NOWRITE) >= 0
def move():
    page = os.open(sys.argv[1], os.O_RDWR)
    for offset in CLOCK, READS:
        readings = 0
        while readings < 2:
            readings += len(os.read(watch, 64 * EVENT)) // EVENT
        os.pwrite(page, (int.from_bytes(os.pread(page, 8, offset), "little") + 1).to_bytes(8, "little"), offset)
threading.Thread(target=move, daemon=True).start()
sys.exit(subprocess.call(sys.argv[2:]))
PYTHON
tree "$folder/moving" 0
gives 0 python3 "$folder/moving.py" "$folder/moving/sys/class/sidra/sidra0/telemetry" "$smi" --root "$folder/moving" diag
grep -q "^registers *ok .*register reads are counted" "$folder/out" || fail "diag of a clock that is read seldom"

# Dumps of this card only.
dumps=$folder/one/sys/class/devcoredump
mkdir -p "$dumps"/devcd{1,2,3}
ln -s ../../sidra/sidra0 "$dumps/devcd1/failing_device"
ln -s ../../../bus/pci/devices/0000:01:00.0 "$dumps/devcd2/failing_device"
ln -s ../../other/gpu0 "$dumps/devcd3/failing_device"
for n in 1 2 3; do echo "dump $n" >"$dumps/devcd$n/data"; done
golden dump.text "${one[@]}" dump
ends 64 "cannot create the folder $folder/no/where" "${one[@]}" dump --save "$folder/no/where"
gives 0 "${one[@]}" dump --save "$folder/saved"
[[ $(cat "$folder"/saved/*) == "dump 2"$'\n'"dump 1" ]] || fail "dump --save"
# Saved again it goes to the same file; a different dump of the same name gets the next name, and nothing is lost.
gives 0 "${one[@]}" dump --save "$folder/saved"
[[ $(cat "$folder"/saved/*) == "dump 2"$'\n'"dump 1" ]] || fail "dump --save, twice"
echo "another boot's" >"$folder/saved/sidra0-devcd1.dump"
ln -s nowhere "$folder/saved/sidra0-devcd1-2.dump"
gives 0 "${one[@]}" dump --save "$folder/saved"
[[ $(<"$folder/out") == "$folder/saved/sidra0-devcd1-3.dump"$'\n'"$folder/saved/0000:01:00.0-devcd2.dump" ]] || fail "dump --save beside another"
[[ $(cat "$folder/saved/sidra0-devcd1.dump" "$folder/saved/sidra0-devcd1-3.dump") == "another boot's"$'\n'"dump 1" ]] || fail "dump --save has overwritten"
[[ -L $folder/saved/sidra0-devcd1-2.dump && ! -e $folder/saved/nowhere ]] || fail "dump --save follows a link"
# An oversized dump and an unreadable one are reported; the other one is saved.
mv "$dumps/devcd1/data" "$dumps/devcd1/kept"
ln -s /dev/zero "$dumps/devcd1/data"
gives 64 "${one[@]}" dump --save "$folder/others"
[[ $(<"$folder/out") == "$folder/others/0000:01:00.0-devcd2.dump" && $(wc -l <"$folder/said") == 1 ]] || fail "dump --save of one that cannot be read"
rm "$dumps/devcd1/data"
gives 64 "${one[@]}" dump --save "$folder/others"
grep -q "devcd1/data" "$folder/said" || fail "dump --save of one that is gone"
mv "$dumps/devcd1/kept" "$dumps/devcd1/data"

# A campaign that is followed to something else than its end: the message starts on the line after the progress bar.
tree "$folder/campaign" 0
campaign=$folder/campaign/sys/class/sidra/sidra0/campaign
follows() { # status, what it says, what the driver reports once 40 % were shown
    echo "refresh 0 6400 20000 state=running number=3 percent=40 off=1" >"$campaign" # also once the command is written over its beginning
    rm -f "$folder/typescript"
    script -qefc "'$smi' --root '$folder/campaign' refresh" "$folder/typescript" >"$folder/said" </dev/null &
    until grep -q ' 40 %' "$folder/typescript" 2>/dev/null; do sleep 0.05; done
    echo "$3" >"$campaign.new"
    mv "$campaign.new" "$campaign"
    local status=0
    wait $! || status=$?
    [[ $status == "$1" ]] || fail "status $status of a campaign that becomes '$3'"
    grep -q "^$2" "$folder/typescript" || fail "does not say '$2' of a campaign that becomes '$3'"
}
follows 0 "sidra0: campaign 3 done, 100 %, 1 cells out of tolerance" "state=done number=3 percent=100 off=1"
follows 64 "sidra-smi: " ""
follows 8 "sidra0: campaign 3 aborted, 50 %" "state=aborted number=3 percent=50 off=1"
follows 8 "sidra-smi: sidra0: how campaign 3 ended is unknown: the firmware now reports campaign 4" "state=done number=4 percent=100 off=0"
follows 8 "sidra-smi: sidra0: how campaign 3 ended is unknown: the firmware now reports none" "state=none number=0 percent=0 off=0"
follows 8 "sidra0: campaign 3 failed, 60 %" "state=failed number=3 percent=60 off=1"
# What somebody else aborts before it is read is not done either; shown, it is what was asked for.
echo "refresh 0 6400 20000 state=aborted number=3 percent=40 off=1" >"$campaign"
gives 0 "$smi" --root "$folder/campaign" refresh --show
gives 8 "$smi" --root "$folder/campaign" refresh --no-wait
echo "refresh 0 6400 20000 state=running number=3 percent=40 off=1" >"$campaign"
gives 0 "$smi" --root "$folder/campaign" refresh --no-wait

# When one of two watched cards disappears, that is reported once and the other is watched on. Then the last one
# disappears.
tree "$folder/leaving" 0 1
"$smi" --root "$folder/leaving" watch -n 0.05 --format csv --fields name >"$folder/out" 2>"$folder/said" &
watcher=$!
lines() { # of card $1, at least $2
    until [[ $(grep -c "$1" "$folder/out") -ge $2 ]]; do sleep 0.02; done
}
lines sidra1 2
rm -r "$folder/leaving/sys/bus/pci/devices/0000:02:00.0" "$folder/leaving/sys/class/sidra/sidra1"
lines sidra0 $(($(grep -c sidra0 "$folder/out") + 4))
rm -r "$folder/leaving/sys/bus/pci/devices/0000:01:00.0" "$folder/leaving/sys/class/sidra/sidra0"
status=0
wait "$watcher" || status=$?
[[ $status == 5 && $(paste -sd, <"$folder/said") == "sidra-smi: sidra1 is gone,sidra-smi: sidra0 is gone" ]] || fail "watch of two cards that go: status $status"

# A card that is in use.
python3 -c 'import sys; f = open(sys.argv[1], "r+b"); f.seek(168); f.write(b"\2\0\0\0")' "$folder/two/sys/class/sidra/sidra0/telemetry"
status=0
"${two[@]}" reset --chip 0 >"$folder/out" 2>"$folder/said" || status=$?
[[ $status == 6 ]] || fail "reset of a card in use: status $status"
grep -q "2 contexts would be lost" "$folder/said" || fail "does not say why it does not reset"
[[ ! -s $folder/two/sys/bus/pci/devices/0000:01:00.0/reset ]] || fail "a card in use was reset"

# Without root.
if ((EUID == 0)) && command -v setpriv >/dev/null; then
    chmod 755 "$folder" && chmod -R go+rX "$folder/two"
    chmod 600 "$folder/two/sys/class/sidra/sidra1/firmware_log"
    nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    if "${nobody[@]}" test -x "$smi"; then
        gives 0 "${nobody[@]}" "${two[@]}" query --chip 1
        ends 4 "root is required" "${nobody[@]}" "${two[@]}" log --chip 1
        ends 4 "root is required" "${nobody[@]}" "${two[@]}" clock --level 1 --chip 1
    fi
fi

# A link in a folder of all users is followed if it is ours, or the owner's of the folder; what another user has put there
# must not choose the file that root writes.
mkdir -m 1777 "$folder/shared"
echo old >"$folder/target"
ln -s ../target "$folder/shared/link"
ln -s shared/link "$folder/to-link"
gives 0 "${one[@]}" slurm --output "$folder/to-link"
[[ -L $folder/to-link && -L $folder/shared/link ]] || fail "a link is lost"
grep -q "/dev/sidra0" "$folder/target" || fail "a link is not followed"
ln -s link "$folder/shared/loop"
ln -sf loop "$folder/shared/link"
ends 64 "Too many levels of symbolic links" "${one[@]}" slurm --output "$folder/shared/loop"
ln -sf ../target "$folder/shared/link"
if ((EUID == 0)); then
    echo old >"$folder/target"
    chown --no-dereference 65534 "$folder/shared/link"
    for name in shared/link to-link; do
        ends 64 "$folder/shared/link is another user's link" "${one[@]}" slurm --output "$folder/$name"
    done
    [[ $(<"$folder/target") == old && -L $folder/shared/link ]] || fail "another user's link is followed"
    [[ $(ls "$folder/shared") == $'link\nloop' ]] || fail "something is left beside another user's link"
    chown 65534 "$folder/shared"
    gives 0 "${one[@]}" slurm --output "$folder/shared/link"
    grep -q "/dev/sidra0" "$folder/target" || fail "a link of the folder's owner is not followed"
fi

tests/smi/schema.py tools/sidra-smi/sidra-smi.schema.json "${documents[@]}" 2>"$folder/said" || fail "JSON does not follow the schema"
