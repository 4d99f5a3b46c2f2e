# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion of sidra-smi for bash: what its --help offers.
_sidra_smi() {
    local program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} before='' word help known
    local commands=() words='' value=yes
    COMPREPLY=()
    # Where it is: the command, and the command's own. What an option takes is not taken for one.
    # shellcheck disable=SC2016 # awk's
    local of_commands='tolower($0) ~ /^subcommands:/ { on = 1; next } /^[^ ]/ { on = 0 } on && match($0, /^  [a-z]/) { print $1 }'
    help=$("$program" --help 2>/dev/null)
    local offered=$help
    known=" $(awk "$of_commands" <<<"$help" | tr '\n' ' ')"
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        if [[ $before != -* && $known == *" $word "* ]]; then
            commands+=("$word")
            help=$("$program" "${commands[@]}" --help 2>/dev/null)
            offered+=$'\n'$help # options of sidra-smi itself go everywhere
            known=" $(awk "$of_commands" <<<"$help" | tr '\n' ' ')"
        fi
        before=$word
    done
    case $previous in
        --format) words="text csv json" ;;
        -i | --chip) words=$("$program" query --fields index,node --format csv 2>/dev/null | tail -n +2 | tr ',' '\n') ;;
        --fields)
            # Names with commas between them: the last one.
            [[ $current != *,* ]] || before=${current%,*},
            words=$("$program" query --help-fields 2>/dev/null | cut -d' ' -f1)
            [[ $current != *,* ]] || words=${words//$'\n'/$'\n'"$before"} words=$before$words
            ;;
        -o | --output | --root | --runtime)
            compopt -o filenames
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return
            ;;
        -*) # a number or the like: nothing to offer
            ! grep -qE -- "^ +(-[a-z], *)?$previous(, *--[a-z-]+)? [A-Z]" <<<"$offered" || return
            value=
            ;;
        *) value= ;;
    esac
    if [[ -n $value ]]; then
        : # of what stands before it
    elif [[ $current == -* ]]; then
        words=$(grep -oE -- '^ +(-[a-z], *)?--[a-z-]+' <<<"$offered" | grep -oE -- '--.*')
    else
        words=$known
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -F _sidra_smi sidra-smi
