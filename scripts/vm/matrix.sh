#!/bin/bash
# SPDX-License-Identifier: MIT
# matrix.sh: compiles for the guest, and runs all its tests at 1, 2 and 4 CPUs, each without and with an IOMMU, and those away from the host's folders
# at 2 CPUs; then a summary.
# A boot leaves in build/vm-matrix/NAME what scripts/vm/check.py does. JOBS: how many at once (default: one a CPU).
set -uo pipefail
cd "$(dirname "$0")/../.." || exit

boot() { # name: how many CPUs, or `away`, and an IOMMU's state
    local logs=build/vm-matrix/$1 cpus=2 lists=(tests/vm/away)
    [[ $1 != *cpu-* ]] || cpus=${1%%cpu-*} lists=(tests/vm/{list,trouble,removal})
    mkdir -p "$logs"
    scripts/vm/check.py --small "${SMALL:-1}" --smp "$cpus" --iommu "${1#*-iommu-}" --logs "$logs" "${lists[@]}" >"$logs/output" 2>&1
    cat "$logs/output" # in one piece: others run beside it
}
export -f boot

# shellcheck source=scripts/tree_lock.sh
. scripts/tree_lock.sh
scripts/vm/build.sh . || exit
rm -rf build/vm-matrix
export -n STATE_FILE # not one for all
printf '%s\n' {4cpu,2cpu,1cpu,away}-iommu-{off,on} | xargs -P "${JOBS:-$(nproc)}" -I{} bash -c 'boot {}'
echo "== summary"
exec python3 scripts/summary.py build/vm-matrix/*
