#!/bin/bash
# SPDX-License-Identifier: MIT
# format.sh [--check]: formats the C++ sources, or lists unformatted ones. All sources are formatted with one version of clang-format,
# because versions differ in detail; --check with another version is skipped (77).
set -euo pipefail
cd "$(dirname "$0")/.."

version=14
formatter=
for candidate in clang-format-$version clang-format; do
    if command -v "$candidate" >/dev/null && "$candidate" --version | grep -q "version $version\."; then
        formatter=$candidate
        break
    fi
done

mapfile -t files < <(find firmware libsidra python qemu-device/chip tests tools -name '*.cpp' -o -name '*.h' -o -name '*.hpp' -o -name '*.c' | sort)
if [[ ${1:-} == --check ]]; then
    if [[ -z $formatter ]]; then
        echo "format: clang-format $version is not here; not checked"
        exit 77
    fi
    mapfile -t findings < <("$formatter" --dry-run "${files[@]}" 2>&1 | grep -oE '^[a-z][^ :]*\.[a-z]+:[0-9]+:' | sort -u -t: -k1,1)
    ((${#findings[@]})) || exit 0
    printf '%s not formatted (make format)\n' "${findings[@]}"
    exit 1
fi
if [[ -z $formatter ]]; then
    echo "format: needs clang-format $version (the version that formats the tree; others differ in detail)" >&2
    exit 1
fi
exec "$formatter" -i "${files[@]}"
