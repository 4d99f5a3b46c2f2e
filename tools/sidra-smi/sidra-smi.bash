# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion of sidra-smi for bash, from what its --help offers.
_sidra_smi() {
    local program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} before='' word help known
    local commands=() words='' value=yes
    COMPREPLY=()
    # The command and its subcommand. The value of an option is not mistaken for a command.
    # shellcheck disable=SC2016 # awk's
    local of_commands='tolower($0) ~ /^subcommands:/ { on = 1; next } /^[^ ]/ { on = 0 } on && match($0, /^  [a-z]/) { print $1 }'
    help=$("$program" --help 2>/dev/null)
    local offered=$help
    known=" $(awk "$of_commands" <<<"$help" | tr '\n' ' ')"
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        if [[ $before != -* && $known == *" $word "* ]]; then
            commands+=("$word")
            help=$("$program" "${commands[@]}" --help 2>/dev/null)
            offered+=$'\n'$help # options of sidra-smi itself are valid everywhere
            known=" $(awk "$of_commands" <<<"$help" | tr '\n' ' ')"
        fi
        before=$word
    done
    case $previous in
        --format)
            words="text json"
            ! grep -q 'text, csv or json' <<<"$help" || words="text csv json"
            ;;
        --level)
            # Of diag by name, of clock by number.
            if [[ ${commands[0]-} == diag ]]; then words="quick full"
            else words=$("$program" clock --format json 2>/dev/null | awk '/"levels": \[/ { on = 1; next } /\]/ { on = 0 } on { print n++ }'); fi
            ;;
        --acknowledge | --withdraw) words="presence state firmware temperature power cells endurance converters link dma" ;;
        --save | --root | --runtime)
            compopt -o filenames
            mapfile -t COMPREPLY < <(compgen -d -- "$current")
            return
            ;;
        -i | --chip) words=$("$program" query --fields index,node --format csv 2>/dev/null | tail -n +2 | tr ',' '\n') ;;
        --fields)
            # The last of several names with commas.
            before=
            [[ $current != *,* ]] || before=${current%,*},
            words="all debug $("$program" query --help-fields --format csv 2>/dev/null | tail -n +2 | cut -d, -f1)"
            mapfile -t COMPREPLY < <(compgen -P "$before" -W "$words" -- "${current##*,}")
            return
            ;;
        -o | --output)
            compopt -o filenames
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return
            ;;
        -*) # a number: nothing to offer
            ! grep -qE -- "^ +(-[a-z], *)?$previous(, *--[a-z-]+)? [A-Z]" <<<"$offered" || return
            value=
            ;;
        *) value= ;;
    esac
    if [[ -n $value ]]; then
        : # completed by the option before it
    elif [[ $current == -* ]]; then
        words=$(grep -oE -- '^ +(-[a-z], *)?--[a-z-]+' <<<"$offered" | grep -oE -- '--.*')
    elif [[ ${commands[0]-} == help && ${#commands[@]} == 1 ]]; then
        words=$("$program" --help 2>/dev/null | awk "$of_commands")
    else
        words=$known
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -F _sidra_smi sidra-smi
