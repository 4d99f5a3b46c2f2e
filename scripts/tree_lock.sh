# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# One run of tests at a time in a tree: the others wait. Sourced at its top folder; good until the process ends.
mkdir -p build
exec {lock}>build/check.lock
if ! flock -n $lock; then
    echo "another run of tests in this tree is under way; waiting for it"
    flock $lock
fi
