#!/bin/bash
# SPDX-License-Identifier: MIT
# packages.sh PART: runs in a guest that has the packages and nothing else of this tree. In this order:
#   rules      udev accepts the rule, and the group exists
#   absent     without the module, the doctor names what is missing, and sidra-reg leaves the card as it was
#   nodes      the kernel's event for the card loads the module that DKMS has built, and its nodes belong to the group
#   member     an ordinary user of the group computes on the card, also by its persistent name
#   stranger   a user outside of the group is told the reason for the refusal
#   doctor     its output for root, for a member of the group and for a stranger
#   monitor    users without access to the card may monitor it
#   container  podman gives the card to containers, by the file that sidra-smi writes
#   firmware   the driver finds the image
#   programs   each program runs, and has its manual page and its completion
#   service    systemd waits for the card, starts the exporter, and Prometheus could scrape it
#   purge      nothing is left afterwards
set -euo pipefail
PATH=/usr/sbin:/usr/bin # without the programs compiled for other guests
fail() {
    echo "packages: $*"
    exit 1
}
is() { # what, wanted, value
    [[ $2 == "$3" ]] || fail "$1 is '$3' instead of '$2'"
}
# Runs a command with udev running, as on a normal system. A test leaves no process behind.
with_udev() {
    /usr/lib/systemd/systemd-udevd --daemon --resolve-names=late
    trap 'udevadm control --exit' EXIT
    "$@"
    udevadm settle --timeout=60
}
as_user() { # name, groups, command...
    id "$1" >/dev/null 2>&1 || useradd --no-create-home --home-dir /tmp --groups "$2" "$1"
    (cd /tmp && runuser -u "$1" -- "${@:3}")
}
says() { # status, line, user, groups, command...
    local status=0
    as_user "$3" "$4" "${@:5}" >/tmp/said 2>&1 || status=$?
    cat /tmp/said
    is "the status of ${*:5}" "$1" $status
    grep -qF "$2" /tmp/said || fail "it does not say '$2'"
}
# Runs a command for a user in a container with this root, whose /dev has only what every container has.
contained() { # user, options of podman run..., --, command...
    local user=$1 options=()
    shift
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    shift
    local home=/tmp/containers-$user
    install -d -o "$user" "$home"
    (cd / && runuser -u "$user" -- env HOME="$home" XDG_RUNTIME_DIR="$home" podman --root "$home/root" --runroot "$home/run" --storage-driver vfs \
        --cgroup-manager cgroupfs --events-backend none run --rm --network none --log-driver none "${options[@]}" --rootfs /tmp/container/root "$@") </dev/null
}
in_systemd() {
    local first
    first=$(<"/proc/$machine/task/$machine/children")
    nsenter --target "${first% }" --mount --pid --cgroup -- "$@"
}

