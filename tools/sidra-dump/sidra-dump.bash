# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion of sidra-dump for bash.
_sidra_dump() {
    local current=${COMP_WORDS[COMP_CWORD]}
    COMPREPLY=()
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "--elf --json --vector-program --version --help" -- "$current")
        return
    fi
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
}
complete -F _sidra_dump sidra-dump
