# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Sourced. own_group COMMAND...: runs a command, or a function, in a process group of its own. A signal that ends the script ends the group,
# too; without this, bash would leave behind what it waits for. On a terminal it only runs the command: the terminal's signals reach
# everything, and sudo can ask for a password.
own_group() {
    if [[ -t 0 ]]; then
        "$@"
        return
    fi
    local group status signal
    set -m
    "$@" &
    group=$!
    set +m
    # shellcheck disable=SC2064 # of this group
    for signal in INT TERM HUP; do trap "trap - $signal; kill -TERM -- -$group; wait $group; kill -$signal \$\$" $signal; done
    wait "$group"
    status=$?
    trap - INT TERM HUP
    return $status
}

# logged FILE COMMAND...: writes the output of a command to a file as well.
logged() {
    "${@:2}" 2>&1 | tee "$1"
    return "${PIPESTATUS[0]}"
}
