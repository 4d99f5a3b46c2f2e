// SPDX-License-Identifier: MIT
// A .sidra file: docs/sidra-format.md. What it says was checked, except what a call of libsidra checks as its argument.
#ifndef SIDRA_MODEL_FILE_H
#define SIDRA_MODEL_FILE_H

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "model_generated.h"
#include "status.h"

namespace sidra {

class ModelFile {
   public:
    ModelFile() = default;
    ModelFile(ModelFile&& other) noexcept
        : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), manifest_(std::move(other.manifest_)) {}
    ModelFile& operator=(ModelFile&&) = delete;
    ~ModelFile() { close(); }

    // Reads and checks header and manifest.
    sidra_status open(const char* call, const char* path);
    // Closes the file; the manifest stays.
    void close();

    // For messages.
    const std::string& path() const { return path_; }
    const format::Model& manifest() const { return *format::GetModel(manifest_.get()); }
    // Reads a section into memory of its size, and checks its hash. what: the part of the model, for messages.
    sidra_status read(const char* call, const format::Section& section, std::string_view what, std::byte* memory) const;

   private:
    sidra_status read_bytes(const char* call, uint64_t offset, std::byte* memory, size_t size) const;

    std::string path_;
    int fd_ = -1;
    std::unique_ptr<uint64_t[]> manifest_;  // aligned for every number in it
};

// A name of a file in a message: in quotes, without control characters, and not too long.
std::string quoted(std::string_view name);
inline std::string quoted(const flatbuffers::String* name) { return quoted(name->string_view()); }

// What messages call a matrix: "matrix 3 'fc1.weight'".
std::string matrix_name(const format::Model& model, uint32_t index);

}  // namespace sidra

#endif
