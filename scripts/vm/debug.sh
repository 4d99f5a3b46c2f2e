#!/bin/bash
# SPDX-License-Identifier: MIT
# debug.sh: runs all tests of the VM on the debug kernel, without and with an IOMMU, and shows that what that kernel sees is noticed; then a summary.
# Any report of the kernel's is a failure; how many there were goes into build/figures/vm.json (debug_reports; null: a boot did not come to its
# end). A boot leaves in build/vm-debug/NAME what scripts/vm/check.py does. JOBS: how many at once (default: one a CPU).
set -uo pipefail
cd "$(dirname "$0")/../.." || exit

boot() { # name: of its tests and an IOMMU's state, or `selftest`
    local logs=build/vm-debug/$1 options=(--kernel debug --small "${SMALL:-1}" --iommu "${1#*-iommu-}")
    mkdir -p "$logs"
    case $1 in
        selftest) tests/vm/selftest.py "$logs" debug ;;
        # The kernel's own hotplug driver takes two of its locks in both orders (pci_rescan_remove_lock, the controller's reset_lock) when a card is
        # removed in order. Lockdep would stop at that. The order of our locks at removal is proved where the driver is unbound, in the other boot.
        removal-*) scripts/vm/check.py "${options[@]}" --kernel-args sysctl.kernel.prove_locking=0 --logs "$logs" tests/vm/removal ;;
        away-*) scripts/vm/check.py "${options[@]}" --logs "$logs" tests/vm/away ;;
        *) scripts/vm/check.py "${options[@]}" --logs "$logs" tests/vm/{list,trouble} ;;
    esac >"$logs/output" 2>&1
    cat "$logs/output" # in one piece: others run beside it
}
export -f boot

# shellcheck source=scripts/tree_lock.sh
. scripts/tree_lock.sh
scripts/vm/build.sh . release kmod-debug broken-debug || exit
rm -rf build/vm-debug
export -n STATE_FILE # not one for all
printf '%s\n' {tests,removal,away}-iommu-{off,on} selftest | xargs -P "${JOBS:-$(nproc)}" -I{} bash -c 'boot {}'

reports=null
boots=(build/vm-debug/*-iommu-*) counted=(build/vm-debug/*-iommu-*/reports)
((${#boots[@]} != ${#counted[@]})) || reports=$(cat "${counted[@]}" | wc -l)
scripts/figures.py build/figures/vm.json <<<"{\"debug_reports\": $reports}" || exit
echo "vm: reports of the debug kernel: $reports"
echo "== summary"
exec python3 scripts/summary.py build/vm-debug/*
