// SPDX-License-Identifier: MIT
// Named weights in a state file: one process creates them, the next one computes with them.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "chip_fixture.h"

namespace sidra::test {
namespace {

constexpr uint32_t kRows = 300, kCols = 70, kBatch = 5;

std::vector<int8_t> numbers(size_t count, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<int8_t> result(count);
    for (int8_t& value : result) value = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
    return result;
}

// The product, computed by the host.
std::vector<int32_t> product(const std::vector<int8_t>& x, const std::vector<int8_t>& w) {
    std::vector<int32_t> result(kBatch * kCols);
    for (uint32_t b = 0; b < kBatch; b++)
        for (uint32_t n = 0; n < kCols; n++)
            for (uint32_t k = 0; k < kRows; k++) result[b * kCols + n] += x[b * kRows + k] * w[k * kCols + n];
    return result;
}

// A device, context and stream of one process.
struct Opened {
    explicit Opened(const char* state_file = nullptr, bool private_chip = false) {
        auto options = SIDRA_INIT(sidra_device_options);
        options.profile = SIDRA_PROFILE_SMALL;
        options.workers = 1;
        options.private_chip = private_chip;
        options.state_file = state_file;
        EXPECT_OK(sidra_device_open(0, &options, &device));
        EXPECT_OK(sidra_context_create(device, &context));
        EXPECT_OK(sidra_stream_create(context, nullptr, &stream));
    }
    std::string uuid() const {
        auto info = SIDRA_INIT(sidra_device_info);
        EXPECT_OK(sidra_device_get_info(device, &info));
        return {reinterpret_cast<const char*>(info.uuid), sizeof info.uuid};
    }
    void close() {
        EXPECT_OK(sidra_stream_destroy(stream));
        EXPECT_OK(sidra_context_destroy(context));
        EXPECT_OK(sidra_device_close(device));
    }
    void leave(const char* name, const std::vector<int8_t>& w) {
        sidra_weights* weights = nullptr;
        EXPECT_OK(sidra_weights_create_s8(context, kRows, kCols, w.data(), kCols, nullptr, nullptr, &weights));
        EXPECT_OK(sidra_weights_program_async(stream, weights));
        EXPECT_OK(sidra_stream_synchronize(stream, soon()));
        EXPECT_OK(sidra_weights_publish(weights, name, 0600));
        EXPECT_OK(sidra_weights_destroy(weights));
    }
    std::vector<int32_t> compute(const char* name, const std::vector<int8_t>& x) {
        sidra_weights* weights = nullptr;
        EXPECT_OK(sidra_weights_open(context, name, &weights));
        sidra_buffer* buffer = nullptr;
        void* address = nullptr;
        EXPECT_OK(sidra_buffer_create(context, 16384, SIDRA_BUFFER_HOST, &buffer));
        EXPECT_OK(sidra_buffer_map(buffer, &address));
        std::memcpy(address, x.data(), x.size());
        auto mvm = SIDRA_INIT(sidra_mvm);
        mvm.batch = kBatch;
        mvm.in_type = SIDRA_S8;
        mvm.out_type = SIDRA_S32;
        mvm.in = {buffer, 0};
        mvm.out = {buffer, 8192};
        EXPECT_OK(sidra_mvm_async(stream, weights, &mvm));
        EXPECT_OK(sidra_stream_synchronize(stream, soon()));
        std::vector<int32_t> result(kBatch * kCols);
        std::memcpy(result.data(), static_cast<uint8_t*>(address) + 8192, result.size() * sizeof result[0]);
        EXPECT_OK(sidra_buffer_destroy(buffer));
        EXPECT_OK(sidra_weights_destroy(weights));
        return result;
    }
    sidra_device* device = nullptr;
    sidra_context* context = nullptr;
    sidra_stream* stream = nullptr;
};

class ChipState : public testing::Test {
   protected:
    void SetUp() override {
        setenv("SIDRA_DEVICE", "embedded", 1);
        std::string name = (std::filesystem::temp_directory_path() / "sidra-state-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
        path_ = folder_ + "/state";
    }
    void TearDown() override {
        unsetenv("SIDRA_STATE");
        unsetenv("SIDRA_LEVEL");
        std::filesystem::remove_all(folder_);
    }
    // Runs `work` in a child process that ends without closing anything.
    static void in_a_process(const std::function<void()>& work) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            work();
            _exit(testing::Test::HasFailure() ? 1 : 0);
        }
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    }
    std::string folder_, path_;
};

TEST_F(ChipState, ItsUuidIsInTheFile) {
    std::string uuid;
    for (int i = 0; i < 2; ++i) {
        Opened chip(path_.c_str(), true);
        if (i == 0) uuid = chip.uuid();
        EXPECT_EQ(chip.uuid(), uuid);
        EXPECT_EQ(uuid[6] & 0xf0, 0x40) << "version 4";
        EXPECT_EQ(uuid[8] & 0xc0, 0x80);
        chip.close();
    }
    Opened other((path_ + "2").c_str(), true), none(nullptr, true);
    EXPECT_NE(other.uuid(), uuid) << "another chip from the factory";
    EXPECT_NE(none.uuid(), uuid);
    EXPECT_NE(none.uuid(), other.uuid());
    other.close();
    none.close();
}

TEST_F(ChipState, NamedWeightsAreFoundByTheNextProcess) {
    const auto w = numbers(kRows * kCols, 1), other = numbers(kRows * kCols, 2), x = numbers(kBatch * kRows, 3);
    setenv("SIDRA_STATE", path_.c_str(), 1);
    in_a_process([&] {
        Opened chip;
        chip.leave("layer", w);
        chip.leave("gone", other);
        EXPECT_OK(sidra_weights_unlink(chip.context, "gone"));
        EXPECT_EQ(chip.compute("layer", x), product(x, w));
    });
    in_a_process([&] {
        Opened chip;
        EXPECT_EQ(chip.compute("layer", x), product(x, w));
        sidra_weights* weights = nullptr;
        EXPECT_FAILS(SIDRA_ERROR_NOT_FOUND, sidra_weights_open(chip.context, "gone", &weights));
        auto info = SIDRA_INIT(sidra_device_info);
        EXPECT_OK(sidra_device_get_info(chip.device, &info));
        EXPECT_EQ(info.crossbars_free, info.crossbars_total - 2) << "what nobody has a name for is free";
        chip.leave("second", other);
        chip.close();
    });
    in_a_process([&] {
        Opened chip;
        EXPECT_EQ(chip.compute("layer", x), product(x, w));
        EXPECT_EQ(chip.compute("second", x), product(x, other));
    });
}

// Two chips that were programmed alike, one of which was switched off since: the same answers, noise and all.
TEST_F(ChipState, NamedWeightsGiveTheSameAnswersAtLevelAccurate) {
    if (on_a_node()) GTEST_SKIP() << "the model's physics take minutes inside of a virtual machine";
    setenv("SIDRA_LEVEL", "accurate", 1);
    const auto w = numbers(kRows * kCols, 1), x = numbers(kBatch * kRows, 3);
    const std::string answers = folder_ + "/answers";
    in_a_process([&] {
        Opened chip;
        chip.leave("layer", w);
        const auto first = chip.compute("layer", x), second = chip.compute("layer", x);
        EXPECT_NE(first, product(x, w));
        EXPECT_NE(first, second);
        std::ofstream(answers, std::ios::binary)
            .write(reinterpret_cast<const char*>(second.data()),
                   static_cast<std::streamsize>(second.size() * sizeof second[0]));
    });
    setenv("SIDRA_STATE", path_.c_str(), 1);
    in_a_process([&] {
        Opened chip;
        chip.leave("layer", w);
        chip.compute("layer", x);
        chip.close();
    });
    in_a_process([&] {
        Opened chip;
        const auto found = chip.compute("layer", x);
        std::vector<int32_t> expected(found.size());
        std::ifstream(answers, std::ios::binary)
            .read(reinterpret_cast<char*>(expected.data()),
                  static_cast<std::streamsize>(expected.size() * sizeof expected[0]));
        EXPECT_EQ(found, expected);
    });
    unsetenv("SIDRA_LEVEL");
    in_a_process([&] {
        auto options = SIDRA_INIT(sidra_device_options);
        options.profile = SIDRA_PROFILE_SMALL;
        sidra_device* device = nullptr;
        EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_device_open(0, &options, &device));
        EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "another level")) << sidra_last_error();
    });
}

