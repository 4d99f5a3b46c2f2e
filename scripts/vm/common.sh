# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Functions for scripts that work in a Debian root of their own (the guest's root, and those of scripts/kmod.sh): cache folders, creating a
# root, running commands in it. Sourced.

# Outside the checkout: all checkouts share it, `make clean` does not remove it, and it can be deleted at any time.
# shellcheck disable=SC2034 # used by those who source this
vm_cache=${XDG_CACHE_HOME:-$HOME/.cache}/sidra/vm
debian_keys=/usr/share/keyrings/debian-archive-keyring.gpg

fail() {
    printf 'vm: %s\n' "$@" >&2
    exit 1
}

# Runs a command as root of new name spaces: as the machine's root, or as an unprivileged user who is root inside. Its mounts and processes
# end with it.
as_root() {
    local map=()
    ((EUID == 0)) || map=(--user --map-auto --map-root-user)
    unshare "${map[@]}" --mount --pid --fork --kill-child "$@"
}

# Fails with a message unless all programs for creating a root are installed.
can_make_roots() {
    local tool tools=(mmdebstrap mkfs.erofs zstd unshare)
    ((EUID == 0)) || tools+=(newuidmap)
    PATH=$PATH:/usr/sbin:/sbin
    for tool in "${tools[@]}"; do
        command -v "$tool" >/dev/null || fail "'$tool' is missing. scripts/setup.sh vm installs it."
    done
    [[ -e $debian_keys ]] || fail "$debian_keys is missing, so Debian's signatures cannot be verified. scripts/setup.sh vm installs it."
    as_root true || fail "name spaces cannot be made here (the message is above), so no root can be made or used." \
        "As an ordinary user, you need lines in /etc/subuid and /etc/subgid, and kernel.unprivileged_userns_clone=1; or run as root." \
        "In a container: run it with the right to mount."
}

# Prints lines of sources.list for Debian suites, from the sources of this machine (or SIDRA_DEBIAN_MIRROR=URI). apt parses all formats of
# its lists.
debian_archives() { # suite...
    local lines suite
    if [[ -n ${SIDRA_DEBIAN_MIRROR:-} ]]; then
        [[ $SIDRA_DEBIAN_MIRROR == *:* ]] || fail "SIDRA_DEBIAN_MIRROR=\"$SIDRA_DEBIAN_MIRROR\" is no URI; it looks like http://deb.debian.org/debian"
        for suite in "$@"; do printf 'deb %s %s main\n' "$SIDRA_DEBIAN_MIRROR" "$suite"; done
        return
    fi
    # shellcheck disable=SC2016 # what stands in single quotes is for others to expand
    lines=$(apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(REPO_URI)|$(RELEASE)' 'Created-By: Packages' |
        awk -F '|' -v suites="$*" '
            $1 != "Debian" || $4 ~ /backports|proposed|debug/ { next }
            $2 == "Debian-Security" && !security { security = $3 }
            $2 == "Debian" && $4 !~ /-updates$/ && !main { main = $3 }
            $2 == "Debian" && $4 ~ /-updates$/ && !updates { updates = $3 }
            END {
                count = split(suites, list, " ")
                for (i = 1; i <= count; i++) {
                    suite = list[i]
                    if (main) print "deb", main, suite, "main"
                    if (suite ~ /^sid$|-backports$/) continue
                    if (updates) print "deb", updates, suite "-updates", "main"
                    if (security) print "deb", security, suite "-security", "main"
                }
            }')
    [[ -n $lines ]] || fail "apt knows no Debian archive on this machine, so there is nowhere to get packages for a root from." \
        "Run apt-get update; without a Debian archive in apt's sources, name one: SIDRA_DEBIAN_MIRROR=URI."
    echo "$lines"
}

# Unpacks a Debian suite with verified signatures. Device nodes are omitted: they are not needed, and an unprivileged user cannot create
# them.
unpack_debian() { # folder, log, lines of sources.list, suite, options of mmdebstrap, or of tar: --exclude=PATTERN
    local mode=root word options=() excludes=(--exclude='./dev/*')
    ((EUID == 0)) || mode=unshare
    while read -r word; do # proxy settings of this machine's apt
        options+=(--aptopt="$word")
    done < <(apt-config dump | sed -nE 's/^(Acquire::https?::Proxy "[^"]+").*/\1/p')
    for word in "${@:5}"; do
        if [[ $word == --exclude=* ]]; then excludes+=("$word"); else options+=("$word"); fi
    done
    mmdebstrap --mode=$mode --format=tar --keyring="$debian_keys" "${options[@]}" "$4" - - <<<"$3" 2>"$2" |
        as_root tar -C "$1" -x "${excludes[@]}" --numeric-owner --xattrs --xattrs-include='*' 2>>"$2"
}

# Inside as_root: enters a root in which the tree is /src and the folder for results is /build, independent of their names outside.
enter_root() { # root, tree, folder
    mount --bind "$1" "$1"
    cd "$1" || return
    mount --rbind /dev dev
    mount -t proc proc proc
    mount -t tmpfs tmp tmp
    mount --bind "$2" src
    mount --bind "$3" build
}
