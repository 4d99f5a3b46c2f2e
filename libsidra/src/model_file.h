// SPDX-License-Identifier: MIT
// A .sidra file: docs/sidra-format.md. What it says was checked, except what a call of libsidra checks as its argument.
#ifndef SIDRA_MODEL_FILE_H
#define SIDRA_MODEL_FILE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "check.h"
#include "status.h"

namespace sidra {

class ModelFile {
   public:
    ModelFile() = default;
    ModelFile(ModelFile&& other) noexcept
        : path_(std::move(other.path_)),
          fd_(std::exchange(other.fd_, -1)),
          size_(other.size_),
          manifest_(std::move(other.manifest_)) {}
    ModelFile& operator=(ModelFile&&) = delete;
    ~ModelFile() { close(); }

    // Reads and checks header and manifest. If the model has stages, its manifest has only texts and them.
    sidra_status open(const char* call, const char* path);
    // Stages of the model; 0: it has none, and is for one chip.
    uint32_t stages() const { return manifest().stages() != nullptr ? manifest().stages()->size() : 0; }
    // From here on the manifest is that of a stage. INVALID_ARGUMENT: it is damaged.
    sidra_status choose_stage(const char* call, uint32_t stage);
    // Closes the file; the manifest stays.
    void close();

    // For messages.
    const std::string& path() const { return path_; }
    const format::Model& manifest() const { return manifest_.model(); }
    // Reads a section into memory of its size, and checks its hash. what: the part of the model, for messages.
    sidra_status read(const char* call, const format::Section& section, std::string_view what, std::byte* memory) const;

   private:
    sidra_status read_bytes(const char* call, uint64_t offset, std::byte* memory, size_t size) const;

    std::string path_;
    int fd_ = -1;
    uint64_t size_ = 0;
    format::Manifest manifest_;
};

using format::calibration_name;
using format::matrix_name;
using format::quoted;
using format::tensor_bytes;

}  // namespace sidra

#endif
