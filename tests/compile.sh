#!/bin/bash
# SPDX-License-Identifier: MIT
# compile.sh SIDRA_COMPILE SIDRA_RUN: compiles a network and runs it; what is wrong with arguments and files is said, and leaves no file.
set -euo pipefail
compile=$(realpath "$1") run=$(realpath "$2")
data=/usr/share/libonnx-testdata/data/node
if [[ ! -d $data ]]; then
    echo "compile: install libonnx-testdata" >&2
    exit 1
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export SIDRA_DEVICE=embedded SIDRA_QUIET=1 SIDRA_PUBLISH=0 XDG_CACHE_HOME=$folder/cache
fail() {
    echo "compile: $*" >&2
    exit 1
}
refused() { # status, part of the message, argument...
    local status=0
    "$compile" "${@:3}" >out 2>err || status=$?
    ((status == $1)) || fail "${*:3}: exit status $status instead of $1: $(cat err)"
    grep -qF -- "$2" err || fail "${*:3}: the message is '$(cat err)', without '$2'"
    [[ ! -s out ]] || fail "${*:3}: prints something: $(cat out)"
}

cp $data/test_softmax_axis_1/model.onnx network.onnx
"$compile" network.onnx
"$run" network.sidra | grep -q "takes .*f32  3 x 4 x 5" || fail "the model does not take what the network does"
"$compile" network.onnx -o other.sidra --explain | grep -q "^0 layers" || fail "--explain prints no table"
cmp network.sidra other.sidra || fail "the same network gives another file"
"$compile" network.onnx -o text.mlir --passes 'builtin.module(xnn-group)' --dump dump
grep -q xnn.group text.mlir || fail "--passes does not run them"
[[ $(find dump -name '*group*' | wc -l) == 1 ]] || fail "--dump has no module behind the pass"

# Without optimisation each operation of a softmax is a call of its own.
calls() { "$run" "$1" | sed -nE 's/^variant 0 +([0-9]+) calls.*/\1/p'; }
"$compile" network.onnx -o slow.sidra -O 0
(($(calls slow.sidra) > $(calls network.sidra))) || fail "-O 0 optimises"
"$compile" network.onnx -o same.sidra -O 2
cmp network.sidra same.sidra || fail "-O 2 is not what happens without it"

# A layer with samples for its inputs computes nearly what it does without them.
python3 - <<'EOF'
import struct
def npy(name, shape, values, kind="f4"):
    header = f"{{'descr': '<{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    with open(name, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}{kind[0]}", *values))
npy("samples.npy", (16, 3, 7, 5), [i * 37 % 101 / 50 - 1 for i in range(16 * 105)])
npy("input.npy", (2, 3, 7, 5), [i * 53 % 97 / 48 - 1 for i in range(2 * 105)])
npy("few.npy", (2,), [0.0, 1.0])
npy("softmax.npy", (3, 4, 5), [i * 31 % 61 / 20 for i in range(60)])
# Nothing has the number 5.
for name, count in (("labels.npy", 12), ("short.npy", 4)):
    npy(name, (count,), [5] * count, "i4")
EOF
cp /usr/share/libonnx-testdata/data/pytorch-converted/test_Conv2d/model.onnx layer.onnx
"$compile" layer.onnx -o rows.sidra
"$compile" layer.onnx -o codes.sidra --calibrate samples.npy --observer minmax
for model in rows codes; do "$run" $model.sidra input.npy -o $model.npy >/dev/null; done
python3 - <<'EOF' || fail "with samples the result is another"
import array, sys
def values(name):
    with open(name, "rb") as file:
        return array.array("f", file.read()[128:])
