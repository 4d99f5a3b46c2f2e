#!/bin/bash
# SPDX-License-Identifier: MIT
# fuzz.sh [MINUTES [SEED]]: fuzzes the driver's system calls in the VM, on the debug kernel, guided by what they execute of the driver (tests/vmfuzz), for so long
# (default 10), from a seed (default: another one each time). Fails if the kernel reports anything.
# fuzz.sh FILE: runs the programs again that such a run has kept, and prints what their calls return.
# Logs are in build/vm-fuzz; build/vm-fuzz/keep/last has the programs that ran last. Into build/figures/driver.json go the number of reports (vm_fuzz_reports;
# null: the guest did not come to its end) and the minutes (vm_fuzz_minutes).
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
logs=build/vm-fuzz
scripts/vm/build.sh . release kmod-debug-kcov || exit
list=$(mktemp)
trap 'rm -f "$list"' EXIT
minutes=${1:-10}
if [[ -f $minutes ]]; then
    mkdir -p build/vm
    cp "$minutes" build/vm/fuzz-replay
    echo "replay 600 tests/vm/fuzz.py --replay /build/fuzz-replay" >"$list"
elif [[ $minutes =~ ^[0-9]+(\.[0-9]+)?$ ]]; then
    seed=${2:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
    echo "fuzz: $minutes minutes from seed $seed"
    # Deadlines on the debug kernel are four times as long.
    awk -v minutes="$minutes" -v seed="$seed" 'BEGIN { printf "fuzz %d tests/vm/fuzz.py --minutes %s --seed %s\n", minutes * 15 + 150, minutes, seed }' >"$list"
else
    echo "fuzz: '$minutes' is neither a number of minutes nor a file of programs" >&2
    exit 2
fi
rm -rf "$logs/keep"
scripts/vm/check.py --kernel debug --module build/vm/kmod-debug-kcov/sidra.ko --device sidra,profile=small --once --logs $logs "$list"
status=$?
sed -n 's/^ *# \([0-9]* programs\)/fuzz: \1/p' $logs/tap | tail -n 1
((status == 0)) || echo "fuzz: to run the last programs again: make vm-fuzz PROGRAMS=$logs/keep/last"
if [[ ! -f $minutes ]]; then
    reports=null
    [[ ! -e $logs/reports ]] || reports=$(wc -l <$logs/reports)
    scripts/figures.py build/figures/driver.json <<<"{\"vm_fuzz_reports\": $reports, \"vm_fuzz_minutes\": $minutes}"
fi
exit $status
