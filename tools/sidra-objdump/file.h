// SPDX-License-Identifier: MIT
// A compiled model in a file, whose header and manifest were checked. The content is not trusted.
#ifndef SIDRA_OBJDUMP_FILE_H
#define SIDRA_OBJDUMP_FILE_H

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "check.h"

namespace sidra::objdump {

class ModelFile {
   public:
    // Throws std::runtime_error if the file cannot be read, is not a compiled model, or its header or manifest is
    // damaged. stage: which one of a model for several chips this is about.
    explicit ModelFile(std::string path, uint32_t stage = 0);
    ModelFile(const ModelFile&) = delete;
    ModelFile& operator=(const ModelFile&) = delete;
    ~ModelFile();

    const std::string& path() const { return path_; }
    const format::FileHeader& header() const { return header_; }
    uint32_t stages() const { return stages_; }  // 0: the model is for one chip
    // Of the model, or of its stage.
    const format::Section& manifest() const { return place_; }
    const format::Model& model() const { return manifest_.model(); }

    // Calls `take` with all bytes of a section, in pieces, and returns their hash. Throws std::runtime_error.
    uint64_t read(const format::Section& section, const std::function<void(std::span<const std::byte>)>& take) const;

   private:
    void read_bytes(uint64_t offset, std::span<std::byte> memory) const;

    std::string path_;
    int fd_ = -1;
    format::FileHeader header_{};
    uint32_t stages_ = 0;
    format::Section place_;
    format::Manifest manifest_;
};

}  // namespace sidra::objdump

#endif