TEST_F(ChipState, OneChipHasTheFileUntilItIsClosed) {
    const auto w = numbers(kRows * kCols, 1), x = numbers(kBatch * kRows, 3);
    Opened chip(path_.c_str());
    chip.leave("layer", w);
    auto options = SIDRA_INIT(sidra_device_options);
    options.profile = SIDRA_PROFILE_SMALL;
    options.workers = 1;
    options.private_chip = true;
    options.state_file = path_.c_str();
    sidra_device* second = nullptr;
    EXPECT_FAILS(SIDRA_ERROR_BUSY, sidra_device_open(0, &options, &second));
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "another chip has it")) << sidra_last_error();
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), path_.c_str())) << sidra_last_error();
    // The chip of this index has the file: a request for both gets that chip, and one without the file is refused.
    options.private_chip = false;
    ASSERT_OK(sidra_device_open(0, &options, &second));
    EXPECT_OK(sidra_device_close(second));
    options.state_file = nullptr;
    EXPECT_FAILS(SIDRA_ERROR_BUSY, sidra_device_open(0, &options, &second));
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "with other options")) << sidra_last_error();
    in_a_process([&] {
        options.state_file = path_.c_str();
        EXPECT_FAILS(SIDRA_ERROR_BUSY, sidra_device_open(0, &options, &second));
    });
    chip.close();
    in_a_process([&] { EXPECT_EQ(Opened(path_.c_str()).compute("layer", x), product(x, w)); });
    Opened again(path_.c_str());
    EXPECT_EQ(again.compute("layer", x), product(x, w));
    again.close();
}

