// SPDX-License-Identifier: MIT
// Model files of the sentence encoder, good ones and damaged ones.
#include "sentence/model_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "sidra_cmd.h"

namespace sidra::sentence {
namespace {

template <class T>
std::string bytes_of(const T& value) {
    return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

std::string entry(std::string name, uint32_t type, uint32_t rows, uint32_t columns, uint64_t offset) {
    name.resize(40);
    return name + bytes_of(type) + bytes_of(rows) + bytes_of(columns) + bytes_of(0u) + bytes_of(offset);
}

// Written from the table of README.md: four arrays of three types and more at 320, 384, 448 and 512.
std::string model() {
    std::string file = "SIDRASEN";
    for (const uint32_t value : {2u, 4u, 6u, 384u, 12u, 1536u, 2u, 256u}) file += bytes_of(value);
    file += bytes_of(1e-12f) + std::string(20, '\0');
    file += entry("vocabulary", SIDRA_TYPE_U8, 1, 5, 320) + entry("a", SIDRA_TYPE_F32, 2, 3, 384);
    file += entry("b.codes", SIDRA_TYPE_S8, 3, 2, 448) + entry("c", SIDRA_TYPE_S32, 1, 2, 512);
    file += std::string("x\n##y");
    file.resize(384);
    for (const float value : {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.5f}) file += bytes_of(value);
    file.resize(448);
    file += std::string("\xff\x01\x02\x03\x04\x80");
    file.resize(512);
    return file + bytes_of(-7) + bytes_of(8);
}

class ModelFileTest : public testing::Test {
   protected:
    void SetUp() override {
        path_ = std::filesystem::temp_directory_path() / ("sidra-model-file-test-" + std::to_string(getpid()));
    }
    void TearDown() override { std::filesystem::remove_all(path_); }

    std::string write(const std::string& bytes) {
        std::ofstream(path_, std::ios::binary) << bytes;
        return path_.string();
    }
    std::string error(const std::string& bytes) {
        try {
            const ModelFile file(write(bytes));
        } catch (const std::runtime_error& caught) {
            EXPECT_NE(std::string::npos, std::string_view(caught.what()).find(path_.string()));
            return caught.what();
        }
        return "none";
    }
    void expect_error(const std::string& bytes, std::string_view part) {
        EXPECT_NE(std::string::npos, error(bytes).find(part)) << error(bytes);
    }

    std::filesystem::path path_;
};

std::string changed(size_t at, const std::string& bytes) { return model().replace(at, bytes.size(), bytes); }

TEST_F(ModelFileTest, Arrays) {
    const ModelFile file(write(model()));
    EXPECT_EQ(6u, file.sizes().layers);
    EXPECT_EQ(384u, file.sizes().width);
    EXPECT_EQ(12u, file.sizes().heads);
    EXPECT_EQ(1536u, file.sizes().inner);
    EXPECT_EQ(2u, file.sizes().vocabulary);
    EXPECT_EQ(256u, file.sizes().tokens_max);
    EXPECT_EQ(1e-12f, file.sizes().epsilon);
    EXPECT_EQ("x\n##y", file.vocabulary());
    EXPECT_EQ("x\n##y", file.text("vocabulary"));
    EXPECT_EQ(model().size(), file.bytes().size());
    EXPECT_EQ(6.5f, file.floats("a", 2, 3)[5]);
    EXPECT_EQ(-1, file.codes("b.codes", 3, 2)[0]);
    EXPECT_EQ(-128, file.codes("b.codes", 3, 2)[5]);
    EXPECT_EQ(-7, file.integers("c", 1, 2)[0]);
    EXPECT_THROW(file.floats("d", 2, 3), std::runtime_error);
    EXPECT_THROW(file.floats("a", 3, 2), std::runtime_error);
    EXPECT_THROW(file.integers("a", 2, 3), std::runtime_error);
    EXPECT_THROW(file.codes("vocabulary", 1, 5), std::runtime_error);
    EXPECT_THROW(file.text("b.codes"), std::runtime_error);
    EXPECT_THROW(file.text("d"), std::runtime_error);
}

TEST_F(ModelFileTest, AVocabularyHasAsManyPiecesAsWords) {
    EXPECT_THROW(ModelFile(write(changed(32, bytes_of(3u)))).vocabulary(), std::runtime_error);
    EXPECT_EQ("x\n##\n", ModelFile(write(changed(324, "\n"))).vocabulary());
    EXPECT_THROW(ModelFile(write(changed(323, "\ny"))).vocabulary(), std::runtime_error)
        << "a last line without an end";
}

TEST_F(ModelFileTest, BadFilesAreRefused) {
    EXPECT_THROW(ModelFile("/no/such/model"), std::runtime_error);
    std::filesystem::create_directory(path_);
    EXPECT_THROW(ModelFile(path_.string()), std::runtime_error);
    std::filesystem::remove(path_);
    expect_error("", "too short");
    expect_error(changed(0, "X"), "does not begin with SIDRASEN");
    expect_error(changed(8, bytes_of(1u)), "its version is 1, not 2");
    expect_error(changed(12, bytes_of(4096u)), "shorter than its header says");
    expect_error(changed(12, bytes_of(~0u)), "shorter than its header says");
    for (const size_t at : {16, 20, 24, 28, 32, 36, 40}) {
        expect_error(changed(at, bytes_of(0u)), "sizes in its header");
        expect_error(changed(at, bytes_of(~0u)), "sizes in its header");
    }
    expect_error(changed(24, bytes_of(13u)), "sizes in its header");
    const size_t array = 64 + 64 + 40;  // fields of the array "a"
    expect_error(changed(array, bytes_of(uint32_t{SIDRA_TYPE_F16})), "array 'a' has an unknown type");
    expect_error(changed(array + 4, bytes_of(0u)), "no elements");
    expect_error(changed(array + 8, bytes_of(0u)), "no elements");
    expect_error(changed(array + 16, bytes_of(uint64_t{385})), "wrong place");
    for (const uint32_t huge : {1u << 20, ~0u}) {
        expect_error(changed(array + 4, bytes_of(huge)), "array 'a' reaches beyond its end");
        expect_error(changed(array + 8, bytes_of(huge)), "array 'a' reaches beyond its end");
    }
    for (const uint64_t far : {uint64_t{576}, ~uint64_t{63}})
        expect_error(changed(array + 16, bytes_of(far)), "beyond its end");
}

// Every length of the file: it is refused, or all its arrays are inside.
TEST_F(ModelFileTest, FilesThatWereCut) {
    for (size_t size = 0; size < model().size(); ++size) EXPECT_NE("none", error(model().substr(0, size))) << size;
    EXPECT_EQ("none", error(model()));
}

}  // namespace
}  // namespace sidra::sentence
