#!/bin/bash
# SPDX-License-Identifier: MIT
# uapi.sh [update]: compares the contracts in uapi/ (types, macros, numbers of calls) with their states when their versions were last raised:
# uapi/sidra_accel.abi and uapi/sidra_hw.abi. A difference fails. update: stores the new state of each contract whose version was raised.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

for tool in abidw abidiff gcc; do
    command -v $tool >/dev/null || { echo "uapi: $tool is not here (Debian: abigail-tools, gcc)" >&2; exit 1; }
done

# The names of little-endian types are no part of a contract. abidiff would see less behind a type whose name has changed, such as a sign.
types=(-Dsidra_le16=uint16_t -Dsidra_le32=uint32_t -Dsidra_le64=uint64_t -Dsidra_les16=int16_t -Dsidra_les32=int32_t)

# Writes the state of a contract. A variable references all that its headers define, because debug information contains only used types. It
# has no macros, so enums contain their values; one for each number, also for that of an enumerator, because abidiff does not see that an
# enumerator gets the value that another one of its enum has or had.
state() { # headers...; the result is $folder/uapi.abi
    local includes number numbers
    includes=$(printf '#include "%s"\n' "$@")
    mapfile -t numbers < <(
        comm -12 <(gcc -E -dM -x c -I uapi - <<<"$includes" | sed -nE 's/^#define (SIDRA_\w+) .+/\1/p' | sort) \
            <(sed -nE 's/^#define[ \t]+(SIDRA_\w+).*/\1/p' "${@/#/uapi/}" | sort -u)
        sed -nE 's/^\t(SIDRA_\w+)[ \t]*(=.*|,.*)?$/\1/p' "${@/#/uapi/}"
    )
    {
        echo "$includes"
        for number in "${numbers[@]}"; do echo "enum number_$number { value_of_$number = $number };"; done
        echo "struct {"
        sed -nE 's/^((struct|union|enum) (\w+)) \{/    \1 \3;/p' "${@/#/uapi/}"
        for number in "${numbers[@]}"; do echo "    enum number_$number number_$number;"; done
        echo "} sidra_uapi;"
    } >"$folder/uapi.c"
    gcc -std=gnu11 "${types[@]}" -g -shared -fPIC -I uapi -o "$folder/uapi.so" "$folder/uapi.c" || return
    abidw --no-corpus-path --no-comp-dir-path --no-show-locs --out-file "$folder/uapi.abi" "$folder/uapi.so" || return
    sed -i "s|$folder/||" "$folder/uapi.abi" # remove the path of the temporary folder
}

# Another contract's version does not count: a program compares each version alone.
check() { # baseline, version, whether to update it, headers...
    local difference
    state "${@:4}" || return
    # The exit status consists of bits; 1 and 2 are errors of abidiff, others are differences.
    difference=$(abidiff --no-show-locs "$1" "$folder/uapi.abi") && return
    ((($? & 3) == 0)) || { echo "uapi: abidiff failed: $difference" >&2; return 1; }
    echo "$difference"
    if [[ $3 != update ]]; then
        echo "uapi: ${*:4}: not what $1 says. An addition raises $2_MINOR, with a line in the changelog; then: scripts/uapi.sh update" >&2
        return 1
    fi
    [[ $(version "$1" "$2") != "$(version "$folder/uapi.abi" "$2")" ]] || { echo "uapi: $2 was not raised (docs/uapi.md)" >&2; return 1; }
    cp "$folder/uapi.abi" "$1"
}
version() { sed -nE "s/.*name='value_of_($2_M[A-Z]+)' value='([0-9]+)'.*/\1=\2/p" "$1"; } # baseline, version

status=0
check uapi/sidra_accel.abi SIDRA_UAPI_VERSION "${1:-}" sidra_accel.h || status=1
check uapi/sidra_hw.abi SIDRA_HW_VERSION "${1:-}" sidra_hw.h sidra_cmd.h sidra_state.h sidra_monitor.h sidra_vector.h sidra_publish.h || status=1
exit $status
