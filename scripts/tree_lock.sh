# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Only one test run per tree at a time; others wait. Sourced in the top folder; released when the process ends.
mkdir -p build
exec {lock}>build/check.lock
if ! flock -n $lock; then
    echo "another run of tests in this tree is under way; waiting for it"
    flock $lock
fi
