#!/bin/bash
# SPDX-License-Identifier: MIT
# kmod.sh: what can be said about the kernel module without running it. Results, for scripts/summary.py, and logs in build/kmod:
#   bookworm, trixie   it builds for Debian 12 with the kernel of its backports, and for Debian 13, by the compiler there; any warning (W=1)
#                      and any finding of sparse fails
#   backports          the same for Debian 13 with the kernel of its backports, whose headers sparse cannot read yet
#   contexts           which locks each function takes, needs and releases, by the context analysis of that kernel (clang). It has replaced the lock
#                      contexts of sparse, which do not understand guard()
#   smatch             what smatch finds, if SMATCH names a repository of its source, which git can fetch from: no Debian has it, so it is fetched
#                      once, and compiled. Without SMATCH it is reported as not run
#   checkpatch         the kernel's own opinion of its style, with --strict and the kernel's limit of line lengths
#   kernel-doc         the headers of the driver, of uapi/ and of firmware/image have a comment for each struct, enum and union, which describes each
#                      member
#   cycles             no two sources of the driver depend on each other, directly or through others (scripts/kmod_cycles.py)
#   sid                it builds for what comes next. If no root can be made, because sid cannot be reached or installed today, it is reported as
#                      not run
# Each suite has a small root in ${XDG_CACHE_HOME:-~/.cache}/sidra/kmod (half a minute, 0.5 GB): packages as they are unpacked, nothing is set
# up. A root keeps the kernel that it was made with, but that of sid is made anew every week; for a newer kernel delete the folder.
# What was found clean is not looked at again until the module, the root or this script changes.
# Into build/figures/driver.json go kmod_cycles and checkpatch_findings.
# JOBS: how many compilers at once (default: one a CPU).
set -uo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=scripts/vm/common.sh
. "$here/vm/common.sh"

# ---- Inside a root ---------------------------------------------------------------------------------------------------

if [[ ${1:-} == --inside ]]; then # root, folder for the results, one of the options below...
    set -e
    enter_root "$2" "$(dirname "$here")" "$3"
    exec chroot . /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C JOBS="$JOBS" /bin/bash /src/scripts/kmod.sh "${@:4}"
fi
if [[ ${1:-} == --compile ]]; then # variables of make
    set -e
    # kbuild writes beside its sources, and the tree must not be modified: compile in a folder of links.
    cp -sf --parents /src/kmod/Kbuild /src/kmod/*.[ch] /src/uapi/*.h /src/firmware/image/*.[ch] /build
    find /build -xtype l -delete # files removed from the tree
    exec make -s -k -C /lib/modules/*/build M=/build/src/kmod W=1 KCFLAGS=-Werror -j "$JOBS" "${@:2}" modules
