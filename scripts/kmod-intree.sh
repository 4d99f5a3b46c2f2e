#!/bin/bash
# SPDX-License-Identifier: MIT
# kmod-intree.sh [TREE]: writes the driver as a series of patches for a kernel tree, drivers/accel/sidra, to build/kmod-intree (kmod_intree.py).
# TREE: for this tree, which is only read. Without it, for the source of Debian 13's kernel; then checkpatch reads the series, it is applied there,
# and the driver is compiled as a module and as a part of the kernel, with its tests; any finding or warning (W=1) fails.
# The source and compilers are in a root in ${XDG_CACHE_HOME:-~/.cache}/sidra/kmod (made once: 2 minutes, 1.3 GB). JOBS: compilers at once.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=scripts/vm/common.sh
. "$here/vm/common.sh"
export JOBS=${JOBS:-$(nproc)}

# ---- Inside the root -------------------------------------------------------------------------------------------------

if [[ ${1:-} == --inside ]]; then # root, folder with the series
    enter_root "$2/root" "$here/.." "$3"
    # The tree stays as Debian ships it: what is applied and compiled lies above it, in memory and in /objects.
    mkdir -p objects changes
    mount -t tmpfs changes changes
    mkdir changes/{new,work}
    mount -t overlay overlay -o lowerdir=usr/src/linux,upperdir=changes/new,workdir=changes/work usr/src/linux
    exec chroot . /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C JOBS="$JOBS" /bin/bash /src/scripts/kmod-intree.sh --compile
fi
if [[ ${1:-} == --compile ]]; then
    cd /usr/src/linux
    # As in kmod.sh, for the same reasons; and the entry in MAINTAINERS is in the last patch.
    said=0
    patches=(/build/*.patch)
    patches=("${patches[@]:1}") # the first is the cover letter
    scripts/checkpatch.pl --strict --terse --quiet --show-types --showfile --max-line-length=100 \
        --ignore FILE_PATH_CHANGES,TYPO_SPELLING,BIT_MACRO,CAMELCASE "${patches[@]}" >/tmp/said || said=$?
    if ((said > 1)) || ! grep -q '^total:' /tmp/said; then # 1: it has found something
        echo "checkpatch did not come to its end ($said)"
        exit 1
    fi
    if grep -vE '^$|^total:|sidra_trace\.h.*:(OPEN_ENDED_LINE|PARENTHESIS_ALIGNMENT):|sidra_reg\.h.*:(COMPLEX_MACRO|MACRO_ARG_REUSE):' /tmp/said; then
        echo "checkpatch has found the above"
        exit 1
    fi
    for patch in "${patches[@]}"; do patch -s -p1 --no-backup-if-mismatch -F0 <"$patch"; done
    configure() { # y or m
        # shellcheck disable=SC2016 # a file of make's variables
        printf 'CONFIG_%s\n' 64BIT=y PCI=y PCI_MSI=y MMU=y MODULES=y IO_URING=y HWMON=y DEBUG_FS=y DRM=y DRM_ACCEL=y KUNIT=y WERROR=y TRACING=y FTRACE=y \
            DRM_ACCEL_SIDRA="$1" DRM_ACCEL_SIDRA_KUNIT_TEST=y >/tmp/wanted
        make -s O=/objects KCONFIG_ALLCONFIG=/tmp/wanted allnoconfig
        grep -qx "CONFIG_DRM_ACCEL_SIDRA=$1" /objects/.config || {
            echo "the kernel's configuration does not take DRM_ACCEL_SIDRA=$1"
            return 1
        }
        make -s O=/objects -j "$JOBS" modules_prepare
        rm -rf /objects/drivers/accel/sidra
        make -s O=/objects -j "$JOBS" W=1 drivers/accel/sidra/
    }
    configure m
    configure y
    exit
fi

# ---- Outside ---------------------------------------------------------------------------------------------------------

cd "$here/.."
out=build/kmod-intree
mkdir -p $out
if [[ ${1:-} ]]; then
    [[ -d $1 ]] || fail "there is no folder $1; TREE is a kernel's source."
    scripts/kmod_intree.py "$1" $out
    echo "kmod-intree: the series for $1 is in $out; apply it there: git am $PWD/$out/000[1-9]*.patch"
    exit
fi

suite=trixie
packages=(bash dash coreutils findutils grep sed mawk diffutils patch tar make gcc flex bison bc perl libelf-dev linux-source)
leave_out=(--exclude=./boot/\* --exclude=./usr/share/{doc,man,locale,info}/\*)
leave_out_of_source=(--exclude='*/tools/testing' --exclude='*.dts*' --exclude='linux-source-?.??/arch/[!x]*.[chS]' --exclude='*/sound/*.[ch]'
    --exclude='*/drivers/gpu/drm/amd/*.[ch]')
cache=${XDG_CACHE_HOME:-$HOME/.cache}/sidra/kmod
root=$cache/intree-$(echo "$suite ${packages[*]} ${leave_out[*]} ${leave_out_of_source[*]} $(declare -f unpack_debian debian_archives)" | sha256sum | cut -c1-12)
mkdir -p "$cache"
exec {lock}>"$cache/intree.lock"
flock $lock
can_make_roots
if ! [[ -e $root/complete ]]; then
    echo "kmod-intree: making a root with the kernel's source (once)"
    find "$cache" -maxdepth 1 -name 'intree-*' -type d -print0 | while read -rd '' old; do as_root rm -rf "$old"; done
    mkdir -p "$root/root"
    sources=$(debian_archives $suite)
    if ! unpack_debian "$root/root" "$root/log" "$sources" $suite --variant=extract --include="$(IFS=,; echo "${packages[*]}")" "${leave_out[@]}" \
        --aptopt='Acquire::Check-Valid-Until "false"'; then
        tail -n 20 "$root/log" >&2
        fail "a root could not be made; the end of what mmdebstrap said is above."
    fi
    # shellcheck disable=SC2016 # another shell's
    as_root bash -ec 'cd "$1"
        ln -s mawk usr/bin/awk
        mkdir -p src build
        tar -C usr/src --one-top-level=linux --strip-components=1 -xJf usr/src/linux-source-*.tar.xz --no-same-owner "${@:2}"
        rm usr/src/linux-source-*.tar.xz' bash "$root/root" "${leave_out_of_source[@]}"
    touch "$root/complete"
fi
scripts/kmod_intree.py "$root/root/usr/src/linux" $out
lines="$(cat $out/000[1-9]*.patch | grep -c '^+') lines in $(find $out -name '*.patch' ! -name '0000-*' | wc -l) patches"
# What has compiled is not compiled again until the series, the root or this script changes.
known=$cache/clean/intree-$(cat $out/*.patch "$0" <(echo "$root") | sha256sum | cut -c1-16)
if [[ -e $known ]]; then
    touch "$known"
    echo "kmod-intree: $lines compile in the kernel's tree (as before): $out"
    exit
fi
start=$SECONDS
as_root "$here/kmod-intree.sh" --inside "$root" "$PWD/$out" >$out/log 2>&1 || {
    tail -n 60 $out/log >&2
    fail "the series does not apply or compile; the end of $out/log is above."
}
mkdir -p "$cache/clean"
touch "$known"
echo "kmod-intree: $lines compile in the kernel's tree ($((SECONDS - start)) s): $out"
