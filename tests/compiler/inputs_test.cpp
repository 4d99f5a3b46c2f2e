// SPDX-License-Identifier: MIT
#include "driver/inputs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sidra {
namespace {

using compiler::Inputs;

class InputsTest : public testing::Test {
   protected:
    InputsTest() { std::filesystem::create_directories(folder); }
    ~InputsTest() override { std::filesystem::remove_all(folder); }

    std::string write(const char* name, const std::string& content) const {
        std::ofstream(folder / name) << content;
        return folder / name;
    }

    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / fmt::format("inputs-{}", getpid());
};

TEST_F(InputsTest, HashesAreThoseOfTheContent) {
    Inputs inputs;
    // Of `xxhsum -H2`.
    EXPECT_EQ("99aa06d3014798d86001c324468d497f", inputs.hash(write("empty", "")));
    EXPECT_EQ("06b05ab6733a618578af5f94892f3950", inputs.hash(write("abc", "abc")));
    EXPECT_EQ(inputs.hash(write("same", "abc")), inputs.hash(folder / "abc"));
    EXPECT_EQ(std::nullopt, inputs.hash(folder / "missing"));
    EXPECT_EQ(std::nullopt, inputs.hash(folder));
    ASSERT_EQ(0, mkfifo((folder / "pipe").c_str(), 0600));
    EXPECT_EQ(std::nullopt, inputs.hash(folder / "pipe")) << "or waits for a writer";
}

// A file that changes while it is compiled must not be kept under the hash of what it was.
TEST_F(InputsTest, ChangesAreSeen) {
    const auto seen_after = [&](const auto& change) {
        const std::string path = write("file", "content");
        Inputs inputs;
        EXPECT_TRUE(inputs.hash(path));
        EXPECT_TRUE(inputs.hash(write("other", "left alone")));
        EXPECT_TRUE(inputs.unchanged());
        change(path);
        return !inputs.unchanged();
    };
    EXPECT_FALSE(seen_after([](const std::string&) {}));
    EXPECT_TRUE(seen_after([&](const std::string&) { write("file", "something longer"); }));
    EXPECT_TRUE(seen_after([](const std::string& path) { std::filesystem::remove(path); }));
    EXPECT_TRUE(seen_after([&](const std::string& path) { std::filesystem::rename(write("new", "content"), path); }));
    EXPECT_TRUE(seen_after([](const std::string& path) {
        using namespace std::chrono_literals;
        std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + 1ns);
    }));
}

}  // namespace
}  // namespace sidra
