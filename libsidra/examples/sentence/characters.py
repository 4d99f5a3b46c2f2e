#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes wordpiece_characters.inc and tests/examples/wordpiece_cases.inc: what the package's tokenizer does with each
character, and what it makes of some sentences. Needs the package `tokenizers` (pip install tokenizers).

  characters.py          write both files
  characters.py --check  exits with 1 if one of them is not up to date
"""
import argparse
import re
import sys

import convert
import tokens

TABLE = convert.HERE / "wordpiece_characters.inc"
CASES = convert.HERE.parents[2] / "tests" / "examples" / "wordpiece_cases.inc"
HANGUL = range(0xAC00, 0xD7A4)
SENTENCES = [
    "", " ", "a", "Hello, World!", "hello world", "HELLO", "  spaces \t\n and\r\nlines\u00a0here ", "don't stop-me_now",
    "Ünlü bir İstanbul kahvehanesi, ıIiİ", "naïve café crêpe façade Ångström", "e\u0301 a\u0308\u0323 o\u0302\u0301",
    "ﬁne ﬂuﬀ", "straße STRASSE ẞ", "ΑΒΓ άέήίόύώ ΣΊΣΥΦΟΣ", "Привет, мир! Ёжик Й", "שָׁלוֹם עולם", "مرحبا بالعالم", "東京は日本の首都です。",
    "我爱北京天安门", "한국어 문장 각", "हिन्दी में", "สวัสดีชาวโลก", "カタカナ ガ ｶﾞ", "豈更車", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝒜", "😀 🏳️‍🌈 👩‍👩‍👧", "½ ² № ™ ℃",
    "“quotes” ‘single’ «guillemets» — – …", "$5.00 + 3% = £4 < €6 ^ | ~ `x`", "a\u0000b\u0007c\ufffdd\u200be\ufefff\u00adg",
    "[CLS] text [SEP] [MASK][PAD] [UNK] [cls] [SEP", "unaffable electroencephalographically", "x" * 100, "x" * 101, "ab" * 60 + " end",
    "3.14159 1,000,000 2026-11-25T08:10:00Z", "user@example.com https://example.com/a?b=c#d", "C++ #include <vector>",
    "\u2028line\u2029paragraph\u3000wide\u1680ogham", "\ue000private \U000f0000", "word\u0300\u0301\u0302s", "中文English混合123",
    "ǅ Ǆ ǆ", "\u1e9e\u0149\u01f0", "क़ ড় ਖ਼", "Å\u212b\u2126K\u212a", "\U0001d15e\U0001d1bb", "the " * 300,
]  # fmt: skip


CHUNK = 4096
BETWEEN = "1"  # stands between the characters of a chunk; no other character becomes a 1


def normalised(tokenizer, characters):
    """What the normaliser makes of each character."""
    for first in range(0, len(characters), CHUNK):
        chunk = characters[first : first + CHUNK]
        texts = tokenizer.normalizer.normalize_str(BETWEEN.join(chunk)).split(BETWEEN)
        if len(texts) != len(chunk):
            sys.exit(f"characters.py: a character from U+{ord(chunk[0]):04X} on becomes a {BETWEEN}")
        yield from zip(chunk, texts)


def apart(tokenizer, characters):
    """For each character: itself, a space if it divides words, or itself between spaces if it is a word of its own."""
    result = {}
    for first in range(0, len(characters), CHUNK):
        chunk = characters[first : first + CHUNK]
        words = tokenizer.pre_tokenizer.pre_tokenize_str(BETWEEN + "".join(c + BETWEEN for c in chunk))
        alone = {begin for _, (begin, end) in words if end == begin + 1}
        covered = {at for _, (begin, end) in words for at in range(begin, end)}
        for n, c in enumerate(chunk):
            at = 2 * n + 1
            result[c] = " " if at not in covered else f" {c} " if at in alone else c
    return result


def replacements(tokenizer):
    """For each character that changes: what takes its place, with spaces around what is a word of its own."""
    skipped = {*range(0xD800, 0xE000), *HANGUL, ord(BETWEEN)}
    texts = dict(normalised(tokenizer, [chr(code) for code in range(0x110000) if code not in skipped]))
    places = apart(tokenizer, sorted(set("".join(texts.values()))))
    result = {}
    for c, text in texts.items():
        text = re.sub(" +", " ", "".join(places[part] for part in text))
        if text != c:
            result[ord(c)] = text
    return result


def hangul(tokenizer):
    """The syllables are left out of the table, because they are composed by a rule. This checks the rule."""
    for code in HANGUL:
        n = code - HANGUL.start
        wanted = chr(0x1100 + n // 588) + chr(0x1161 + n // 28 % 21) + (chr(0x11A7 + n % 28) if n % 28 else "")
        if tokenizer.normalizer.normalize_str(chr(code)) != wanted:
            sys.exit(f"characters.py: the syllable U+{code:04X} does not follow the rule of Unicode")


def quoted(text):
    """A C++ string literal of the UTF-8 bytes of a text."""
    octal = lambda byte: f"\\{byte:03o}"
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\?' else octal(b) for b in text.encode()) + '"'


def entries(changes):
    """Ranges of neighbours with the same kind of change: (first, last, kind, value)."""
    texts, ranges = [], []
    for code, text in changes.items():
        if text in ("", " "):
            kind, value = ("kSpace", 0) if text else ("kDrop", 0)
        elif text == f" {chr(code)} ":
            kind, value = "kApart", 0
        elif len(text) == 1:
            kind, value = "kShift", ord(text) - code
        else:
            kind, value = "kText", len(texts)
            texts.append(text)
        last = ranges[-1] if ranges else None
        if last and last[1] == code - 1 and last[2] == kind and (value == last[3] or kind == "kText"):
            last[1] = code
        else:
            ranges.append([code, code, kind, value])
    return texts, ranges


def packed(items, width=120):
    """Items in lines of at most `width` columns."""
    lines = [""]
    for item in items:
        if len(lines[-1]) + len(item) + 1 > width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + item
    return "\n".join(lines) + "\n"


def table_text(tokenizer):
    hangul(tokenizer)
    texts, ranges = entries(replacements(tokenizer))
    return (
        "// SPDX-License-Identifier: MIT\n// Written by characters.py; for wordpiece.cpp.\n"
        "constexpr Range kRanges[] = {\n"
        + packed(f"{{{first:#x}, {last:#x}, {kind}, {value}}}," for first, last, kind, value in ranges)
        + "};\nconstexpr std::string_view kTexts[] = {\n"
        + packed(quoted(text) + "," for text in texts)
        + "};\n"
    )


def cases_text(tokenizer):
    """Sentences with their pieces, and a part of the vocabulary with which they come out as with the whole of it."""
    whole = tokenizer.get_vocab()
    used, cases = set(), []
    for sentence in SENTENCES:
        pieces = tokenizer.encode(sentence).tokens
        words = tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(sentence))
        for word, _ in words:
            parts = {word[i:j] for i in range(len(word)) for j in range(i + 1, min(len(word), i + 20) + 1)}
            used |= {p for part in parts for p in (part, "##" + part) if p in whole}
        used.update(pieces)
        # With sv, because a sentence may contain a zero byte.
        cases.append(f"{{{quoted(sentence)}sv, {quoted(' '.join(pieces))}}},")
    used |= {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
    return (
        "// SPDX-License-Identifier: MIT\n// Written by characters.py; for wordpiece_test.cpp.\n"
        "constexpr Case kCases[] = {\n"
        + "\n".join(cases)
        + "\n};\nconstexpr std::string_view kPieces[] = {\n"
        + packed(quoted(piece) + "," for piece in sorted(used, key=whole.get))
        + "};\n"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    tokenizer = tokens.load_tokenizer()
    status = 0
    for path, text in ((TABLE, table_text(tokenizer)), (CASES, cases_text(tokenizer))):
        if not options.check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        elif path.read_text() != text:
            print(f"characters.py: {path} is not up to date: run characters.py", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
