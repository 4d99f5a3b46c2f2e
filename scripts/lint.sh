#!/bin/bash
# SPDX-License-Identifier: MIT
# lint.sh BUILD_DIR: everything that can be said about the sources without running them. All checks run; any finding fails.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

jobs=${JOBS:-$(nproc)}
failures=()
step() { # name, command; 77 means skipped
    local name=$1
    shift
    echo "== $name"
    "$@"
    local status=$?
    ((status == 0 || status == 77)) || failures+=("$name")
}

licences() { # every file of ours says its licence on one of its first three lines
    local file status=0
    while read -r file; do
        if ! head -n 3 "$file" | grep -q 'SPDX-License-Identifier: '; then
            echo "$file: no SPDX-License-Identifier in its first lines"
            status=1
        fi
    done < <(find CMakeLists.txt Makefile .ci scripts uapi qemu-device libsidra tests tools -type f \
        \( -name '*.[ch]' -o -name '*.[ch]pp' -o -name '*.inc' -o -name '*.py' -o -name '*.sh' -o -name '*.cmake' \
        -o -name CMakeLists.txt -o -name Makefile -o -name run \) 2>/dev/null)
    return $status
}

# A source is looked at again when it, or any header, or the rules have changed since it was last found clean.
tidy() {
    command -v clang-tidy >/dev/null || return 77
    local stamps=$1/lint
    mkdir -p "$stamps"
    local newest
    newest=$(find libsidra qemu-device uapi tools .clang-tidy \( -name '*.h' -o -name '*.hpp' -o -name '*.inc' -o -name .clang-tidy \) \
        -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d' ' -f2-)
    find libsidra qemu-device tools -name '*.cpp' | grep -Ff <(sed -n 's|.*"file": ".*/\(.*\)".*|/\1|p' "$1/compile_commands.json") |
        while read -r source; do
            stamp=$stamps/${source//\//,}
            [[ $stamp -nt $source && $stamp -nt $newest ]] || echo "$source"
        done | xargs -r -P "$jobs" -I{} bash -c '
            if output=$(clang-tidy --quiet -p "$1" --extra-arg=-Wno-unknown-warning-option "$2" 2>&1); then
                touch "$3/${2//\//,}"
            else
                grep -Ev "^[0-9]+ warnings? (generated|treated)|^Suppressed|^Use -" <<<"$output"
                exit 1
            fi' _ "$1" {} "$stamps"
    return "${PIPESTATUS[2]}"
}

step licences licences
step shellcheck shellcheck scripts/*.sh tests/*.sh .ci/run
step headers scripts/check-headers.sh
step format scripts/format.sh --check
step clang-tidy tidy "$1"
if ((${#failures[@]})); then
    echo "lint: findings in ${failures[*]}"
    exit 1
fi
echo "lint: clean"
