#!/bin/bash
# SPDX-License-Identifier: MIT
# sentence.sh TEST: the committed files of the sentence encoder are what its scripts write, and the encoder gives these
# results on a chip (which the program TEST has to say). Skipped without NumPy, and where the encoder's package is neither
# in the cache nor to be had from the network; in continuous integration (CI is set) that is a failure. What needs more
# packages is checked if they are here.
set -euo pipefail
test=$1
cd libsidra/examples/sentence
cannot() { # why: the last line, which the summary shows
    echo "sentence: $1" >&2
    [[ ! ${CI:-} ]] || exit 1
    exit 77
}
python3 -c 'import numpy' || cannot "Python has no NumPy"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if ! said=$(python3 -B convert.py 2>&1); then
    echo "$said" >&2
    cannot "there is no model file: ${said##*$'\n'}"
fi
python3 -B simulate.py --check
# The model file in the cache may be old: the conversion gives the same bytes today.
python3 -B convert.py --out "$folder/sentence.bin"
cmp "$folder/sentence.bin" "$(python3 -B convert.py)"
"$test" --gtest_brief=1 --gtest_filter='EncoderTest.*'
if python3 -c 'import tokenizers' 2>/dev/null; then python3 -B characters.py --check; fi
if python3 -c 'import tokenizers, torch' 2>/dev/null; then python3 -B reference.py --check; fi
