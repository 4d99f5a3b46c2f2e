#!/bin/bash
# SPDX-License-Identifier: MIT
# fail-nth.sh [OPTION...]: the sweep of error paths (docs/vm.md), in one boot of the debug kernel with an IOMMU; OPTIONs are those of check.py.
# Logs and results are in build/vm-fail-nth. Into build/figures/check.json go how many places of the driver were refused something
# (fail_nth_sites) and how many tests and cases failed (fail_nth_failures); null: the sweep did not come to its end.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
logs=build/vm-fail-nth
figures() { # sites, failures
    scripts/figures.py build/figures/check.json <<<"{\"fail_nth_sites\": $1, \"fail_nth_failures\": $2}"
}
figures null null
scripts/vm/build.sh . release kmod-debug || exit
scripts/vm/fail_sites.py build/vm/kmod-debug/sidra.ko >build/vm/fail-nth-sites || exit
# FailNth.Load alone takes two minutes on an idle machine.
scripts/vm/check.py --kernel debug --iommu on --device sidra,profile=small --small 1 --case 1200 --logs $logs "$@" tests/vm/fail-nth
status=$?
sites=$(sed -n 's/^ *# sites: //p' $logs/tap)
failures=$(cat $logs/ctest.xml $logs/results/*.xml 2>/dev/null | grep -o '<failure' | wc -l)
[[ -n $sites ]] || failures=null
figures "${sites:-null}" "$failures"
exit $status
