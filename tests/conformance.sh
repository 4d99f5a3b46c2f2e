#!/bin/bash
# SPDX-License-Identifier: MIT
# conformance.sh SIDRA_CONFORMANCE: the stored tests of ONNX. Those that do not pass are in conformance/expected.txt.
set -euo pipefail
[[ -d /usr/share/libonnx-testdata/data ]] || {
    echo "conformance: install libonnx-testdata" >&2
    exit 1
}
exec "$1" --expect "$(dirname "$0")/conformance/expected.txt"
