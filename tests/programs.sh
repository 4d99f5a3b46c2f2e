#!/bin/bash
# SPDX-License-Identifier: MIT
# programs.sh PROGRAM...: each program prints the version of the public header, and has a manual page and a bash
# completion; both cover everything in its --help: each option, each command and their arguments. A formatter reports
# nothing for the manual page, and the completion offers nothing for unknown words.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0
finding() {
    echo "$name: $*" >&2
    failures=$((failures + 1))
}
one_file() { # name: prints its path in the tree
    local found
    mapfile -t found < <(find tools libsidra/examples -name "$1")
    ((${#found[@]} == 1)) && echo "${found[0]}"
}
# Completes the last word of a command line, and prints the candidates, one a line.
complete() { # program, completion, word...
    bash -c 'compopt() { :; }
        source "$1"
        read -r _ _ function _ < <(builtin complete -p "${2##*/}") || exit
        COMP_WORDS=("${@:2}") COMP_CWORD=$(($# - 2)) COMPREPLY=()
        $function
        printf "%s\n" "${COMPREPLY[@]}"' bash "$2" "$1" "${@:3}" 2>"$folder/said"
    [[ ! -s $folder/said ]] || finding "the completion of '${*:3}' says: $(cat "$folder/said")"
}
offers() { # completion's words: whether the last word is offered for its beginning
    local words=("${@:3}") whole=${*: -1}
    words[-1]=${whole:0:-1}
    grep -qxF -- "$whole" <(complete "$1" "$2" "${words[@]}")
}

check() { # program, manual as text, completion, command or nothing
    local program=$1 manual=$2 completion=$3 help option command
    local words=("${@:4}")
    help=$("$program" "${words[@]}" --help) || finding "${words[*]} --help fails"
    while read -r option; do
        [[ $option == --help ]] || grep -qE -- "(^|[^a-z-])$option([^a-z-]|\$)" "$manual" ||
            finding "the manual page does not know ${words[*]} $option"
        offers "$program" "$completion" "${words[@]}" "$option" || finding "the completion does not know ${words[*]} $option"
    done < <(grep -oE -- '--[a-z][a-z-]*' <<<"$help" | sort -u)
    # A list of commands is a heading, and lines that are indented; longer descriptions are indented more.
    while read -r command; do
        grep -qw -- "$command" "$manual" || finding "the manual page does not know ${words[*]} $command"
        offers "$program" "$completion" "${words[@]}" "$command" || finding "the completion does not know ${words[*]} $command"
        check "$program" "$manual" "$completion" "${words[@]}" "$command"
    done < <(awk 'tolower($0) ~ /^subcommands:/ { on = 1; next } /^[^ ]/ { on = 0 } on && match($0, /^  [a-z]/) { print $1 }' <<<"$help")
}

version=$(sed -nE 's/^#define SIDRA_VERSION_(MAJOR|MINOR|PATCH)\s+([0-9]+).*/\2/p' libsidra/include/sidra/sidra.h | paste -sd.)
for program in "$@"; do
    name=${program##*/}
    said=$("$program" --version) || finding "--version fails"
    [[ $said == "$name $version" ]] || finding "--version says '$said' instead of $version"
    page=$(one_file "$name.[18]") || { finding "there is not one manual page of it"; continue; }
    completion=$(one_file "$name.bash") || { finding "there is not one completion of it"; continue; }
    LC_ALL=C.UTF-8 MANWIDTH=100 man --warnings=w --no-hyphenation --no-justification -E UTF-8 -l "$page" 2>"$folder/warnings" | col -b >"$folder/manual"
    [[ ! -s $folder/warnings ]] || finding "$page: $(cat "$folder/warnings")"
    for section in NAME SYNOPSIS DESCRIPTION "EXIT STATUS"; do
        grep -qx "$section" "$folder/manual" || finding "$page has no section $section"
    done
    check "$program" "$folder/manual" "$completion"
    nothing=$(complete "$program" "$completion" --no-such-thing)
    [[ -z $nothing ]] || finding "the completion makes something of nothing: $nothing"
    grep -qE -- "^complete .*-F _${name//-/_} $name\$" "$completion" || finding "$completion is not of $name"
done
((!failures)) || exit 1
echo "$# programs: their manual pages and completions know what they offer"
