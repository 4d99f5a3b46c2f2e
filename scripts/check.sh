#!/bin/bash
# SPDX-License-Identifier: MIT
# check.sh PRESET...: builds each preset (`vm`: what the guest runs; `kmod`: nothing, its tests are builds), then runs the tests of each, all of
# them also when an earlier one failed; then one summary. JOBS: how many at once (default: one a CPU).
set -uo pipefail
cd "$(dirname "$0")/.." || exit

jobs=${JOBS:-$(nproc)}
# shellcheck source=scripts/tree_lock.sh
. scripts/tree_lock.sh
# One line a compiler call is progress for a person; in a log it hides what went wrong.
ninja_options=()
[[ -t 1 ]] || ninja_options=(--quiet)

folders=()
built=()
for preset in "$@"; do
    if [[ $preset == kmod ]]; then
        folders+=(build/kmod)
        built+=(kmod)
        continue
    fi
    echo "== $preset: build"
    if [[ $preset == vm ]]; then # no preset of the host
        folders+=(build/vm build/vm-power-off build/vm-power-on build/vm-selftest)
        rm -rf build/vm{,-power-off,-power-on,-selftest}/{ctest.xml,results}
        scripts/vm/build.sh && built+=(vm)
        continue
    fi
    folder=build/$preset
    folders+=("$folder")
    rm -rf "$folder"/{ctest.xml,results}
    targets=()
    [[ $preset == tsan ]] && targets=(--target sidra-tests-threads)
    # Configured again: what setup.sh has installed since may bring tests with it.
    make --no-print-directory "$folder/build.ninja" &&
        { cmake "$folder" >"$folder.configure.log" 2>&1 || { cat "$folder.configure.log" && false; }; } &&
        cmake --build "$folder" -j "$jobs" "${targets[@]}" -- "${ninja_options[@]}" && built+=("$preset")
done

# Boots that sleep for the most part, beside the other tests. They say what they mean to say: not to be bent by the variables of `make vm`.
beside() {
    local way
    export -n KERNEL SMP IOMMU DEVICES DEVICE STATE_FILE SMALL MEMORY HOTPLUG QEMU_ARGS KERNEL_ARGS
    echo "== vm-selftest: test"
    tests/vm/selftest.py build/vm-selftest
    rm -f build/vm-power-off/state
    mkdir -p build/vm-power-off
    for way in off on; do
        echo "== vm-power-$way: test"
        scripts/vm/check.py --device sidra,profile=small --state-file build/vm-power-off/state --logs build/vm-power-$way tests/vm/power-$way
    done
}
other_boots=
for preset in "${built[@]}"; do
    [[ $preset == vm ]] || continue
    set -m # a process group of their own, to be ended as a whole
    beside >build/vm/beside.log 2>&1 &
    other_boots=$!
    set +m
done
trap '[[ -z $other_boots ]] || kill -- -$other_boots 2>/dev/null' EXIT
for preset in "${built[@]}"; do
    echo "== $preset: test"
    if [[ $preset == kmod ]]; then
        scripts/kmod.sh
    elif [[ $preset == vm ]]; then
        SMALL=${SMALL:-1} scripts/vm/check.py tests/vm/list
    else
        ctest --preset "$preset" -j "$jobs" --no-tests=error --output-junit ctest.xml
    fi
done
if [[ -n $other_boots ]]; then
    wait $other_boots
    other_boots=
    cat build/vm/beside.log
fi
echo "== summary"
exec python3 scripts/summary.py "${folders[@]}"
