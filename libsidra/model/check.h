// SPDX-License-Identifier: MIT
// Checks of a .sidra file that no call of libsidra makes: header, hashes, numbers of parts, ranges of the file, places,
// enumerations. Pure functions, for libsidra and for tools; docs/sidra-format.md describes the file.
#ifndef SIDRA_MODEL_CHECK_H
#define SIDRA_MODEL_CHECK_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "file_header.h"
#include "model_generated.h"

namespace sidra::format {

// What is wrong with a file, to be read behind its name: ": header: reserved is 0x1, must be 0". Empty: nothing.
struct Finding {
    std::string text;
    bool version = false;  // the file is of another version of the format

    explicit operator bool() const { return !text.empty(); }
};

// Of a file of `size` bytes, of which at least those of the header exist.
Finding check_header(const FileHeader& header, uint64_t size);
// The file has fewer bytes than a header.
Finding too_short(uint64_t size);

// A manifest in memory, aligned for every number in it.
class Manifest {
   public:
    Manifest() = default;
    // For the header of a file that passed check_header().
    explicit Manifest(const FileHeader& header);
    // For a stage of a model that was checked.
    explicit Manifest(const Section& stage);

    std::byte* bytes() { return reinterpret_cast<std::byte*>(memory_.get()); }
    // After bytes() were filled; the model can be used if nothing was found.
    Finding check(const FileHeader& header) const;
    Finding check_stage(const Section& stage, uint64_t file_size) const;
    const Model& model() const { return *GetModel(memory_.get()); }

   private:
    Finding check(const Section& place, uint64_t file_size, bool is_stage) const;

    std::unique_ptr<uint64_t[]> memory_;
};

// Bytes of an element.
uint64_t type_size(Type type);
// Bytes of an input or output that was checked.
uint64_t tensor_bytes(const Tensor& tensor);

// A name of a file in a message: in quotes, without control characters, and not too long.
std::string quoted(std::string_view name);
inline std::string quoted(const flatbuffers::String* name) { return quoted(name->string_view()); }

// What messages call a matrix: "matrix 3 'fc1.weight'".
std::string matrix_name(const Model& model, uint32_t index);
std::string calibration_name(const Model& model, uint32_t index);

}  // namespace sidra::format

#endif
