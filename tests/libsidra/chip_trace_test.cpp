// SPDX-License-Identifier: MIT
// The trace of an embedded chip: written to the requested file and complete once the device is closed. Its contents are
// tested in tests/chip.
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "expect.h"
#include "patience.h"
#include "sidra/sidra.h"

namespace sidra::test {
namespace {

class ChipTrace : public testing::Test {
   protected:
    void SetUp() override {
        setenv("SIDRA_DEVICE", "embedded", 1);
        std::string name = (std::filesystem::temp_directory_path() / "sidra-trace-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder = name;
        path = folder + "/trace.json";
        options.profile = SIDRA_PROFILE_SMALL;
        options.workers = 1;
        options.private_chip = true;
    }
    void TearDown() override {
        unsetenv("SIDRA_TRACE");
        std::filesystem::remove_all(folder);
    }
    static std::string contents(const std::string& file) {
        std::ifstream stream(file);
        return {std::istreambuf_iterator<char>(stream), {}};
    }
    std::string folder, path;
    sidra_device_options options = SIDRA_INIT(sidra_device_options);
    sidra_device* device = nullptr;
};

TEST_F(ChipTrace, IsWhereTheEnvironmentSays) {
    setenv("SIDRA_TRACE", path.c_str(), 1);
    ASSERT_OK(sidra_device_open(0, &options, &device));
    EXPECT_OK(sidra_device_close(device));
    const std::string empty = contents(path);
    EXPECT_EQ(empty.substr(0, 2), "[\n");
    EXPECT_NE(empty.find("\"summary\",\"args\":{\"device_ps\":0,\"energy_pj\":0,"), std::string::npos) << empty;
    EXPECT_EQ(empty.substr(empty.size() - 3), "\n]\n");
}

TEST_F(ChipTrace, IsWhereTheProgramSays) {
    setenv("SIDRA_TRACE", folder.c_str(), 1);
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_device_open(0, &options, &device));
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "Is a directory")) << sidra_last_error();
    options.trace_file = path.c_str();
    ASSERT_OK(sidra_device_open(0, &options, &device));
    sidra_device* second = nullptr;
    EXPECT_FAILS(SIDRA_ERROR_BUSY, sidra_device_open(0, &options, &second));
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "another chip writes it")) << sidra_last_error();
    EXPECT_OK(sidra_device_close(device));
    EXPECT_TRUE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace sidra::test
