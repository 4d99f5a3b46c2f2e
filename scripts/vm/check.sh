#!/bin/bash
# SPDX-License-Identifier: MIT
# check.sh: compiles for the guest and runs tests/vm/list in one boot, then the self-test of the harness. Results, for scripts/summary.py, in
# build/vm and build/vm-selftest. SMP, IOMMU, DEVICES, ... as for `make vm`.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
mkdir -p build/vm
exec {lock}>build/vm/check.lock
if ! flock -n $lock; then
    echo "vm: another run of this tree is under way; waiting for it"
    flock $lock
fi
rm -rf build/vm/ctest.xml build/vm/results build/vm-selftest/ctest.xml

echo "== vm: build"
scripts/vm/build.sh . || exit
echo "== vm: test"
status=0
SMALL=${SMALL:-1} scripts/vm/check.py tests/vm/list || status=1
# It says what it means to say: not to be bent by the matrix.
env -u SMP -u IOMMU -u DEVICES -u DEVICE -u MEMORY -u QEMU_ARGS -u KERNEL_ARGS tests/vm/selftest.py build/vm-selftest || status=1
exit $status
