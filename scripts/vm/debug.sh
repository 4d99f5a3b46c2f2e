#!/bin/bash
# SPDX-License-Identifier: MIT
# debug.sh: runs tests/vm/list on the debug kernel, without and with an IOMMU, and shows that what that kernel sees is noticed; then a summary.
# Any report of the kernel's is a failure; how many there were goes into build/figures/vm.json (debug_reports; null: a boot did not come to its
# end). A boot leaves in build/vm-debug/NAME what scripts/vm/check.py does. JOBS: how many at once (default: one a CPU).
set -uo pipefail
cd "$(dirname "$0")/../.." || exit

boot() { # name: of an IOMMU's state, or `selftest`
    local logs=build/vm-debug/$1
    mkdir -p "$logs"
    if [[ $1 == selftest ]]; then
        tests/vm/selftest.py "$logs" debug
    else
        scripts/vm/check.py --kernel debug --small "${SMALL:-1}" --iommu "${1#iommu-}" --logs "$logs" tests/vm/list
    fi >"$logs/output" 2>&1
    cat "$logs/output" # in one piece: others run beside it
}
export -f boot

# shellcheck source=scripts/tree_lock.sh
. scripts/tree_lock.sh
scripts/vm/build.sh . release kmod-debug broken-debug || exit
rm -rf build/vm-debug
export -n STATE_FILE # not one for all
printf '%s\n' iommu-{off,on} selftest | xargs -P "${JOBS:-$(nproc)}" -I{} bash -c 'boot {}'

reports=null
[[ ! -e build/vm-debug/iommu-off/reports || ! -e build/vm-debug/iommu-on/reports ]] || reports=$(cat build/vm-debug/iommu-*/reports | wc -l)
scripts/figures.py build/figures/vm.json <<<"{\"debug_reports\": $reports}" || exit
echo "vm: reports of the debug kernel: $reports"
echo "== summary"
exec python3 scripts/summary.py build/vm-debug/*
