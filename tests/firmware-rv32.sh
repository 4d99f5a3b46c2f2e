#!/bin/bash
# SPDX-License-Identifier: MIT
# firmware-rv32.sh: the verifier of firmware images compiles for the chip's core, and needs only those functions of a C
# library that a compiler may emit calls to.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! clang --print-targets 2>/dev/null | grep -w riscv32 >/dev/null; then
    echo "firmware-rv32: no clang for riscv32 here; not checked"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for level in -O0 -Os -O3; do
    for source in firmware/image/*.c; do
        clang --target=riscv32 -march=rv32im -mabi=ilp32 -ffreestanding -std=c11 -Wall -Wextra -Wpedantic -Wundef -Wvla -Wconversion \
            -Wno-sign-conversion -Wmissing-prototypes -Werror "$level" -Iuapi -Ifirmware -c "$source" -o "$folder/$(basename "$source").o"
    done
    readelf -hW "$folder"/*.o | grep -E '^ *(Machine|Flags):' | sort -u >"$folder/kind"
    grep -q 'RISC-V' "$folder/kind" || { echo "firmware-rv32: not for RISC-V" >&2; exit 1; }
    names() { readelf -sW "$folder"/*.o | awk -v undefined="$1" '$5 == "GLOBAL" && ($7 == "UND") == undefined { print $8 }' | sort -u; }
    asked=$(comm -23 <(names 1) <(names 0) | grep -vxE 'mem(cpy|set|cmp|move)' || :)
    [[ -z $asked ]] || { printf 'firmware-rv32: asks for %s at %s\n' "$asked" "$level" >&2; exit 1; }
done
echo "compiles for RV32IM"
