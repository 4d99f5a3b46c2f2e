#!/bin/bash
# SPDX-License-Identifier: MIT
# setup.sh GROUP...: installs the Debian packages of these groups (all: of every group) that the machine lacks. If none is missing, it is silent and
# instant.
# SIDRA_SETUP=skip: trust the machine (other distributions).
set -euo pipefail

declare -A why=(
    [make]="the front door"
    [base]="compilers (also the firmware's) and their cache, build system, text, option, crypto, kernel interface, terminal, serialisation, configuration and hash libraries, test framework"
    [aarch64]="the compiler for AArch64, and what runs its programs here"
    [check]="the tests' independent arithmetic, a debugger for the chip's firmware, what compares interfaces, what formats manual pages, and a terminal"
    [qemu]="what QEMU is built with, and its firmware"
    [bench]="the peers that sidra-bench measures against"
    [network]="what fetches and converts the weights of a network"
    [torch]="what makes a virtual environment of Python, and network namespaces"
    [lint]="formatter and static checkers"
    [kubernetes]="the library of the kubelet's protocol, for sidra-device-plugin, and what reads manifests"
    [compiler]="MLIR, in which the compiler of networks is written, what reads ONNX, and ONNX's stored tests"
    [fuzz]="the compiler that has libFuzzer, and what puts names into its reports"
    [vm]="what makes the VM's root, and what decides conditions of a source"
)
declare -A packages=(
    [make]="make"
    [base]="g++ ccache cmake ninja-build pkg-config libfmt-dev libcli11-dev libgtest-dev libdrm-dev liburing-dev libsodium-dev libncurses-dev libflatbuffers-dev flatbuffers-compiler libxxhash-dev libtomlplusplus-dev gcc-riscv64-unknown-elf python3"
    [aarch64]="g++-aarch64-linux-gnu qemu-user"
    [check]="python3-numpy abigail-tools libunicorn-dev gdb-multiarch man-db tmux"
    [qemu]="dpkg-dev debian-archive-keyring patch xz-utils python3-venv libglib2.0-dev libfdt-dev zlib1g-dev seabios qemu-system-data"
    [bench]="libdnnl-dev libopenblas-dev libopenblas0-pthread"
    [network]="python3-numpy python3-pip"
    [torch]="python3-venv iproute2"
    [lint]="clang clang-format clang-tidy shellcheck"
    [kubernetes]="libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc python3-yaml"
    [compiler]="libmlir-19-dev mlir-19-tools llvm-19-dev llvm-19-tools libonnx-dev libonnx-testdata libprotobuf-dev protobuf-compiler zlib1g-dev libzstd-dev libedit-dev libcurl4-openssl-dev libxml2-dev"
    [fuzz]="clang libclang-rt-dev llvm"
    [vm]="mmdebstrap debian-archive-keyring erofs-utils zstd uidmap unifdef"
)

fail() {
    printf 'setup: %s\n' "$@" >&2
    exit 1
}

[[ ${SIDRA_SETUP:-} == skip ]] && exit 0
[[ $* != all ]] || set -- "${!packages[@]}"

wanted=()
for group in "$@"; do
    [[ -n ${packages[$group]:-} ]] || fail "no group '$group'; there are: all ${!packages[*]}"
    read -ra list <<<"${packages[$group]}"
    wanted+=("${list[@]}")
done

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    fail "this is not a Debian system, so packages cannot be installed here by themselves." \
        "Install what these Debian packages hold: ${wanted[*]}" \
        "then run again with SIDRA_SETUP=skip in the environment."
fi

# dpkg-query fails if it does not know one of the packages, but still lists the others.
installed=" $({ dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "${wanted[@]}" 2>/dev/null || :; } | sed -n 's/^ii *//p' | tr '\n' ' ')"
missing=()
for group in "$@"; do
    lacking=()
    for package in ${packages[$group]}; do
        [[ $installed == *" $package "* ]] || lacking+=("$package")
    done
    if ((${#lacking[@]})); then
        echo "setup: installing ${lacking[*]} (${why[$group]})"
        missing+=("${lacking[@]}")
    fi
done
((${#missing[@]})) || exit 0

as_root=()
if ((EUID != 0)); then
    by_hand="sudo apt-get update && sudo apt-get install --no-install-recommends ${missing[*]}"
    command -v sudo >/dev/null || fail "installing needs root, and there is no sudo. As root: ${by_hand//sudo /}"
    if ! sudo -n true 2>/dev/null && ! [[ -t 0 ]]; then
        fail "sudo needs a password, and there is no terminal to ask on. Please run: $by_hand"
    fi
    as_root=(sudo)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@" >"$log" 2>&1 </dev/null; }
# The package lists of a fresh machine are empty or outdated.
if ! apt install --no-install-recommends "${missing[@]}"; then
    if ! apt update || ! apt install --no-install-recommends "${missing[@]}"; then
        cat "$log" >&2
        fail "apt-get could not install ${missing[*]}; its messages are above."
    fi
fi
