#!/bin/bash
# SPDX-License-Identifier: MIT
# format.sh [--check]: formats the C++ sources, or lists unformatted ones. All sources are formatted with one version of clang-format,
# because versions differ in detail; --check with another version is skipped (77).
set -euo pipefail
cd "$(dirname "$0")/.."

version=14
# shellcheck source=scripts/tree_files.sh
. scripts/tree_files.sh
formatter=
for candidate in clang-format-$version clang-format; do
    if command -v "$candidate" >/dev/null && "$candidate" --version | grep -q "version $version\."; then
        formatter=$candidate
        break
    fi
done

if [[ -z $formatter && ${1:-} == --check ]]; then
    echo "format: clang-format $version is not here; not checked"
    exit 77
fi
if [[ -z $formatter ]]; then
    echo "format: needs clang-format $version (the version that formats the tree; others differ in detail)" >&2
    exit 1
fi
# The driver and the device have the styles of the kernel and of QEMU.
listed=$(tree_files '*.[ch]' '*.[ch]pp' ':!kmod' ':!qemu-device/qemu')
mapfile -t files <<<"$listed"
if [[ ${1:-} == --check ]]; then
    mapfile -t findings < <("$formatter" --dry-run "${files[@]}" 2>&1 | grep -oE '^[a-z][^ :]*\.[a-z]+:[0-9]+:' | sort -u -t: -k1,1)
    ((${#findings[@]})) || exit 0
    printf '%s not formatted (make format)\n' "${findings[@]}"
    exit 1
fi
exec "$formatter" -i "${files[@]}"
