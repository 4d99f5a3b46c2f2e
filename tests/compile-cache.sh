#!/bin/bash
# SPDX-License-Identifier: MIT
# compile-cache.sh SIDRA_COMPILE: files compiled before are copied if all that they depend on is the same, and only then; whatever happens to the
# cache, the compiled file is right.
set -euo pipefail
compile=$(realpath "$1")
data=/usr/share/libonnx-testdata/data/node
if [[ ! -d $data ]]; then
    echo "compile-cache: install libonnx-testdata" >&2
    exit 1
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export XDG_CACHE_HOME=$folder/cache
kept=$XDG_CACHE_HOME/sidra/compiled
fail() {
    echo "compile-cache: $*" >&2
    exit 1
}
# What the program says, which must succeed.
said() { "$compile" "$@" 2>&1 || fail "$*: exit status $?"; }
is_copy() {
    local text
    text=$(said "$@")
    grep -q "is a copy of $XDG_CACHE_HOME" <<<"$text" || fail "$*: compiled again instead of copied: '$text'"
}
is_compiled() {
    local text
    text=$(said "$@")
    [[ -z $text ]] || fail "$*: compiled and kept, it says '$text'"
}
says() { # part of a message, argument...
    local text
    text=$(said "${@:2}")
    grep -qF -- "$1" <<<"$text" || fail "${*:2}: says '$text', without '$1'"
}
refused() { # status, part of the message, argument...
    local status=0
    "$compile" "${@:3}" 2>err || status=$?
    ((status == $1)) || fail "${*:3}: exit status $status instead of $1: $(cat err)"
    grep -qF -- "$2" err || fail "${*:3}: the message is '$(cat err)', without '$2'"
}

# The same network, and another one.
cp $data/test_softmax_axis_1/model.onnx network.onnx
is_compiled --no-cache network.onnx -o right.sidra
[[ ! -e $kept ]] || fail "--no-cache keeps a file"
is_compiled network.onnx -o first.sidra
is_copy network.onnx -o second.sidra
cmp right.sidra first.sidra || fail "a kept file differs"
cmp right.sidra second.sidra || fail "the copy differs"
is_compiled --no-cache network.onnx -o third.sidra
mkdir elsewhere
cp network.onnx elsewhere
is_copy elsewhere/network.onnx -o moved.sidra
cmp right.sidra moved.sidra || fail "the folder of the network matters"
says "0 layers" --explain network.onnx -o explained.sidra
cp $data/test_softmax_axis_2/model.onnx elsewhere/network.onnx
is_compiled elsewhere/network.onnx -o other.sidra
cmp -s right.sidra other.sidra && fail "another network of the same name gives the same file"
refused 1 "No such file" network.onnx -o no/such/folder.sidra

# Values, and files beside the network.
cp $data/test_reshape_extended_dims/model.onnx reshape.onnx
cp $data/test_reshape_extended_dims/test_data_set_0/input_1.pb shape.pb
is_compiled reshape.onnx --value shape=shape.pb
is_copy reshape.onnx --value shape=shape.pb
cp $data/test_reshape_one_dim/test_data_set_0/input_1.pb shape.pb
is_compiled reshape.onnx --value shape=shape.pb -o one.sidra
cmp -s reshape.sidra one.sidra && fail "the content of a value does not matter"
protoc --encode=onnx.ModelProto --proto_path=/usr/include/onnx onnx.proto >beside.onnx <<'END'
ir_version: 8 opset_import { domain: "" version: 17 }
graph {
  name: "beside"
  node { op_type: "Add" input: "x" input: "c" output: "y" }
  initializer { name: "c" data_type: 1 dims: 3 data_location: EXTERNAL external_data { key: "location" value: "weights.bin" } }
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_param: "n" } dim { dim_value: 3 } } } } }
  output { name: "y" type { tensor_type { elem_type: 1 } } }
}
END
printf 'aaaabbbbcccc' >weights.bin
is_compiled beside.onnx --dim n=2
is_copy beside.onnx --dim n=2
is_compiled beside.onnx --dim n=3 -o three.sidra
is_compiled beside.onnx --dim n=2,3 -o two-and-three.sidra
printf 'aaaabbbbcccd' >weights.bin
is_compiled beside.onnx --dim n=2 -o changed.sidra
cmp -s beside.sidra changed.sidra && fail "the content of a file beside the network does not matter"
rm weights.bin
refused 1 "weights.bin" beside.onnx --dim n=2

# A layer whose samples run on a chip of the compiler's own: what the environment says of chips is not about that one.
python3 - <<'END'
import struct
shape = (16, 3, 7, 5)
header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
with open("samples.npy", "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<1680f", *(i * 37 % 101 / 50 - 1 for i in range(1680))))
END
cp /usr/share/libonnx-testdata/data/pytorch-converted/test_Conv2d/model.onnx layer.onnx
layer=(layer.onnx --calibrate samples.npy --adc-ranges)
is_compiled "${layer[@]}" -o layer-right.sidra
for setting in SIDRA_LEVEL=accurate SIDRA_PROFILE=small SIDRA_STATE=. SIDRA_TRACE=. SIDRA_GDB=none SIDRA_DEVICE=/dev/null; do
    (
        export "${setting?}"
        is_compiled --no-cache "${layer[@]}"
        says "1 layer" --no-cache "${layer[@]}" --explain -o explained.sidra
    )
    cmp layer-right.sidra layer.sidra || fail "$setting: the file is another"
