#!/bin/bash
# SPDX-License-Identifier: MIT
# python-packages.sh: makes an environment in the cache with the packages of python/requirements.txt, once for each version of that file, and prints the
# path of its interpreter. pip takes PyTorch from where its own configuration says; PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu leads to a
# build without CUDA, which is much smaller.
set -euo pipefail
cd "$(dirname "$0")/.."
export TORCH_DEVICE_BACKEND_AUTOLOAD=0 PIP_DISABLE_PIP_VERSION_CHECK=1

cache=${XDG_CACHE_HOME:-}
[[ $cache == /* ]] || cache=$HOME/.cache
key=$({ cat python/requirements.txt && python3 -c 'import sys; print(sys.version_info[:2])' && uname -m; } | sha256sum | cut -c1-16)
packages=$cache/sidra/python-$key
mkdir -p "$cache/sidra"
exec {lock}>"$packages.lock"
flock $lock
if ! [[ -e $packages/complete ]]; then
    log=$packages.log
    trap 'tail -n 60 "$log" >&2; echo "python: that failed; all of its output is in $log" >&2' ERR
    echo "python: fetching PyTorch and the packages of python/requirements.txt (once; its log meanwhile: $log) ..." >&2
    rm -rf "$packages"
    python3 -m venv "$packages" >"$log" 2>&1
    read -r torch < <(grep ^torch== python/requirements.txt)
    "$packages/bin/python" -m pip install "$torch" >>"$log" 2>&1
    "$packages/bin/python" -m pip install -r python/requirements.txt >>"$log" 2>&1
    touch "$packages/complete"
fi
echo "$packages/bin/python"
