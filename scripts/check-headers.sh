#!/bin/bash
# SPDX-License-Identifier: MIT
# Checks that every public header compiles on its own, twice in a row, in C11 and C++, with -pedantic, for 64 and 32 bits (as in the
# firmware, without a C library), with each installed compiler.
set -euo pipefail
cd "$(dirname "$0")/.."

headers=(uapi/*.h firmware/{image,include}/*.h qemu-device/chip/include/*.h libsidra/include/sidra/*.h*)
failures=0
checks=0

try() { # compiler, arguments, headers of one language
    local output
    checks=$((checks + 1))
    if ! output=$("$@" -Wall -Wextra -Wpedantic -Wundef -Werror -fsyntax-only 2>&1); then
        printf '%s\n%s\n' "$*" "$output" >&2
        failures=$((failures + 1))
    fi
}

multiarch=$(gcc -print-multiarch)
bits32=(-m32 -ffreestanding -isystem "/usr/include/$multiarch")
[[ $multiarch == x86_64-* ]] || bits32=()

for header in "${headers[@]}"; do
    twice=(-include "$header" -include "$header" /dev/null)
    [[ $header == firmware/* ]] && twice+=(-Iuapi) # it includes headers of uapi/
    for compiler in gcc clang g++ clang++; do
        language=(-x c -std=c11)
        [[ $compiler == *++ ]] && language=(-x c++ -std=c++20)
        command -v "$compiler" >/dev/null || continue
        if [[ $header == *.hpp ]]; then # a C++ wrapper, which needs the C++ library
            [[ $compiler == *++ ]] && try "$compiler" "${language[@]}" -Ilibsidra/include "${twice[@]}"
            continue
        fi
        try "$compiler" "${language[@]}" "${twice[@]}"
        ((${#bits32[@]} == 0)) || try "$compiler" "${language[@]}" "${bits32[@]}" "${twice[@]}"
    done
done
echo "$((checks - failures)) of $checks header compilations passed"
((failures == 0))
