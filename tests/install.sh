#!/bin/bash
# SPDX-License-Identifier: MIT
# install.sh BUILD_DIR EXAMPLE OUTPUT...: the files of `make install` suffice to build and run the example of README.md,
# with pkg-config and with CMake, and those of docs/programs.md; each program comes with its manual page and its
# completion, and runs without the source tree, with the libraries of its own prefix; the udev rule is installed with
# the group that it names; nothing outside of the prefix is changed.
set -euo pipefail
build=$1 example=$2
shift 2
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
fail() {
    echo "install: $*" >&2
    exit 1
}

# `make install` builds no tests.
make -n install SIDRA_SETUP=skip >"$root/make" || fail "make -n install: $(cat "$root/make")"
grep -q 'cmake --install build/install' "$root/make" || fail "make install installs another tree than build/install"
cmake --preset install -B "$root/tree" >"$root/log" 2>&1 || { cat "$root/log" >&2; fail "the preset install"; }
tests=$(ninja -C "$root/tree" -t targets all | grep -c 'sidra-test-') || :
[[ $tests == 0 ]] || fail "make install builds $tests targets of tests"

stage=$root/stage
DESTDIR=$stage cmake --install "$build" >"$root/log" || { cat "$root/log" >&2; fail "cmake --install"; }
prefix=$stage$(sed -n 's/^CMAKE_INSTALL_PREFIX:PATH=//p' "$build/CMakeCache.txt")
outside=$(find "$stage" -not -type d -not -path "$prefix/*")
[[ -z $outside ]] || fail "files outside of the prefix: $outside"
library=$(find "$prefix" -name libsidra.so -printf '%h\n' | head -n 1)
[[ -n $library ]] || fail "no libsidra.so"
grep -rlIF "$PWD" "$stage" && fail "installed files name the source tree"
readelf -d "$library/libsidra.so" | grep -E 'RPATH|RUNPATH' && fail "libsidra.so looks for libraries in a place of the build"

programs=("$prefix"/bin/* "$prefix"/sbin/*)
[[ " ${programs[*]##*/} " == *" sidra-demo "* ]] || fail "no sidra-demo among ${programs[*]}"
for program in "${programs[@]}"; do
    name=${program##*/}
    section=1
    [[ $program == "$prefix"/bin/* ]] || section=8
    [[ -f $prefix/share/man/man$section/$name.$section ]] || fail "no manual page of $name"
    [[ -f $prefix/share/bash-completion/completions/$name ]] || fail "no completion of $name"
    env -u LD_LIBRARY_PATH "$program" --help >"$root/help" || fail "$name --help"
    [[ $name != sidra-demo ]] || grep -qF "$prefix/share/sidra/digits.bin" "$root/help" || fail "sidra-demo does not take the digits beside it"
    [[ $name != sidra-demo ]] || grep -qF "$prefix/share/sidra/convnet.bin" <("$program" convnet --help) || fail "sidra-demo does not take the network beside it"
done
for file in sidra/sidra-smi.schema.json sidra/prometheus/sidra.rules.yml sidra/grafana/sidra.json sidra/sidra-exporter.service.d/user.conf \
    zsh/site-functions/_sidra-smi fish/vendor_completions.d/sidra-smi.fish; do
    [[ -f $prefix/share/$file ]] || fail "no $file"
done
# The drop-in reverts the settings that hide the folders in which users publish models.
for setting in DynamicUser ProtectHome PrivateTmp; do
    grep -q "^$setting=yes" "$prefix"/lib/systemd/system/sidra-exporter.service || fail "the service does not set $setting: the drop-in need not change it"
    grep -qE "^$setting=(no|read-only)" "$prefix/share/sidra/sidra-exporter.service.d/user.conf" || fail "the drop-in keeps $setting"
done
while read -r group; do
    grep -q "^g $group " "$prefix/lib/sysusers.d/sidra.conf" || fail "nobody makes the group $group of udev's rule"
    groups=1
done < <(sed -n 's/.*GROUP="\([^"]*\)".*/\1/p' "$prefix/lib/udev/rules.d/60-sidra.rules" | sort -u)
[[ -n ${groups:-} ]] || fail "udev's rule names no group"

export PKG_CONFIG_SYSROOT_DIR=$stage PKG_CONFIG_PATH=$library/pkgconfig
if command -v pkg-config >/dev/null; then
    read -ra flags < <(pkg-config --cflags --libs sidra)
    cc -std=c11 -Wall -Wextra -Werror "$example" -o "$root/example" "${flags[@]}"
    cc -std=c11 -Wall -Wextra -Werror libsidra/examples/digits.c -o "$root/digits" "${flags[@]}" || fail "digits.c needs more than pkg-config says"
    output=$(LD_LIBRARY_PATH=$library "$root/example")
    [[ $output == "$*" ]] || fail "with pkg-config: '$output'"
fi

mkdir "$root/project"
cat >"$root/project/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.25)
project(example LANGUAGES C)
find_package(Sidra REQUIRED)
add_executable(example "$example")
target_link_libraries(example PRIVATE Sidra::sidra)
EOF
cmake -S "$root/project" -B "$root/project/build" -DCMAKE_PREFIX_PATH="$prefix" >"$root/log" 2>&1 || { cat "$root/log" >&2; fail "find_package(Sidra)"; }
cmake --build "$root/project/build" >"$root/log" 2>&1 || { cat "$root/log" >&2; fail "building with CMake"; }
output=$("$root/project/build/example")
[[ $output == "$*" ]] || fail "with CMake: '$output'"

# The programs of docs/programs.md, with warnings as errors.
tests/listings.py docs/programs.md "$root/programs" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror" ||
    fail "docs/programs.md"
echo "installed, and built with pkg-config and CMake"
