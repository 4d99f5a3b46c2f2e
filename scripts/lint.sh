#!/bin/bash
# SPDX-License-Identifier: MIT
# lint.sh BUILD_DIR: all static checks of the sources. All checks run; any finding fails.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

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

licences() { # checks that every file has an SPDX line among its first three lines
    local file status=0
    while read -r file; do
        if ! head -n 3 "$file" | grep -q 'SPDX-License-Identifier: '; then
            echo "$file: no SPDX-License-Identifier in its first lines"
            status=1
        fi
    done < <(find CMakeLists.txt Makefile .ci scripts uapi qemu-device firmware libsidra tests tools -type f \
        \( -name '*.[ch]' -o -name '*.[ch]pp' -o -name '*.inc' -o -name '*.py' -o -name '*.sh' -o -name '*.cmake' \
        -o -name CMakeLists.txt -o -name Makefile -o -name run \) 2>/dev/null)
    return $status
}

# A source is checked again if it, any header or the rules have changed since it was last clean.
tidy_one() { # build folder, source
    local stamp=$1/lint/${2//\//,} output
    [[ $stamp -nt $2 && $stamp -nt $1/lint/newest ]] && return
    if output=$(clang-tidy --quiet -p "$1" --extra-arg=-Wno-unknown-warning-option "$2" 2>&1); then
        touch "$stamp"
    else
        grep -Ev '^[0-9]+ warnings? (generated|treated)|^Suppressed|^Use -' <<<"$output"
        return 1
    fi
}
export -f tidy_one

tidy() { # build folder; its compile commands list the sources for this processor and these packages
    mkdir -p "$1/lint"
    local newest
    newest=$(find firmware libsidra qemu-device uapi tools .clang-tidy \( -name '*.h*' -o -name '*.inc' -o -name .clang-tidy \) \
        -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d' ' -f2-)
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
step shellcheck shellcheck -x scripts/*.sh scripts/vm/*.sh scripts/vm/guest/{init,load,main,debug-end,coverage,detach,ask-host} scripts/packages/*.sh tests/*.sh tests/vm/*.sh .ci/run
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
