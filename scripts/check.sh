#!/bin/bash
# SPDX-License-Identifier: MIT
# check.sh RUN PART...: builds what the parts need, runs all their tests in one pool, and prints a summary; results are in build/RUN.
#   release asan tsan        the tests of that build tree, except those labelled `long`
#   *-long                   the tests of that tree labelled `long`
#   aarch64-long             the tests of the chip model's arithmetic, compiled for AArch64, under qemu-user
#   kmod                     the builds of the kernel module
#   vm                       tests/vm/driver and tests/vm/library in one boot
#   selftest                 broken guests: checks that the VM's harness detects what is wrong
#   matrix                   all tests of the VM with 1, 2 and 4 CPUs, one of them without an IOMMU (CHECK=full: each without and with one),
#                            and two boots with a power-off in between
#   debug                    all tests of the VM with 2 CPUs on the debug kernel, those of the driver without and with an IOMMU (CHECK=full: all of
#                            them); writes its number of reports to build/figures/vm.json (debug_reports; null: a boot did not complete)
#   fail-nth                 the sweep of error paths on the debug kernel
#   jitter                   all tests of the VM with 2 and 4 CPUs, with random delays in the driver, the guest and the card
#   fuzz                     each libFuzzer target for FUZZ_SECONDS (default 6), from the committed corpus
#   python                   the Python packages, with PyTorch, except
#   python-long              the tests of python/tests/long
#   packages                 the Debian packages: built, installed and tested
#   intree                   the driver compiled in a kernel tree
# If a part cannot be built, it fails, and the others still run. JOBS: number of parallel tests (default: one per CPU).
# BUILD_ONLY=1: runs nothing.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

jobs=${JOBS:-$(nproc)}
# shellcheck source=scripts/tree_lock.sh
. scripts/tree_lock.sh
# shellcheck source=scripts/own_group.sh
. scripts/own_group.sh
run=build/$1
parts=" ${*:2} "
mkdir -p "$run"
pool=$run/CTestTestfile.cmake # the file that ctest runs as the pool
echo "# made by scripts/check.sh" >"$pool"
# On a terminal, print one line per compiler call; in a log that would hide errors.
ninja_options=()
[[ -t 1 ]] || ninja_options=(--quiet)
label=
[[ $parts != *-long\ * ]] || label=long
has() { [[ $parts == *" $1 "* ]]; }

# Adds a test to the pool. Longer ones start earlier; the limit ends hangs.
add() { # name, approximate seconds, command...
    local word
    {
        printf 'add_test([==[%s]==]' "$1"
        for word in "${@:3}"; do printf ' [==[%s]==]' "$word"; done
        printf ')\nset_tests_properties([==[%s]==] PROPERTIES COST %s TIMEOUT 3600 WORKING_DIRECTORY [==[%s]==] LABELS "%s")\n' "$1" "$2" "$PWD" "$label"
    } >>"$pool"
}

# The variables of `make vm` must not change these boots.
plain=(env)
for variable in KERNEL SMP IOMMU DEVICES DEVICE STATE_FILE SMALL MEMORY HOTPLUG QEMU_ARGS KERNEL_ARGS; do plain+=(-u "$variable"); done
boot() { # name, seconds, options of check.py...
    add "$1" "$2" "${plain[@]}" scripts/vm/check.py --logs "build/$1" "${@:3}"
}

# Runs a build. A failed build becomes a failed test of the pool, with the output of the build.
build() { # name, command...
    local log=$run/$1.build.log
    echo "== $1: build"
    own_group logged "$log" "${@:2}" && return
    # shellcheck disable=SC2016 # another shell's
    add "$1/build" 9999 sh -c 'tail -n 60 "$1"; exit 1' sh "$log"
    return 1
}

tree() { # preset
    local targets=() root
    [[ $1 == tsan ]] && targets=(--target sidra-tests-threads)
    if [[ $1 == aarch64 ]]; then
        targets=(--target sidra-tests-cross)
        root=$(scripts/aarch64-root.sh) || return
        # The tree of another root has its paths in every place.
        grep -qsF "$root/" build/aarch64/CMakeCache.txt || rm -rf build/aarch64
    fi
    # Configure again: setup.sh may have installed packages that enable more tests.
    make --no-print-directory "build/$1/build.ninja" &&
        { cmake "build/$1" >"build/$1.configure.log" 2>&1 || { cat "build/$1.configure.log" && false; }; } &&
        cmake --build "build/$1" -j "$jobs" "${targets[@]}" -- "${ninja_options[@]}"
}

for preset in release asan tsan aarch64; do
    has $preset || has $preset-long || continue
    rm -rf build/$preset/results
    build $preset tree $preset || continue
    echo "subdirs([==[$PWD/build/$preset]==])" >>"$pool"
