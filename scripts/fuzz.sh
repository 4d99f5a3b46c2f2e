#!/bin/bash
# SPDX-License-Identifier: MIT
# fuzz.sh SECONDS: runs each libFuzzer target of build/fuzz for SECONDS on one core, starting from the corpus in tests/fuzz/corpus and
# inputs found by earlier runs (build/fuzz/found). A failing input is saved, and ends the run of its target; the other targets still run.
# Writes to build/figures/check.json:
#   fuzz_packet_exec_s   inputs per second of target packets
set -uo pipefail
cd "$(dirname "$0")/.." || exit

time=$1
targets=(packets stream image mailbox state files)
# Maximum length of an input, and time limit for one in seconds: a thousand times what any input takes on an idle machine.
declare -A longest=([packets]=769 [stream]=257 [image]=4096 [mailbox]=2048 [state]=4096 [files]=4096)
patience=20

export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1
mkdir -p build/figures
failures=()
for target in "${targets[@]}"; do
    found=build/fuzz/found/$target
    log=build/fuzz/$target.log
    corpus=("$found")
    [[ ! -d tests/fuzz/corpus/$target ]] || corpus+=("tests/fuzz/corpus/$target")
    mkdir -p "$found"
    rm -f "build/fuzz/$target"-{crash,leak,oom,timeout,slow-unit}-*
    build/fuzz/tests/fuzz/sidra-fuzz-"$target" "${corpus[@]}" -max_total_time="$time" -max_len="${longest[$target]}" \
        -timeout=$patience -malloc_limit_mb=512 -rss_limit_mb=4096 -print_final_stats=1 -artifact_prefix="build/fuzz/$target-" >"$log" 2>&1
    status=$?
    inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    speed=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
    if ((status == 0)); then
        echo "fuzz: $target: ${inputs:-0} inputs, ${speed:-0} a second, nothing found"
    else
        echo "fuzz: $target: an input fails"
        failures+=("$target")
    fi
    [[ $target != packets || -z $speed ]] || scripts/figures.py build/figures/check.json <<<"{\"fuzz_packet_exec_s\": $speed}"
done
for target in "${failures[@]}"; do
    echo "== $target: the end of build/fuzz/$target.log"
    grep -vE '^#[0-9]+|^stat::|^INFO: ' "build/fuzz/$target.log" | tail -n 40
    input=$(find build/fuzz -maxdepth 1 -name "$target-*-*" -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d' ' -f2)
    echo "fuzz: once more: build/fuzz/tests/fuzz/sidra-fuzz-$target ${input:-}"
done
((${#failures[@]} == 0))
