#!/bin/bash
# SPDX-License-Identifier: MIT
# qemu.sh build: builds QEMU with the sidra device, from the source package of Debian 13; prints the path of the binary.
# qemu.sh path:  prints that path; fails if the binary for this tree has not been built.
#
# All files are in ${XDG_CACHE_HOME:-~/.cache}/sidra/qemu, shared by all checkouts:
#   source/          the source package and the meson that it needs, as downloaded
#   base/<key>/      one build tree per QEMU version, configure line and compiler; changes of the device or the chip recompile only those
#   bin/<key>/       finished binaries, by a hash of all inputs
# The last two build trees and eight binaries are kept. To build with a newer source package, remove source/.
# Packages come from the machine's Debian mirror (or SIDRA_DEBIAN_MIRROR=URI), verified with the archive's keys.
# JOBS: number of parallel compilers (default: one per CPU).
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."

readonly suite=trixie wanted_version='1:10.0.*'
readonly keyring=/usr/share/keyrings/debian-archive-keyring.gpg
readonly configure_flags=(--python=/usr/bin/python3 --target-list=x86_64-softmmu --without-default-features --disable-download
    --enable-tcg --enable-attr --enable-fdt=system --enable-virtfs --disable-docs --disable-install-blobs --disable-werror --disable-debug-info
    --firmwarepath=/usr/share/qemu:/usr/share/seabios)
# The sources of the chip and its firmware.
readonly parts=(qemu-device uapi scripts/cmake firmware tools/common tools/sidra-fw)
readonly cache=${XDG_CACHE_HOME:-$HOME/.cache}/sidra/qemu
jobs=${JOBS:-$(nproc)}

say() { printf 'qemu: %s\n' "$*" >&2; }
fail() {
    say "$@"
    exit 1
}

# ---- What goes in ----------------------------------------------------------------------------------------------------

digest() { sha256sum | cut -c 1-16; }

# Hashes names and contents of all files from which the device and the chip are built.
tree_digest() { # in the current folder
    find "${parts[@]}" -type f -print0 | sort -z | xargs -0 sha256sum | digest
}

