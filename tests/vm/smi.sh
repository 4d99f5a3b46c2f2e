#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs in the guest: compares sidra-smi with sysfs, and counters with known work, on the real driver. Prints TAP.
set -u
# shellcheck source=tests/vm/tap.sh
. "$(dirname "$0")/tap.sh"
value() { # chip, field
    sidra-smi query --chip "$1" --fields "$2" --format csv | tail -n 1
}
ends() { # what, status, command...
    what=$1 wanted=$2
    shift 2
    "$@" >/tmp/said 2>&1
    ended=$?
    [ "$ended" = "$wanted" ] || cat /tmp/said
    check "$what" "$ended" = "$wanted"
}
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"

for node in /sys/class/sidra/sidra*; do
    name=${node##*/}
    bdf=$(basename "$(readlink "$node/device")")
    check "$name: BDF" "$(value "$name" bdf)" = "$bdf"
    check "$name: by its BDF" "$(value "$bdf" name)" = "$name"
    check "$name: by its UUID" "$(value "$(cat "$node/uuid")" name)" = "$name"
    check "$name: generation" "$(value "$name" generation)" = "$(cat "$node/generation")"
    check "$name: to who is nobody" "$($nobody sidra-smi query --chip "$name" --fields bdf --format csv | tail -n 1)" = "$bdf"
done
ends "the summary" 0 sidra-smi
ends "of a card that is not there" 1 sidra-smi list --chip sidra77
# shellcheck disable=SC2016 # another shell's
ends "three readings" 0 sh -c 'test "$(sidra-smi watch -n 0.1 -c 3 --format json | grep -c "^{.*}$")" = 3'

# A product of 300 x 150 is 45000 multiply-accumulates on two by two crossbars; a mebibyte is copied there and back.
macs=$(value sidra0 macs) mvms=$(value sidra0 mvms) bytes=$(value sidra0 copy.bytes)
ends "every step of a diagnosis" 0 sidra-smi diag --chip sidra0 --level full
check "macs of it" "$(($(value sidra0 macs) - macs))" = 45000
check "products of it" "$(($(value sidra0 mvms) - mvms))" = 4
check "bytes of it" "$(($(value sidra0 copy.bytes) - bytes))" = 2097152

# Root has no limits; whoever meets one is told where it is.
limit=/sys/class/sidra/sidra1/user_limits/contexts
most=$(cat $limit) mode=$(stat -c %a /dev/sidra1)
echo 0 >$limit
chmod 666 /dev/sidra1
$nobody sidra-smi diag --chip sidra1 --level full >/tmp/said 2>&1
check "nobody has a context" $? != 0
chmod "$mode" /dev/sidra1
echo "$most" >$limit
check "a limit is named" "$(grep -c "user nobody has reached a limit of the device: user_limits/contexts" /tmp/said)" = 1 || cat /tmp/said

# shellcheck disable=SC2086 # words
ends "nobody resets" 4 $nobody sidra-smi reset --chip sidra1
generation=$(value sidra1 generation)
case $(value sidra1 stage) in
recovery | runtime)
    # shellcheck disable=SC2086 # words
    $nobody sidra-smi events --follow --interval 0.2 --format json >/tmp/events 2>&1 &
    follower=$!
    event() { # type, pattern of the text: how many there are of sidra1
        grep -c "\"name\":\"sidra1\".*\"type\":\"$1\".*\"text\":\"$2" /tmp/events
    }
    until [ "$(event present ready)" = 1 ] || ! kill -0 "$follower"; do sleep 0.1; done
    ends "a reset" 0 sidra-smi reset --chip sidra1
    # A reset of the function: the driver first resets the chip itself.
    check "it is another generation" "$(value sidra1 generation)" -gt "$generation"
    sidra-smi health --chip sidra1 >/tmp/said
    ended=$?
    [ "$ended" -le 8 ] || cat /tmp/said
    check "health has nothing critical" "$ended" -le 8
    # The kernel's event has the cause. The new generation, which a reading finds too, is no second event.
    tries=0
    until [ "$(event reset .)" -ge 1 ] || [ $((tries += 1)) -gt 100 ]; do sleep 0.1; done
    sleep 2
    kill "$follower"
    [ "$(event reset .)" = 1 ] || cat /tmp/events
    check "one event of the reset" "$(event reset .)" = 1
    check "its cause" "$(event reset 'the chip was reset, and all contexts are lost: reset on request')" = 1
    ;;
esac
finish
