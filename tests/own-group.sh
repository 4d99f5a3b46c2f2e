#!/bin/bash
# SPDX-License-Identifier: MIT
# own-group.sh: scripts/own_group.sh passes on a status, and a signal that ends a script ends all that the script has started.
set -euo pipefail
fail() {
    echo "own-group: $*" >&2
    exit 1
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
. scripts/own_group.sh

exec </dev/null
status=0
own_group logged "$folder/log" sh -c 'echo text; exit 7' >"$folder/out" || status=$?
((status == 7)) || fail "the status is $status, not 7"
for file in log out; do [[ $(<"$folder/$file") == text ]] || fail "$file lacks the output"; done

# A script whose command waits for a grandchild, which waits on a pipe that nobody writes to.
mkfifo "$folder/never"
cat >"$folder/script" <<'SCRIPT'
. scripts/own_group.sh
own_group logged "$1/log" sh -c 'sh -c "echo \$\$; read line <$0" "$0"; echo after' "$1/never"
echo "the script went on"
SCRIPT
bash "$folder/script" "$folder" >"$folder/said" &
until [[ -s $folder/said ]]; do kill -0 $! && sleep 0.01; done
inner=$(<"$folder/said")
kill -0 "$inner" || fail "the grandchild is not there"
kill -TERM $!
status=0
wait $! || status=$?
((status == 143)) || fail "the status after SIGTERM is $status, not 143"
# The signal has reached it, but it may still be ending.
for ((tries = 0; tries < 6000; tries++)); do
    stat=$(cat "/proc/$inner/stat" 2>/dev/null) || break
    [[ $stat != *") Z "* ]] || break
    sleep 0.01
done
((tries < 6000)) || fail "the grandchild still runs"
[[ $(<"$folder/said") == "$inner" ]] || fail "something went on: $(<"$folder/said")"
echo "own-group: passed"
