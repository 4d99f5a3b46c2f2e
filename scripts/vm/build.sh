#!/bin/bash
# SPDX-License-Identifier: MIT
# build.sh [SOURCE [PART...]]: compiles a tree (default: this one) for the guest, with the guest's compiler and kernel headers, in the
# guest's root on the host, at the host's speed. PART: `release` (the preset), `kmod`, and the modules `broken` and `jitter` of tests/vm;
# default: the first two. With -debug: modules for the debug kernel, which is built first if necessary; KERNEL=debug makes that the default.
# kmod-debug-coverage and kmod-debug-kcov: the driver for that kernel with GCOV or KCOV. coverage: reads what it has counted, for coverage.py.
# Results: SOURCE/build/vm.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=scripts/vm/common.sh
. "$here/common.sh"

# Inside, the tree is /src and build/vm is /build, independent of their names outside. So objects are identical for all checkouts, and they
# share one compiler cache.
if [[ ${1:-} == --inside ]]; then
    root=$2 source=$3 debug_kernel=$4
    enter_root "$root" "$source" "$source/build/vm"
    mount --bind "$vm_cache/ccache" ccache
    [[ -z $debug_kernel ]] || mount --bind "$debug_kernel" mnt
    exec chroot . /usr/bin/env -i PATH=/usr/sbin:/usr/bin HOME=/tmp LANG=C.UTF-8 JOBS="${JOBS:-$(nproc)}" CCACHE_DIR=/ccache CCACHE_MAXSIZE=2G \
        /build/compile.sh "${@:5}"
fi

source=$(readlink -f "${1:-$here/../..}")
[[ -f $source/CMakePresets.json ]] || fail "$source is not a checkout of this repository"
parts=("${@:2}")
if ((!${#parts[@]})); then
    parts=(release kmod)
    [[ ${KERNEL:-} != debug ]] || parts+=(kmod-debug)
fi
root=$("$here/root.sh")
debug_kernel=
[[ ${parts[*]} != *-debug* ]] || debug_kernel=$("$here/debug-kernel.sh")
mkdir -p "$source/build/vm" "$vm_cache/ccache"
exec {lock}>"$source/build/vm/lock"
flock $lock
cp "$here/compile.sh" "$source/build/vm/"
as_root "$here/build.sh" --inside "$root/root" "$source" "$debug_kernel" "${parts[@]}"
