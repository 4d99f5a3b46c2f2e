# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion of sidra-demo for bash.
_sidra_demo() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local words="--engine --profile --batch --repeat --level --age --temperature --stuck --plot --trace --out --model --version --help"
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        words+=" convnet sentence"
    elif [[ ${COMP_WORDS[1]} == convnet ]]; then
        words="--engine --profile --batch --repeat --level --model --digits --version --help"
    elif [[ ${COMP_WORDS[1]} == sentence ]]; then
        words="--engine --profile --level --model --list --nearest --repeat --version --help"
    fi
    case $previous in
        --engine) words="auto scalar avx2 avx-vnni avx512 amx neon" ;;
        --profile) words="y1 small" ;;
        --level) words="fast accurate" ;;
        --out | --plot | --trace | --model | --digits | --list)
            compopt -o filenames
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return
            ;;
        --batch | --repeat | --nearest | --age | --temperature | --stuck) return ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -F _sidra_demo sidra-demo