base_key() { # description file
    {
        cat "$1" qemu-device/qemu/*.patch
        printf '%s\n' "${configure_flags[@]}" "$(/usr/bin/cc --version | head -n 1)"
    } | digest
}

binary_of() { # description file
    echo "$cache/bin/$(base_key "$1")-$(tree_digest)/qemu-system-x86_64"
}

description() { # the downloaded source package, if any
    local found=("$cache"/source/qemu_*.dsc)
    [[ -f ${found[0]} ]] && echo "${found[0]}"
}

# ---- Source package --------------------------------------------------------------------------------------------------

mirror() {
    if [[ -n ${SIDRA_DEBIAN_MIRROR:-} ]]; then
        [[ $SIDRA_DEBIAN_MIRROR == *:* ]] || fail "SIDRA_DEBIAN_MIRROR=\"$SIDRA_DEBIAN_MIRROR\" is no URI; it looks like http://deb.debian.org/debian"
        echo "$SIDRA_DEBIAN_MIRROR"
        return
    fi
    local codename
    codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    # shellcheck disable=SC2016 # apt's variables
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        awk -v codename="$codename" '$3 == "main" && ($2 == codename || $2 == "stable" || $2 == "trixie") { print $1; exit }'
}

# Runs apt-get with a separate configuration and state, which does not change the machine's sources.
private() { # apt-get or apt-cache, arguments
    "$1" -qq -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts="$apt/none" -o Dir::Etc::Preferences=/dev/null \
        -o Dir::Etc::PreferencesParts="$apt/none" -o Dir::State="$apt/state" -o Dir::State::status=/dev/null -o Dir::Cache="$apt/cache" \
        -o APT::Sandbox::User= -o APT::Get::AllowUnauthenticated=false "${@:2}"
}

download() {
    local uri version part=$cache/source.part
    uri=$(mirror)
    [[ -n $uri ]] || fail "no Debian mirror in apt's sources; give one: SIDRA_DEBIAN_MIRROR=URI make qemu"
    [[ -f $keyring ]] || fail "no $keyring: install debian-archive-keyring"
    say "downloading the source package of Debian 13"
    apt=$cache/apt
    rm -rf "$part" "$apt"
    mkdir -p "$part" "$apt"/{none,state/lists/partial,cache/archives/partial}
    printf '%s [signed-by=%s] %s %s main\n' deb "$keyring" "$uri" $suite deb-src "$keyring" "$uri" $suite >"$apt/sources.list"
    private apt-get update
    version=$(private apt-cache showsrc --only-source qemu | sed -n 's/^Version: //p' | sort -V | tail -n 1)
    # shellcheck disable=SC2053 # a pattern
    [[ $version == $wanted_version ]] || fail "the mirror has QEMU '$version', and the device is written for $wanted_version"
    (
        cd "$part"
        private apt-get source --download-only "qemu=$version"
        private apt-get download meson
    )
    rm -rf "$cache/source" "$apt"
    mv "$part" "$cache/source"
}

# ---- Build -----------------------------------------------------------------------------------------------------------

# Copies changed files, so that unchanged files keep their time stamps and are not recompiled; removes files that no longer exist.
mirror_tree() { # from, to
    local file
    mkdir -p "$2"
    while read -r -d '' file; do
        cmp -s "$1/$file" "$2/$file" && continue
        mkdir -p "$(dirname "$2/$file")"
        cp "$1/$file" "$2/$file"
    done < <(cd "$1" && find . -type f -print0)
    while read -r -d '' file; do
        [[ -f $1/$file ]] || rm "$2/$file"
    done < <(cd "$2" && find . -type f -print0)
}

unpack() {
    say "unpacking $(basename "$dsc" .dsc)"
    rm -rf "$base"
    mkdir -p "$base"
    dpkg-source --no-check --extract "$dsc" "$base/source.part" >"$base/log" 2>&1 || fail_log # apt has verified it
    local change
    for change in qemu-device/qemu/*.patch; do
        patch --quiet --strip=1 --fuzz=0 --directory="$base/source.part" <"$change"
    done
    dpkg-deb --extract "$cache"/source/meson_*.deb "$base/meson"
    mv "$base/source.part" "$base/source"
}

fail_log() {
    tail -n 30 "$base/log" >&2
    fail "that did not work; all of it is in $base/log"
}

# On a terminal, ninja prints its own status line; in a log, print one line in 200 and everything that is not progress.
run_ninja() {
    if [[ -t 1 ]]; then
        ninja "$@"
    else
        ninja "$@" | awk -F'[][/]' '!/^\[[0-9]+\/[0-9]+\]/ || $2 % 200 == 0 || $2 == $3 { print; fflush() }'
    fi
}

# Same depth below the tree as build/release in a checkout, so that the compiler cache is shared.
build_chip() {
    local part chip=$tree/build/chip
    for part in "${parts[@]}"; do mirror_tree "$part" "$tree/$part"; done
    if [[ ! -f $chip/build.ninja ]]; then
        cmake -G Ninja -S "$tree/qemu-device/qemu" -B "$chip" -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=-O3 -g1 -DNDEBUG" \
            -DCMAKE_CXX_COMPILER=/usr/bin/c++ -DCMAKE_C_COMPILER=/usr/bin/cc >"$base/log" 2>&1 || fail_log
    fi
    run_ninja -C "$chip" -j "$jobs" sidra_chip >&2
    mkdir -p "$base/artifacts"
    cp -p "$chip"/qemu-device/chip/*.a "$chip"/firmware/*.a "$tree"/uapi/*.h "$tree/qemu-device/chip/include/sidra_chip.h" "$base/artifacts/"
}

build_qemu() {
    local overlay=$base/overlay
    rm -rf "$overlay"
    cp -r "$tree/qemu-device/qemu/sidra" "$overlay"
    cp -r "$base/artifacts" "$overlay/chip"
    mirror_tree "$overlay" "$base/source/hw/misc/sidra"
    export PYTHONPATH=$base/meson/usr/lib/python3/dist-packages # mkvenv looks there for meson
    if [[ ! -f $base/configured ]]; then
        say "configuring"
        rm -rf "$base/build"
        mkdir "$base/build"
        # With the compiler cache, a change of our patches recompiles few files.
        (cd "$base/build" && CC="$tree/scripts/cmake/ccache.sh /usr/bin/cc" ../source/configure "${configure_flags[@]}") >"$base/log" 2>&1 || fail_log
        touch "$base/configured"
    fi
    run_ninja -C "$base/build" -j "$jobs" qemu-system-x86_64 >&2
}

# Keeps only the newest entries of a folder.
prune() { # folder, how many
    local old
    # shellcheck disable=SC2012 # our own names
    ls -dt "$1"/* | tail -n "+$(($2 + 1))" | while read -r old; do rm -rf "$old"; done
}

build() {
    local binary folder dsc base tree
    mkdir -p "$cache"
    if dsc=$(description); then
        binary=$(binary_of "$dsc")
        if [[ -x $binary ]]; then
            echo "$binary"
            return
        fi
    fi
    exec 9>"$cache/lock"
    flock --nonblock 9 || {
        say "another build is under way; waiting for it"
        flock 9
    }
    dsc=$(description) || {
        download
        dsc=$(description)
    }
    binary=$(binary_of "$dsc")
    folder=$(dirname "$binary")
    if [[ ! -x $binary ]]; then
        base=$cache/base/$(base_key "$dsc")
        tree=$base/tree # a copy of the current sources: they may be edited during the build
        [[ -d $base/source ]] || unpack
        build_chip
        build_qemu
        binary=$cache/bin/$(basename "$base")-$(cd "$tree" && tree_digest)/qemu-system-x86_64
        folder=$(dirname "$binary")
        rm -rf "$folder"
        mkdir -p "$cache/bin" "$folder.part"
        cp "$base/build/qemu-system-x86_64" "$folder.part/"
        mv "$folder.part" "$folder"
        touch "$base"
        prune "$cache/base" 2
        prune "$cache/bin" 8
    fi
    echo "$binary"
}

case ${1:-} in
    build) build ;;
    path)
        dsc=$(description) || fail "not built: make qemu"
        binary=$(binary_of "$dsc")
        [[ -x $binary ]] || fail "not built for this tree: make qemu"
        echo "$binary"
        ;;
    *) fail "usage: qemu.sh build | path" ;;
esac
