#!/bin/bash
# SPDX-License-Identifier: MIT
# check.sh: builds the Debian packages, installs them into a clean Debian, boots it in the VM and tests them: tests/vm/packages. Logs and
# results: build/vm-packages.
set -euo pipefail
cd "$(dirname "$0")/../.."
scripts/packages/build.sh
root=$(scripts/packages/install.sh)
exec scripts/vm/check.py --root "$root" --no-module --device sidra,profile=small --logs build/vm-packages tests/vm/packages
