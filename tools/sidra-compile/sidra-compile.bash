# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion of sidra-compile for bash.
_sidra_compile() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    case $previous in
        --dim | --cache-limit | --passes | --optimize | -O | --signal-to-noise | --copies | --tmr | --bad-cells | --chips | --target-accuracy) return ;;
        --observer)
            mapfile -t COMPREPLY < <(compgen -W "minmax moving percentile mse entropy" -- "$current")
            return
            ;;
    esac
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "--output --dim --value --calibrate --observer --signal-to-noise --no-bias-correction --no-equalisation --copies --tmr --predistort --adc-ranges --chips --chip-map --bad-cells --copies-by-layer --target-accuracy --test --labels --optimize --explain --report --no-cache --cache-limit --passes --dump --reproducer --version --help" -- "$current")
        return
    fi
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
}
complete -F _sidra_compile sidra-compile
