#!/bin/bash
# SPDX-License-Identifier: MIT
# scripts.sh: what scripts do that cannot be run here for real, with programs that only pretend to be those which they call.
# shellcheck disable=SC2016 # what stands in single quotes is for others to expand
set -euo pipefail
folder=$(mktemp -d)
# shellcheck disable=SC2154 # assigned there
trap 'for group in $(jobs -p); do kill -- -"$group" 2>/dev/null; done; rm -rf "$folder"' EXIT
fail() {
    echo "scripts: $*" >&2
    exit 1
}
# A program that the scripts find before the real one.
pretend() { # name; its text is the input
    mkdir -p "$folder/bin"
    { echo '#!/bin/bash' && cat; } >"$folder/bin/$1"
    chmod +x "$folder/bin/$1"
}
with_pretenders() { PATH=$folder/bin:$PATH "$@"; }

# `make setup` installs what every other target does. On this machine nothing is installed, and apt-get says what it was asked for.
pretend dpkg-query <<<'exit 1'
pretend sudo <<<'[[ $1 != -n ]] || shift; exec "$@"'
pretend apt-get <<<'printf "%s\n" "$@" | sed "0,/^--no-install-recommends\$/d" >"$INSTALLED"'
mapfile -t groups < <(sed -n 's/^\t@$(SETUP) //p' Makefile | grep -v '^all$' | tr ' ' '\n' | sort -u)
[[ " ${groups[*]} " == *" base "* ]] || fail "the groups of the targets were not found in Makefile"
INSTALLED=$folder/of-the-targets SIDRA_SETUP='' with_pretenders scripts/setup.sh "${groups[@]}" >"$folder/log" || fail "setup.sh: $(<"$folder/log")"
INSTALLED=$folder/of-setup SIDRA_SETUP='' with_pretenders make --no-print-directory setup >"$folder/log" || fail "make setup: $(<"$folder/log")"
lacking=$(comm -23 <(sort -u "$folder/of-the-targets") <(sort -u "$folder/of-setup"))
[[ -z $lacking ]] || fail "make setup does not install: ${lacking//$'\n'/ }"

# What pip says when it fails is shown, and the environment is made anew the next time.
real_python=$(command -v python3)
export real_python
pretend python3 <<'END'
[[ "$1 $2" == "-m venv" ]] || exec "$real_python" "$@"
mkdir -p "$3/bin"
cat >"$3/bin/python" <<'PYTHON'
#!/bin/sh
case "$*" in
    "-m pip install torch=="*) [ ! "$NO_TORCH" ] || { echo "no torch today" && exit 1; } ;;
    "-m pip install -r "*) [ ! "$NO_OTHERS" ] || { echo "no others today" && exit 1; } ;;
esac
PYTHON
chmod +x "$3/bin/python"
END
packages() { XDG_CACHE_HOME=$folder/cache with_pretenders scripts/python-packages.sh >"$folder/said" 2>"$folder/errors"; }
for missing in torch others; do
    declare -x "NO_${missing^^}=yes"
    packages && fail "python-packages.sh succeeds without $missing"
    [[ ! -s $folder/said ]] || fail "python-packages.sh names an interpreter without $missing: $(<"$folder/said")"
    grep -q "no $missing today" "$folder/errors" || fail "python-packages.sh does not show what pip says: $(<"$folder/errors")"
    grep -q "all of its output is in $folder/cache/sidra/python-.*\.log" "$folder/errors" || fail "python-packages.sh names no log: $(<"$folder/errors")"
    unset "NO_${missing^^}"
done
packages || fail "python-packages.sh: $(<"$folder/errors")"
[[ -x $(<"$folder/said") ]] || fail "python-packages.sh names no interpreter: $(<"$folder/said")"