rows, codes = values("rows.npy"), values("codes.npy")
error = sum((a - b) ** 2 for a, b in zip(rows, codes)) / sum(a * a for a in rows)
sys.exit(not (len(rows) == len(codes) > 0 and 0 < error < 1e-3))
EOF
cp $data/test_scatternd/model.onnx host.onnx
"$compile" host.onnx --explain >out 2>err || fail "a network with a part on the host is refused: $(cat err)"
note="node 'ScatterND_0' runs on the host (scatter), because the chip has no call for it"
[[ $(cat err) == "sidra-compile: $note" ]] || fail "the note is '$(cat err)'"
grep -qxF "ScatterND_0 runs on the host (scatter)." out || fail "--explain does not say what runs on the host: $(cat out)"
"$run" host.sidra | grep -qE "^variant 0 .*\(1 on the host\)" || fail "the model has no part on the host"

# What each optimisation does: a row for each, and both levels give numbers.
"$compile" layer.onnx -o explained.sidra --calibrate samples.npy --explain >out
cmp explained.sidra <("$compile" layer.onnx -o again.sidra --calibrate samples.npy --no-cache && cat again.sidra) ||
    fail "--explain changes the file"
[[ $(grep -cE " ms +[0-9.]+ mJ +[0-9]+ +([0-9.]+|inf) dB +[0-9.]+ dB$" out) == 12 ]] || fail "--explain says of optimisations: $(cat out)"

# A network is placed on the crossbars of a map that are free; a chip that has others says that it is elsewhere.
map() { # crossbars that are free
    python3 -c 'import json, sys
print(json.dumps({"schema": "sidra-smi/1", "command": "map", "chips": [{"clusters": 16, "cus_per_cluster": 25, "crossbars_per_cu": 16,
    "bad": [{"crossbar": 4000, "cells": 656}], "in_use": sorted(set(range(6400)) - {4000} - set(map(int, sys.argv[1:])))}]}))' "$@"
}
map 4242 4243 >map.json
"$compile" layer.onnx -o placed.sidra --chip-map map.json
SIDRA_QUIET=0 "$run" placed.sidra input.npy -o placed.npy >/dev/null 2>err
[[ ! -s err ]] || fail "a chip that has the crossbars says: $(cat err)"
cmp rows.npy placed.npy || fail "a placement changes the result"
SIDRA_QUIET=0 SIDRA_PROFILE=small "$run" placed.sidra input.npy -o small.npy >/dev/null 2>err
grep -q "1 of 1 matrices of model 1 are not on the crossbars that the file names" err || fail "a chip without them says: $(cat err)"
cmp rows.npy small.npy || fail "another chip changes the result"
map 17 >map.json
"$compile" layer.onnx -o moved.sidra --chip-map map.json 2>/dev/null
! cmp -s placed.sidra moved.sidra || fail "another map gives the same file"
map >map.json
refused 1 "of the 6400 in the map 0 can be used: the others are in use, or have 656 bad cells or more" layer.onnx -o x.sidra --chip-map map.json
"$compile" layer.onnx -o moved.sidra --chip-map map.json --bad-cells 657
refused 1 "nowhere.json: No such file" layer.onnx -o x.sidra --chip-map nowhere.json
refused 1 "it is no JSON" layer.onnx -o x.sidra --chip-map layer.onnx
refused 2 "--bad-cells requires --chip-map" layer.onnx -o x.sidra --bad-cells 3
refused 2 "--bad-cells: Value 0" layer.onnx -o x.sidra --chip-map map.json --bad-cells 0
refused 2 "excludes" layer.onnx -o x.mlir --chip-map map.json --passes 'builtin.module(cse)'

# Several chips compute what one does; auto takes one where one is enough.
"$run" slow.sidra softmax.npy -o one.npy >/dev/null
"$compile" network.onnx -o stages.sidra -O 0 --chips 2
SIDRA_DEVICE=embedded:0-1 "$run" stages.sidra softmax.npy -o two.npy >/dev/null || fail "two chips do not run a network in two stages"
cmp one.npy two.npy || fail "two chips compute something else"
! SIDRA_DEVICE=embedded "$run" stages.sidra softmax.npy -o x.npy >/dev/null 2>err || fail "one chip runs a network for two"
"$compile" network.onnx -o auto.sidra -O 0 --chips auto
SIDRA_DEVICE=embedded "$run" auto.sidra softmax.npy -o auto.npy >/dev/null || fail "auto takes more than one chip"
cmp one.npy auto.npy || fail "auto computes something else"
refused 1 "which are too few for 16 chips" network.onnx -o x.sidra --chips 16
for wrong in 0 17 -1 two 2x; do
    refused 2 "--chips $wrong: give a number of 1 to 16, or auto" network.onnx -o x.sidra "--chips=$wrong"