done
is_copy "${layer[@]}"

# Damage: nothing is left, something is missing, a bit of a part has changed.
damage() { # kind, where
    if [[ $1 == cut ]]; then
        truncate -s "$2" "$entry"
        return
    fi
    local byte
    byte=$(od -A n -t u1 -j "$2" -N 1 "$entry")
    # shellcheck disable=SC2059 # the byte is made by the format
    printf "\\x$(printf %x $((byte ^ 1)))" | dd of="$entry" bs=1 seek="$2" conv=notrunc status=none
}
is_mended() { # the file, kind and where, argument...
    entry=$(grep -rlaF "$(grep -aoE 'XXH3 [0-9a-f]{32}' "$1")" "$kept") || fail "no kept file has the hash of the network of $1"
    damage "$2" "$3"
    says "$entry is damaged" "${@:4}" -o mended.sidra
    cmp "$1" mended.sidra || fail "$2 $3: the file is wrong"
    is_copy "${@:4}" -o mended.sidra
    cmp "$1" mended.sidra || fail "$2 $3: the copy is wrong"
}
manifest=$(od -A n -t u8 -j 24 -N 8 right.sidra) end=$(stat -c %s right.sidra)
for change in "cut 0" "cut 100" "cut -1" "flip 0" "flip 9" "flip 60" "flip $((manifest + 30))" "flip $((end - 1))"; do
    read -r kind where <<<"$change"
    is_mended right.sidra "$kind" "$where" network.onnx
done
# Each section of the layer begins at one of these: its weights, their calibration, constants.
manifest=$(od -A n -t u8 -j 24 -N 8 layer-right.sidra)
for ((where = 4096; where <= manifest; where += 4096)); do is_mended layer-right.sidra flip "$where" "${layer[@]}"; done
((manifest > 3 * 4096)) || fail "the layer has no calibration"

# The limit: the file that was not used for the longest time goes.
rm -r "$kept"
for name in a b c; do
    cp network.onnx $name.onnx
    is_compiled --no-cache $name.onnx
done
limit=$(($(stat -c %s a.sidra) + $(stat -c %s b.sidra)))
is_compiled --cache-limit $limit a.onnx
is_compiled --cache-limit $limit b.onnx
is_copy --cache-limit $limit a.onnx
is_compiled --cache-limit $limit c.onnx
(($(du -bc "$kept"/*.sidra | tail -n 1 | cut -f 1) <= limit)) || fail "the kept files have more than $limit bytes"
is_copy --cache-limit $limit a.onnx
is_copy --cache-limit $limit c.onnx
is_compiled --cache-limit $limit b.onnx
says "it may have 100 bytes" --cache-limit 100 network.onnx
refused 2 "--cache-limit" --cache-limit 0 network.onnx
refused 2 "--cache-limit" --cache-limit many network.onnx

# Several at once, on a folder in which a process was killed.
rm -r "$kept"
mkdir "$kept"
touch "$kept/0123.sidra.1.part"
for round in 1 2 3; do
    pids=()
    for number in 1 2 3 4; do
        "$compile" network.onnx -o "network$number.sidra" 2>/dev/null &
        pids+=($!)
        "$compile" "$([[ $number == [12] ]] && echo a || echo b).onnx" -o "other$number.sidra" 2>/dev/null &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || fail "round $round: one of several at once fails"; done
    for number in 1 2 3 4; do cmp right.sidra "network$number.sidra" || fail "round $round: one of several at once is wrong"; done
    for number in 1 2; do cmp a.sidra "other$number.sidra" || fail "round $round: another one's file"; done
    for number in 3 4; do cmp b.sidra "other$number.sidra" || fail "round $round: another one's file"; done
done
is_copy network.onnx -o last.sidra
(($(find "$kept" -name '*.sidra' | wc -l) == 3)) || fail "three networks have these files: $(ls "$kept")"
[[ -z $(find . -name '*.part') ]] || fail "parts are left: $(find . -name '*.part')"

# A folder that cannot be written, even by root: it is read, and nothing else fails.
chmod -R a-w "$kept"
bare=(setpriv --bounding-set=-all --inh-caps=-all)
((EUID == 0)) || bare=()
"${bare[@]}" "$compile" network.onnx -o last.sidra 2>said || fail "a folder that cannot be written: $(cat said)"
grep -q "is a copy" said || fail "a folder that cannot be written is not read: $(cat said)"
"${bare[@]}" "$compile" c.onnx -o last.sidra 2>said || fail "a folder that cannot be written: $(cat said)"
grep -q "is not kept for later" said || fail "a folder that cannot be written is not mentioned: $(cat said)"
cmp c.sidra last.sidra || fail "a folder that cannot be written: the file is wrong"
chmod -R u+w "$kept"

# Where it is.
is_compiled c.onnx
unset XDG_CACHE_HOME
HOME=$folder/home is_compiled c.onnx
XDG_CACHE_HOME=relative HOME=$folder/home says "$folder/home/.cache/sidra/compiled" c.onnx
HOME='' says "neither XDG_CACHE_HOME nor HOME" c.onnx
XDG_CACHE_HOME=/proc/nothing says "is not kept for later: /proc/nothing/sidra/compiled" c.onnx
exit 0