fi
if [[ ${1:-} == --check-contexts ]]; then # arguments of the compiler; kbuild calls it in place of sparse
    # -w would silence the analysis, too.
    analysis=(clang-22 -fsyntax-only --target=x86_64-linux-gnu -mcmodel=kernel -Wno-everything -DWARN_CONTEXT_ANALYSIS -fexperimental-late-parse-attributes
        -Wthread-safety -Wthread-safety-pointer -Wthread-safety-beta)
    if [[ ! -e /tmp/contexts ]]; then
        planted='struct __attribute__((capability("lock"))) lock { int held; };
            void take(struct lock *lock) __attribute__((acquire_capability(lock)));
            void keep(struct lock *lock) { take(lock); }'
        [[ $("${analysis[@]}" -x c - <<<"$planted" 2>&1) == *"still held"* ]] || {
            echo "the analysis does not see a lock that is kept" >&2
            exit 1
        }
        # clang 22 does not find the parameters of a pointer to a function in its attributes, which this header needs.
        work=$(mktemp -d /tmp/contexts-XXXXXX)
        mkdir "$work/linux"
        sed 's/__releases(&bdev->bd_holder_lock)//' /usr/src/linux-headers-*-common/include/linux/blkdev.h >"$work/linux/blkdev.h"
        mv -T "$work" /tmp/contexts 2>/dev/null || rm -r "$work"
    fi
    # Other options are those of gcc's code generator, and this only parses.
    options=(-I/tmp/contexts)
    while shift && (($#)); do
        case $1 in
        -I/usr/src/*) options+=(-isystem "${1#-I}") ;; # findings in there are others'
        -I* | -D* | -U* | -std=* | -nostdinc | -fms-extensions | -fshort-wchar | *.c) options+=("$1") ;;
        -include | -isystem) options+=("$1" "$2") && shift ;;
        esac
    done
    exec "${analysis[@]}" "${options[@]}"
fi
if [[ ${1:-} == --check-smatch ]]; then # arguments of the compiler
    exec /build/smatch/smatch -p=kernel --succeed "${@:2}" >&2 # kbuild silences stdout
fi
if [[ ${1:-} == --make-smatch ]]; then
    exec make -s -C /build -j "$JOBS" CC=gcc smatch
fi

# ---- Roots -----------------------------------------------------------------------------------------------------------

cd "$here/.." || exit
cache=${XDG_CACHE_HOME:-$HOME/.cache}/sidra/kmod
results=build/kmod
export JOBS=${JOBS:-$(nproc)}
programs=bash,dash,coreutils,findutils,grep,sed,mawk,diffutils,make,gcc
leave_out=(--exclude=./boot/\* --exclude=./{,usr/}lib/modules/\*/kernel --exclude=./usr/share/{doc,man,locale,info}/\*)

# Creates a root in a folder: root/; its kernel's version in `release`; scripts/{checkpatch.pl,kernel-doc} if the kernel's source is among the packages.
fill_root() { # folder, suites, packages
    local suites sources
    read -ra suites <<<"$2"
    sources=$(debian_archives "${suites[@]}") || return
    # Accept outdated lists from a mirror that is no longer updated; they are signed.
    unpack_debian "$1/root" "$1/log" "$sources" "${suites[0]}" --variant=extract --include="$programs,$3" "${leave_out[@]}" \
        --aptopt='Acquire::Check-Valid-Until "false"' || return
    # shellcheck disable=SC2016 # another shell's
    as_root bash -ec 'cd "$1/root"
        ln -s mawk usr/bin/awk
        mkdir src build
        for source in usr/src/linux-source-*.tar.xz; do
            [[ -e $source ]] || continue
            tar -C "$1" -xJf "$source" --strip-components=1 --no-same-owner --wildcards "*/scripts/"{checkpatch.pl,spelling.txt,const_structs.checkpatch,kernel-doc}
            rm "$source"
        done
        basename lib/modules/* >"$1/release"' bash "$1" 2>>"$1/log"
}

is_current() { # name, root
    [[ -e $2/release ]] && { [[ $1 != sid ]] || [[ -z $(find "$2/release" -mtime +6) ]]; }
}

# Sets `root`; creates it if necessary. If a root of sid is too old but cannot be replaced, it is used.
find_root() { # name, suites, packages
    root=$cache/$1-$(echo "$*" "$programs" "${leave_out[@]}" "$(declare -f fill_root unpack_debian debian_archives)" | sha256sum | cut -c 1-12)
    is_current "$1" "$root" || (
        mkdir -p "$cache"
        exec {lock}>"$cache/$1.lock"
        flock $lock
        is_current "$1" "$root" && exit # another process was creating it
        echo "  making a root of $1 (once)"
        can_make_roots
        find "$cache" -maxdepth 1 -name "$1-*" -mtime +13 -print0 | while read -rd '' old; do as_root rm -rf "$old"; done
        work=$(mktemp -d "$cache/$1-XXXXXX")
        trap 'as_root rm -rf "$work"' EXIT
        mkdir "$work/root"
        if ! fill_root "$work" "$2" "$3"; then
            tail -n 20 "$work/log" >&2
            fail "a root of $1 could not be made; the end of what mmdebstrap said is above."
        fi
        as_root rm -rf "$root"
        mv -T "$work" "$root"
    )
    [[ -e $root/release ]] && touch "$root"
}

# ---- Checks ----------------------------------------------------------------------------------------------------------

fail() {
    printf 'kmod: %s\n' "$@" >&2
    exit 1
}

entry() { # name, status, seconds, element
    echo "<testcase name=\"$1\" status=\"$2\" time=\"$3\">$4</testcase>" >"$results/$1.xml"
}

hash_of_sources() {
    sha256sum kmod/Kbuild kmod/*.[ch] kmod/tests/*.[ch] uapi/*.h firmware/image/*.[ch] scripts/kmod.sh scripts/kmod_cycles.py
}

# Runs a command whose output consists of findings, unless it has already found nothing in the same input.
check() { # name, what it checks, command...
    local name=$1 what=$2 start=$SECONDS log=$results/$1.log known
    known=$cache/clean/$(echo "$name $what $root $(stat -c %Y "$root/root") $sources" | sha256sum | cut -c 1-16)
    if [[ -e $known ]]; then
        touch "$known"
        echo "  passed  $name: $what (as before)"
    elif "${@:3}" >"$log" 2>&1 && [[ ! -s $log ]]; then
        # What was edited meanwhile may have been checked before or after.
        [[ $(hash_of_sources) != "$sources" ]] || { mkdir -p "$cache/clean" && touch "$known"; }
        echo "  passed  $name: $what ($((SECONDS - start)) s)"
    else
        finding "$name" "$what" $((SECONDS - start))
        return
    fi
    entry "$name" run $((SECONDS - start)) ""
}

# Reports what could not be looked at, without a failure.
not_run() { # name, why
    echo "  not run $1: $2"
    entry "$1" notrun 0 "<skipped message=\"SKIP_RETURN_CODE\"/><system-out>$2</system-out>"
}

finding() { # name, what it checked, seconds
    local log=$results/$1.log
    [[ -s $log ]] || echo "it failed, and did not say why" >"$log"
    echo "  FAILED  $1: $2 ($3 s)"
    tail -n 60 "$log" | sed 's/^/        /'
    entry "$1" fail "$3" "<failure/><system-out>$(tr -cd '\n\t -~' <"$log" | sed 's/&/\&amp;/g; s/</\&lt;/g')</system-out>"
}

compile() { # name, variables of make
    local objects=$results/$1 status=0
    [[ $objects -nt $root/release ]] || rm -rf "$objects"
    mkdir -p "$objects"
    as_root "$here/kmod.sh" --inside "$root/root" "$PWD/$objects" --compile "${@:2}" || status=$?
    # kbuild prints warnings only when it compiles, so remove the objects.
    ((status)) || [[ ! -s $results/$1.log ]] || rm -rf "$objects"
    return $status
}

# Runs another checker over all sources of a suite. What it says about the kernel's headers is nobody's here. Since 7.0, kbuild asks a script that is not
# among Debian's headers whether it is a good sparse; so it is not asked with C=2.
check_sources() { # suite, option of this script
    compile "$1" KBUILD_CHECKSRC=2 CHECK="/src/scripts/kmod.sh $2" 2>&1 |
        sed -n 's|^/build/src/||; \|^/usr/src/|d; / note: in included file/d; /checker-valid.sh: No such file/d; p'
    ((PIPESTATUS[0] == 0))
}

suite() { # name, suites, packages, variables of make
    local start=$SECONDS
    if find_root "${@:1:3}" 2>"$results/$1.log"; then
        check "$1" "Linux $(cat "$root/release")" compile "$1" "${@:4}"
    elif [[ $1 == sid ]]; then
        not_run sid "no root could be made; see $results/sid.log"
    else
        finding "$1" "no root" $((SECONDS - start))
    fi
}

checkpatch() {
    # It leaves a file in the folder where it runs. British spelling is none of its business. Events of traces have the format that all of the
    # kernel's have. The headers in uapi/ are read by firmware, model and programs, too. So they have the types of C, no macros of the kernel
    # such as BIT(), assertions of C and C++ (in capitals), and a list of registers as a macro, which names its argument more than once.
    local run=(xargs -0 -n 8 -P "$JOBS" "$root/scripts/checkpatch.pl" --no-tree --quiet --no-summary --terse --show-types --strict)
    (
        cd "$results" || exit
        printf '%s\0' "$OLDPWD"/kmod/{,tests/}*.[ch] | grep -zv sidra_trace.h | "${run[@]}" --ignore TYPO_SPELLING -f
        printf '%s\0' "$OLDPWD"/kmod/sidra_trace.h | "${run[@]}" --ignore OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT -f
        printf '%s\0' "$OLDPWD"/uapi/*.h |
            "${run[@]}" --ignore TYPO_SPELLING,PREFER_KERNEL_TYPES,BIT_MACRO,COMPLEX_MACRO,MACRO_ARG_REUSE,CAMELCASE -f
    ) 2>&1 | sed "s|^$PWD/||; "'/checkpatch.pl line/d; /^find: /d' # it looks for names with capitals in a kernel's headers
}

kernel_doc() {
    local status=0 headers=(kmod/*.h kmod/tests/*.h uapi/*.h firmware/image/*.h)
    "$root/scripts/kernel-doc" -none -Wall "${headers[@]}" 2>&1 || status=$?
    # It does not miss a comment that is not there at all.
    awk '
        /^(struct|enum|union) [a-z0-9_]+ \{/ && !documented { print FILENAME ":" FNR ": " $1 " " $2 " has no kernel-doc comment" }
        { documented = /^ \*\/$/ && kernel_doc }
        /^\/\*/ { kernel_doc = /^\/\*\*$/ }' "${headers[@]}"
    return $status
}

cycles() {
    # A check that was clean before has left no objects in a fresh tree.
    [[ -e $results/trixie/src/kmod/sidra.o ]] || compile trixie >/dev/null || return
    scripts/kmod_cycles.py "$results/trixie/src/kmod"
}

smatch_commit=d50c5a4ccd33dc2910236c84039adb6db3fd80b9
# Fetches and compiles it, in the root, whose libraries it then finds.
make_smatch() { # folder
    local source=$1/source
    mkdir -p "$source" &&
        git init --quiet --bare "$1/git" &&
        timeout 120 git -C "$1/git" fetch --quiet --depth 1 "$SMATCH" $smatch_commit &&
        git -C "$1/git" archive FETCH_HEAD | tar -xC "$source" &&
        as_root "$here/kmod.sh" --inside "$root/root" "$source" --make-smatch
}

# The list of jobs and an armed waiter each have a reference to the fence, so that it is not freed between the two places where it is put.
smatch_sources() { # suite
    check_sources "$1" --check-smatch | sed '/sidra_submit_end_jobs() warn: passing freed memory/d'
    ((PIPESTATUS[0] == 0))
}

smatch() { # suite
    local start=$SECONDS home=$cache/smatch-${smatch_commit:0:12}-${root##*/} work
    if [[ ! -e $home ]]; then
        work=$(mktemp -d "$cache/smatch-XXXXXX")
        if ! make_smatch "$work" >"$results/smatch.log" 2>&1; then
            rm -rf "$work"
            finding smatch "it could not be fetched or compiled" $((SECONDS - start))
            return
        fi
        mkdir "$work/made"
        mv "$work"/source/{smatch,smatch_data} "$work/made"
        mv -T "$work/made" "$home"
        as_root rm -rf "$work"
    fi
    mkdir -p "$results/$1"
    cp -ru "$home" -T "$results/$1/smatch"
    check smatch "${smatch_commit:0:12}" smatch_sources "$1"
}

sparse=(C=1 CF=-Wsparse-error)
sources=$(hash_of_sources)
mkdir -p "$results"
rm -f "$results"/*.{xml,log}
set -m # separate process groups, so that they can be killed as a whole
# shellcheck disable=SC2154 # assigned there
trap 'for group in $(jobs -p); do kill -- -"$group" 2>/dev/null; done' EXIT
suite bookworm "bookworm bookworm-backports" sparse,linux-headers-amd64/bookworm-backports "${sparse[@]}" &
{
    suite trixie trixie sparse,linux-headers-amd64,linux-source,libsqlite3-dev,libssl-dev,pkgconf "${sparse[@]}"
    if [[ -e $root/release ]]; then
        check checkpatch "style, as of Linux $(cat "$root/release")" checkpatch
        check kernel-doc "comments, as of Linux $(cat "$root/release")" kernel_doc
        check cycles "no source depends on itself through others" cycles
        if [[ ${SMATCH:-} ]]; then smatch trixie; else not_run smatch "no Debian has it; SMATCH=REPOSITORY fetches it and runs it"; fi
    fi
} &
{
    suite backports "trixie trixie-backports" linux-headers-amd64/trixie-backports,clang-22
    [[ ! -e $root/release ]] || check contexts "locks, as of Linux $(cat "$root/release")" check_sources backports --check-contexts
} &
suite sid sid linux-headers-amd64 &
set +m
wait
{
    echo '<testsuite name="kmod">'
    cat "$results"/*.xml
    echo '</testsuite>'
} >"$results/ctest.xml.new" && mv "$results/ctest.xml.new" "$results/ctest.xml"
# How many lines of a check's log are findings; null: it did not run, or failed for another reason.
count() { # check, pattern
    local lines
    if grep -qs 'status="run"' "$results/$1.xml"; then echo 0; else
        lines=$(grep -csE "$2" "$results/$1.log")
        if ((lines)); then echo "$lines"; else echo null; fi
    fi
}
scripts/figures.py build/figures/driver.json <<<"{\"kmod_cycles\": $(count cycles '^cycle of '),
    \"checkpatch_findings\": $(count checkpatch ': (ERROR|WARNING|CHECK):')}"
! grep -q 'status="fail"' "$results/ctest.xml"
