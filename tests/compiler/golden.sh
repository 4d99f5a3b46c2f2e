#!/bin/bash
# SPDX-License-Identifier: MIT
# golden.sh SIDRA_OPT: runs the lines `// RUN:` of tests/compiler/*/*.mlir, in which %s is the file. FileCheck compares
# the output with the file's comments.
set -uo pipefail
opt=$(realpath "$1")
cd "$(dirname "$0")" || exit
PATH=$(dirname "$opt"):$(llvm-config-19 --bindir):$PATH
if ! command -v FileCheck >/dev/null; then
    echo "golden: install FileCheck (llvm-19-tools)" >&2
    exit 1
fi

failed=0
for file in */*.mlir; do
    mapfile -t commands < <(sed -n 's|^// RUN: ||p' "$file")
    if ((${#commands[@]} == 0)); then
        echo "golden: $file has no line RUN"
        failed=1
    fi
    for command in "${commands[@]}"; do
        if ! output=$(bash -o pipefail -c "${command//%s/$file}" 2>&1); then
            printf 'golden: %s failed:\n%s\n' "${command//%s/$file}" "$output"
            failed=1
        fi
    done
done
exit $failed
