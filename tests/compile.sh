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
diff before <(ls | grep -vx -e before) | grep '^>' && fail "a refused network leaves a file"
exit 0
