#!/bin/bash
# SPDX-License-Identifier: MIT
# trees.sh: make reconfigures a build tree after packages were installed: `make demo` needs none of the benchmark's
# peers, `make vm-bench` needs them. The benchmark of the VM reports a peer that is still missing.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "trees: $*" >&2
    exit 1
}

cp Makefile CMakePresets.json "$folder"
mkdir -p "$folder/build/release"
touch -d '3 hours ago' "$folder/CMakePresets.json"
touch -d '2 hours ago' "$folder/status"
touch -d '1 hour ago' "$folder/build/release/build.ninja"
current() { make -C "$folder" --no-print-directory -q build/release/build.ninja PACKAGES=status; }
current || fail "a tree is configured again though no package came"
touch "$folder/status"
current && fail "a tree is not configured again though packages came"
[[ ! -e /var/lib/dpkg/status ]] || grep -q '^PACKAGES.*/var/lib/dpkg/status' <(make -pn help) || fail "make does not look at the packages of this system"

mkdir -p "$folder/scripts/vm" "$folder/build/release/tools/sidra-bench"
cp scripts/vm/bench.sh "$folder/scripts/vm"
cat >"$folder/build/release/tools/sidra-bench/sidra-bench" <<'END'
#!/bin/sh
echo '{"results": [{"group": "copy", "name": "memcpy", "bytes": 67108864, "seconds_min": 1}]}' >"$5"
END
chmod +x "$folder/build/release/tools/sidra-bench/sidra-bench"
"$folder/scripts/vm/bench.sh" >"$folder/log" 2>&1 && fail "bench.sh goes on without a figure that it needs"
grep -q Traceback "$folder/log" && fail "bench.sh ends in a traceback: $(tail -n 1 "$folder/log")"
grep -q 'built without a peer' "$folder/log" || fail "bench.sh does not say what is missing: $(cat "$folder/log")"
