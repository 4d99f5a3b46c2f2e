#!/bin/bash
# SPDX-License-Identifier: MIT
# install.sh: installs the packages of build/packages into a clean Debian 13 that contains only a kernel, its headers, the requirements of
# the VM's harness (Python, busybox), programs for the tests (podman, systemd) and the dependencies of the packages. Prints the folder,
# ready to boot (machine.py --root):
#   root/, root.erofs, vmlinux, release   as created by the VM's root.sh
#   before                                the files before the installation
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=scripts/vm/common.sh
. "$here/../vm/common.sh"

if [[ ${1:-} == --inside ]]; then # packages, folder
    mkdir "$3/root"
    cp -a "$2/root/." "$3/root/"
    # Ignore the databases of dpkg and similar programs.
    (cd "$3/root" && find . -xdev \( -path ./var/lib/dpkg -o -path ./var/cache -o -path ./var/log \) -prune -o -print | LC_ALL=C sort) >"$3/before"
    enter_root "$3/root" "$PWD" "$PWD/build/packages"
    chroot . /usr/bin/env -i PATH=/usr/sbin:/usr/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive /bin/bash -ec 'dpkg --install "$@"' bash "${@:4}" >&2
    exit
fi

cd "$here/../.."
out=build/packages
mapfile -t packages < <(find "$out" -maxdepth 1 -name '*.deb' -not -name '*-dbgsym_*' -printf '%f\n' | sort)
((${#packages[@]})) || fail "there are no packages in $out; make packages makes them."
mapfile -t ours < <(for package in "${packages[@]}"; do dpkg-deb -f "$out/$package" Package; done)
# The first alternative of each dependency, as apt chooses.
mapfile -t needed < <(for package in "${packages[@]}"; do dpkg-deb -f "$out/$package" Depends Pre-Depends Recommends; done |
    sed -E 's/^(Pre-Depends|Depends|Recommends): //; s/, */\n/g' | sed -E 's/ *[|(].*//; s/:any$//; s/ *$//' | sort -u | grep -vxF "$(printf '%s\n' "${ours[@]}")")
base=$("$here/root.sh" clean linux-image-amd64 linux-headers-amd64 kmod busybox-static python3 systemd udev passwd podman crun uidmap "${needed[@]}")

clean=$PWD/$out/clean
as_root rm -rf "$clean"
mkdir "$clean"
cp "$base/release" "$clean/release"
if ! as_root "$here/install.sh" --inside "$base" "$clean" "${packages[@]/#//build/}" 2>"$out/install.log"; then
    tail -n 30 "$out/install.log" >&2
    fail "the packages could not be installed; the end of what dpkg said is above."
fi
python3 "$here/../vm/unpack_kernel.py" "$clean/root/boot/vmlinuz-$(cat "$clean/release")" "$clean/vmlinux"
as_root mkfs.erofs -x-1 --exclude-path=boot "$clean/root.erofs" "$clean/root" >"$out/erofs.log" 2>&1 || fail "the image could not be made:" "$(tail -n 5 "$out/erofs.log")"
echo "$clean"
