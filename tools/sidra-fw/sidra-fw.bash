# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion of sidra-fw for bash.
_sidra_fw() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words=
    COMPREPLY=()
    case $previous in
        --type) words="runtime recovery" ;;
        --api) words="boot= mailbox= telemetry= log= dump=" ;;
        --version | --security-version | --min-security-version | --min-driver | --driver | --stack | --chip-id | --steppings | \
            --stepping | --build-id | --build-time | --load-address | --entry | --ram-size | --ram | --name) return ;;
        *)
            if ((COMP_CWORD == 1)); then
                words="build keygen sign show verify --version --help"
            elif [[ $current == -* ]]; then
                case ${COMP_WORDS[1]} in
                    build)
                        words="--version --security-version --type --api --min-driver --stack --chip-id --steppings --build-id
                            --build-time --log-strings --debug --flat --load-address --entry --ram-size --help"
                        ;;
                    keygen) words="--name --help" ;;
                    sign) words="--key --output --help" ;;
                    show) words="--key --json --help" ;;
                    verify) words="--key --min-security-version --type --api --driver --chip-id --stepping --ram --help" ;;
                esac
            else
                compopt -o filenames
                mapfile -t COMPREPLY < <(compgen -f -- "$current")
                return
            fi
            ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -F _sidra_fw sidra-fw
