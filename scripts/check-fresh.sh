#!/bin/bash
# SPDX-License-Identifier: MIT
# check-fresh.sh [SUITE...]: follows the README on a machine without any of the required packages: in a minimal root of each Debian suite
# (default: bookworm trixie), it runs `make demo`, then the tests of the release tree, except those that need QEMU or take long, and `make
# install`. This finds packages that a target forgets to install. A root is created anew by mmdebstrap, plus make. Logs:
# build/fresh/SUITE.log. JOBS: number of parallel compilers (default: one per CPU).
set -uo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=scripts/vm/common.sh
. "$here/vm/common.sh"

if [[ ${1:-} == --inside ]]; then # root, folder for the log
    set -e
    mkdir -p "$2"/{src,build,ccache}
    enter_root "$2" "$here/.." "$3"
    mount --bind "$vm_cache/ccache" ccache
    cat /etc/resolv.conf >etc/resolv.conf
    # shellcheck disable=SC2016 # another shell's
    exec chroot . /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 JOBS="$JOBS" CCACHE_DIR=/ccache CCACHE_MAXSIZE=2G /bin/bash -exc '
        cp -r /build/tree /root/sidra
        cd /root/sidra
        make demo
        scripts/setup.sh base check
        cmake build/release
        cmake --build build/release -j "$JOBS" -- --quiet
        ctest --preset release -j "$JOBS" -LE "^long$" -E "/(qtest|chip-.*|physics)$"
        make install PREFIX=/root/installed'
fi

cd "$here/.." || exit
git ls-files >/dev/null || fail "$PWD is no git checkout, and the roots get the files that git knows of."
export JOBS=${JOBS:-$(nproc)}
suites=("$@")
((${#suites[@]})) || suites=(bookworm trixie)
out=$PWD/build/fresh
can_make_roots
as_root rm -rf "$out"
mkdir -p "$out/tree" "$vm_cache/ccache"
git ls-files -z | while IFS= read -rd '' file; do [[ ! -e $file ]] || printf '%s\0' "$file"; done | xargs -0 cp -a --parents -t "$out/tree"
failed=()
for suite in "${suites[@]}"; do
    echo "== $suite"
    root=$(mktemp -d "$vm_cache/../fresh-XXXXXX")
    trap 'as_root rm -rf "$root"' EXIT
    mkdir "$root/root"
    start=$SECONDS
    if ! { sources=$(debian_archives "$suite") && unpack_debian "$root/root" "$out/$suite.log" "$sources" "$suite" --variant=minbase --include=make &&
        as_root "$here/check-fresh.sh" --inside "$root/root" "$out" >>"$out/$suite.log" 2>&1 </dev/null; }; then
        failed+=("$suite")
    fi
    echo "   $((SECONDS - start)) s"
    as_root rm -rf "$root"
done
for suite in "${failed[@]}"; do
    echo "FAILED  fresh $suite; the end of $out/$suite.log:"
    tail -n 60 "$out/$suite.log"
done
((!${#failed[@]}))
