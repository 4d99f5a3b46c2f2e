#!/bin/bash
# SPDX-License-Identifier: MIT
# check.sh PRESET...: builds each preset (`vm`: what the guest runs) and runs its tests, all of them also when an earlier one failed; then one summary.
# JOBS: how many at once (default: one a CPU).
set -uo pipefail
cd "$(dirname "$0")/.." || exit

jobs=${JOBS:-$(nproc)}
folders=()
for preset in "$@"; do
    if [[ $preset == vm ]]; then # no preset of the host
        folders+=(build/vm build/vm-selftest)
        scripts/vm/check.sh
        continue
    fi
    folder=build/$preset
    folders+=("$folder")
    rm -rf "$folder/ctest.xml" "$folder/results"
    targets=()
    [[ $preset == tsan ]] && targets=(--target sidra-tests-threads)
    echo "== $preset: build"
    make --no-print-directory "$folder/build.ninja" || continue
    cmake --build "$folder" -j "$jobs" "${targets[@]}" || continue
    echo "== $preset: test"
    ctest --preset "$preset" -j "$jobs" --no-tests=error --output-junit ctest.xml
done
echo "== summary"
exec python3 scripts/summary.py "${folders[@]}"
