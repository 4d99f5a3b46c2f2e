#!/bin/bash
# SPDX-License-Identifier: MIT
# driver-figures.sh: measures the driver in the guest (tests/figures), and writes to build/figures/driver.json:
#   flood_victim_share   throughput of a client beside others that ask for more than they may have / beside the same ones
#                        when they only use their CPU
#   flood_victim_share_of_idle   the same / beside the same ones when they sleep
#   lock_waits_per_call  how often a call sleeps for a lock of the driver, under a load of several processes
#   unbind_ms            the longest unbind of several, with a waiter in every kind of wait
# null: the guest did not come to its end.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
logs=build/vm-figures
scripts/figures.py build/figures/driver.json <<<'{"flood_victim_share": null, "flood_victim_share_of_idle": null, "lock_waits_per_call": null, "unbind_ms": null}'
scripts/vm/build.sh . release kmod || exit
scripts/vm/check.py --once --logs $logs tests/vm/figures
status=$?
sed -nE 's/^ *# figure (\w+) ([0-9.e+-]+)$/"\1": \2/p' $logs/tap | paste -sd, | sed 's/.*/{&}/' |
    scripts/figures.py build/figures/driver.json
sed -nE '/# (Subtest|[0-9.]+ s$)/d; s/^ *# (figure )?/driver-figures: /p' $logs/tap
exit $status
