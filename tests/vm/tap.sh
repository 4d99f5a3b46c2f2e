# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# For scripts that print TAP: sourced first; `finish` is their last line.
status=0
number=0
check() { # description, arguments of test
    number=$((number + 1))
    what=$1
    shift
    if [ "$@" ]; then
        echo "ok $number - $what"
    else
        echo "not ok $number - $what: $*"
        status=1
    fi
}
finish() {
    echo "1..$number"
    exit $status
}
