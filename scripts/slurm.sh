#!/bin/bash
# SPDX-License-Identifier: MIT
# slurm.sh ARGUMENT...: runs slurmd, the daemon of Slurm on a compute node. If it is not installed, it comes from Debian's packages, once per machine
# (14 MB), in ${XDG_CACHE_HOME:-~/.cache}/sidra/slurm; installing those packages would start a service. Exit status 77: not available (no network;
# SIDRA_SETUP=skip). The variable SLURM_PLUGINS=print prints the folder of the plugins instead, for PluginDir in slurm.conf.
set -euo pipefail

packages=(slurmd slurm-wlm-basic-plugins slurm-client libhwloc15 libmunge2 libjson-c5 liblua5.1-0 libyaml-0-2 libdbus-1-3 libnuma1)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/sidra
folder=$cache/slurm
if [[ ! -d $folder ]]; then
    [[ ${SIDRA_SETUP:-} != skip ]] && command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || exit 77
    mkdir -p "$cache"
    part=$(mktemp -d "$cache/slurm.XXXXXX")
    trap 'rm -rf "$part"' EXIT
    (cd "$part" && apt-get -qq download "${packages[@]}" >log 2>&1) || exit 77
    for package in "$part"/*.deb; do dpkg-deb -x "$package" "$part/root"; done
    # Another process may have extracted the same files first.
    mv -T "$part/root" "$folder" 2>/dev/null || [[ -d $folder ]]
fi
libraries=$(dirname "$(find "$folder" -name 'libhwloc.so.15' | head -n 1)")
if [[ ${SLURM_PLUGINS:-} == print ]]; then
    echo "$libraries/slurm-wlm"
    exit
fi
LD_LIBRARY_PATH=$libraries:$libraries/slurm-wlm exec "$folder/usr/sbin/slurmd-wlm" "$@"
