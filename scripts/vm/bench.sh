#!/bin/bash
# SPDX-License-Identifier: MIT
# bench.sh [sidra-bench options]: measures the cost of the driver in the guest, compared with NVMe in the guest and memcpy on the host, and
# the cost of monitoring its card (smi-bench.py). Writes build/figures/vm.json (to which .ci/run adds the duration of the tests). Uses the
# binaries of build/release and of scripts/vm/build.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p build/figures

echo "== on the host: memcpy, and the embedded chip"
build/release/tools/sidra-bench/sidra-bench copy mvm --quick --json build/figures/host.json >/dev/null
host=$(python3 - build/figures/host.json <<'EOF'
import json
import sys

results = json.load(open(sys.argv[1]))["results"]


def fastest(what, matches):
    seconds = [r["seconds_min"] for r in results if matches(r)]
    if not seconds:
        sys.exit(f"vm: build/release's sidra-bench measured no {what}, which the guest is compared with. It is built without a peer whose package "
                 "was not there when the tree was configured: run `make setup`, then `make vm-bench` again.")
    return min(seconds)


copy = fastest("memcpy of 64 MiB", lambda r: (r["group"], r["name"], r.get("bytes")) == ("copy", "memcpy", 64 << 20))
mvm = fastest("product of a 1024 x 1024 matrix and 256 vectors",
              lambda r: (r["group"], r["name"], r.get("k"), r.get("batch")) == ("mvm", "mvm", 1024, 256))
print(f"--host-memcpy {copy} --host-mvm {mvm}")
EOF
)

echo "== in the guest"
# shellcheck disable=SC2086 # two options
scripts/vm/run.py --nvme --no-checks --timeout 900 -- bash -eo pipefail -c '
    modprobe nvme && udevadm settle 2>/dev/null || sleep 1
    sidra-bench driver recover --nvme /dev/ng0n1 --figures /tmp/vm.json "$@"
    printf "\n== watching the card, on which eight processes work\n"
    python3 -B scripts/smi-bench.py /build/release /dev/sidra0 | tee /tmp/smi.json
    scripts/figures.py /tmp/vm.json </tmp/smi.json
    printf "\n== figures\n"
    cat /tmp/vm.json' bench $host "$@" |
    tee build/figures/guest.log | sed '/^== figures/,$d'
sed '1,/^== figures/d' build/figures/guest.log >build/figures/guest.json
[[ -s build/figures/guest.json ]] || { echo "vm: no figures came out of the guest" >&2; exit 1; }
scripts/figures.py build/figures/vm.json <build/figures/guest.json
echo "written to build/figures/vm.json"
