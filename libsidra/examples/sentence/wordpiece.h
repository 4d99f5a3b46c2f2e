// SPDX-License-Identifier: MIT
// The tokenizer of the sentence encoder: divides a text into pieces of words, of which the vocabulary has the numbers.
// It gives the same numbers as the tokenizer of the encoder's Python package (BERT, uncased).
#ifndef SIDRA_EXAMPLES_SENTENCE_WORDPIECE_H
#define SIDRA_EXAMPLES_SENTENCE_WORDPIECE_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sidra::sentence {

class WordPiece {
   public:
    // A vocabulary has one piece a line; the number of a piece is that of its line, from 0. Pieces that continue a word
    // begin with "##". Throws std::runtime_error if one of [PAD], [UNK], [CLS], [SEP] and [MASK] is missing.
    explicit WordPiece(std::string_view vocabulary);

    // The text's pieces between [CLS] and [SEP]: at most `tokens_max` in all; what is too long is cut. Any bytes will
    // do: those that are not UTF-8 are left out.
    std::vector<int32_t> encode(std::string_view text, size_t tokens_max) const;

    std::string_view piece(int32_t token) const { return pieces_.at(static_cast<size_t>(token)); }
    int32_t padding() const { return padding_; }

   private:
    int32_t number(std::string_view piece) const;  // -1: there is none
    void encode_plain(std::string_view text, size_t room, std::vector<int32_t>* tokens) const;
    void encode_word(std::string_view word, std::vector<int32_t>* tokens) const;

    std::string text_;  // of all pieces
    std::vector<std::string_view> pieces_;
    std::unordered_map<std::string_view, int32_t> numbers_;
    int32_t padding_, unknown_, first_, last_;
};

}  // namespace sidra::sentence

#endif