case $1 in
    rules)
        udevadm verify /usr/lib/udev/rules.d/60-sidra.rules
        getent group render
        systemd-sysusers --dry-run /usr/lib/sysusers.d/sidra.conf
        ;;
    absent)
        [[ ! -e /sys/module/sidra ]] || fail "the module is loaded before anybody asked for it"
        says 9 "is present, but its driver is not loaded" root "" sidra-smi doctor
        grep -q "modprobe sidra (package sidra-dkms)" /tmp/said || fail "it does not say what to do"
        enable=/sys/bus/pci/devices/$(sidra-reg list | cut -d ' ' -f 2)/enable
        before=$(<"$enable")
        sidra-reg dump
        is "how often the card is enabled after sidra-reg" "$before" "$(<"$enable")"
        ;;
    nodes)
        [[ ! -e /sys/module/sidra ]] || fail "the module is loaded before anybody asked for it"
        is "what DKMS says" "sidra installed" "$(dkms status | sed -E 's|^(sidra)/.*: ([a-z]+)$|\1 \2|')"
        [[ -n $(modinfo -F signer sidra) ]] || fail "DKMS has not signed the module"
        with_udev udevadm trigger --type=devices --subsystem-match=pci --action=add
        [[ -e /sys/module/sidra ]] || fail "no module was loaded for the card"
        grep -q /updates/dkms/ <(modinfo -n sidra) || fail "the module is not that of DKMS: $(modinfo -n sidra)"
        is "owner and mode of /dev/sidra0" "root:render 660" "$(stat -c '%U:%G %a' /dev/sidra0)"
        twin=/dev/$(sed -n 's/^DEVNAME=//p' /sys/class/sidra/sidra0/device/accel/accel*/uevent)
        is "owner and mode of $twin" "root:render 660" "$(stat -c '%U:%G %a' "$twin")"
        is "the lasting name" /dev/sidra0 "$(readlink -f "/dev/sidra/by-uuid/$(cat /sys/class/sidra/sidra0/uuid)")"
        ;;
    member)
        as_user alice render sidra-demo --repeat 1 --out /tmp/alice.svg | tee /tmp/said
        grep -q "transport kernel" /tmp/said || fail "the demo did not run on the card"
        grep -q "hash 66e6e673: bit-exact" /tmp/said || fail "the demo has other answers"
        as_user alice render env SIDRA_DEVICE="$(echo /dev/sidra/by-uuid/*)" sidra-demo --repeat 1 --out /tmp/alice.svg >/tmp/said
        grep -q "transport kernel" /tmp/said || fail "the demo did not run on the card by its lasting name"
        ;;
    stranger)
        status=0
        as_user bob "" sidra-demo --repeat 1 --out /tmp/bob.svg >/tmp/said 2>&1 || status=$?
        cat /tmp/said
        is "the status of a demo that may not use the card" 1 $status
        grep -q "/dev/sidra0 has mode 0660 and belongs to root:render; user bob may not read and write it; members of render may: as root, usermod -aG render bob" /tmp/said || fail "it does not say why"
        [[ ! -e /tmp/bob.svg ]] || fail "it has drawn something all the same"
        ;;
    doctor)
        ulimit -l unlimited
        for user in root alice; do
            says 0 "/dev/sidra0 can be opened" $user render sidra-smi doctor
            says 8 "this process can lock only 8192 KiB of memory" $user render prlimit --memlock=8388608 sidra-smi doctor
        done
        says 9 "/dev/sidra0 can be opened only by group render (mode 0660)" bob "" sidra-smi doctor
        grep -q "usermod -aG render USER, then log in again" /tmp/said || fail "it does not say what to do"
        ;;
    monitor)
        is "what a stranger sees" "/dev/sidra0,$(cat /sys/class/sidra/sidra0/uuid)" \
            "$(as_user bob "" sidra-smi query --fields node,uuid --format csv | tail -n +2)"
        ;;
    container)
        sidra-smi cdi --output /etc/cdi/sidra.json
        python3 -B /src/tests/cdi/schema.py </etc/cdi/sidra.json | tee /tmp/said
        grep -qx "0 /dev/sidra0" /tmp/said || fail "no device in the file for containers"
        # The container's root is this one with its own overlay; for an unprivileged user, with the files that podman
        # would create.
        mkdir -p /tmp/container/{upper,work,root}
        mount -t overlay -o lowerdir=/,upperdir=/tmp/container/upper,workdir=/tmp/container/work container /tmp/container/root
        touch /tmp/container/root/{run/.containerenv,etc/hosts,etc/resolv.conf}
        mount -t cgroup2 cgroup2 /sys/fs/cgroup
        mount --make-rshared /
        for name in 0 "$(cat /sys/class/sidra/sidra0/uuid)" all; do
            is "the card as sidra/card=$name" "character special file" "$(contained root --device "sidra/card=$name" -- stat -c %F /dev/sidra0)"
        done
        contained root --device sidra/card=0 -- sidra-demo --repeat 1 --out /tmp/root.svg | tee /tmp/said
        grep -q "transport kernel" /tmp/said || fail "the demo did not run on the card"
        contained alice --cgroups disabled --device sidra/card=all --group-add keep-groups -- sidra-demo --repeat 1 --out /tmp/alice.svg | tee /tmp/said
        grep -q "transport kernel" /tmp/said || fail "the demo of a member of the group did not run on the card"
        status=0
        contained root -- sidra-smi doctor >/tmp/said || status=$?
        cat /tmp/said
        is "the status of a doctor in a container without the card" 9 $status
        grep -q "a container must be given access (sidra-smi cdi)" /tmp/said || fail "it does not say what to do"
        ! contained bob --cgroups disabled --device sidra/card=all --group-add keep-groups -- sidra-demo --repeat 1 --out /tmp/bob.svg >/tmp/said 2>&1 ||
            fail "a stranger computes on the card, in a container"
        cat /tmp/said
        grep -q "^sidra-demo: .*/dev/sidra0" /tmp/said || fail "the demo does not say why not"
        umount /tmp/container/root /sys/fs/cgroup
        rm -r /etc/cdi
        ;;
    firmware)
        modinfo -F firmware sidra | while read -r image; do
            sidra-fw show "/usr/lib/firmware/$image" | sed -n 1,3p
        done
        echo 1 >/sys/class/sidra/sidra0/firmware_update || fail "the driver does not take the image"
        ;;
    programs)
        mapfile -t programs < <(dpkg-query -L sidra-tools sidra-device-plugin | grep -E '^/usr/s?bin/.')
        for program in "${programs[@]}"; do
            "$program" --help >/dev/null || fail "$program --help"
            name=${program##*/}
            [[ -n $(find /usr/share/man -name "$name.[18].gz") ]] || fail "no manual page of $name"
            [[ -e /usr/share/bash-completion/completions/$name ]] || fail "no completion of $name"
        done
        sidra-reg test
        ;;
    service)
        # In its own name spaces systemd is the first process, as elsewhere; its writes to /run disappear with it.
        # shellcheck disable=SC2016 # expanded by the inner shell
        unshare --fork --pid --mount --cgroup --mount-proc --kill-child sh -c '
            mount -t tmpfs -o mode=755 run /run
            exec env -i container=sidra PATH="$PATH" /usr/lib/systemd/systemd --unit=basic.target' >/dev/null 2>&1 </dev/null &
        machine=$!
        trap 'kill -KILL $machine; wait $machine 2>/dev/null || :' EXIT # unshare's child dies with it
        until in_systemd test -S /run/systemd/private; do sleep 0.1; done 2>/dev/null
        in_systemd systemctl is-system-running --wait || in_systemd systemctl --no-pager --failed
        in_systemd systemctl start dev-sidra0.device
        in_systemd systemctl enable --now sidra-exporter
        until python3 -c 'import urllib.request as r; print(r.urlopen("http://127.0.0.1:9834/metrics").read().decode())' >/tmp/said 2>/dev/null; do
            in_systemd systemctl is-active --quiet sidra-exporter || fail "the exporter does not run: $(in_systemd systemctl status --no-pager sidra-exporter)"
            sleep 0.1
        done
        in_systemd systemctl status --no-pager sidra-exporter
        grep -E '^sidra_up\{device="sidra0",.*\} 1$' /tmp/said || fail "the exporter does not know the card: $(grep sidra_up /tmp/said)"
        user=$(in_systemd stat -c %u "/proc/$(in_systemd systemctl show --property=MainPID --value sidra-exporter)")
        ((user >= 61184 && user <= 65519)) || fail "the exporter has user $user, and should have one of its own"
        in_systemd systemctl stop sidra-exporter
        is "why the exporter ended" success "$(in_systemd systemctl show --property=Result --value sidra-exporter)"
        ;;
    purge)
        modprobe -r sidra
        mapfile -t ours < <(dpkg-query -W -f '${binary:Package} ${source:Package}\n' | sed -n 's/ sidra$//p')
        ((${#ours[@]} >= 5)) || fail "only ${ours[*]} are there"
        dpkg --purge "${ours[@]}"
        # Excluded: files of the tests above, of systemd and podman, DKMS's key of this machine, and the guest's mounts.
        mapfile -t left < <(cd / && find . -xdev \( -path ./var/lib/dpkg -o -path ./var/cache -o -path ./var/log \) -prune -o -print | LC_ALL=C sort |
            LC_ALL=C comm -13 /src/build/packages/clean/before - | grep -vxE './var/lib/dkms/mok\.(key|pub)|./etc/(passwd|group|shadow|gshadow|subuid|subgid)-?|./(job|root|var/lib/(cni|containers|systemd))(/.*)?|./(etc|var)/\.updated')
        is "what is left" "" "${left[*]}"
        ;;
    *) fail "no part '$1'" ;;
esac
