#!/bin/bash
# SPDX-License-Identifier: MIT
# uapi.sh [update]: compares the contract in uapi/ (types, macros, numbers of calls) with uapi/sidra.abi, its state when a version was last
# raised. A difference fails. update: stores the new state, if a version was raised.
set -euo pipefail
cd "$(dirname "$0")/.."

baseline=uapi/sidra.abi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

for tool in abidw abidiff gcc; do
    command -v $tool >/dev/null || { echo "uapi: $tool is not here (Debian: abigail-tools, gcc)" >&2; exit 1; }
done

# A variable that references everything, because debug information contains only used types. It has no macros, so an enum contains their
# values.
headers=(sidra_accel.h sidra_cmd.h sidra_vector.h sidra_hw.h sidra_publish.h)
includes=$(printf '#include "%s"\n' "${headers[@]}")
{
    echo "$includes"
    echo "enum sidra_macros {"
    gcc -E -dM -x c -I uapi - <<<"$includes" | sed -nE 's/^#define (SIDRA_\w+) .+/\1/p' | sort | sed 's/.*/    value_of_& = &,/'
    echo "};"
    echo "struct {"
    sed -nE 's/^((struct|union|enum) (\w+)) \{/    \1 \3;/p' "${headers[@]/#/uapi/}"
    echo "    enum sidra_macros macros;"
    echo "} sidra_uapi;"
} >"$folder/uapi.c"
gcc -std=gnu11 -g -shared -fPIC -I uapi -o "$folder/uapi.so" "$folder/uapi.c"
abidw --no-corpus-path --no-comp-dir-path --no-show-locs --out-file "$folder/uapi.abi" "$folder/uapi.so"
sed -i "s|$folder/||" "$folder/uapi.abi" # remove the path of the temporary folder

# The exit status consists of bits; 1 and 2 are errors of abidiff, others are differences.
difference=$(abidiff --no-show-locs $baseline "$folder/uapi.abi") && exit
((($? & 3) == 0)) || { echo "uapi: abidiff failed: $difference" >&2; exit 1; }
echo "$difference"
version() { sed -nE "s/.*name='value_of_(SIDRA_(UAPI|HW)_VERSION_M[A-Z]+)' value='([0-9]+)'.*/\1=\3/p" "$1"; }
if [[ ${1:-} != update ]]; then
    echo "uapi: not what $baseline says. An addition raises SIDRA_UAPI_VERSION_MINOR or SIDRA_HW_VERSION_MINOR, with a line in the changelog; then: scripts/uapi.sh update" >&2
    exit 1
fi
[[ $(version $baseline) != "$(version "$folder/uapi.abi")" ]] || { echo "uapi: no version was raised (docs/uapi.md)" >&2; exit 1; }
cp "$folder/uapi.abi" $baseline
