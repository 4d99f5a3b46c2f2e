#!/bin/bash
# SPDX-License-Identifier: MIT
# aarch64-root.sh: unpacks the libraries that SIDRA needs, as this machine's Debian has them for AArch64, once, and prints the folder. The
# preset `aarch64` compiles and links against it, and qemu-user finds the libraries there. No program of it runs on this machine by itself,
# and the machine's own list of architectures stays as it is.
# The folder's name is a hash of all that decides its content. Newer packages of Debian do not change it: delete the folder to get them.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=scripts/vm/common.sh
. "$here/vm/common.sh"

# As setup.sh has for the host
packages=(libc6-dev libfmt-dev libcli11-dev libgtest-dev libdrm-dev liburing-dev libsodium-dev libncurses-dev libflatbuffers-dev libxxhash-dev libtomlplusplus-dev)

# The libraries must not be newer than the cross compiler's.
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
key=$(echo "$suite ${packages[*]} $(cat "$0") $(declare -f debian_archives unpack_debian)" | sha256sum | cut -c1-12)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/sidra/aarch64
root=$cache/root-$key
mkdir -p "$cache"
exec {lock}>"$cache/lock"
if ! flock -n $lock; then
    echo "aarch64: another run makes the root; waiting for it" >&2
    flock $lock
fi
if [[ -d $root ]]; then
    touch "$root"
    echo "$root"
    exit
fi

# What a run left that was killed, and roots that no checkout has used for long: the newest three stay.
find "$cache" -maxdepth 1 -name 'root-*.*' -print0 | while read -rd '' old; do as_root rm -rf "$old"; done
# shellcheck disable=SC2012 # our own names
{ ls -dt "$cache"/root-* 2>/dev/null || :; } | tail -n +3 | while read -r old; do as_root rm -rf "$old"; done

can_make_roots
sources=$(debian_archives "$suite")
echo "aarch64: unpacking Debian's libraries into $root (once; 20 s, 100 MB)" >&2
work=$root.$$
log=$work.log
trap 'as_root rm -rf "$work" "$log"' EXIT
trap 'exit 130' INT TERM HUP
mkdir -p "$work"
comma() { local IFS=,; echo "$*"; }
if ! unpack_debian "$work" "$log" "$sources" "$suite" --variant=extract --architectures=arm64 --include="$(comma "${packages[@]}")" \
    --exclude='./usr/share/doc/*' --exclude='./usr/share/man/*' --exclude='./var/*'; then
    tail -n 25 "$log" >&2
    fail "mmdebstrap could not unpack the libraries for AArch64; the end of its messages is above."
fi
# Programs name their loader as /lib/ld-linux-aarch64.so.1. The packages of Debian 13 have it in /usr/lib only.
[[ -e $work/lib ]] || ln -s usr/lib "$work/lib"
mv -T "$work" "$root"
echo "$root"
