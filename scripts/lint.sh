#!/bin/bash
# SPDX-License-Identifier: MIT
# lint.sh BUILD_DIR: all static checks of the sources. All checks run; any finding fails.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

# shellcheck source=scripts/tree_files.sh
. scripts/tree_files.sh
jobs=${JOBS:-$(nproc)}
failures=()
step() { # name, command; 77 means skipped
    local name=$1
    shift
    echo "== $name"
    "$@"
    local status=$?
    ((status == 0 || status == 77)) || failures+=("$name")
}

# Files of these names, and scripts, which have what runs them in their first line.
sources() { # interpreters, pathspec...
    local file line
    { tree_files "${@:2}" && tree_files | while IFS= read -r file; do
        IFS= read -r line <"$file" || :
        [[ ! $line =~ ^'#!'.*[/\ ]($1)$ ]] || echo "$file"
    done; } | sort -u
}

licences() { # checks that every source has an SPDX line among its first three lines
    local file status=0 listed
    listed=$(sources '.*' '*.[chS]' '*.[ch]pp' '*.inc' '*.td' '*.fbs' '*.proto' '*.mlir' '*.ld' '*.py' '*.pyi' '*.sh' '*.bash' '*.fish' '*.cmake' \
        '*.toml' '*.yml' '*.yaml' '*CMakeLists.txt' '*Makefile' '*Kbuild' '*Kconfig') || return
    while IFS= read -r file; do
        if [[ $(head -n 3 "$file") != *"SPDX-License-Identifier: "* ]]; then
            echo "$file: no SPDX-License-Identifier in its first lines"
            status=1
        fi
    done <<<"$listed"
    return $status
}

shell_scripts() {
    local listed
    listed=$(sources '(ba|da)?sh' '*.sh') || return
    xargs -d '\n' shellcheck -x <<<"$listed"
}

# A source is checked again if it, any header or the rules have changed since it was last clean.
tidy_one() { # build folder, source
    local stamp=$1/lint/${2//\//,} output
    [[ $stamp -nt $2 && $stamp -nt $1/lint/newest ]] && return
    touch "$stamp.new" # before the check, so that an edit during it is newer
    if output=$(clang-tidy --quiet -p "$1" --extra-arg=-Wno-unknown-warning-option "$2" 2>&1); then
        mv "$stamp.new" "$stamp"
    else
        grep -Ev '^[0-9]+ warnings? (generated|treated)|^Suppressed|^Use -' <<<"$output"
        return 1
    fi
}
export -f tidy_one

tidy() { # build folder; its compile commands list the sources for this processor and these packages
    mkdir -p "$1/lint"
    local newest
    newest=$(tree_files '*.h' '*.hpp' '*.inc' '*.td' '*.fbs' '*.proto' '*.clang-tidy' ':!kmod' ':!tests' | xargs -d '\n' stat -c '%.9Y %n' |
        sort -n | tail -n 1 | cut -d' ' -f2-) || return
    touch -r "$newest" "$1/lint/newest"
    sed -n "s|.*\"file\": \"$PWD/\(.*\.cpp\)\".*|\1|p" "$1/compile_commands.json" | grep -v '^tests/' | sort -u |
        xargs -r -P "$jobs" -I{} bash -c "tidy_one '$1' {}"
}

# The Python code: ruff by python/ruff.toml, and mypy on the packages as they are installed.
python_checks() {
    local tools=build/python/lint interpreter site
    interpreter=$(scripts/python.sh) || return
    if ! [[ -e $tools/complete ]]; then
        rm -rf "$tools"
        python3 -m venv "$tools" && "$tools/bin/pip" install --quiet --disable-pip-version-check ruff==0.17.6 mypy==2.4.1 || return
        touch "$tools/complete"
    fi
    site=$("$interpreter" -c 'import sysconfig; print(sysconfig.get_path("purelib"))') || return
    "$tools/bin/ruff" check --quiet python && "$tools/bin/mypy" --python-executable "$interpreter" "$site"/sidra "$site"/sidra_pytorch
}

step licences licences
step shellcheck shell_scripts
step plots scripts/ispp-plot.py --check
step headers scripts/check-headers.sh
step format scripts/format.sh --check
step python python_checks
step clang-tidy tidy "$1"
if ((${#failures[@]})); then
    echo "lint: findings in ${failures[*]}"
    exit 1
fi
echo "lint: clean"
