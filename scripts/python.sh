#!/bin/bash
# SPDX-License-Identifier: MIT
# python.sh: builds the wheels of python/ in build/python/wheels, installs them into a virtual environment, build/python/venv, and prints the path of
# its interpreter. That environment sees the packages that scripts/python-packages.sh keeps.
set -euo pipefail
cd "$(dirname "$0")/.."
top=$PWD out=$PWD/build/python
export TORCH_DEVICE_BACKEND_AUTOLOAD=0 PIP_DISABLE_PIP_VERSION_CHECK=1
mkdir -p "$out"

say() { echo "python: $*" >&2; }
# Runs a command; its output is shown if it fails.
quietly() { # name, command...
    local log=$out/$1.log
    "${@:2}" >"$log" 2>&1 || {
        tail -n 60 "$log" >&2
        say "$1 failed; all of its output is in $log"
        exit 1
    }
}

packages=$(scripts/python-packages.sh)
packages=${packages%/bin/python}
version=$("$packages/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')

make --no-print-directory build/release/build.ninja >&2
targets=(sidra sidra-smi) # tests read the counters of sidra-smi
# sidra.compile() needs the compiler, which can be built where MLIR is.
compiler=
if grep -q sidra_compiler build/release/build.ninja; then targets+=(sidra_compiler) compiler=$top/build/release/compiler; fi
cmake --build build/release -j "${JOBS:-$(nproc)}" --target "${targets[@]}" -- --quiet >&2
quietly prefix cmake --install build/release --component libsidra --prefix "$out/prefix"

if ! [[ -e $out/venv/complete && $(<"$out/venv/complete") == "$packages" ]]; then
    rm -rf "$out/venv" "$out/sdk" "$out/pytorch"
    quietly venv python3 -m venv --without-pip "$out/venv"
    echo "$packages/lib/python$version/site-packages" >"$out/venv/lib/python$version/site-packages/packages.pth"
    echo "$packages" >"$out/venv/complete"
fi

export CMAKE_PREFIX_PATH=$out/prefix CMAKE_CXX_COMPILER_LAUNCHER=$top/scripts/cmake/ccache.sh CMAKE_GENERATOR=Ninja PATH=$packages/bin:$PATH
export CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-$(nproc)}
wheel() { # folder of python/
    say "building the wheel of python/$1"
    rm -f "$out/wheels/$1"/*
    quietly "$1" "$packages/bin/python" -m pip wheel --no-build-isolation --no-deps --wheel-dir "$out/wheels/$1" \
        -C "build-dir=$out/$1" "$top/python/$1"
    quietly install "$packages/bin/python" -m pip --python "$out/venv/bin/python" install --no-deps --force-reinstall "$out/wheels/$1"/*.whl
}
# A wheel is built again if something that goes into it has changed.
content() { # folder of python/
    { find "python/$1" -type f -not -name '*.pyc' -print0 | sort -z | xargs -0 cat && cat compiler/include/sidra/compiler.h "$out/prefix/lib/libsidra.so"; } | sha256sum
}
for package in sdk pytorch; do
    now=$(content "$package")
    if [[ $(cat "$out/venv/$package.content" 2>/dev/null) != "$now" ]]; then
        wheel "$package"
        echo "$now" >"$out/venv/$package.content"
    fi
done
# The loader finds the compiler where the package has libsidra.
[[ -z $compiler ]] || ln -sfn "$compiler"/libsidra-compiler.so.? "$out/venv/lib/python$version/site-packages/sidra/lib/"
echo "$out/venv/bin/python"
