# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion of sidra-bench for bash.
_sidra_bench() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words
    COMPREPLY=()
    case $previous in
        --engine) words="auto scalar avx2 avx-vnni avx512 amx neon" ;;
        --json | --figures | --nvme)
            compopt -o filenames
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return
            ;;
        --workers | --host-memcpy | --host-mvm) return ;;
        *)
            if [[ $current == -* ]]; then
                words="--engine --workers --quick --json --figures --nvme --host-memcpy --host-mvm --list --version --help"
            else
                words="noop copy mvm vec open driver recover twin vector matmul conv network all"
            fi
            ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -F _sidra_bench sidra-bench
