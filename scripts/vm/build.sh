#!/bin/bash
# SPDX-License-Identifier: MIT
# build.sh [SOURCE [PART...]]: compiles a tree (default: this one) for the guest, with the guest's own compiler and kernel headers: in the
# guest's root, at the host's speed. PART: `release` (the preset), `kmod`, `broken`; default: all. The results are in SOURCE/build/vm.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=scripts/vm/common.sh
. "$here/common.sh"

# In there the tree is /src and build/vm is /build, whatever they are called out here: so objects are the same for every checkout, and one
# compiler cache serves them all.
if [[ ${1:-} == --inside ]]; then
    root=$2 source=$3
    enter_root "$root" "$source" "$source/build/vm"
    mount --bind "$vm_cache/ccache" ccache
    exec chroot . /usr/bin/env -i PATH=/usr/sbin:/usr/bin HOME=/tmp LANG=C.UTF-8 JOBS="${JOBS:-$(nproc)}" CCACHE_DIR=/ccache CCACHE_MAXSIZE=1G \
        /build/compile.sh "${@:4}"
fi

source=$(readlink -f "${1:-$here/../..}")
[[ -f $source/CMakePresets.json ]] || fail "$source is not a checkout of this repository"
parts=("${@:2}")
((${#parts[@]})) || parts=(release kmod broken)
root=$("$here/root.sh")
mkdir -p "$source/build/vm" "$vm_cache/ccache"
exec {lock}>"$source/build/vm/lock"
flock $lock
cp "$here/compile.sh" "$source/build/vm/"
as_root "$here/build.sh" --inside "$root/root" "$source" "${parts[@]}"