# kmod.sh remembers as clean only the sources that it has checked. Its roots are empty, and its compiler is a command.
tree=$folder/kmod-tree
mkdir -p "$tree"/{scripts/vm,kmod/tests,uapi,firmware/image}
cp scripts/{kmod.sh,kmod_cycles.py,figures.py} "$tree/scripts"
touch "$tree"/{kmod/Kbuild,kmod/sidra.c,kmod/sidra.h,kmod/tests/test.c,kmod/tests/fake.h,firmware/image/image.c,firmware/image/image.h}
printf '%s\n' '/**' ' * struct told - a struct' ' */' 'struct told {' '};' '/*' ' * A comment.' ' */' 'enum untold {' '};' >"$tree/uapi/sidra.h"
cat >"$tree/scripts/vm/common.sh" <<'END'
can_make_roots() { :; }
debian_archives() { echo "$@"; }
unpack_debian() {
    [[ $4 != "${NO_ROOT-}" ]] || { echo "nothing can be fetched" >"$2" && return 1; }
    mkdir -p "$1/usr/bin" "$1/lib/modules/6.12"
}
as_root() { if [[ $1 == */kmod.sh ]]; then eval "$COMPILER"; else "$@"; fi; }
END
clean() { # compiler: how many checks of the module's builds it remembers
    COMPILER=$1 XDG_CACHE_HOME=$folder/cache "$tree/scripts/kmod.sh" >"$folder/log" 2>&1 || : # there is no checkpatch in these roots
    for suite in bookworm trixie backports sid; do
        grep -q "^  passed  $suite: Linux 6.12" "$folder/log" || fail "kmod.sh does not compile for $suite: $(<"$folder/log")"
    done
    find "$folder/cache/sidra/kmod/clean" -type f 2>/dev/null | wc -l
}
[[ $(clean 'echo "/* edited */" >>kmod/sidra.c') == 0 ]] || fail "kmod.sh remembers as clean what was edited while it was compiled"
[[ $(clean :) != 0 ]] || fail "kmod.sh does not remember what it has compiled"
grep -q "^  not run smatch: " "$folder/log" || fail "kmod.sh does not say that smatch was not run: $(<"$folder/log")"
[[ $(grep -h "no kernel-doc comment" "$tree/build/kmod/kernel-doc.log") == "uapi/sidra.h:9: enum untold has"* ]] ||
    fail "kmod.sh sees these structs without a comment: $(<"$tree/build/kmod/kernel-doc.log")"
# checkpatch has failed, but found nothing.
figures=$(tr -d '\n ' <"$tree/build/figures/driver.json") || fail "kmod.sh writes no figures: $(<"$folder/log")"
[[ $figures == '{"kmod_cycles":null,"checkpatch_findings":null}' ]] || fail "the figures of checks without a result are $figures"
# What does not compile for sid is a failure; that there is no sid is none.
sid() { # what is said of it
    sed -i 's/edited/edited once more/' "$tree/kmod/sidra.c"
    "$tree/scripts/kmod.sh" >"$folder/log" 2>&1 || :
    grep -q "^  $1 sid: " "$folder/log" || fail "kmod.sh does not say \"$1\" of sid: $(<"$folder/log")"
}
COMPILER='[[ $* != */kmod/sid-* ]]' XDG_CACHE_HOME=$folder/cache sid "FAILED "
grep -q '"sid" status="fail"' "$tree/build/kmod/ctest.xml" || fail "kmod.sh does not fail with sid: $(<"$tree/build/kmod/ctest.xml")"
COMPILER=: NO_ROOT=sid XDG_CACHE_HOME=$folder/cache-without-sid sid "not run"
grep -q '"sid" status="notrun"' "$tree/build/kmod/ctest.xml" || fail "kmod.sh fails without sid: $(<"$tree/build/kmod/ctest.xml")"

# The last of several architectures' copies takes the state of the library along. The script finds no other program than this one.
mkdir "$folder/only"
printf '#!/bin/sh\necho "rm $*"\n' >"$folder/only/rm"
chmod +x "$folder/only/rm"
postrm() { # action, number of copies: what it runs
    PATH=$folder/only DPKG_MAINTSCRIPT_PACKAGE_REFCOUNT=$2 /bin/sh scripts/packages/debian/libsidra-smi1.postrm "$1"
}
[[ $(postrm purge 2) == "" ]] || fail "purging one of two copies of the library runs: $(postrm purge 2)"
[[ $(postrm remove 1) == "" ]] || fail "removing the library runs: $(postrm remove 1)"
[[ $(postrm purge 1) == "rm -rf /var/lib/sidra" ]] || fail "purging the last copy of the library runs: $(postrm purge 1)"