done
refused 2 "excludes" layer.onnx -o x.sidra --chips 2 --chip-map map.json
refused 2 "excludes" layer.onnx -o x.sidra --chips 2 --target-accuracy 0.5 --test samples.npy --labels few.npy

# Ranges of ADCs are in the file, and change nothing at level fast.
"$compile" layer.onnx -o ranges.sidra --calibrate samples.npy --observer minmax --adc-ranges
"$run" ranges.sidra input.npy -o ranges.npy >/dev/null
cmp codes.npy ranges.npy || fail "ranges of ADCs change the result"
(($(stat -c %s ranges.sidra) > $(stat -c %s codes.sidra))) || fail "--adc-ranges puts nothing into the file"
refused 2 "--adc-ranges requires --calibrate" layer.onnx -o x.sidra --adc-ranges

ls >before
refused 2 "File does not exist" missing.onnx
refused 2 "--dim batch" network.onnx --dim batch
refused 2 "--dim batch=0" network.onnx --dim batch=0
refused 2 "--dim batch=1," network.onnx --dim batch=1,
refused 2 "--dim batch=1,,2" network.onnx --dim batch=1,,2
refused 2 "--dim =1" network.onnx --dim =1
refused 1 "no input has one of this name" network.onnx --dim batch=1
refused 2 "--optimize: Value 3" network.onnx -O 3
refused 2 "excludes" network.onnx -O 1 --passes 'builtin.module(cse)'
refused 1 "have 8 bytes, but one run needs 840" layer.onnx -o x.sidra --calibrate few.npy
refused 1 "but the network has: 0" layer.onnx -o x.sidra --calibrate y=samples.npy
refused 1 "it is not a file of NumPy" layer.onnx -o x.sidra --calibrate layer.onnx
refused 1 "missing.npy: cannot be read" layer.onnx -o x.sidra --calibrate missing.npy
refused 2 "--target-accuracy requires" layer.onnx -o x.sidra --target-accuracy 0.5
refused 1 "labels are integers" layer.onnx -o x.sidra --target-accuracy 0.5 --test samples.npy --labels few.npy
refused 3 "network.onnx: 0.00 % of the samples are right without errors of analog hardware, not 100.00 %" network.onnx -o x.sidra \
    --target-accuracy 1 --test softmax.npy --labels labels.npy
refused 1 "there are 4 labels, but more samples" network.onnx -o x.sidra --target-accuracy 1 --test softmax.npy --labels short.npy
refused 2 "--copies" layer.onnx -o x.sidra --copies 65
refused 2 "--tmr" layer.onnx -o x.sidra --tmr 1.5
refused 2 "--observer requires --calibrate" layer.onnx -o x.sidra --observer mse
refused 2 "median not in" layer.onnx -o x.sidra --calibrate samples.npy --observer median
refused 1 "is no pipeline" network.onnx -o x.mlir --passes 'nonsense'
refused 1 "No such file" network.onnx -o no/such/folder.sidra
head -c 100 network.onnx >cut.onnx
refused 1 "cut.onnx" cut.onnx
rm cut.onnx
head -c 100000 /dev/zero >zero.onnx
refused 1 "zero.onnx" zero.onnx
rm zero.onnx
cp $data/test_nonzero_example/model.onnx refused.onnx
refused 1 "NonZero" refused.onnx -o refused.sidra
rm refused.onnx
rm -f out err
[[ -z $(comm -13 before <(ls)) ]] || fail "a refused network leaves a file"
exit 0
