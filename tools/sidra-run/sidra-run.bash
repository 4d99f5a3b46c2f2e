# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion of sidra-run for bash.
_sidra_run() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    case $previous in
        --level)
            mapfile -t COMPREPLY < <(compgen -W "fast accurate" -- "$current")
            return
            ;;
        --repeat | --chips) return ;;
    esac
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "--output --repeat --level --chips --version --help" -- "$current")
        return
    fi
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
}
complete -F _sidra_run sidra-run
