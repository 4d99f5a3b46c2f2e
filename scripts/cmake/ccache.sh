#!/bin/sh
# SPDX-License-Identifier: MIT
# ccache.sh COMPILER ARGUMENT...: compiles with ccache, with one cache for all checkouts: paths below the tree are hashed as relative paths.
# If CCACHE_DIR is set (as in the roots of scripts/vm and scripts/packages), the caller has chosen cache, size and paths. Without ccache it just
# compiles.
command -v ccache >/dev/null || exec "$@"
export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS:-pch_defines,time_macros}" # a precompiled header counts as what it was made of
if [ -z "${CCACHE_DIR:-}" ]; then
    top=${0%/scripts/cmake/*}
    export CCACHE_DIR="${XDG_CACHE_HOME:-$HOME/.cache}/sidra/ccache" CCACHE_BASEDIR="$top" CCACHE_NOHASHDIR=true CCACHE_MAXSIZE=10G
fi
exec ccache "$@"
