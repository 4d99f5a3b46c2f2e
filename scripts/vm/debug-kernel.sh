#!/bin/bash
# SPDX-License-Identifier: MIT
# debug-kernel.sh: builds the guest's debug kernel, once, and prints the folder that has it:
#   vmlinux   the kernel, to boot from, with its symbols
#   release   its version
#   build/    what modules are compiled against
#   config    all of its configuration
# It is Debian's source (but for one assertion, see below), with what debug.config asks for and nothing else, compiled in a small root of its own by the compiler that the guest has.
# The folder's name is a hash of all that decides its content. A newer source of Debian does not change it: delete the folder to get one.
# JOBS: how many compilers at once (default: one a CPU).
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=scripts/vm/common.sh
. "$here/common.sh"

# ---- Inside the root -------------------------------------------------------------------------------------------------

if [[ ${1:-} == --inside ]]; then # folder
    enter_root "$2/root" "$here/../.." "$2/objects"
    mount --bind "$vm_cache/ccache" ccache
    exec chroot . /usr/bin/env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C JOBS="$JOBS" CCACHE_DIR=/ccache CCACHE_MAXSIZE=2G \
        KBUILD_BUILD_USER=sidra KBUILD_BUILD_HOST=vm KBUILD_BUILD_TIMESTAMP=@0 /bin/bash /src/scripts/vm/debug-kernel.sh --compile
fi
if [[ ${1:-} == --compile ]]; then
    cd /usr/src/linux
    wanted=/src/scripts/vm/debug.config
    make -s O=/build KCONFIG_ALLCONFIG=$wanted allnoconfig
    # What an option depends on may be missing, or have changed its name; nobody would be told.
    if lost=$(grep -E '^(# )?CONFIG_' $wanted | grep -vxFf /build/.config); then
        printf '%s\nThe kernel did not take these lines of debug.config.\n' "$lost"
        exit 1
    fi
    # A ring that is closed while its task lives is emptied by a worker of the kernel's, for every driver with commands that can be cancelled. This
    # assertion knows only of tasks that end; that of newer kernels allows it, too.
    sed -i -e 's/if (ctx->submitter_task->flags & PF_EXITING)/if ((ctx->submitter_task->flags \& PF_EXITING) || percpu_ref_is_dying(\&ctx->refs))/' \
        -e 's/lockdep_assert(current_work());/lockdep_assert(current_work() || current == ctx->submitter_task);/' io_uring/io_uring.h
    (($(grep -cE 'PF_EXITING\) \|\| percpu_ref_is_dying|current_work\(\) \|\| current ==' io_uring/io_uring.h) == 2)) ||
        { echo "io_uring/io_uring.h is not as it was when this was written: does it need mending still?"; exit 1; }
    # The entry for ELF files compares memory before KASAN is there, and expects no call for that; this compiler makes one unless it is told.
    make -s O=/build -j "$JOBS" CFLAGS_enlighten.o=-finline-stringops=memcmp vmlinux modules
    # shellcheck disable=SC2016 # make's
    make -s O=/build run-command KBUILD_RUN_COMMAND='$(srctree)/scripts/package/install-extmod-build /build/headers'
    exit
fi

# ---- Outside ---------------------------------------------------------------------------------------------------------

suite=trixie
packages=(
    bash dash coreutils findutils grep sed mawk diffutils tar make gcc ccache # a shell, a compiler
    flex bison bc perl-base libelf-dev                                      # what a kernel's build uses besides
    linux-source
)
leave_out=(--exclude=./boot/\* --exclude=./usr/share/{doc,man,locale,info}/\*)
# Half of the source's files, for nothing; but every Kconfig is read.
leave_out_of_source=(--exclude='*/Documentation/*/*' --exclude='*/tools/testing' --exclude='*.dts*' --exclude='linux-source-?.??/arch/[!x]*.[chS]'
    --exclude='*/sound/*.[ch]' --exclude='*/drivers/gpu/drm/amd/*.[ch]')

export JOBS=${JOBS:-$(nproc)}
key=$(echo "$suite ${packages[*]} ${leave_out[*]} ${leave_out_of_source[*]} $(cat "$0" "$here/debug.config")" \
    "$(declare -f debian_archives unpack_debian enter_root)" | sha256sum | cut -c1-12)
home=$vm_cache/debug-kernel-$key
mkdir -p "$vm_cache/ccache"
exec {lock}>"$vm_cache/debug-kernel.lock"
if ! flock -n $lock; then
    echo "vm: another run builds the debug kernel; waiting for it" >&2
    flock $lock
fi
if [[ -e $home/release ]]; then
    touch "$home"
    echo "$home"
    exit
fi

# What a run left that was killed, and kernels that no checkout has used for long: the newest three stay.
find "$vm_cache" -maxdepth 1 -name 'debug-kernel-*.*' ! -name '*.lock' -print0 | while read -rd '' old; do as_root rm -rf "$old"; done
# shellcheck disable=SC2012 # our own names
{ ls -dt "$vm_cache"/debug-kernel-*/ 2>/dev/null || :; } | tail -n +3 | while read -r old; do as_root rm -rf "$old"; done

can_make_roots
sources=$(debian_archives $suite)

start=$SECONDS
work=$home.$$
log=$work/log
trap 'as_root rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
mkdir -p "$work"/{root,objects}
echo "vm: building the debug kernel in $home (once; 12 minutes on 2 idle CPUs; its log meanwhile: $log)" >&2

comma() { local IFS=,; echo "$*"; }
if ! unpack_debian "$work/root" "$log" "$sources" $suite --variant=extract --include="$(comma "${packages[@]}")" "${leave_out[@]}" \
    --aptopt='Acquire::Check-Valid-Until "false"'; then
    tail -n 20 "$log" >&2
    fail "a root to build the debug kernel in could not be made; the end of what mmdebstrap said is above."
fi
# Compilers of these names come first in the root's PATH: kbuild has `gcc` written down in many places.
# shellcheck disable=SC2016 # another shell's
as_root bash -ec 'cd "$1"
    ln -s mawk usr/bin/awk
    mkdir -p src build ccache usr/local/bin
    ln -s ../../bin/ccache usr/local/bin/gcc
    tar -C usr/src --one-top-level=linux --strip-components=1 -xJf usr/src/linux-source-*.tar.xz --no-same-owner "${@:2}"
    rm usr/src/linux-source-*.tar.xz' bash "$work/root" "${leave_out_of_source[@]}" >>"$log" 2>&1 ||
    fail "the kernel's source could not be unpacked:" "$(tail -n 5 "$log")"
echo "vm: its source is there ($((SECONDS - start)) s); compiling" >&2
if ! as_root "$here/debug-kernel.sh" --inside "$work" >>"$log" 2>&1; then
    tail -n 40 "$log" >&2
    fail "the debug kernel could not be built; the end of what its build said is above."
fi
# shellcheck disable=SC2016 # another shell's
as_root bash -ec 'cd "$1"
    mkdir made
    mv objects/headers made/build
    mv objects/vmlinux made
    mv objects/.config made/config
    mv objects/include/config/kernel.release made/release' bash "$work"
mv -T "$work/made" "$home"
echo "vm: the debug kernel is built ($((SECONDS - start)) s)" >&2
echo "$home"
