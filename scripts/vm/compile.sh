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
# kernel.
modules() { # folder in the tree; kernel: empty or -debug
    local tree=/build/tree$2 results=/build/${1##*/}$2 headers=(/usr/lib/modules/*/build)
    [[ -z $2 ]] || headers=(/mnt/build) # headers of the debug kernel, see build.sh
    mkdir -p "$tree" "$results"
    cp -rsf --parents "$PWD/$1" "$PWD/uapi" "$PWD/firmware/image" "$tree"
    find "$tree" -xtype l -delete # files removed from the tree
    make --no-print-directory -C "${headers[0]}" M="$tree$PWD/$1" -j "$JOBS" modules
    find "$tree$PWD/$1" -name '*.ko' -exec cp -pu -t "$results" {} +
}

kmod() {
    if [[ -f kmod/Kbuild ]]; then
        modules kmod "${1:-}"
    else
        echo "vm: this tree has no kmod/Kbuild: the guest gets no driver"
    fi
}

broken() {
    [[ ! -f tests/vm/broken/Kbuild ]] || modules tests/vm/broken "${1:-}"
}

jitter() { modules tests/vm/jitter ""; }

kmod-debug() { kmod -debug; }
broken-debug() { broken -debug; }

for part in "$@"; do
    $part
done
