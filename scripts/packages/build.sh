#!/bin/bash
# SPDX-License-Identifier: MIT
# build.sh: builds Debian packages of this checkout (its tracked files in their current state) in build/packages, with the compiler of
# Debian 13 in a separate root, and checks them with lintian. Prints their names. JOBS: number of parallel compilers (default: one per CPU).
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=scripts/vm/common.sh
. "$here/../vm/common.sh"

if [[ ${1:-} == --inside ]]; then # root
    enter_root "$2" "$PWD" "$PWD/build/packages"
    mount --bind "$vm_cache/ccache" ccache
    exec chroot . /usr/bin/env -i PATH=/usr/sbin:/usr/bin HOME=/tmp LC_ALL=C.UTF-8 CCACHE_DIR=/ccache CCACHE_MAXSIZE=2G \
        DEB_BUILD_OPTIONS="parallel=$JOBS terse" /bin/bash -ec '
            cd /build/source
            dpkg-buildpackage --build=binary --no-sign
            lintian --fail-on error,warning /build/*.changes'
fi

cd "$here/../.."
export JOBS=${JOBS:-$(nproc)}
git ls-files >/dev/null || fail "$PWD is no git checkout, and packages are made of the files that git knows of."

# The version is defined in the public header; between releases each commit has a later version than the previous one.
version=$(sed -nE 's/^#define SIDRA_VERSION_(MAJOR|MINOR|PATCH)\s+([0-9]+).*/\2/p' libsidra/include/sidra/sidra.h | paste -sd.)
version+=+git$(TZ=UTC0 git log -1 --date=format-local:%Y%m%d%H%M%S --format=%cd.%h --abbrev=7)

mapfile -t needed < <(sed -nE '/^Build-Depends:/,/^$/{s/^Build-Depends://;s/^ +//;s/( \(.*\))?,?$//;s/^dh-sequence-dkms/dh-dkms/;/^dh-sequence|^ *$/d;s/debhelper-compat/debhelper/;p}' \
    "$here/debian/control")
root=$("$here/root.sh" build build-essential ccache lintian "${needed[@]}")

out=build/packages
mkdir -p "$out" "$vm_cache/ccache"
exec {lock}>"$out/lock"
flock $lock
rm -rf "$out/source" "$out"/*.{deb,changes,buildinfo}
mkdir "$out/source"
git ls-files -z | while IFS= read -rd '' file; do [[ ! -e $file ]] || printf '%s\0' "$file"; done | xargs -0 cp -a --parents -t "$out/source"
cp -a "$here/debian" "$out/source/"
{
    echo "sidra ($version) unstable; urgency=medium"
    echo
    echo "  * As of commit $(git log -1 --format=%h --abbrev=12)."
    echo
    git log -1 --date=rfc2822 --format=" -- $(sed -n 's/^Maintainer: //p' "$here/debian/control")  %cd"
} >"$out/source/debian/changelog"
licence() { # name, file; prints a paragraph for a copyright file
    printf '\nLicense: %s\n' "$1"
    sed 's/^$/./; s/^[[:space:]]*/ /' "$2"
}
{
    licence MIT LICENSES/MIT.txt
    licence "GPL-2 with Linux-syscall-note exception" LICENSES/Linux-syscall-note.txt
} >>"$out/source/debian/copyright"

if ! as_root "$here/build.sh" --inside "$root/root" >"$out/log" 2>&1; then
    tail -n 40 "$out/log" >&2
    fail "the packages could not be made; the end of what was said is above, all of it in $out/log."
fi
rm -rf "$out/source"
ls "$out"/*.deb
