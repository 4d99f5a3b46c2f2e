// SPDX-License-Identifier: MIT
// The tokenizer of the sentence encoder against that of its Python package, which wrote wordpiece_cases.inc.
#include "sentence/wordpiece.h"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sidra::sentence {
namespace {

using namespace std::literals;

struct Case {
    std::string_view text, pieces;
};

#include "wordpiece_cases.inc"

constexpr size_t kTokensMax = 256;

// The part of the vocabulary that the cases need.
const WordPiece& tokenizer() {
    static const WordPiece made([] {
        std::string vocabulary;
        for (const std::string_view piece : kPieces) vocabulary.append(piece).append("\n");
        return vocabulary;
    }());
    return made;
}

std::string pieces(std::string_view text, size_t tokens_max = kTokensMax) {
    std::string joined;
    for (const int32_t token : tokenizer().encode(text, tokens_max)) {
        if (!joined.empty()) joined += " ";
        joined += tokenizer().piece(token);
    }
    return joined;
}

TEST(WordPiece, LikeThePythonPackage) {
    ASSERT_LT(40u, std::size(kCases));
    for (const Case& each : kCases) EXPECT_EQ(each.pieces, pieces(each.text)) << each.text;
}

TEST(WordPiece, LongTextsAreCut) {
    EXPECT_EQ("[CLS] hello world [SEP]", pieces("hello world hello", 4));
    EXPECT_EQ("[CLS] hello [SEP]", pieces("hello [MASK]", 3));
    EXPECT_EQ("[CLS] [SEP]", pieces("hello", 2));
    EXPECT_EQ("[CLS] [SEP]", pieces("hello", 0));
    EXPECT_EQ(kTokensMax, tokenizer().encode(std::string(10'000'000, '.'), kTokensMax).size());
    EXPECT_EQ("[CLS] [UNK] [SEP]", pieces(std::string(10'000'000, 'x')));
}

// Each of these has one defect; the bytes around it stay.
TEST(WordPiece, BytesThatAreNotUtf8AreLeftOut) {
    for (const std::string_view bad :
         {"\x80", "\xc0\x80", "\xc1\xbf", "\xc3", "\xe0\x80\x80", "\xe4\xb8", "\xed\xa0\x80", "\xf0\x80\x80\x80",
          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"})
        EXPECT_EQ("[CLS] hello world [SEP]", pieces("hel" + std::string(bad) + "lo world" + std::string(bad)));
}

TEST(WordPiece, AnyBytes) {
    std::mt19937 random(1);
    for (int round = 0; round < 20'000; ++round) {
        std::string text(random() % 40, '\0');
        for (char& byte : text) byte = static_cast<char>(random() % 4 == 0 ? random() % 128 : 128 + random() % 128);
        const auto tokens = tokenizer().encode(text, 16);
        ASSERT_LE(2u, tokens.size());
        ASSERT_GE(16u, tokens.size());
        for (const int32_t token : tokens) ASSERT_FALSE(tokenizer().piece(token).empty());
    }
}

TEST(WordPiece, VocabularyWithoutASpecialPiece) {
    EXPECT_THROW(WordPiece(""), std::runtime_error);
    EXPECT_THROW(WordPiece("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[mask]\n"), std::runtime_error);
    EXPECT_EQ(0, WordPiece("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]").padding());
}

}  // namespace
}  // namespace sidra::sentence
