#!/bin/bash
# SPDX-License-Identifier: MIT
# check.sh: makes the Debian packages, installs them into a clean Debian, boots that in the VM and tries them: tests/vm/packages. Logs and results
# are in build/vm-packages.
set -euo pipefail
cd "$(dirname "$0")/../.."
scripts/packages/build.sh
root=$(scripts/packages/install.sh)
exec scripts/vm/check.py --root "$root" --no-module --device sidra,profile=small --logs build/vm-packages tests/vm/packages
