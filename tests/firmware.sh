#!/bin/bash
# SPDX-License-Identifier: MIT
# firmware.sh SIDRA_FW: the program as it is shipped: from a program to a verified image and back, its messages for
# damaged files, and what remains when it cannot write.
set -euo pipefail
fw=$(realpath "$1")
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
dev=firmware/keys/development
fail() {
    echo "firmware: $*" >&2
    cat "$folder/said" >&2
    exit 1
}
# fails STATUS TEXT COMMAND...: the command ends with this status and says the text. `output`: where its standard output goes.
fails() {
    local wanted=$1 text=$2 status=0
    shift 2
    timeout 60 "$@" >"${output:-$folder/said}" 2>"$folder/errors" </dev/null || status=$?
    cat "$folder/errors" >>"$folder/said"
    [[ $status == "$wanted" ]] || fail "status $status instead of $wanted: $*"
    grep -qF -- "$text" "$folder/said" || fail "does not say '$text': $*"
    : >"$folder/said"
}
# says TEXT COMMAND...
says() { fails 0 "$@"; }
: >"$folder/said"
byte() { printf '%b' "\\x$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; } # FILE OFFSET HEX

# A program of 1000 bytes; keys of ours, of a stranger, and the one that everybody has.
python3 -c 'import sys; sys.stdout.buffer.write(bytes(i * 7 & 255 for i in range(1000)))' >"$folder/program"
flat=(build --flat --load-address 0x10000100 --version 1.2.3 --security-version 4)
umask 022
says "(mode 0600)" "$fw" keygen --name ours "$folder/ours.key"
"$fw" keygen --name stranger "$folder/stranger.key" >"$folder/said"
[[ $(stat -c %a "$folder/ours.key" "$folder/ours.pub" | xargs) == "600 644" ]] || fail "modes of the keys"

# Build, sign, verify; and again, from elsewhere and later: the same bytes.
export SOURCE_DATE_EPOCH=1700000000
full=("${flat[@]}" --type recovery --api boot=1.0 --api log=2.7 --min-driver 1.0.1 --stack 4096 --steppings 3 --ram-size 4096 --debug
    --build-id 00112233445566778899aabbccddeeff00112233 --log-strings "$folder/ours.pub")
"$fw" "${full[@]}" "$folder/program" "$folder/one.fw"
(cd / && TZ=Asia/Tokyo LC_ALL=C "$fw" "${full[@]}" "$folder/program" "$folder/two.fw")
cmp "$folder/one.fw" "$folder/two.fw"
fails 5 "not signed" "$fw" verify -k "$folder/ours.pub" "$folder/one.fw"
says "signed by ours" "$fw" sign -k "$folder/ours.key" "$folder/one.fw"
"$fw" sign -k "$folder/stranger.key" "$folder/two.fw" >"$folder/said" # an earlier signature leaves no trace
"$fw" sign -k "$folder/ours.key" -o "$folder/three.fw" "$folder/two.fw" >"$folder/said"
# Signing in place writes the target of a link and keeps its mode.
cp "$folder/one.fw" "$folder/real.fw"
chmod 0640 "$folder/real.fw"
ln -s real.fw "$folder/link.fw"
says "signed by stranger" "$fw" sign -k "$folder/stranger.key" "$folder/link.fw"
[[ -L $folder/link.fw && $(stat -c %a "$folder/real.fw") == 640 ]] || fail "a link, or a mode, is lost"
says "signed by stranger" "$fw" verify -k "$folder/stranger.pub" --type recovery --api boot=1.0 --api log=2.0 "$folder/real.fw"
fails 2 "the name is empty" "$fw" sign -k "$folder/stranger.key" -o "" "$folder/one.fw"
cmp "$folder/one.fw" "$folder/three.fw"
says "recovery 1.2.3, security version 4, signed by ours" "$fw" verify -k "$folder/stranger.pub" -k "$folder/ours.pub" "$folder/one.fw"
grep -q DEVELOPMENT "$folder/errors" && fail "warned of the development key without reason"
says "signed by ours" "$fw" verify -k "$folder/ours.pub" --type recovery --api boot=1.0 --api log=2.0 --driver 1.0.1 --stepping 1 \
    --ram 0x10000100:0x2000 --min-security-version 4 "$folder/one.fw"

# Without a build id the program is one, whatever else is in the header.
"$fw" "${flat[@]}" --min-driver 1.0.1 "$folder/program" "$folder/unnamed.fw"
python3 - "$folder/unnamed.fw" "$folder/program" <<'EOF'
import hashlib, sys
image, program = (open(name, "rb").read() for name in sys.argv[1:])
assert image[56:76] == hashlib.sha256(program).digest()[:20], image[56:76].hex()
EOF

# The contents of the image, read by independent code.
python3 - "$folder/one.fw" "$folder/program" "$folder/ours.pub" <<'EOF'
import hashlib, struct, sys, zlib
image, program, public = (open(name, "rb").read() for name in sys.argv[1:])
head = struct.unpack_from("<IHH12I20sIQ8I", image)
assert head[:3] == (0x57464453, 1, 256), head
assert head[3:15] == (2, 1, 0x5931, 3, 0x10000100, 0x10000100, 1000, 4096, 4096, 0x01020003, 4, 0x01000001), head
assert head[15].hex() == "00112233445566778899aabbccddeeff00112233" and head[17] == 1700000000, head
assert head[18:] == (0x10000, 0, 0, 0x20007, 0, 0, 0, 0), head
assert image[120:252] == bytes(132) and image[256:1256] == program
assert struct.unpack_from("<I", image, 252)[0] == zlib.crc32(image[:252] + bytes(4))
at, tlvs = 1256, {}
while at < len(image):
    kind, flags, length = struct.unpack_from("<HHI", image, at)
    assert flags == 0
    tlvs[kind] = image[at + 8:at + 8 + length]
    at += 8 + (length + 7) // 8 * 8
assert at == len(image) == 1256 + head[16]
key = bytes.fromhex(next(line[8:] for line in public.decode().splitlines() if line.startswith("public: ")))
assert list(tlvs) == [1, 2, 3, 4] and tlvs[4] == public
assert tlvs[1] == hashlib.sha256(image[:1256]).digest() and tlvs[2] == hashlib.sha256(key).digest() and len(tlvs[3]) == 64
EOF

# Each family of errors has its own status.
verify=("$fw" verify -k "$folder/ours.pub")
damaged() { cp "$folder/one.fw" "$folder/bad.fw"; }
head -c 200 "$folder/one.fw" >"$folder/bad.fw"
fails 3 "transfer: shorter than the 256 bytes" "${verify[@]}" "$folder/bad.fw"
head -c 1300 "$folder/one.fw" >"$folder/bad.fw"
fails 3 "transfer: shorter than the payload" "${verify[@]}" "$folder/bad.fw"
damaged && echo >>"$folder/bad.fw"
fails 3 "transfer: longer than the payload" "${verify[@]}" "$folder/bad.fw"
damaged && byte "$folder/bad.fw" 44 ff
fails 3 "transfer: the CRC of the header" "${verify[@]}" "$folder/bad.fw"
fails 3 "was not signed: transfer" "$fw" sign -k "$folder/ours.key" "$folder/bad.fw"
says "PROBLEM" "$fw" show "$folder/bad.fw"
damaged && byte "$folder/bad.fw" 700 ff
fails 4 "corrupt: the SHA-256 differs" "${verify[@]}" "$folder/bad.fw"
fails 4 "was not signed: corrupt" "$fw" sign -k "$folder/ours.key" "$folder/bad.fw"
says "MISMATCH" "$fw" show "$folder/bad.fw"
fails 5 "authenticity: signed by a key that is not trusted" "$fw" verify -k "$folder/stranger.pub" "$folder/one.fw"
fails 5 "trusted keys: stranger" "$fw" verify -k "$folder/stranger.pub" "$folder/one.fw"
damaged && byte "$folder/bad.fw" $((1256 + 40 + 40 + 8)) 00 && byte "$folder/bad.fw" $((1256 + 40 + 40 + 9)) 00
fails 5 "authenticity: the signature is not valid" "${verify[@]}" "$folder/bad.fw"
fails 6 "it is 4, the lowest allowed is 5" "${verify[@]}" --min-security-version 5 "$folder/one.fw"
fails 7 "the image is for 0x5931, the chip is 0x5932" "${verify[@]}" --chip-id 0x5932 "$folder/one.fw"
fails 7 "mask 0x3, the chip has stepping 2" "${verify[@]}" --stepping 2 "$folder/one.fw"
fails 7 "the image is recovery, runtime is required" "${verify[@]}" --type runtime "$folder/one.fw"
fails 7 "log: major version 3 is required, the image has 2" "${verify[@]}" --api log=3.0 "$folder/one.fw"
fails 7 "dump: major version 1 is required, the image has none" "${verify[@]}" --api dump=1.0 "$folder/one.fw"
fails 7 "needs driver 1.0.1 or newer, the driver is 1.0.0" "${verify[@]}" --driver 1.0.0 "$folder/one.fw"
fails 7 "RAM 0x10000100 to 0x100020f8" "${verify[@]}" --ram 0x10000100:0x1ff8 "$folder/one.fw"
# Without --ram: exactly the addresses that the ROM of a Y1 accepts.
placed() { # address, bytes of RAM
    "$fw" build --flat --load-address "$1" --ram-size "$2" --version 1.0.0 --security-version 1 "$folder/program" "$folder/placed.fw"
    "$fw" sign -k "$folder/ours.key" "$folder/placed.fw" >"$folder/said"
}
placed 0x10000100 0x3df00
says "signed by ours" "${verify[@]}" "$folder/placed.fw"
placed 0x10000100 0x3df08
fails 7 "RAM 0x10000100 to 0x1003e000" "${verify[@]}" "$folder/placed.fw"
says "signed by ours" "${verify[@]}" --ram 0x10000000:0x40000 "$folder/placed.fw"
placed 0x100000f8 0x1000
fails 7 "unfit: the load address" "${verify[@]}" "$folder/placed.fw"

# The TLVs, and so the log strings, are limited: those of an unsigned image, and with a signature.
head -c 3000 /dev/zero >"$folder/texts"
fails 1 "unfit: its TLVs are larger than 2048 bytes (3048 bytes)" "$fw" "${flat[@]}" --log-strings "$folder/texts" "$folder/program" "$folder/large.fw"
[[ ! -e $folder/large.fw ]] || fail "an image that a chip would refuse was written"
truncate -s 1889 "$folder/texts"
"$fw" "${flat[@]}" --log-strings "$folder/texts" "$folder/program" "$folder/large.fw"
fails 7 "was not signed: unfit: its TLVs are larger than 2048 bytes (2056 bytes)" "$fw" sign -k "$folder/ours.key" "$folder/large.fw"
truncate -s 1888 "$folder/texts"
"$fw" "${flat[@]}" --log-strings "$folder/texts" "$folder/program" "$folder/large.fw"
"$fw" sign -k "$folder/ours.key" "$folder/large.fw" >"$folder/said"
says "signed by ours" "${verify[@]}" "$folder/large.fw"

# show is for every image, and JSON is JSON.
says ", time: 2023-11-14 22:13:20 UTC" "$fw" show "$folder/one.fw"
says "not checked; give the public key" "$fw" show "$folder/one.fw"
says "ours (" "$fw" show -k "$folder/ours.pub" "$folder/one.fw"
for file in one.fw bad.fw; do
    "$fw" show --json -k "$folder/ours.pub" "$folder/$file" >"$folder/said"
    python3 - "$folder/said" "$file" <<'EOF'
import json, sys
shown = json.load(open(sys.argv[1]))
good = sys.argv[2] == "one.fw"
assert shown["schema"] == "sidra-fw/1" and shown["header"]["version"] == "1.2.3" and shown["header"]["api"]["log"] == "2.7", shown
assert shown["sha256"]["matches"] is True and shown["signature"]["verifies"] is good, shown
assert [p["family"] for p in shown["problems"]] == ([] if good else ["authenticity"]), shown
EOF
done
fails 1 "is not a firmware image" "$fw" show "$folder/program"
fails 1 "is not a firmware image" "$fw" show --json /proc/version

# The development key is never met in silence.
says "DEVELOPMENT" "$fw" sign -k $dev.key -o "$folder/dev.fw" "$folder/one.fw"
says "sidra-fw: WARNING" "$fw" show "$folder/dev.fw"
[[ $("$fw" show "$folder/dev.fw" 2>&1 | grep -c WARNING) == 1 ]] || fail "show warns more than once"
says "sidra-fw: WARNING" "$fw" verify -k $dev.pub "$folder/dev.fw"
fails 5 "not trusted" "${verify[@]}" "$folder/dev.fw"
"$fw" show --json "$folder/dev.fw" 2>"$folder/errors" | grep '"development": true' >/dev/null || fail "JSON does not tell of the development key"
grep -q WARNING "$folder/errors" || fail "no warning beside the JSON"

# Keys: never overwritten, never half a pair, never lent.
cp "$folder/ours.key" "$folder/kept.key"
fails 1 "never overwritten" "$fw" keygen --name again "$folder/ours.key"
cmp "$folder/ours.key" "$folder/kept.key"
fails 1 "never overwritten" "$fw" keygen --name again "$folder/new.key" "$folder/ours.pub"
[[ ! -e $folder/new.key ]] || fail "half a pair of keys was left behind"
fails 2 "name two files" "$fw" keygen --name again "$folder/new.pub"
fails 2 "--name" "$fw" keygen --name "a b" "$folder/new.key"
fails 2 "--name" "$fw" keygen --name "" "$folder/new.key"
fails 1 "it is a public key; sign with the private key" "$fw" sign -k "$folder/ours.pub" "$folder/one.fw"
chmod 640 "$folder/kept.key"
fails 1 "other users can read it (mode 0640)" "$fw" sign -k "$folder/kept.key" "$folder/one.fw"
chmod 600 "$folder/kept.key"
sed -i 's/^seed: ./seed: /' "$folder/kept.key"
fails 1 "field 'seed' is not 32 bytes" "$fw" sign -k "$folder/kept.key" "$folder/one.fw"
echo "no key" >"$folder/text"
fails 1 "line 1 is not 'sidra-firmware-key 1'" "$fw" verify -k "$folder/text" "$folder/one.fw"
fails 1 "longer than 4096 bytes" "$fw" verify -k "$fw" "$folder/one.fw"

# Command lines.
fails 2 "sidra-fw --help" "$fw"
fails 2 "sidra-fw --help" "$fw" --nope
fails 2 "--key is required" "$fw" verify "$folder/one.fw"
fails 2 "--version" "$fw" build --security-version 1 "$folder/program" "$folder/no.fw"
bad_build() { fails "$1" "$2" "$fw" "${flat[@]}" "${@:3}" "$folder/program" "$folder/no.fw"; }
bad_build 2 "'x' is not a type" --type x
bad_build 2 "is not 3 numbers separated by dots" --min-driver 1.2
bad_build 2 "is not 3 numbers separated by dots" --min-driver 1.256.0
bad_build 2 "is not 3 numbers separated by dots" --min-driver 1.2.3.4
bad_build 2 "is not NAME=MAJOR.MINOR" --api nope=1.0
bad_build 2 "is given twice" --api boot=1.0 --api boot=1.1
bad_build 2 "versions begin with 1.0" --api boot=0.1
bad_build 2 "is not a number" --stack -1
bad_build 2 "is too large" --stack 0x100000000
bad_build 2 "40 hexadecimal digits" --build-id 1234
SOURCE_DATE_EPOCH=yesterday bad_build 2 "SOURCE_DATE_EPOCH: 'yesterday'"
bad_build 1 "a chip would refuse it: unfit: the stack" --stack 8
bad_build 1 "a chip would refuse it: unfit: the entry" --entry 0x20000000
bad_build 1 "it is for no stepping" --steppings 0
fails 1 "is not an ELF file" "$fw" build --version 1.0.0 --security-version 1 "$folder/program" "$folder/no.fw"
fails 2 "--flat needs --load-address" "$fw" build --flat --version 1.0.0 --security-version 1 "$folder/program" "$folder/no.fw"
fails 2 "need --flat" "$fw" build --entry 0 --version 1.0.0 --security-version 1 "$folder/program" "$folder/no.fw"
fails 1 "is not a program for the management core: it is not a 32-bit file" "$fw" build --version 1.0.0 --security-version 1 "$fw" "$folder/no.fw"
cp "$folder/program" "$folder/self"
fails 2 "would overwrite its input" "$fw" "${flat[@]}" "$folder/self" "$folder/self"
cmp "$folder/program" "$folder/self"
[[ ! -e $folder/no.fw ]] || fail "an image was written all the same"

# Files that do not exist, are endless, or are not regular files.
for command in "show" "verify -k $folder/ours.pub" "sign -k $folder/ours.key"; do
    read -ra words <<<"$command"
    fails 1 "cannot read $folder/none: No such file" "$fw" "${words[@]}" "$folder/none"
    fails 1 "not a regular file" "$fw" "${words[@]}" /dev/zero
    fails 1 "not a regular file" "$fw" "${words[@]}" "$folder"
    fails 1 "its name is empty" "$fw" "${words[@]}" ""
done
mkfifo "$folder/pipe"
fails 1 "not a regular file" "$fw" show "$folder/pipe"
fails 1 "No such file" "$fw" sign -k "$folder/none" "$folder/one.fw"
: >"$folder/empty"
fails 3 "shorter than" "${verify[@]}" "$folder/empty"
fails 1 "is empty" "$fw" "${flat[@]}" "$folder/empty" "$folder/no.fw"

# Failing to write the output is an error, and the old file stays.
output=/dev/full fails 1 "cannot write to standard output" "$fw" show "$folder/one.fw"
output=/dev/full fails 1 "cannot write to standard output" "${verify[@]}" "$folder/one.fw"
"$fw" show "$folder/one.fw" >&- <&- 2>&- || fail "with all standard files closed"
cp "$folder/one.fw" "$folder/before.fw"
fails 1 "cannot write $folder/one.fw/x" "$fw" sign -k "$folder/ours.key" -o "$folder/one.fw/x" "$folder/one.fw"
fails 1 "not a regular file" "$fw" "${flat[@]}" "$folder/program" "$folder/pipe"
fails 1 "the folder $folder/no does not exist; create it" "$fw" "${flat[@]}" "$folder/program" "$folder/no/x.fw"
[[ ! -e $folder/no ]] || fail "a mistyped name has made a folder"
mkdir "$folder/closed"
cp "$folder/one.fw" "$folder/closed/one.fw"
cp "$folder/stranger.key" "$folder/closed/our.key"
chmod 755 "$folder"
chmod 555 "$folder/closed"
as_nobody=()
if ((EUID == 0)); then # root may write everywhere
    chown -R 65534:65534 "$folder/closed"
    as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups --)
