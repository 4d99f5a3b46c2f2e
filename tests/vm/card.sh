#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs in the guest: does the kernel see the cards as docs/device.md has them? Prints TAP.
set -u
# shellcheck source=tests/vm/tap.sh
. "$(dirname "$0")/tap.sh"
bar() { # folder of the function, number: its size
    # shellcheck disable=SC2046 # three numbers
    set -- $(sed -n "$(($2 + 1))p" "$1/resource")
    echo $(($2 - $1 + 1))
}

cards=0
for card in /sys/bus/pci/devices/*; do
    [ "$(cat "$card/vendor" "$card/device" | tr '\n' ' ')" = "0x5349 0x5931 " ] || continue
    cards=$((cards + 1))
    check "card $cards: class" "$(cat "$card/class")" = 0x120000
    check "card $cards: size of the registers' BAR" "$(bar "$card" 0)" = 16777216
    memory=16777216
    [ "$cards" -le "$SIDRA_VM_DEVICES" ] || memory=1048576
    check "card $cards: size of the memory's BAR" "$(bar "$card" 2)" = "$memory"
    if [ "$(grep -c intel_iommu=on /proc/cmdline)" = 1 ]; then
        check "card $cards: its own IOMMU group" "$(find "$card/iommu_group/devices/" -type l | grep -c "${card##*/}")" = 1
    fi
done
check "cards" "$cards" = "$((SIDRA_VM_DEVICES + SIDRA_VM_SMALL))"
finish