TEST_F(ChipState, AFileThatCannotBeUsedIsSaid) {
    auto options = SIDRA_INIT(sidra_device_options);
    options.profile = SIDRA_PROFILE_SMALL;
    options.workers = 1;
    sidra_device* device = nullptr;
    setenv("SIDRA_STATE", folder_.c_str(), 1);
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_device_open(0, &options, &device));
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "Is a directory")) << sidra_last_error();
    // The message has one remedy, that of the file, and names the variable.
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "Name a file")) << sidra_last_error();
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "The environment sets SIDRA_STATE.")) << sidra_last_error();
    for (const char* wrong : {"errno", "Check the arguments", "SIDRA_TRACE"})
        EXPECT_EQ(nullptr, std::strstr(sidra_last_error(), wrong)) << sidra_last_error();
    const std::string missing = folder_ + "/no/such";
    options.trace_file = missing.c_str();
    setenv("SIDRA_STATE", path_.c_str(), 1);
    EXPECT_FAILS(SIDRA_ERROR_NOT_FOUND, sidra_device_open(0, &options, &device));
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "Give the trace a file of its own")) << sidra_last_error();
    setenv("SIDRA_TRACE", missing.c_str(), 1);
    options.trace_file = nullptr;
    EXPECT_FAILS(SIDRA_ERROR_NOT_FOUND, sidra_device_open(0, &options, &device));
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "The environment sets SIDRA_STATE and SIDRA_TRACE."))
        << sidra_last_error();
    unsetenv("SIDRA_TRACE");
    { Opened(path_.c_str(), true).close(); }
    setenv("SIDRA_STATE", path_.c_str(), 1);
    options.profile = SIDRA_PROFILE_Y1;
    unsetenv("SIDRA_PROFILE");
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_device_open(0, &options, &device));
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "another profile")) << sidra_last_error();
    EXPECT_EQ(nullptr, device);
    // An empty variable counts as unset, and the program's option takes precedence.
    setenv("SIDRA_STATE", "", 1);
    options.profile = SIDRA_PROFILE_SMALL;
    ASSERT_OK(sidra_device_open(0, &options, &device));
    EXPECT_OK(sidra_device_close(device));
    setenv("SIDRA_STATE", folder_.c_str(), 1);
    options.state_file = path_.c_str();
    ASSERT_OK(sidra_device_open(0, &options, &device));
    EXPECT_OK(sidra_device_close(device));
}

}  // namespace
}  // namespace sidra::test
