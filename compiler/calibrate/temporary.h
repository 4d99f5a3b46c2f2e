// SPDX-License-Identifier: MIT
// Files for the time of a computation.
#ifndef SIDRA_COMPILER_TEMPORARY_H
#define SIDRA_COMPILER_TEMPORARY_H

#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "samples.h"

namespace sidra::compiler {

// A folder that goes away with its content.
class Folder {
   public:
    Folder() : path_(std::filesystem::temp_directory_path() / "sidra-calibrate-XXXXXX") {
        std::string name = path_.string();
        if (::mkdtemp(name.data()) == nullptr)
            throw SamplesError(fmt::format("calibration needs a temporary folder, but {} cannot be made", name));
        path_ = name;
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string file(const char* name) const { return path_ / name; }

   private:
    std::filesystem::path path_;
};

}  // namespace sidra::compiler

#endif
