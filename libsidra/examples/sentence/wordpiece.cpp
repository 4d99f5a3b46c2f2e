// SPDX-License-Identifier: MIT
#include "wordpiece.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>

namespace sidra::sentence {
namespace {

// What takes the place of a character.
enum Kind : uint8_t {
    kDrop,
    kSpace,
    kApart,  // itself, as a word of its own
    kShift,  // the character that is `value` further on
    kText,   // kTexts[value], and the next ones for the next characters of the range
};

struct Range {
    uint32_t first, last;
    Kind kind;
    int32_t value;
};

#include "wordpiece_characters.inc"

constexpr uint32_t kBadCharacter = 0xfffd;                  // is dropped
constexpr uint32_t kHangul = 0xac00, kHangulLast = 0xd7a3;  // syllables: they are composed of letters by a rule
constexpr uint32_t kLead = 0x1100, kVowel = 0x1161, kTrail = 0x11a7, kVowels = 21, kTrails = 28;
constexpr size_t kWordMax = 100;  // characters; a longer word is unknown
constexpr std::array<std::string_view, 5> kSpecial = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

// Takes a character off the front of a text.
uint32_t take_character(std::string_view* text) {
    const auto byte = [&](size_t n) { return static_cast<uint8_t>((*text)[n]); };
    const uint8_t lead = byte(0);
    const size_t length = lead < 0x80                   ? 1
                          : lead >= 0xc2 && lead < 0xe0 ? 2
                          : lead >> 4 == 0xe            ? 3
                          : lead >= 0xf0 && lead < 0xf5 ? 4
                                                        : 0;
    uint32_t code = length == 1 ? lead : length == 2 ? lead & 0x1fu : length == 3 ? lead & 0x0fu : lead & 0x07u;
    size_t taken = 1;
    while (taken < length && taken < text->size() && byte(taken) >> 6 == 2) code = code << 6 | (byte(taken++) & 0x3fu);
    const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
    const bool bad = taken != length || overlong || code > 0x10ffff || (code >= 0xd800 && code < 0xe000);
    text->remove_prefix(taken);
    return bad ? kBadCharacter : code;
}

void append(uint32_t code, std::string* out) {
    const auto put = [&](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
    if (code < 0x80) {
        put(code);
    } else if (code < 0x800) {
        put(0xc0 | code >> 6);
        put(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        put(0xe0 | code >> 12);
        put(0x80 | (code >> 6 & 0x3f));
        put(0x80 | (code & 0x3f));
    } else {
        put(0xf0 | code >> 18);
        put(0x80 | (code >> 12 & 0x3f));
        put(0x80 | (code >> 6 & 0x3f));
        put(0x80 | (code & 0x3f));
    }
}

// Appends what takes the place of a character, with spaces around words.
void append_replacement(uint32_t code, std::string* out) {
    if (code >= kHangul && code <= kHangulLast) {
        const uint32_t n = code - kHangul;
        append(kLead + n / (kVowels * kTrails), out);
        append(kVowel + n / kTrails % kVowels, out);
        if (n % kTrails != 0) append(kTrail + n % kTrails, out);
        return;
    }
    const Range* range = std::upper_bound(std::begin(kRanges), std::end(kRanges), code,
                                          [](uint32_t value, const Range& each) { return value < each.first; });
    if (range == std::begin(kRanges) || code > (--range)->last) return append(code, out);
    switch (range->kind) {
        case kDrop:
            return;
        case kSpace:
            return out->push_back(' ');
        case kApart:
            out->push_back(' ');
            append(code, out);
            return out->push_back(' ');
        case kShift:
            return append(static_cast<uint32_t>(static_cast<int32_t>(code) + range->value), out);
        case kText:
            out->append(kTexts[static_cast<uint32_t>(range->value) + code - range->first]);
    }
}

// Ends of a word's characters, in bytes; the first entry is 0.
std::vector<size_t> boundaries(std::string_view word) {
    std::vector<size_t> ends;
    for (size_t n = 0; n <= word.size(); ++n)
        if (n == word.size() || static_cast<uint8_t>(word[n]) >> 6 != 2) ends.push_back(n);
    return ends;
}

}  // namespace

WordPiece::WordPiece(std::string_view vocabulary) : text_(vocabulary) {
    std::string_view rest = text_;
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        numbers_.emplace(line, static_cast<int32_t>(pieces_.size()));
        pieces_.push_back(line);
    }
    for (const std::string_view piece : kSpecial)
        if (number(piece) < 0)
            throw std::runtime_error("the vocabulary of the sentence encoder has no " + std::string(piece));
    padding_ = number("[PAD]");
    unknown_ = number("[UNK]");
    first_ = number("[CLS]");
    last_ = number("[SEP]");
}

int32_t WordPiece::number(std::string_view piece) const {
    const auto found = numbers_.find(piece);
    return found == numbers_.end() ? -1 : found->second;
}

std::vector<int32_t> WordPiece::encode(std::string_view text, size_t tokens_max) const {
    std::vector<int32_t> tokens = {first_};
    // What is left of a text that is too long does not matter, and need not be looked at.
    const size_t room = std::max<size_t>(tokens_max, 2) - 1;
    while (!text.empty() && tokens.size() < room) {
        size_t at = text.size();
        std::string_view special;
        for (const std::string_view each : kSpecial) {
            if (const size_t found = text.find(each); found < at) at = found, special = each;
        }
        encode_plain(text.substr(0, at), room, &tokens);
        if (!special.empty()) tokens.push_back(number(special));
        text.remove_prefix(at + special.size());
    }
    tokens.resize(std::min(tokens.size(), room));
    tokens.push_back(last_);
    return tokens;
}

void WordPiece::encode_plain(std::string_view text, size_t room, std::vector<int32_t>* tokens) const {
    std::string word;  // of which words may still follow each other, divided by spaces
    const auto flush = [&] {
        std::string_view words = word;
        while (!words.empty()) {
            const std::string_view each = words.substr(0, words.find(' '));
            words.remove_prefix(std::min(each.size() + 1, words.size()));
            if (!each.empty()) encode_word(each, tokens);
        }
        word.clear();
    };
    while (!text.empty() && tokens->size() < room) {
        append_replacement(take_character(&text), &word);
        if (word.ends_with(' ')) flush();
    }
    flush();
}

// Takes the longest piece of the vocabulary off the front, again and again. A word with a part that has no piece is
// unknown as a whole.
void WordPiece::encode_word(std::string_view word, std::vector<int32_t>* tokens) const {
    const std::vector<size_t> ends = boundaries(word);
    const size_t characters = ends.size() - 1;
    if (characters > kWordMax) return tokens->push_back(unknown_);
    const size_t before = tokens->size();
    std::string piece;
    for (size_t begin = 0; begin < characters;) {
        size_t end = characters;
        int32_t found = -1;
        for (; end > begin; --end) {
            piece.assign(begin == 0 ? "" : "##");
            piece.append(word.substr(ends[begin], ends[end] - ends[begin]));
            if ((found = number(piece)) >= 0) break;
        }
        if (found < 0) {
            tokens->resize(before);
            return tokens->push_back(unknown_);
        }
        tokens->push_back(found);
        begin = end;
    }
}

}  // namespace sidra::sentence
