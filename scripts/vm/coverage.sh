#!/bin/bash
# SPDX-License-Identifier: MIT
# coverage.sh [BOOT...]: runs the tests of the driver on the debug kernel, with a driver that counts which of its lines are executed (GCOV), and says
# what they did not execute (coverage.py). BOOT: `tests`, `removal`, `away`, `bounce` or `fail-nth` (default: all of them). Logs are in build/vm-coverage; a boot that
# is not named counts with what it has left there before. The figures go into build/figures/driver.json.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
logs=build/vm-coverage
boots=("$@")
((${#boots[@]})) || boots=(tests removal away bounce fail-nth)
scripts/vm/build.sh . release kmod-debug-coverage || exit
module=build/vm/kmod-debug-coverage/sidra.ko
boot() { # name, options of check.py
    scripts/vm/check.py --kernel debug --module $module --coverage --once --logs "$logs/$1" "${@:2}"
}
status=0
for name in "${boots[@]}"; do
    case $name in
    tests) boot tests --small 1 tests/vm/{driver,library,trouble} ;;
    # As scripts/check.sh does it, and why.
    removal) boot removal --small 1 --kernel-args sysctl.kernel.prove_locking=0 tests/vm/removal ;;
    away) boot away --small 1 tests/vm/away ;;
    bounce) boot bounce --small 1 --kernel-args swiotlb=force tests/vm/bounce ;;
    fail-nth)
        scripts/vm/fail_sites.py $module >build/vm/fail-nth-sites && boot fail-nth --iommu on --device sidra,profile=small --small 1 --case 1200 tests/vm/fail-nth
        ;;
    *)
        echo "coverage: there is no boot '$name': tests, removal, away, bounce, fail-nth" >&2
        exit 2
        ;;
    esac || status=1
done
# Counts of another module cannot be added.
find $logs -name coverage.tar.gz ! -newer $module -delete
counted=("$logs"/*/coverage.tar.gz)
scripts/vm/coverage.py "${counted[@]%/*}" || status=1
exit $status
