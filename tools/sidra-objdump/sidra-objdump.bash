# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion of sidra-objdump for bash.
_sidra_objdump() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    case $previous in
        --matrix | --variant | --stage) return ;;
    esac
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "--calls --programs --matrix --extract --variant --stage --json --memory --chip --timeline --version --help" -- "$current")
        return
    fi
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
}
complete -F _sidra_objdump sidra-objdump
