// SPDX-License-Identifier: MIT
// A .sidra file: docs/sidra-format.md. What it says was checked, except what a call of libsidra checks as its argument.
#ifndef SIDRA_MODEL_FILE_H
#define SIDRA_MODEL_FILE_H

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "check.h"
#include "status.h"

namespace sidra {

// A section, and memory of its size. what: the part of the model, for messages.
struct SectionRead {
    const format::Section* section;
    std::byte* memory;
    std::string what;
};

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
    // Reads sections, and checks their hashes. seen (if given): gets the bytes of each part while they are in the
    // processor's cache, piece by piece in their order: `size` bytes from `at` on.
    using Seen = std::function<void(size_t part, size_t at, size_t size)>;
    sidra_status read(const char* call, std::span<const SectionRead> parts, const Seen& seen = {}) const;

   private:
    bool in_memory(std::span<const SectionRead> parts) const;
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
