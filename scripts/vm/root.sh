#!/bin/bash
# SPDX-License-Identifier: MIT
# root.sh: makes the guest's Debian 13, once, and prints the folder that has it:
#   root/       the root file system: the guest's programs are compiled in here, by chroot
#   root.erofs  the same, to boot from
#   vmlinux     its kernel, unpacked (boots a second sooner than the packed one)
#   release     that kernel's version
# The folder's name is a hash of all that decides its content. A newer kernel of Debian does not change it: delete the folder to get one.
# shellcheck disable=SC2016 # what stands in single quotes is for others to expand
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=scripts/vm/common.sh
. "$here/common.sh"

suite=trixie
packages=(
    linux-image-amd64 linux-headers-amd64 kmod busybox-static                           # the kernel, and what boots it
    g++ make cmake ninja-build ccache pkg-config libfmt-dev libcli11-dev libgtest-dev   # as setup.sh has for the host
    libdrm-dev liburing-dev libsodium-dev libncurses-dev libflatbuffers-dev flatbuffers-compiler libxxhash-dev libtomlplusplus-dev
    gcc-riscv64-unknown-elf python3 python3-numpy strace
)
# The guest loads its modules by itself: no initramfs is to be made, which would take longest of all.
leave_out=('/etc/kernel/postinst.d/initramfs-tools' '/usr/share/doc/*' '/usr/share/man/*' '/usr/share/locale/*' '/usr/share/info/*')

key=$(echo "$suite ${packages[*]} ${leave_out[*]} $(cat "$0") $(declare -f debian_archives unpack_debian)" | sha256sum | cut -c1-12)
home=$vm_cache/root-$key
mkdir -p "$vm_cache"
exec {lock}>"$vm_cache/lock"
if ! flock -n $lock; then
    echo "vm: another run makes the guest's root; waiting for it" >&2
    flock $lock
fi
if [[ -e $home/release ]]; then
    touch "$home"
    echo "$home"
    exit
fi

# What a run left that was killed, and roots that no checkout has used for long: the newest three stay.
find "$vm_cache" -maxdepth 1 -name 'root-*.*' -print0 | while read -rd '' old; do as_root rm -rf "$old"; done
# shellcheck disable=SC2012 # our own names
{ ls -dt "$vm_cache"/root-* 2>/dev/null || :; } | tail -n +3 | while read -r old; do as_root rm -rf "$old"; done

can_make_roots
sources=$(debian_archives $suite)

echo "vm: making the guest's root in $home (once; 2 to 5 minutes, 2 GB)" >&2
start=$SECONDS
work=$home.$$
log=$work/log
trap 'as_root rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
mkdir -p "$work/root"

options=()
for path in "${leave_out[@]}"; do
    options+=(--dpkgopt="path-exclude=$path")
done
comma() { local IFS=,; echo "$*"; }
# The mount points of build.sh and of the guest are made here, so that the root never changes again.
if ! unpack_debian "$work/root" "$log" "$sources" $suite --variant=apt --include="$(comma "${packages[@]}")" "${options[@]}" \
    --customize-hook='mkdir -p "$1/src" "$1/build" "$1/ccache" "$1/overlay"' \
    --customize-hook='rm -f "$1/etc/resolv.conf" "$1/etc/hostname"; echo sidra-vm >"$1/etc/hostname"'; then
    tail -n 25 "$log" >&2
    fail "mmdebstrap could not make the guest's root; the end of its messages is above."
fi

releases=("$work"/root/usr/lib/modules/*/build)
((${#releases[@]} == 1)) || fail "there should be one kernel with headers in the guest's root, but there are: ${releases[*]}"
release=$(basename "$(dirname "${releases[0]}")")

# The packed kernel holds the ELF file as one zstd frame.
python3 "$here/unpack_kernel.py" "$work/root/boot/vmlinuz-$release" "$work/vmlinux" ||
    fail "the kernel could not be unpacked; the message is above."

as_root mkfs.erofs -x-1 --exclude-path=var/cache --exclude-path=boot "$work/root.erofs" "$work/root" >>"$log" 2>&1 ||
    fail "the image could not be made:" "$(tail -n 5 "$log")"

echo "$release" >"$work/release"
rm "$log"
mv -T "$work" "$home"
echo "vm: the guest's root is made ($((SECONDS - start)) s)" >&2
echo "$home"
