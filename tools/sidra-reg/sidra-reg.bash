# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion of sidra-reg for bash.
_sidra_reg() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} word command= words=
    COMPREPLY=()
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        [[ " list names dump read write test " != *" $word "* ]] || command=${command:-$word}
    done
    if [[ $previous == -d || $previous == --device ]]; then
        words=$("${COMP_WORDS[0]}" list 2>/dev/null | cut -d' ' -f1)
    elif [[ $current == -* ]]; then
        words="--device --version --help"
    elif [[ -z $command ]]; then
        words="list names dump read write test"
    elif [[ $command == read || ($command == write && $previous == write) ]]; then
        words=$("${COMP_WORDS[0]}" names 2>/dev/null | cut -d' ' -f1)
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -F _sidra_reg sidra-reg
