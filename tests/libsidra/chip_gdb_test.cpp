// SPDX-License-Identifier: MIT
// A debugger of an embedded chip's management core. Its commands are tested in tests/chip.
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "expect.h"
#include "patience.h"
#include "sidra/sidra.h"

namespace sidra::test {
namespace {

class ChipGdb : public testing::Test {
   protected:
    void SetUp() override {
        setenv("SIDRA_DEVICE", "embedded", 1);
        std::string name = (std::filesystem::temp_directory_path() / "sidra-gdb-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder = name;
        path = folder + "/socket";
        options.profile = SIDRA_PROFILE_SMALL;
        options.workers = 1;
        options.private_chip = true;
    }
    void TearDown() override {
        unsetenv("SIDRA_GDB");
        EXPECT_OK(sidra_device_close(device));
        EXPECT_FALSE(std::filesystem::exists(path)) << "nothing is left behind";
        std::filesystem::remove_all(folder);
    }
    // Connects, sends this text and returns the first bytes of the answer.
    std::string ask(const std::string& text) const {
        const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_un name{};
        name.sun_family = AF_UNIX;
        path.copy(name.sun_path, sizeof name.sun_path - 1);
        EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof name), 0) << std::strerror(errno);
        EXPECT_EQ(send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
        char bytes[64];
        const ssize_t count = recv(fd, bytes, sizeof bytes, 0);
        close(fd);
        return {bytes, static_cast<size_t>(count > 0 ? count : 0)};
    }
    std::string folder, path;
    sidra_device_options options = SIDRA_INIT(sidra_device_options);
    sidra_device* device = nullptr;
};

// The chip's own thread answers; it sleeps until a debugger connects.
TEST_F(ChipGdb, IsFoundWhereTheEnvironmentSays) {
    setenv("SIDRA_GDB", path.c_str(), 1);
    options.private_chip = false;
    ASSERT_OK(sidra_device_open(0, &options, &device));
    for (int i = 0; i < 3; i++) EXPECT_EQ(ask("$?#3f"), "+$S05#b8");
    // The chip works while a debugger is attached.
    sidra_context* context = nullptr;
    sidra_stream* stream = nullptr;
    ASSERT_OK(sidra_context_create(device, &context));
    ASSERT_OK(sidra_stream_create(context, nullptr, &stream));
    EXPECT_OK(sidra_stream_synchronize(stream, soon()));
    EXPECT_OK(sidra_stream_destroy(stream));
    EXPECT_OK(sidra_context_destroy(context));
}

TEST_F(ChipGdb, IsFoundWhereTheProgramSays) {
    setenv("SIDRA_GDB", "nonsense", 1);
    options.gdb = path.c_str();
    ASSERT_OK(sidra_device_open(0, &options, &device));
    EXPECT_EQ(ask("$?#3f"), "+$S05#b8");
}

TEST_F(ChipGdb, AnAddressThatIsNoneIsSaid) {
    options.gdb = "tcp:0.0.0.0:1234";
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_device_open(0, &options, &device));
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "only this machine may debug")) << sidra_last_error();
    const std::string nowhere = folder + "/no/such";
    options.gdb = nowhere.c_str();
    EXPECT_FAILS(SIDRA_ERROR_NOT_FOUND, sidra_device_open(0, &options, &device));
    EXPECT_EQ(nullptr, device);
    options.gdb = path.c_str();
    ASSERT_OK(sidra_device_open(0, &options, &device));
    sidra_device* second = nullptr;
    EXPECT_FAILS(SIDRA_ERROR_BUSY, sidra_device_open(0, &options, &second));
    EXPECT_EQ(nullptr, second);
}

TEST_F(ChipGdb, ASharedChipHasOne) {
    options.private_chip = false;
    options.gdb = path.c_str();
    ASSERT_OK(sidra_device_open(0, &options, &device));
    sidra_device* second = nullptr;
    ASSERT_OK(sidra_device_open(0, &options, &second));
    EXPECT_OK(sidra_device_close(second));
    options.gdb = nullptr;
    EXPECT_FAILS(SIDRA_ERROR_BUSY, sidra_device_open(0, &options, &second));
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), ("gdb " + path).c_str())) << sidra_last_error();
}

}  // namespace
}  // namespace sidra::test
