#!/bin/bash
# SPDX-License-Identifier: MIT
# slurm.sh SIDRA_SMI: the file that `sidra-smi slurm` writes, as Slurm's own daemon reads it (scripts/slurm.sh), and the messages of the command.
set -euo pipefail
smi=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "slurm: $*" >&2
    cat "$folder/said" >&2 2>/dev/null || :
    exit 1
}
card() { # number, bus
    local function=$folder/root/sys/devices/pci0000:00/0000:00:03.0/0000:0$2:00.0 node=$folder/root/sys/class/sidra/sidra$1
    mkdir -p "$function" "$node" "$folder/root/sys/bus/pci/devices"
    ln -s "../../../devices/pci0000:00/0000:00:03.0/0000:0$2:00.0" "$folder/root/sys/bus/pci/devices/0000:0$2:00.0"
    ln -s "../../../bus/pci/devices/0000:0$2:00.0" "$node/device"
    echo "c0ffee0$1-0000-4000-8000-000000000000" >"$node/uuid"
    echo 0 >"$function/local_cpulist"
}
mkdir "$folder/root"
run=("$smi" --root "$folder/root")
status=0
"${run[@]}" slurm >"$folder/out" 2>"$folder/said" || status=$?
[[ $status == 1 && ! -s $folder/out ]] || fail "status $status without a card"
card 0 1
card 2 4
for cpu in 0 1; do
    mkdir -p "$folder/root/sys/devices/system/cpu/cpu$cpu/topology"
    echo 0 >"$folder/root/sys/devices/system/cpu/cpu$cpu/topology/physical_package_id"
    echo "$cpu" >"$folder/root/sys/devices/system/cpu/cpu$cpu/topology/core_id"
done
"${run[@]}" slurm --output "$folder/gres.conf" 2>"$folder/said" || fail "slurm --output"
"${run[@]}" slurm >"$folder/out"
diff "$folder/out" "$folder/gres.conf" >"$folder/said" || fail "--output writes another text"
[[ $(grep -v '^#' "$folder/out") == "Name=sidra Type=y1 File=/dev/sidra0 Cores=0 Links=-1,1"$'\n'"Name=sidra Type=y1 File=/dev/sidra2 Cores=0 Links=1,-1" ]] ||
    fail "other lines: $(<"$folder/out")"
status=0
"${run[@]}" slurm --output "$folder/no/gres.conf" 2>"$folder/said" || status=$?
[[ $status == 64 ]] || fail "status $status of a file in no folder"
grep -q "$folder/no" "$folder/said" || fail "does not name the folder that is missing"

plugins=$(SLURM_PLUGINS=print scripts/slurm.sh) || { [[ ! ${CI:-} ]] || fail "continuous integration has to have Slurm"; exit 0; }
# Slurm needs files of these names; the nodes of cards are elsewhere.
mkdir "$folder/dev" "$folder/spool"
touch "$folder"/dev/sidra{0,2}
sed -i "s|/dev/|$folder/dev/|" "$folder/gres.conf"
cat >"$folder/slurm.conf" <<END
ClusterName=test
SlurmctldHost=localhost
PluginDir=$plugins
GresTypes=sidra
SlurmdSpoolDir=$folder/spool
SlurmdPidFile=$folder/pid
StateSaveLocation=$folder
NodeName=$(hostname -s) CPUs=2 CoresPerSocket=2 Gres=sidra:y1:2
END
reads() { # what Slurm says about gres.conf
    timeout 60 scripts/slurm.sh -G -f "$folder/slurm.conf" >"$folder/said" 2>&1 || fail "slurmd cannot read the file"
}
# Slurm counts a device for each line. (Before version 23, -G does not know what slurm.conf expects, and says so.)
reads
grep -iE 'error|parse|invalid|unrecognized' "$folder/said" | grep -i gres && fail "Slurm does not like the file"
[[ $(grep -cE "sidra:y1 has 1 more|Name=sidra Type=y1 Count=1" "$folder/said") == 2 ]] || fail "Slurm does not find two cards"
# It does complain about a file with a mistake.
sed -i 's/Links=1,-1/Lynx=1,-1/' "$folder/gres.conf"
timeout 60 scripts/slurm.sh -G -f "$folder/slurm.conf" >"$folder/said" 2>&1 || :
grep -qi 'lynx' "$folder/said" || fail "Slurm accepts any key"
echo "Slurm reads the cards"