# Whether KVM works is remembered, but not that a trial was too slow to tell.
mkdir -p "$folder/vm/root"
pretend timeout <<<'echo tried >>"$TRIALS"
[[ $TRIAL != works ]] || echo "Unable to mount root fs" >"${!#/file:/}"
[[ $TRIAL != slow ]] || exit 124'
kvm() { # how the trial ends: the answer, and after it the number of trials
    TRIAL=$1 TRIALS=$folder/trials with_pretenders python3 -B - "$folder/vm/root" <<'END'
import os, pathlib, sys
sys.path.insert(0, "scripts/vm")
import machine
os.access = lambda *_: True
print(machine.kvm_works("/bin/true", pathlib.Path(sys.argv[1])))
END
    wc -l <"$folder/trials"
}
for ((trial = 1; trial <= 2; trial++)); do
    [[ $(kvm slow) == "False"$'\n'$trial ]] || fail "trial $trial of KVM: that it was too slow is remembered"
done
for how in works fails; do
    rm -f "$folder/vm/kvm" "$folder/trials"
    answer=False
    [[ $how == fails ]] || answer=True
    for ((ask = 1; ask <= 2; ask++)); do
        [[ $(kvm $how) == "$answer"$'\n'1 ]] || fail "a trial of KVM that $how is not believed, or not remembered"
    done
done
[[ $(ls "$folder/vm") == $'kvm\nroot' ]] || fail "trials of KVM leave files: $(ls "$folder/vm")"

# Of two checkouts that find no root with PyTorch, one makes it, and the other waits until it is complete.
tree=$folder/torch-tree
mkdir -p "$tree"/{scripts/vm,python}
cp scripts/torch-suites.sh "$tree/scripts"
echo nanobind==1 >"$tree/python/requirements.txt"
printf '#!/bin/sh\necho true\n' | tee "$tree/scripts/python-packages.sh" >"$tree/scripts/vm/build.sh"
cp "$tree/scripts/vm/build.sh" "$tree/scripts/vm/check.py"
chmod +x "$tree"/scripts/{python-packages.sh,vm/*}
cat >"$tree/scripts/vm/common.sh" <<'END'
vm_cache=$XDG_CACHE_HOME/sidra/vm
fail() { echo "$@" >&2 && exit 1; }
can_make_roots() { :; }
debian_archives() { echo "deb $1"; }
unpack_debian() {
    echo "$1" >>"$ROOTS"
    read -r _ <"$GO"
    touch "$1/made"
}
as_root() {
    case $1 in
        */torch-suites.sh) [[ -e $3/made ]] ;;
        mkfs.erofs) echo disk >>"$ROOTS" && touch "${@: -2:1}" ;;
        *) "$@" ;;
    esac
}
END
cp -r "$tree" "$folder/torch-tree-2"
export ROOTS=$folder/roots GO=$folder/go
mkfifo "$GO"
exec {go}<>"$GO" # writing does not wait for a reader
suites() { XDG_CACHE_HOME=$folder/cache "$folder/$1/scripts/torch-suites.sh" --vm >"$folder/$1.log" 2>&1; }
roots() { grep -cv '^disk$' "$ROOTS" 2>/dev/null || :; }
set -m # process groups, which can be ended as a whole
suites torch-tree &
first=$!
until [[ $(roots) == 1 ]]; do
    kill -0 $first || fail "no root is made: $(<"$folder/torch-tree.log")"
    sleep 0.01
done
suites torch-tree-2 &
second=$!
set +m
until [[ $(roots) == 2 ]] || grep -qs waiting "$folder/torch-tree-2.log"; do
    kill -0 $second || fail "the second checkout neither makes a root nor waits for one: $(<"$folder/torch-tree-2.log")"
    sleep 0.01
