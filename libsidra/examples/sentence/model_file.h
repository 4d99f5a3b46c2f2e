// SPDX-License-Identifier: MIT
// The model file of the sentence encoder, as convert.py writes it (README.md has the format): its arrays by name. They
// stay in the file, which is mapped.
#ifndef SIDRA_EXAMPLES_SENTENCE_MODEL_FILE_H
#define SIDRA_EXAMPLES_SENTENCE_MODEL_FILE_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace sidra::sentence {

struct Sizes {
    uint32_t layers, width, heads, inner, vocabulary, tokens_max;
    float epsilon;  // of the layer norms
};

class ModelFile {
   public:
    // Where convert.py puts the file: in the user's cache.
    static std::string default_path();

    // Throws std::runtime_error with a message that names the file and says what to do.
    explicit ModelFile(const std::string& path);
    ~ModelFile();
    ModelFile(const ModelFile&) = delete;
    ModelFile& operator=(const ModelFile&) = delete;

    const Sizes& sizes() const { return sizes_; }
    // Throw if the file has no such array of this type and shape.
    std::span<const float> floats(std::string_view name, uint32_t rows, uint32_t columns) const;
    std::span<const int8_t> codes(std::string_view name, uint32_t rows, uint32_t columns) const;
    std::span<const int32_t> integers(std::string_view name, uint32_t rows, uint32_t columns) const;
    std::string_view text(std::string_view name) const;
    // One piece a line, for WordPiece: as many lines as the table of words has rows.
    std::string_view vocabulary() const;

    // The file's bytes, which contain the arrays.
    std::span<const std::byte> bytes() const { return bytes_; }

   private:
    struct Array {
        uint32_t type, rows, columns;
        const std::byte* data;
    };

    [[noreturn]] void reject(std::string_view why) const;
    void read_header();
    template <class T>
    std::span<const T> array(std::string_view name, uint32_t type, uint32_t rows, uint32_t columns) const;

    std::string path_;
    std::span<const std::byte> bytes_;
    Sizes sizes_{};
    std::map<std::string, Array, std::less<>> arrays_;
};

}  // namespace sidra::sentence

#endif
