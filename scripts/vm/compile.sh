#!/bin/bash
# SPDX-License-Identifier: MIT
# compile.sh PART...: the part of build.sh inside the guest's root.
set -euo pipefail
cd /src

release() {
    if [[ ! -f /build/release/build.ninja ]]; then
        if ! cmake --preset release -B /build/release >/build/release.configure.log 2>&1; then
            cat /build/release.configure.log
            return 1
        fi
    fi
    local options=()
    [[ -t 1 ]] || options=(--quiet) # as in scripts/check.sh
    cmake --build /build/release -j "$JOBS" --target sidra-guest -- "${options[@]}"
}

# Builds a folder with a Kbuild. kbuild writes beside its sources, and the tree must not be modified: compile in a folder of links, one per
# kernel and instrumentation.
modules() { # folder in the tree; kernel: empty or -debug; instrumentation: empty or a name; variables of make
    local tree=/build/tree$2$3 results=/build/${1##*/}$2$3 headers=(/usr/lib/modules/*/build)
    [[ -z $2 ]] || headers=(/mnt/build) # headers of the debug kernel, see build.sh
    mkdir -p "$tree" "$results"
    cp -rsf --parents "$PWD/$1" "$PWD/uapi" "$PWD/firmware/image" "$tree"
    find "$tree" -xtype l -delete # files removed from the tree
    make --no-print-directory -C "${headers[0]}" M="$tree$PWD/$1" -j "$JOBS" "${@:4}" modules
    find "$tree$PWD/$1" -name '*.ko' -exec cp -pu -t "$results" {} +
}

kmod() {
    if [[ -f kmod/Kbuild ]]; then
        modules kmod "${1:-}" "${2:-}" "${@:3}"
    else
        echo "vm: this tree has no kmod/Kbuild: the guest gets no driver"
    fi
}

broken() {
    [[ ! -f tests/vm/broken/Kbuild ]] || modules tests/vm/broken "${1:-}" ""
}

jitter() { modules tests/vm/jitter "" ""; }

kmod-debug() { kmod -debug; }
# Without the passes that make a constant return value part of a jump: a line `return -EINVAL;` would have no code of its own, and no count.
kmod-debug-coverage() {
    kmod -debug -coverage GCOV_PROFILE=y \
        KCFLAGS="-fno-tree-ccp -fno-tree-forwprop -fno-tree-fre -fno-tree-vrp -fdisable-tree-sccopy1" 2> >(grep -v 'note: disable pass' >&2)
}
kmod-debug-kcov() { kmod -debug -kcov KCOV_INSTRUMENT=y; }
broken-debug() { broken -debug; }

# For coverage.py: what each boot, and the driver's pure code in a process (tests/kmod), have counted, as gcov of the compiler that has compiled
# it says it. gcov wants notes and counts in one folder.
coverage() {
    local folder
    cmake --preset release -B /build/unit -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS=--coverage -DCMAKE_EXE_LINKER_FLAGS=--coverage >/dev/null
    cmake --build /build/unit --parallel "$JOBS" --target sidra-test-kmod -- --quiet
    find /build/unit -name '*.gcda' -delete
    /build/unit/tests/sidra-test-kmod --gtest_brief=1
    mkdir -p /build/coverage/unit
    find /build/unit -name 'pure.c.gc??' -exec cp -t /build/coverage/unit {} +
    for folder in /build/coverage/*/; do
        [[ $folder == */unit/ ]] || cp -t "$folder" /build/tree-debug-coverage/src/kmod/*.gcno
        (cd "$folder" && gcov --json-format --stdout ./*.gcda) >"${folder%/}.json"
    done
}

for part in "$@"; do
    $part
done
