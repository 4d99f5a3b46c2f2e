#!/bin/bash
# SPDX-License-Identifier: MIT
# dump.sh SIDRA_DUMP ELF: the program as it is shipped: its sources of input and its exit status.
set -euo pipefail
dump=$1 elf=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "dump: $*" >&2
    cat "$folder/said" >&2
    exit 1
}
# fails STATUS TEXT COMMAND...: ends with this status and says the text.
fails() {
    local wanted=$1 text=$2 status=0
    shift 2
    "$@" >"$folder/said" 2>&1 </dev/null || status=$?
    [[ $status == "$wanted" ]] || fail "status $status instead of $wanted: $*"
    grep -qF -- "$text" "$folder/said" || fail "does not say '$text': $*"
}

# A dump of firmware that ran into a trap in its first instruction.
python3 - "$folder/firmware" "$elf" <<'EOF'
import struct, sys, zlib
entry = struct.unpack_from("<I", open(sys.argv[2], "rb").read(), 24)[0]
log = b"running\n".ljust(1024, b"\0")
body = struct.pack("<IIIIQ32I5I", 0x44464453, 1200, 0x10005, 1 << 16, 1000, *range(32), entry, 5, 0x44, 0x1800, 8) + log
open(sys.argv[1], "wb").write(body + struct.pack("<I", zlib.crc32(body)))
EOF
mkdir "$folder/devcd1"
printf 'sidra-coredump: 1\ncause: link-lost\nlink: lost\n' >"$folder/devcd1/data"

says() { # text, command...
    "${@:2}" >"$folder/said" || fail "fails: ${*:2}"
    grep -q -- "$1" "$folder/said" || fail "does not say '$1': ${*:2}"
}
says "^pc .*(_start+0x0)" "$dump" --elf "$elf" "$folder/firmware"
says "^panic .*load access fault" "$dump" "$folder/firmware"
says "^firmware  0.1.0$" "$dump" - <"$folder/firmware"
says "^cause: link-lost  (the chip stopped answering" "$dump" "$folder/devcd1"
for file in firmware devcd1/data; do
    "$dump" --json "$folder/$file" | python3 -c 'import json, sys; assert json.load(sys.stdin)["schema"] == "sidra-dump/1"' || fail "JSON of $file"
done

# A vector program of two instructions, and one that is not expressible.
python3 - "$folder/program" <<'EOF'
import struct, sys
load = struct.pack("<8B2I", 1, 1, 3, 0, 0, 0, 0, 0, 0, 0)
store = struct.pack("<8B2I", 3, 0, 0, 1, 3, 0, 0, 0, 0, 0)
unknown = struct.pack("<8B2I", 255, 0, 0, 1, 3, 0, 0, 0, 0, 0)
open(sys.argv[1], "wb").write(load + store + unknown)
EOF
says "^    v3 = load o0$" "$dump" --vector-program "$folder/program"
says "^    store o1, v3$" "$dump" --vector-program - <"$folder/program"
says "^    .bytes 0xff00000103000*  # opcode 255 is unknown$" "$dump" --vector-program "$folder/program"

fails 1 "cannot read $folder/none: No such file" "$dump" "$folder/none"
fails 1 "cannot decode $folder/devcd1: it has 46 bytes; a vector program has" "$dump" --vector-program "$folder/devcd1"
fails 1 "cannot decode standard input: it is empty" "$dump" --vector-program -
fails 2 "excludes" "$dump" --json --vector-program "$folder/program"
fails 1 "cannot read $folder/data: No such file" "$dump" "$folder"
fails 1 "not a regular file" "$dump" /dev/zero
fails 1 "its name is empty" "$dump" ""
fails 1 "cannot decode standard input: it is empty" "$dump" -
fails 1 "cannot decode $elf: it is not a dump of a SIDRA card" "$dump" "$elf"
head -c 1000 "$folder/firmware" >"$folder/cut"
fails 1 "it ends after 1000 of 1200 bytes" "$dump" "$folder/cut"
head -c 2000000 /dev/zero >"$folder/large"
fails 1 "longer than 1048576 bytes" "$dump" "$folder/large"
# shellcheck disable=SC2016 # another shell's
fails 1 "longer than 1048576 bytes" sh -c 'exec "$1" - <"$2"' sh "$dump" "$folder/large"
fails 1 "is not a firmware program with symbols: it is not a 32-bit file" "$dump" --elf "$dump" "$folder/firmware"
fails 1 "cannot read $folder/none" "$dump" --elf "$folder/none" "$folder/firmware"
fails 2 "sidra-dump --help" "$dump"
fails 2 "sidra-dump --help" "$dump" --nope "$folder/firmware"
status=0
"$dump" "$folder/firmware" >/dev/full 2>"$folder/said" || status=$?
[[ $status == 1 ]] || fail "output that is lost is a success"
