#!/bin/bash
# SPDX-License-Identifier: MIT
# torch-suites.sh [SUITE...]: runs PyTorch's own device-generic tests on the chip, with the PyTorch of Debian 13 (2.6): makes a Debian 13 root with it
# (once, in the cache), builds the Python packages there, and runs python/upstream.py with its arguments. SUITES_SHELL=1: a shell in the root instead.
# Results are in build/torch-suites; a run of all suites writes build/figures/torch.json.
# torch-suites.sh --vm: runs python/tests/test_smoke.py with that PyTorch in a VM, on a card. Results are in build/vm-torch.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=scripts/vm/common.sh
. "$here/vm/common.sh"

packages=(python3-torch libtorch-dev python3-dev python3-pip python3-scikit-build-core python3-pytest python3-pytest-timeout
    python3-expecttest python3-hypothesis python3-numpy python3-scipy python3-setuptools libopenblas0-pthread
    g++ ccache cmake ninja-build make pkg-config git ca-certificates
    libfmt-dev libcli11-dev libgtest-dev libdrm-dev liburing-dev libsodium-dev libncurses-dev pybind11-dev
    libflatbuffers-dev flatbuffers-compiler libxxhash-dev libtomlplusplus-dev gcc-riscv64-unknown-elf)

if [[ ${1:-} == --inside ]]; then # root, folder for results, arguments
    mkdir -p "$2"/{src,build,ccache}
    enter_root "$2" "$here/.." "$3"
    mount --bind "$vm_cache/ccache" ccache
    # shellcheck disable=SC2016 # another shell's
    exec chroot . /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 JOBS="$JOBS" TERM="${TERM:-dumb}" CCACHE_DIR=/ccache \
        CCACHE_MAXSIZE=2G CCACHE_SLOPPINESS=pch_defines,time_macros CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_C_COMPILER_LAUNCHER=ccache \
        CMAKE_GENERATOR=Ninja CMAKE_BUILD_PARALLEL_LEVEL="$JOBS" TORCH_DEVICE_BACKEND_AUTOLOAD=0 PIP_ROOT_USER_ACTION=ignore SUITES_SHELL="${SUITES_SHELL:-}" /bin/bash -ec '
        cd /src
        cmake -S . -B /build/release -DCMAKE_BUILD_TYPE=Release >/build/configure.log
        cmake --build /build/release --target sidra -- --quiet
        cmake --install /build/release --component libsidra --prefix /build/prefix >/build/install.log
        export CMAKE_PREFIX_PATH=/build/prefix
        rm -rf /build/wheels /build/site /build/tools
        pip install --quiet --no-deps --no-index --target /build/tools /build/pip/*.whl
        export PYTHONPATH=/build/tools
        for package in sdk pytorch; do
            pip wheel --quiet --no-build-isolation --no-deps --wheel-dir /build/wheels -C build-dir=/build/$package /src/python/$package
        done
        pip install --quiet --no-deps --no-index --target /build/site /build/wheels/*.whl
        [[ $1 != --vm ]] || exit 0
        unset TORCH_DEVICE_BACKEND_AUTOLOAD
        export PYTHONPATH=/build/site
        [[ ! $SUITES_SHELL ]] || exec bash
        exec python3 python/upstream.py --tests /srv/pytorch --out /build --figures /build/figures "$@"' bash "${@:4}"
fi

cd "$here/.." || exit
can_make_roots
export JOBS=${JOBS:-$(nproc)}
out=$PWD/build/torch-suites
mkdir -p "$out" "$vm_cache/ccache"
# Debian 13 has an older nanobind.
rm -rf "$out/pip"
"$(scripts/python-packages.sh)" -m pip download --quiet --no-deps --dest "$out/pip" "$(grep ^nanobind== python/requirements.txt)"
key=$(printf '%s\n' "${packages[@]}" | sha256sum | cut -c1-12)
root=$vm_cache/torch-root-$key
disk=$root/root.erofs

# All checkouts share the root and its disk: one makes them, and the others wait.
alone() ( # function
    exec {lock}>"$vm_cache/torch-root.lock"
    if ! flock -n "$lock"; then
        echo "torch-suites: another run makes the root or its disk; waiting for it" >&2
        flock "$lock"
    fi
    trap 'exit 130' INT TERM HUP
    "$1"
)
make_root() {
    local old sources
    [[ ! -e $root/complete ]] || return 0
    echo "torch-suites: making a Debian 13 root with PyTorch in $root (once; 3 minutes, 3 GB)" >&2
    for old in "$root" "$vm_cache"/torch-root-*.*; do as_root rm -rf "$old"; done # what was left by a run that was killed
    work=$root.$$
    trap 'as_root rm -rf "$work"' EXIT
    mkdir -p "$work/root"
    sources=$(debian_archives trixie)
    # The tests are in the source package only. apt verifies it.
    # shellcheck disable=SC2016 # mmdebstrap's variables
    unpack_debian "$work/root" "$out/root.log" "$sources"$'\n'"${sources//deb /deb-src }" trixie --variant=minbase \
        --include="$(IFS=, && echo "${packages[*]}")" \
        --customize-hook='mkdir -p "$1/srv/pytorch" && cd "$1/srv" && APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get source -qq --download-only --only-source pytorch && tar -xf pytorch_*.orig.tar.xz -C pytorch --strip-components=2 --wildcards "*/test/*" && rm pytorch_*' ||
        { tail -n 40 "$out/root.log" >&2 && fail "the root was not made; the log is $out/root.log"; }
    touch "$work/complete"
    mv -T "$work" "$root"
}
make_disk() {
    [[ ! -e $disk ]] || return 0
    echo "torch-suites: making a disk of that root (once)" >&2
    as_root mkfs.erofs --exclude-path=var/cache --exclude-path=srv "$disk.new" "$root/root" >"$out/disk.log" 2>&1 ||
        { tail -n 5 "$out/disk.log" >&2 && fail "the disk was not made; the log is $out/disk.log"; }
    mv "$disk.new" "$disk"
}

alone make_root
rm -f "$out/figures"
status=0
as_root "$here/torch-suites.sh" --inside "$root/root" "$out" "$@" || status=$?
[[ ! -s $out/figures ]] || scripts/figures.py build/figures/torch.json <"$out/figures"
[[ ${1:-} == --vm && $status == 0 ]] || exit $status
alone make_disk
scripts/vm/build.sh . kmod
# PyTorch ends with SIGILL on the simplest processor that QEMU has.
exec scripts/vm/check.py --memory 4G --logs build/vm-torch \
    --qemu-args "-cpu max -drive if=none,id=torch,format=raw,readonly=on,file=$disk -device virtio-blk-pci,drive=torch" tests/vm/pytorch