fi
if "${as_nobody[@]}" "$fw" --help >"$folder/said" 2>&1; then
    fails 1 "cannot write $folder/closed/one.fw: Permission denied" "${as_nobody[@]}" "$fw" sign -k "$folder/closed/our.key" "$folder/closed/one.fw"
    fails 1 "Permission denied" "${as_nobody[@]}" "$fw" keygen --name x "$folder/closed/x.key"
    fails 1 "Permission denied" "${as_nobody[@]}" "$fw" "${flat[@]}" "$folder/program" "$folder/closed/x.fw"
else
    echo "firmware: nobody may run $fw; a folder that is closed was not tried"
fi
cmp "$folder/closed/one.fw" "$folder/before.fw"
cmp "$folder/one.fw" "$folder/before.fw"
[[ $(ls "$folder/closed") == $'one.fw\nour.key' ]] || fail "something was left in a folder that is closed"
[[ -z $(find "$folder" -name '*.??????' -not -name '*.fw') ]] || fail "half a file was left behind: $(find "$folder" -name '*.??????')"

# A real program, if a compiler for the target is installed.
if clang --print-targets 2>/dev/null | grep -w riscv32 >/dev/null && command -v ld.lld >/dev/null; then
    printf '.globl _start\n_start: la sp, _start\nj _start\n.data\n.word 7\n.bss\n.space 100\n' >"$folder/start.s"
    clang --target=riscv32 -march=rv32im -mabi=ilp32 -mno-relax -c "$folder/start.s" -o "$folder/start.o"
    echo 'SECTIONS { . = 0x10000000; .text : { *(.text) } . = 0x10000100; .data : { *(.data) } .bss : { *(.bss) } }' >"$folder/start.ld"
    ld.lld -T "$folder/start.ld" "$folder/start.o" -o "$folder/start.elf"
    "$fw" build --version 1.0.0 --security-version 1 "$folder/start.elf" "$folder/elf.fw"
    says "load address      0x10000000, entry 0x10000000" "$fw" show "$folder/elf.fw"
    says "payload           264 bytes, RAM 360 bytes" "$fw" show "$folder/elf.fw"
    size=$(stat -c %s "$folder/elf.fw")
    ((size == 256 + 264 + 40)) || fail "the image of a real program has $size bytes"
fi
echo "images are built, signed, shown and verified"