done
for ((left = $(roots); left > 0; left--)); do echo go >&"$go"; done
wait $first || fail "the checkout that makes the root fails: $(<"$folder/torch-tree.log")"
wait $second || fail "the checkout that waits for the root fails: $(<"$folder/torch-tree-2.log")"
[[ $(roots) == 1 ]] || fail "two checkouts make the same root: $(<"$ROOTS")"
[[ $(grep -c '^disk$' "$ROOTS") == 1 ]] || fail "two checkouts make the same disk"
[[ -z $(find "$folder/cache/sidra/vm" -name 'torch-root-*.*') ]] || fail "half a root is left: $(ls "$folder/cache/sidra/vm")"

# What lint.sh and format.sh look at, in a tree with a file of each kind. Its other checks are not there.
command -v git >/dev/null || exit 0
tree=$folder/lint-tree
mkdir -p "$tree"/{scripts/cmake,scripts/vm/guest,compiler/passes,kmod,python,build/release} "$folder/lint-bin"
cp scripts/{lint,format,tree_files}.sh "$tree/scripts"
git -C "$tree" init --quiet
echo /build/ >"$tree/.gitignore"
touch "$tree"/{compiler/passes/pass.cpp,compiler/passes/pass.h,kmod/sidra.c,python/client.py,.clang-tidy}
echo '#!/bin/sh' | tee "$tree/scripts/cmake/cache.sh" >"$tree/scripts/vm/guest/detach"
echo "\"file\": \"$tree/compiler/passes/pass.cpp\"" >"$tree/build/release/compile_commands.json"
lint() { ! PATH=$folder/lint-bin:$PATH "$tree/scripts/lint.sh" build/release >"$folder/log" 2>&1 || fail "lint.sh finds nothing: $(<"$folder/log")"; }
printf '#!/bin/sh\nprintf "shellcheck %%s\\n" "$@"\n' >"$folder/lint-bin/shellcheck"
printf '#!/bin/sh\nfor last; do :; done\necho "$last" >>"%s"\neval "$EDIT"\n' "$folder/tidied" >"$folder/lint-bin/clang-tidy"
chmod +x "$folder/lint-bin"/*
tidies() { # how often, why, command that edits while clang-tidy runs
    : >"$folder/tidied"
    EDIT=${3:-} lint
    [[ $(wc -l <"$folder/tidied") == "$1" ]] || fail "clang-tidy runs $(wc -l <"$folder/tidied") times instead of $1: $2; $(<"$folder/log")"
}
tidies 1 "a new source" 'echo "// edited" >>compiler/passes/pass.cpp'
for file in compiler/passes/pass.cpp compiler/passes/pass.h kmod/sidra.c python/client.py scripts/cmake/cache.sh scripts/vm/guest/detach; do
    grep -q "^$file: no SPDX" "$folder/log" || fail "lint.sh does not miss the licence of $file: $(<"$folder/log")"
done
for file in scripts/lint.sh scripts/cmake/cache.sh scripts/vm/guest/detach; do
    grep -q "^shellcheck $file\$" "$folder/log" || fail "lint.sh does not check $file: $(<"$folder/log")"
done
tidies 1 "the source was edited during the check" 'echo "// edited" >>compiler/passes/pass.h'
tidies 1 "a header of the compiler was edited during the check"
touch -d '1 hour ago' "$tree"/compiler/passes/pass.*
tidies 0 "nothing was edited"
touch "$tree/compiler/passes/pass.h"
tidies 1 "a header of the compiler was edited"
# The version that format.sh asks for.
printf '#!/bin/sh\ncase $1 in --version) echo "version 14.0.6" ;; *) echo "$*" ;; esac\n' >"$folder/lint-bin/clang-format-14"
chmod +x "$folder/lint-bin/clang-format-14"
formatted=$(PATH=$folder/lint-bin:$PATH "$tree/scripts/format.sh")
[[ $formatted == "-i compiler/passes/pass.cpp compiler/passes/pass.h" ]] || fail "format.sh runs clang-format with $formatted"
