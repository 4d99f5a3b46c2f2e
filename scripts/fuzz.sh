#!/bin/bash
# SPDX-License-Identifier: MIT
# fuzz.sh SECONDS: runs each libFuzzer target of build/fuzz for SECONDS on one core, starting from the corpus in tests/fuzz/corpus and
# inputs found by earlier runs (build/fuzz/found). A failing input is saved, and ends the run of its target; the other targets still run.
# Writes to build/figures/check.json:
#   fuzz_packet_exec_s       inputs per second of target packets
#   fuzz_packet_exec_cpu_s   the same per second of processor time, on which other work on the machine has less influence
set -uo pipefail
cd "$(dirname "$0")/.." || exit

time=$1
targets=(packets stream image mailbox state files model onnx)
# Maximum length of an input, and time limit for one in seconds: a thousand times what any input takes on an idle machine.
declare -A longest=([packets]=769 [stream]=257 [image]=4096 [mailbox]=2048 [state]=4096 [files]=4096 [model]=32768 [onnx]=4096)
patience=20
# packets: libFuzzer ignores how often each edge is taken, since the target itself reports the sizes of units (packets/board.cpp).
declare -A counters=([packets]=0)
# packets: the slower an input, the less often libFuzzer changes it. Each input takes 0.05 ms, but for a few packets that are large and accepted,
# which take 10 ms; as often as the others, they take half of the time.
declare -A scale=([packets]=1)
# packets: detecting uses of a function's variables after its return takes a third of the time, so only the other targets do it.
declare -A use_after_return=([packets]=0)

export UBSAN_OPTIONS=print_stacktrace=1
TIMEFORMAT='%U %S'
mkdir -p build/figures
failures=()
for target in "${targets[@]}"; do
    found=build/fuzz/found/$target
    log=build/fuzz/$target.log
    corpus=("$found")
    [[ ! -d tests/fuzz/corpus/$target ]] || corpus+=("tests/fuzz/corpus/$target")
    mkdir -p "$found"
    rm -f "build/fuzz/$target"-{crash,leak,oom,timeout,slow-unit}-*
    export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:allocator_may_return_null=1
    ASAN_OPTIONS+=:detect_stack_use_after_return=${use_after_return[$target]:-1}
    { time build/fuzz/tests/fuzz/sidra-fuzz-"$target" "${corpus[@]}" -max_total_time="$time" -max_len="${longest[$target]}" \
        -use_counters="${counters[$target]:-1}" -entropic_scale_per_exec_time="${scale[$target]:-0}" -timeout=$patience -malloc_limit_mb=512 -rss_limit_mb=4096 -print_final_stats=1 \
        -artifact_prefix="build/fuzz/$target-" >"$log" 2>&1; } 2>"$log.time"
    status=$?
    inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    speed=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
    cpu_speed=$(awk -v inputs="${inputs:-0}" '{ printf "%d", inputs / ($1 + $2 + 0.01) }' "$log.time")
    if ((status == 0 && ${inputs:-0} == 0)); then
        echo "fuzz: $target: it has run no inputs"
        failures+=("$target")
    elif ((status == 0)); then
        echo "fuzz: $target: $inputs inputs, ${speed:-0} a second ($cpu_speed a second of processor time), nothing found"
    else
        echo "fuzz: $target: an input fails"
        failures+=("$target")
    fi
    [[ $target != packets || -z $speed ]] ||
        scripts/figures.py build/figures/check.json <<<"{\"fuzz_packet_exec_s\": $speed, \"fuzz_packet_exec_cpu_s\": $cpu_speed}"
done
for target in "${failures[@]}"; do
    echo "== $target: the end of build/fuzz/$target.log"
    grep -vE '^#[0-9]+|^stat::|^INFO: ' "build/fuzz/$target.log" | tail -n 40
    input=$(find build/fuzz -maxdepth 1 -name "$target-*-*" -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d' ' -f2)
    echo "fuzz: once more: build/fuzz/tests/fuzz/sidra-fuzz-$target ${input:-}"
done
((${#failures[@]} == 0))
