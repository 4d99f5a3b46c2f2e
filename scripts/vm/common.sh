# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the scripts share that work in a Debian of their own (the guest's root, and those of scripts/kmod.sh): where things are kept, how a root
# is made, and how a command runs inside. Sourced.

# Outside the checkout: any number of checkouts share it, `make clean` leaves it alone, and it may be deleted at any time.
# shellcheck disable=SC2034 # used by those who source this
vm_cache=${XDG_CACHE_HOME:-$HOME/.cache}/sidra/vm
debian_keys=/usr/share/keyrings/debian-archive-keyring.gpg

fail() {
    printf 'vm: %s\n' "$@" >&2
    exit 1
}

# Runs a command as root of name spaces of its own: as root of the machine, or as an ordinary user who is root in there.
# Mounts are gone, and its processes killed, when it ends.
as_root() {
    local map=()
    ((EUID == 0)) || map=(--user --map-auto --map-root-user)
    unshare "${map[@]}" --mount --pid --fork --kill-child "$@"
}

# What is needed to make a root is there, or this fails and says what is not.
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

# The lines of sources.list for suites of Debian. Where this machine gets its Debian from, they come from too (SIDRA_DEBIAN_MIRROR=URI: from
# there). apt knows all formats of its lists.
debian_archives() { # suite...
    local lines suite
    if [[ -n ${SIDRA_DEBIAN_MIRROR:-} ]]; then
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

# Unpacks a suite of Debian, signatures verified. Nobody needs its device nodes, and an ordinary user could not make them.
unpack_debian() { # folder, log, lines of sources.list, suite, options of mmdebstrap, or of tar: --exclude=PATTERN
    local mode=root word options=() excludes=(--exclude='./dev/*')
    ((EUID == 0)) || mode=unshare
    while read -r word; do # a proxy that this machine's apt uses
        options+=(--aptopt="$word")
    done < <(apt-config dump | sed -nE 's/^(Acquire::https?::Proxy "[^"]+").*/\1/p')
    for word in "${@:5}"; do
        if [[ $word == --exclude=* ]]; then excludes+=("$word"); else options+=("$word"); fi
    done
    mmdebstrap --mode=$mode --format=tar --keyring="$debian_keys" "${options[@]}" "$4" - - <<<"$3" 2>"$2" |
        as_root tar -C "$1" -x "${excludes[@]}" --numeric-owner --xattrs --xattrs-include='*' 2>>"$2"
}

# In name spaces of as_root: goes into a root in which the tree is /src, and a folder for results is /build, whatever they are called out here.
enter_root() { # root, tree, folder
    mount --bind "$1" "$1"
    cd "$1" || return
    mount --rbind /dev dev
    mount -t proc proc proc
    mount -t tmpfs tmp tmp
    mount --bind "$2" src
    mount --bind "$3" build
}
