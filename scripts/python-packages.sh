#!/bin/bash
# SPDX-License-Identifier: MIT
# python-packages.sh [serve]: makes an environment in the cache with the packages of python/requirements.txt, once for each version of that file, and
# prints the path of its interpreter. `serve`: then another one with what python/requirements-serve.txt needs beside these packages; prints the folder
# that PYTHONPATH must have. pip takes PyTorch from where its own configuration says; PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu leads to
# a build without CUDA, which is much smaller.
set -euo pipefail
cd "$(dirname "$0")/.."
export TORCH_DEVICE_BACKEND_AUTOLOAD=0 PIP_DISABLE_PIP_VERSION_CHECK=1

cache=${XDG_CACHE_HOME:-}
[[ $cache == /* ]] || cache=$HOME/.cache
mkdir -p "$cache/sidra"
key=$({ cat python/requirements.txt && python3 -c 'import sys; print(sys.version_info[:2])' && uname -m; } | sha256sum | cut -c1-16)
packages=$cache/sidra/python-$key

# Makes the environment $packages, unless it is complete.
environment() { # what goes into it, a command that installs that
    local log=$packages.log
    exec {lock}>"$packages.lock"
    flock "$lock"
    [[ -e $packages/complete ]] && return
    echo "python: fetching $1 (once; its log meanwhile: $log) ..." >&2
    rm -rf "$packages"
    { python3 -m venv "$packages" && "$2"; } >"$log" 2>&1 || {
        tail -n 60 "$log" >&2
        echo "python: that failed; all of its output is in $log" >&2
        exit 1
    }
    touch "$packages/complete"
}
# As the shell's -e does not apply to what is tested for failure, each step says that the one before must have succeeded.
base() {
    read -r torch < <(grep ^torch== python/requirements.txt) &&
        "$packages/bin/python" -m pip install "$torch" &&
        "$packages/bin/python" -m pip install -r python/requirements.txt
}
serve() {
    echo "$below" >"$(folder_of "$packages")/below.pth" &&
        "$packages/bin/python" -m pip install -r python/requirements-serve.txt
}
folder_of() { "$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }

environment "PyTorch and the packages of python/requirements.txt" base
if [[ ${1:-} != serve ]]; then
    echo "$packages/bin/python"
    exit
fi
below=$(folder_of "$packages")
packages=$cache/sidra/python-serve-$({ echo "$key" && cat python/requirements-serve.txt; } | sha256sum | cut -c1-16)
environment "Ray Serve" serve
folder_of "$packages"
