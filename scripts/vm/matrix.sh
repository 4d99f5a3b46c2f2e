#!/bin/bash
# SPDX-License-Identifier: MIT
# matrix.sh: compiles for the guest, and runs all its tests at 1, 2 and 4 CPUs, each without and with an IOMMU, and at 2 CPUs those away from the
# host's folders, and those where ACPI sees to hotplug; then a summary.
# A boot leaves in build/vm-matrix/NAME what scripts/vm/check.py does. JOBS: how many at once (default: one a CPU).
set -uo pipefail
cd "$(dirname "$0")/../.." || exit

boot() { # name: how many CPUs, or what else is tried, and an IOMMU's state
    local logs=build/vm-matrix/$1 options=(--small "${SMALL:-1}" --iommu "${1#*-iommu-}")
    case $1 in
        *cpu-*) options+=(--smp "${1%%cpu-*}" tests/vm/{list,trouble,removal}) ;;
        away-*) options+=(tests/vm/away) ;;
        acpi-*) options+=(--hotplug acpi tests/vm/removal-acpi) ;;
    esac
    mkdir -p "$logs"
    scripts/vm/check.py --logs "$logs" "${options[@]}" >"$logs/output" 2>&1
    cat "$logs/output" # in one piece: others run beside it
}
export -f boot

# shellcheck source=scripts/tree_lock.sh
. scripts/tree_lock.sh
scripts/vm/build.sh . || exit
rm -rf build/vm-matrix
export -n STATE_FILE # not one for all
printf '%s\n' {4cpu,2cpu,1cpu,away,acpi}-iommu-{off,on} | xargs -P "${JOBS:-$(nproc)}" -I{} bash -c 'boot {}'
echo "== summary"
exec python3 scripts/summary.py build/vm-matrix/*
