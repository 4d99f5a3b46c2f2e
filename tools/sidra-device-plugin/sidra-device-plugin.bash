# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion of sidra-device-plugin for bash.
_sidra_device_plugin() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words=
    COMPREPLY=()
    case $previous in
        --kubelet | --cdi-folder | --root)
            compopt -o filenames
            mapfile -t COMPREPLY < <(compgen -d -- "$current")
            return
            ;;
        -n | --interval) ;;
        *) [[ $current != -* ]] || words="--kubelet --cdi-folder --no-cdi --root --interval --version --help" ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -F _sidra_device_plugin sidra-device-plugin