done
fuzzers() {
    make --no-print-directory build/fuzz/build.ninja && cmake build/fuzz -DSIDRA_COMPILER=ON && cmake --build build/fuzz -j "$jobs" --target sidra-fuzz -- "${ninja_options[@]}"
}
if has fuzz && build fuzz fuzzers; then add fuzz 80 scripts/fuzz.sh "${FUZZ_SECONDS:-6}"; fi
guest=()
if has vm || has matrix; then guest=(release kmod); fi
if has debug; then guest=(release kmod kmod-debug broken-debug); fi
if has fail-nth; then guest+=(release kmod-debug); fi
if has jitter; then guest+=(release kmod jitter); fi
if has selftest; then guest+=(broken); fi
if ((${#guest[@]})) && ! build vm scripts/vm/build.sh . "${guest[@]}"; then
    for part in vm selftest matrix debug fail-nth jitter; do parts=${parts// $part / }; done
fi
if has debug; then
    for iommu in off on; do
        options=(--kernel debug --small 1 --iommu "$iommu")
        # The library does the same on either side of an IOMMU, and takes a third of the time. Trouble comes last: it updates the firmware.
        lists=(tests/vm/{driver,library,trouble})
        [[ $iommu == off || ${CHECK:-fast} != fast ]] || lists=(tests/vm/{driver,trouble})
        boot vm-debug/tests-iommu-$iommu 900 "${options[@]}" "${lists[@]}"
        # The kernel's hotplug driver takes two of its locks in both orders (pci_rescan_remove_lock, the controller's reset_lock) when a
        # card is removed in order, and lockdep would report that. The other boot, which unbinds the driver, checks the order of our locks.
        boot vm-debug/removal-iommu-$iommu 200 "${options[@]}" --kernel-args sysctl.kernel.prove_locking=0 tests/vm/removal
        boot vm-debug/away-iommu-$iommu 300 "${options[@]}" tests/vm/away
    done
    add vm-debug/selftest 200 tests/vm/selftest.py build/vm-debug/selftest debug
    rm -f build/vm-debug/*/reports
fi
if has matrix; then
    # Each number of CPUs, and each way of reaching memory, meets all tests. `make check` has 2 CPUs without an IOMMU.
    pairs=("4 off" "2 on" "1 on")
    [[ ${CHECK:-fast} == fast ]] || pairs=({4,2,1}" "{off,on})
    for pair in "${pairs[@]}"; do
        read -r smp iommu <<<"$pair"
        boot "vm-matrix/${smp}cpu-iommu-$iommu" 400 --small 1 --iommu "$iommu" --smp "$smp" tests/vm/{driver,library,trouble,removal}
    done
    for iommu in off on; do
        boot vm-matrix/away-iommu-$iommu 60 --small 1 --iommu $iommu tests/vm/away
        boot vm-matrix/acpi-iommu-$iommu 60 --small 1 --iommu $iommu --hotplug acpi tests/vm/removal-acpi
    done
    boot vm-matrix/bounce 50 --small 1 --kernel-args swiotlb=force tests/vm/bounce
    state=$run/power.state
    for way in off on; do
        boot vm-matrix/power-$way 50 --device sidra,profile=small --state-file "$state" tests/vm/power-$way
    done
    printf 'set_tests_properties(vm-matrix/power-%s PROPERTIES FIXTURES_%s power)\n' off SETUP on REQUIRED >>"$pool"
    rm -f "$state"
fi
if has fail-nth; then add vm-fail-nth 400 "${plain[@]}" scripts/vm/fail-nth.sh; fi
if has jitter; then
    for smp in 2 4; do
        boot vm-jitter/${smp}cpu 600 --jitter --once --small 1 --smp $smp tests/vm/{driver,library,trouble,removal}
    done
fi
if has vm; then
    # The variables do apply to this one: `make vm-check SMP=4`.
    add vm 100 env SMALL="${SMALL:-1}" scripts/vm/check.py --logs build/vm tests/vm/{driver,library}
fi
if has selftest; then add vm-selftest 100 tests/vm/selftest.py build/vm-selftest; fi
# Compiling the driver for each kernel is building: what was found clean is not looked at again.
if has kmod && { [[ ! ${BUILD_ONLY:-} ]] || build kmod scripts/kmod.sh; }; then add kmod 60 scripts/kmod.sh; fi
if has python-long; then build serve scripts/python-packages.sh serve; fi
if { has python || has python-long; } && build python scripts/python.sh; then
    python_tests=(build/python/venv/bin/python -m pytest -q -p no:cacheprovider)
    ! has python || add python 90 "${python_tests[@]}" python/tests --ignore=python/tests/long
    # A process for each file, so that all CPUs have work; PyTorch's own threads would only wait for each other. Those that take the longest
    # come first.
    declare -A long=([dynamo]=100 [distributed]=95 [op_db]=90 [models]=60 [training]=40 [last_layer]=37 [hosts]=36 [module_db]=35)
    ! has python-long || for file in python/tests/long/test_*.py; do
        name=$(basename "$file" .py)
        name=${name#test_}
        add "python-long/$name" "${long[$name]:-20}" env OMP_NUM_THREADS=1 "${python_tests[@]}" "$file"
    done
fi
if has intree; then add kmod-intree 100 scripts/kmod-intree.sh; fi
if has packages; then add vm-packages 150 "${plain[@]}" scripts/packages/check.sh; fi

if [[ ${BUILD_ONLY:-} ]]; then
    failed=$(sed -nE 's/^add_test\(\[==\[(.*)\/build\]==\].*/\1/p' "$pool")
    for part in $failed; do
        echo "FAILED  build of $part; the end of $run/$part.build.log:"
        tail -n 60 "$run/$part.build.log"
    done
    [[ -z $failed ]]
    exit
fi

echo "== test"
filter=(--label-exclude '^long$')
[[ -z $label ]] || filter=(--label-regex '^long$')
rm -f "$run/ctest.xml"
# More than the number of CPUs, because boots sleep at times, and quick tests that wait for deadlines do more often.
own_group ctest --test-dir "$run" -j $((jobs + (${#label} ? 1 : 2))) --no-tests=error --output-on-failure --output-junit ctest.xml "${filter[@]}"

if has debug; then
    reports=null
    boots=(build/vm-debug/*-iommu-*) counted=(build/vm-debug/*-iommu-*/reports)
    ((${#boots[@]} != ${#counted[@]})) || reports=$(cat "${counted[@]}" | wc -l)
    scripts/figures.py build/figures/vm.json <<<"{\"debug_reports\": $reports}"
    echo "vm: reports of the debug kernel: $reports"
fi
echo "== summary"
exec python3 scripts/summary.py "$run"
