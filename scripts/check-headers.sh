#!/bin/bash
# SPDX-License-Identifier: MIT
# Checks that every public header compiles on its own, twice in a row, in C11 and C++, with -pedantic, for 64 and 32 bits (as in the
# firmware, without a C library), with each installed compiler; and that the compilers warn of each result of sidra.hpp that must be used and
# is not.
set -euo pipefail
cd "$(dirname "$0")/.."
top=$PWD folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

headers=(uapi/*.h firmware/{image,include}/*.h qemu-device/chip/include/*.h libsidra/include/sidra/*.h*)
failures=0
checks=0

try() { # compiler, arguments, headers of one language
    local output
    checks=$((checks + 1))
    # ccache keeps the output of whole compilations, by relative names of files.
    if ! output=$(cd "$folder" && ccache "$@" -Wall -Wextra -Wpedantic -Wundef -Werror -c -o out.o 2>&1); then
        printf '%s\n%s\n' "$*" "$output" >&2
        failures=$((failures + 1))
    fi
}

multiarch=$(gcc -print-multiarch)
bits32=(-m32 -ffreestanding -isystem "/usr/include/$multiarch")
[[ $multiarch == x86_64-* ]] || bits32=()

for header in "${headers[@]}"; do
    printf '#include "%s"\n' "$header" "$header" | tee "$folder/twice.c" >"$folder/twice.cpp"
    options=("-I$top")
    [[ $header == firmware/* ]] && options+=("-I$top/uapi") # it includes headers of uapi/
    for compiler in gcc clang g++ clang++; do
        twice=(-std=c11 twice.c)
        [[ $compiler == *++ ]] && twice=(-std=c++20 twice.cpp)
        command -v "$compiler" >/dev/null || continue
        if [[ $header == *.hpp ]]; then # a C++ wrapper, which needs the C++ library
            [[ $compiler == *++ ]] && try "$compiler" "${options[@]}" "-I$top/libsidra/include" "${twice[@]}"
            continue
        fi
        try "$compiler" "${options[@]}" "${twice[@]}"
        ((${#bits32[@]} == 0)) || try "$compiler" "${options[@]}" "${bits32[@]}" "${twice[@]}"
    done
done
# A program that uses none of these results, and with USE as a cast to void one that uses all.
cat >"$folder/results.cpp" <<'EOF'
#include <sidra/sidra.hpp>
void context_synchronize(sidra::Context& one) { USE(one.synchronize(sidra::Deadline::poll())); }
void context_status(sidra::Context& one) { USE(one.status()); }
void event_done(sidra::Event& one) { USE(one.done()); }
void event_synchronize(sidra::Event& one) { USE(one.synchronize(sidra::Deadline::poll())); }
void stream_done(sidra::Stream& one) { USE(one.done()); }
void stream_synchronize(sidra::Stream& one) { USE(one.synchronize(sidra::Deadline::poll())); }
void stream_run(sidra::Stream& one, sidra::Model& model) { USE(one.run(model, 0, {}, {}, sidra::Deadline::poll())); }
EOF
for compiler in g++ clang++; do
    command -v "$compiler" >/dev/null || continue
    compile=("$compiler" -std=c++20 "-I$top/libsidra/include" "$folder/results.cpp")
    try "${compile[@]}" '-DUSE(x)=static_cast<void>(x)'
    checks=$((checks + 1))
    warned=$({ "${compile[@]}" '-DUSE(x)=x' -fsyntax-only 2>&1 || :; } | grep -oE 'results\.cpp:[0-9]+:.*nodiscard' | cut -d: -f2 | sort -u | wc -l)
    if ((warned != 7)); then
        echo "$compiler warns of $warned of 7 results that are not used" >&2
        failures=$((failures + 1))
    fi
done
echo "$((checks - failures)) of $checks header compilations passed"
((failures == 0))
