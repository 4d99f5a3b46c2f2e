#!/bin/sh
# SPDX-License-Identifier: MIT
# ccache.sh COMPILER ARGUMENT...: compiles by way of ccache, with one cache for all checkouts: paths below the tree are hashed as relative ones.
# A CCACHE_DIR in the environment (as in the roots of scripts/vm and scripts/packages) means that the caller has set ccache up. Without ccache it
# compiles.
command -v ccache >/dev/null || exec "$@"
if [ -z "${CCACHE_DIR:-}" ]; then
    top=${0%/scripts/cmake/*}
    export CCACHE_DIR="${XDG_CACHE_HOME:-$HOME/.cache}/sidra/ccache" CCACHE_BASEDIR="$top" CCACHE_NOHASHDIR=true CCACHE_MAXSIZE=10G
fi
exec ccache "$@"
