#!/bin/bash
# SPDX-License-Identifier: MIT
# readme.sh PROGRAM OUTPUT...: the example of README.md prints what README.md says.
set -euo pipefail
output=$("$1")
shift
[[ $output == "$*" ]] || { echo "README.md says '$*', the example prints '$output'" >&2; exit 1; }
