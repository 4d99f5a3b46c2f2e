#!/bin/bash
# SPDX-License-Identifier: MIT
# root.sh NAME PACKAGE...: makes a Debian 13 with these packages, once, and prints the folder that has it as root/. In name spaces of as_root
# /src and /build are there to be mounted on. The folder's name is a hash of all that decides its content; the newest of a name stays, and
# others that nobody has used for a fortnight go. For newer packages of Debian delete the folder.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=scripts/vm/common.sh
. "$here/../vm/common.sh"

suite=trixie name=$1
shift
# The kernel's hook would make an initramfs, which takes longest of all, and for nobody.
leave_out=('/etc/kernel/postinst.d/initramfs-tools' '/usr/share/locale/*')

key=$(echo "$suite $* ${leave_out[*]} $(cat "$0") $(declare -f debian_archives unpack_debian)" | sha256sum | cut -c 1-12)
cache=${vm_cache%/vm}/packages
home=$cache/$name-$key
mkdir -p "$cache"
exec {lock}>"$cache/$name.lock"
flock $lock
if [[ -e $home/release ]]; then
    touch "$home"
    echo "$home"
    exit
fi
find "$cache" -maxdepth 1 \( -name "$name-*.*" -o -name "$name-*" -mtime +13 \) -print0 | while read -rd '' old; do as_root rm -rf "$old"; done

can_make_roots
sources=$(debian_archives $suite)
echo "packages: making the root '$name' in $home (once; a minute or two)" >&2
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
# shellcheck disable=SC2016 # mmdebstrap's
if ! unpack_debian "$work/root" "$log" "$sources" $suite --variant=apt --include="$(comma "$@")" "${options[@]}" \
    --customize-hook='mkdir -p "$1/src" "$1/build" "$1/ccache" "$1/overlay"; rm -f "$1/etc/resolv.conf"; echo sidra-vm >"$1/etc/hostname"'; then
    tail -n 25 "$log" >&2
    fail "mmdebstrap could not make the root '$name'; the end of its messages is above."
fi
rm "$log"
find "$work/root/usr/lib/modules" -mindepth 1 -maxdepth 1 -printf '%f\n' >"$work/release" 2>/dev/null || :
mv -T "$work" "$home"
echo "packages: the root '$name' is made ($((SECONDS - start)) s)" >&2
echo "$home"
