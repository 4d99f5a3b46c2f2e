#!/bin/bash
# SPDX-License-Identifier: MIT
# prometheus.sh: prints the folder of `prometheus` and `promtool`. If they are not installed, extracts them from Debian's package, once per
# machine (19 MB), into ${XDG_CACHE_HOME:-~/.cache}/sidra/prometheus; installing that package would start a service. Exit status 77: not
# available (no network; SIDRA_SETUP=skip).
set -euo pipefail

if found=$(command -v promtool) && command -v prometheus >/dev/null; then
    dirname "$found"
    exit
fi
cache=${XDG_CACHE_HOME:-$HOME/.cache}/sidra
folder=$cache/prometheus/usr/bin
if [[ ! -x $folder/promtool ]]; then
    [[ ${SIDRA_SETUP:-} != skip ]] && command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || exit 77
    mkdir -p "$cache"
    part=$(mktemp -d "$cache/prometheus.XXXXXX")
    trap 'rm -rf "$part"' EXIT
    (cd "$part" && apt-get -qq download prometheus >log 2>&1) || exit 77
    dpkg-deb -x "$part"/prometheus_*.deb "$part/root"
    # Another process may have extracted the same files first.
    mv -T "$part/root" "$cache/prometheus" 2>/dev/null || [[ -x $folder/promtool ]]
fi
echo "$folder"
