// SPDX-License-Identifier: MIT
// A folder that is removed with the test, in memory if possible (many fdatasyncs on a disk are slow), and files as
// bytes.
#ifndef SIDRA_TESTS_CHIP_FOLDER_H
#define SIDRA_TESTS_CHIP_FOLDER_H

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace sidra::chip_test {

class Folder {
   public:
    Folder() {
        const std::filesystem::path memory = "/dev/shm", disk = std::filesystem::temp_directory_path();
        std::string name = ((access(memory.c_str(), W_OK) == 0 ? memory : disk) / "sidra-test-XXXXXX").string();
        EXPECT_NE(mkdtemp(name.data()), nullptr);
        name_ = name;
    }
    ~Folder() { std::filesystem::remove_all(name_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string path(const std::string& name) const { return name_ + "/" + name; }

   private:
    std::string name_;
};

inline std::vector<uint8_t> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::string& path, const std::vector<uint8_t>& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace sidra::chip_test

#endif
