#!/bin/bash
# SPDX-License-Identifier: MIT
# matrix.sh: compiles for the guest, and runs all its tests at 1, 2 and 4 CPUs, each without and with an IOMMU; then a summary.
# A boot leaves in build/vm-matrix/NAME what scripts/vm/check.py does. JOBS: how many at once (default: one a CPU).
set -uo pipefail
cd "$(dirname "$0")/../.." || exit

boot() { # CPUs, IOMMU
    local logs=build/vm-matrix/$1cpu-iommu-$2
    mkdir -p "$logs"
    scripts/vm/check.py --small "${SMALL:-1}" --smp "$1" --iommu "$2" --logs "$logs" tests/vm/{list,trouble,removal} >"$logs/output" 2>&1
    cat "$logs/output" # in one piece: others run beside it
}
export -f boot

# shellcheck source=scripts/tree_lock.sh
. scripts/tree_lock.sh
scripts/vm/build.sh . || exit
rm -rf build/vm-matrix
export -n STATE_FILE # not one for all
printf '%s\n' {4,2,1}" "{off,on} | xargs -P "${JOBS:-$(nproc)}" -I{} bash -c 'boot {}'
echo "== summary"
exec python3 scripts/summary.py build/vm-matrix/*
