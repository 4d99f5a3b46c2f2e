# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the scripts of the virtual machine share: where things are kept, and how a command runs inside the guest's root. Sourced.

# Outside the checkout: any number of checkouts share it, `make clean` leaves it alone, and it may be deleted at any time.
# shellcheck disable=SC2034 # used by those who source this
vm_cache=${XDG_CACHE_HOME:-$HOME/.cache}/sidra/vm

fail() {
    printf 'vm: %s\n' "$@" >&2
    exit 1
}

# Runs a command as root of name spaces of its own: as root of the machine, or as an ordinary user who is root in there.
# Mounts are gone, and its processes killed, when it ends.
as_root() {
    local map=()
    ((EUID == 0)) || map=(--user --map-auto --map-root-user)
    unshare "${map[@]}" --mount --pid --fork --kill-child "$@"
}
