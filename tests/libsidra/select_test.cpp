// SPDX-License-Identifier: MIT
// Which device opens: the environment and the nodes in a directory.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "device_select.h"
#include "fake_fixture.h"

namespace sidra::test {
namespace {

class Select : public testing::Test {
   protected:
    static constexpr const char* kVariables[] = {"SIDRA_DEVICE",  "SIDRA_PROFILE", "SIDRA_ENGINE",
                                                 "SIDRA_WORKERS", "SIDRA_STATE",   "SIDRA_LEVEL",
                                                 "SIDRA_GDB",     "SIDRA_TRACE",   "SIDRA_QUIET"};
    void SetUp() override {
        for (const char* name : kVariables) {
            if (const char* value = std::getenv(name)) saved[name] = value;
            unsetenv(name);
        }
        directory = std::filesystem::temp_directory_path() / ("sidra-select-" + std::to_string(getpid()));
        std::filesystem::create_directory(directory);
    }
    void TearDown() override {
        std::filesystem::remove_all(directory);
        for (const char* name : kVariables) unsetenv(name);
        for (const auto& [name, value] : saved) setenv(name.c_str(), value.c_str(), 1);
    }
    DeviceFolders folders() const { return {.nodes = directory.string(), .pci = (directory / "pci").string()}; }
    void add_function(const std::string& address, const char* vendor, const char* device) {
        std::filesystem::create_directories(directory / "pci" / address);
        std::ofstream(directory / "pci" / address / "vendor") << vendor << '\n';
        std::ofstream(directory / "pci" / address / "device") << device << '\n';
    }
    void add_node(const std::string& name) { std::ofstream(directory / name).put('\n'); }
    DeviceChoice choose(bool private_chip = false) {
        DeviceChoice choice;
        EXPECT_OK(choose_device("sidra_test", folders(), private_chip, &choice));
        return choice;
    }
    sidra_status complete(const char* call, const sidra_device_options* options, sidra_device_options* result) {
        environment = {.chip = environment.chip};
        return complete_options(call, options, result, &environment);
    }
    ChipEnvironment environment;
    std::map<std::string, std::string> saved;
    std::filesystem::path directory;
};

TEST_F(Select, EmbeddedOnlyWithoutNodes) {
    add_node("null");
    add_node("sidra");
    add_node("sidra-other");
    add_node("sidra1x");
    const DeviceChoice choice = choose();
    EXPECT_TRUE(choice.embedded);
    EXPECT_TRUE(choice.by_default);
    EXPECT_EQ(1u, choice.count());
}

TEST_F(Select, NodesInOrder) {
    for (const char* name : {"sidra10", "sidra2", "sidra0"}) add_node(name);
    const DeviceChoice choice = choose();
    EXPECT_FALSE(choice.embedded);
    ASSERT_EQ(3u, choice.count());
    EXPECT_EQ((directory / "sidra0").string(), choice.nodes[0]);
    EXPECT_EQ((directory / "sidra2").string(), choice.nodes[1]);
    EXPECT_EQ((directory / "sidra10").string(), choice.nodes[2]);
}

TEST_F(Select, EnvironmentWins) {
    add_node("sidra0");
    setenv("SIDRA_DEVICE", "embedded", 1);
    EXPECT_TRUE(choose().embedded);
    EXPECT_FALSE(choose().by_default);
    setenv("SIDRA_DEVICE", "/dev/sidra7", 1);
    EXPECT_FALSE(choose().embedded);
    EXPECT_EQ("/dev/sidra7", choose().nodes.at(0));
    setenv("SIDRA_DEVICE", "emulated", 1);
    DeviceChoice choice;
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, choose_device("sidra_test", folders(), false, &choice));
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "emulated"));
    uint32_t count = 77;
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_device_count(&count));
    EXPECT_EQ(77u, count);
}

TEST_F(Select, SeveralChipsByNumber) {
    using Chips = std::vector<uint32_t>;
    const std::pair<const char*, Chips> good[] = {{"embedded", {0}},
                                                  {"embedded:0", {0}},
                                                  {"embedded:3", {3}},
                                                  {"embedded:0,embedded:1", {0, 1}},
                                                  {"embedded:2,embedded", {2, 0}},
                                                  {"embedded:1-3,embedded:63", {1, 2, 3, 63}}};
    for (const auto& [text, chips] : good) {
        setenv("SIDRA_DEVICE", text, 1);
        EXPECT_TRUE(choose().embedded) << text;
        EXPECT_EQ(chips, choose().chips) << text;
        EXPECT_EQ(chips.size(), choose().count()) << text;
    }
    for (const char* text :
         {"embedded:", "embedded:x", "embedded:64", "embedded:1,embedded:1", "embedded:0-2,embedded:1", "embedded:3-2",
          "embedded:0-", "embedded:-1", "embedded,", ",embedded", "embedded:0-64", "embedded1", "embedded:0 ",
          "embedded:0,/dev/sidra0", "embedded:4294967296"}) {
        setenv("SIDRA_DEVICE", text, 1);
        DeviceChoice choice;
        EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, choose_device("sidra_test", folders(), false, &choice));
        EXPECT_NE(nullptr, std::strstr(sidra_last_error(), text)) << sidra_last_error();
    }
}

TEST_F(Select, EachChipHasFilesOfItsOwn) {
    setenv("SIDRA_STATE", "/tmp/chip.state", 1);
    setenv("SIDRA_TRACE", "trace", 1);
    setenv("SIDRA_GDB", "1234", 1);
    sidra_device_options options{};
    for (const uint32_t chip : {0u, 2u}) {
        environment.chip = chip;
        EXPECT_OK(complete("sidra_test", nullptr, &options));
        EXPECT_STREQ(chip == 0 ? "/tmp/chip.state" : "/tmp/chip.state.2", options.state_file);
        EXPECT_STREQ(chip == 0 ? "trace" : "trace.2", options.trace_file);
        EXPECT_STREQ(chip == 0 ? "1234" : "1236", options.gdb);
    }
    setenv("SIDRA_GDB", "/tmp/gdb", 1);
    auto given = SIDRA_INIT(sidra_device_options);
    given.state_file = "mine";
    EXPECT_OK(complete("sidra_test", &given, &options));
    EXPECT_STREQ("mine", options.state_file) << "what the caller says is what it means";
    EXPECT_STREQ("/tmp/gdb.2", options.gdb);
}

TEST_F(Select, ANodeIsNeverReplacedByTheModel) {
    setenv("SIDRA_DEVICE", (directory / "sidra0").c_str(), 1);
    sidra_device* device = nullptr;
    EXPECT_FAILS(SIDRA_ERROR_NO_DEVICE, sidra_device_open(0, nullptr, &device));
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "does not exist")) << sidra_last_error();
    add_node("sidra0");
    EXPECT_FAILS(SIDRA_ERROR_NO_DEVICE, sidra_device_open(0, nullptr, &device));
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "is not a device node")) << sidra_last_error();
    setenv("SIDRA_DEVICE", "/dev/null", 1);
    EXPECT_FAILS(SIDRA_ERROR_NO_DEVICE, sidra_device_open(0, nullptr, &device));
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "another driver")) << sidra_last_error();
    EXPECT_FAILS(SIDRA_ERROR_NO_DEVICE, sidra_device_open(1, nullptr, &device));
    EXPECT_EQ(nullptr, device);
}

TEST_F(Select, WhatIsNoNodeIsCalledWhatItIs) {
    const auto refused = [](const std::string& path, const char* words) {
        setenv("SIDRA_DEVICE", path.c_str(), 1);
        sidra_device* device = nullptr;
        EXPECT_FAILS(SIDRA_ERROR_NO_DEVICE, sidra_device_open(0, nullptr, &device));
        EXPECT_NE(nullptr, std::strstr(sidra_last_error(), words)) << sidra_last_error();
        EXPECT_NE(nullptr, std::strstr(sidra_last_error(), path.c_str())) << sidra_last_error();
    };
    add_node("file");
    const std::string pipe = directory / "pipe", socket_path = directory / "socket", loop = directory / "loop";
    ASSERT_EQ(0, mkfifo(pipe.c_str(), 0600));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    ASSERT_LT(socket_path.size(), sizeof address.sun_path);
    socket_path.copy(address.sun_path, socket_path.size());
    const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(0, bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address));
    ASSERT_EQ(0, symlink(loop.c_str(), loop.c_str()));
    refused(directory, "a directory");
    refused(directory / "file", "a regular file");
    refused(directory / "file" / "below", "does not exist");
    refused(pipe, "a pipe");
    refused(socket_path, "a socket");
    refused(loop, "symbolic links");
    close(listener);
}

TEST_F(Select, AFunctionWithoutADriverIsNeverReplacedByTheModel) {
    add_function("0000:00:02.0", "0x8086", "0x10d3");
    EXPECT_TRUE(choose().embedded);
    add_function("0000:00:03.0", "0x5349", "0x5931");
    DeviceChoice choice;
    EXPECT_FAILS(SIDRA_ERROR_NO_DEVICE, choose_device("sidra_test", folders(), false, &choice));
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "0000:00:03.0")) << sidra_last_error();
    setenv("SIDRA_DEVICE", "embedded", 1);
    EXPECT_TRUE(choose().embedded);
    unsetenv("SIDRA_DEVICE");
    add_node("sidra0");
    EXPECT_EQ(1u, choose().count());
}

TEST_F(Select, OptionsComeFromTheEnvironmentWhereZero) {
    setenv("SIDRA_PROFILE", "small", 1);
    setenv("SIDRA_ENGINE", "scalar", 1);
    setenv("SIDRA_WORKERS", "3", 1);
    setenv("SIDRA_LEVEL", "accurate", 1);
    sidra_device_options options{};
    EXPECT_OK(complete("sidra_test", nullptr, &options));
    EXPECT_EQ(SIDRA_PROFILE_SMALL, options.profile);
    EXPECT_EQ(SIDRA_ENGINE_SCALAR, options.engine);
    EXPECT_EQ(3u, options.workers);
    EXPECT_EQ(SIDRA_LEVEL_ACCURATE, options.level);
    setenv("SIDRA_STATE", "of the environment", 1);
    EXPECT_OK(complete("sidra_test", nullptr, &options));
    EXPECT_STREQ("of the environment", options.state_file);
    EXPECT_EQ(nullptr, options.gdb);
    setenv("SIDRA_GDB", "1234", 1);
    EXPECT_OK(complete("sidra_test", nullptr, &options));
    EXPECT_STREQ("1234", options.gdb);
    auto given = SIDRA_INIT(sidra_device_options);
    given.engine = SIDRA_ENGINE_AVX2;
    given.workers = 1;
    given.seed = 9;
    given.state_file = "given";
    given.gdb = "4321";
    setenv("SIDRA_TRACE", "trace", 1);
    EXPECT_OK(complete("sidra_test", &given, &options));
    EXPECT_EQ(SIDRA_PROFILE_SMALL, options.profile);
    EXPECT_EQ(SIDRA_ENGINE_AVX2, options.engine);
    EXPECT_EQ(1u, options.workers);
    EXPECT_EQ(9u, options.seed);
    EXPECT_STREQ("given", options.state_file);
    EXPECT_STREQ("4321", options.gdb);
    EXPECT_STREQ("trace", options.trace_file);
    given.trace_file = "another";
    EXPECT_OK(complete("sidra_test", &given, &options));
    EXPECT_STREQ("another", options.trace_file);
    // A program of version 1.0 does not know later fields.
    given.struct_size = offsetof(sidra_device_options, gdb);
    EXPECT_OK(complete("sidra_test", &given, &options));
    EXPECT_STREQ("given", options.state_file);
    EXPECT_STREQ("1234", options.gdb);
    given.struct_size--;
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, complete("sidra_test", &given, &options));
}

TEST_F(Select, APrivateChipIsEmbeddedWhateverThereIs) {
    const auto expect_embedded = [&] {
        const DeviceChoice choice = choose(true);
        EXPECT_TRUE(choice.embedded);
        EXPECT_FALSE(choice.by_default) << "nobody needs to be told";
        EXPECT_EQ(std::vector<uint32_t>{0}, choice.chips);
        EXPECT_TRUE(choice.nodes.empty());
    };
    expect_embedded();
    add_function("0000:00:03.0", "0x5349", "0x5931");
    expect_embedded();
    add_node("sidra0");
    expect_embedded();
    for (const char* wanted : {"/dev/sidra0", "embedded:3-5", "nonsense"}) {
        setenv("SIDRA_DEVICE", wanted, 1);
        expect_embedded();
    }
    auto given = SIDRA_INIT(sidra_device_options);
    given.profile = SIDRA_PROFILE_SMALL;
    given.workers = 1;
    given.private_chip = true;
    sidra_device* device = nullptr;
    ASSERT_OK(sidra_device_open(0, &given, &device));
    auto info = SIDRA_INIT(sidra_device_info);
    EXPECT_OK(sidra_device_get_info(device, &info));
    EXPECT_STREQ("embedded", info.transport);
    EXPECT_OK(sidra_device_close(device));
    EXPECT_FAILS(SIDRA_ERROR_NO_DEVICE, sidra_device_open(1, &given, &device));
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "a private chip has index 0")) << sidra_last_error();
}

TEST_F(Select, APrivateChipIsWhatTheCallSays) {
    const std::pair<const char*, const char*> variables[] = {
        {"SIDRA_PROFILE", "small"}, {"SIDRA_LEVEL", "accurate"}, {"SIDRA_STATE", "state"}, {"SIDRA_TRACE", "trace"},
        {"SIDRA_GDB", "1234"},      {"SIDRA_ENGINE", "scalar"},  {"SIDRA_WORKERS", "3"}};
    for (const auto& [name, value] : variables) setenv(name, value, 1);
    auto given = SIDRA_INIT(sidra_device_options);
    given.private_chip = true;
    sidra_device_options options{};
    ASSERT_OK(complete("sidra_test", &given, &options));
    EXPECT_TRUE(options.private_chip);
    EXPECT_EQ(SIDRA_PROFILE_Y1, options.profile);
    EXPECT_EQ(SIDRA_LEVEL_FAST, options.level);
    EXPECT_EQ(nullptr, options.state_file);
    EXPECT_EQ(nullptr, options.trace_file);
    EXPECT_EQ(nullptr, options.gdb);
    EXPECT_TRUE(environment.variables.empty());
    // How the machine computes changes no result.
    EXPECT_EQ(SIDRA_ENGINE_SCALAR, options.engine);
    EXPECT_EQ(3u, options.workers);
    given.profile = SIDRA_PROFILE_SMALL;
    given.level = SIDRA_LEVEL_ACCURATE;
    given.state_file = given.trace_file = given.gdb = "mine";
    ASSERT_OK(complete("sidra_test", &given, &options));
    EXPECT_EQ(SIDRA_PROFILE_SMALL, options.profile);
    EXPECT_EQ(SIDRA_LEVEL_ACCURATE, options.level);
    for (const char* const text : {options.state_file, options.trace_file, options.gdb}) EXPECT_STREQ("mine", text);
}

TEST_F(Select, BadOptionsAreNamed) {
    sidra_device_options options{};
    const auto bad_variable = [&](const char* name, const char* value) {
        setenv(name, value, 1);
        EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, complete("sidra_test", nullptr, &options));
        EXPECT_NE(nullptr, std::strstr(sidra_last_error(), name)) << sidra_last_error();
        EXPECT_NE(nullptr, std::strstr(sidra_last_error(), value)) << sidra_last_error();
        unsetenv(name);
    };
    bad_variable("SIDRA_PROFILE", "y2");
    bad_variable("SIDRA_ENGINE", "gpu");
    bad_variable("SIDRA_LEVEL", "exact");
    for (const char* workers : {"-1", "two", "3x", "1025", "99999999999"}) bad_variable("SIDRA_WORKERS", workers);
    auto given = SIDRA_INIT(sidra_device_options);
    given.profile = static_cast<sidra_profile>(2);
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, complete("sidra_test", &given, &options));
    given.profile = SIDRA_PROFILE_Y1;
    given.engine = static_cast<sidra_engine>(7);
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, complete("sidra_test", &given, &options));
    given.engine = SIDRA_ENGINE_AUTO;
    given.workers = 1025;
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, complete("sidra_test", &given, &options));
    given.workers = 1;
    given.level = static_cast<sidra_level>(2);
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, complete("sidra_test", &given, &options));
    given.level = SIDRA_LEVEL_ACCURATE;
    given.stuck_ppm = 1'000'001;
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, complete("sidra_test", &given, &options));
    for (const uint32_t stuck : {0u, 1'000'000u, SIDRA_STUCK_NONE}) {
        given.stuck_ppm = stuck;
        EXPECT_OK(complete("sidra_test", &given, &options));
        EXPECT_EQ(stuck, options.stuck_ppm);
    }
}

TEST_F(Select, AnEngineThatThisMachineLacksIsSaid) {
    setenv("SIDRA_DEVICE", "embedded", 1);
    auto options = SIDRA_INIT(sidra_device_options);
    options.profile = SIDRA_PROFILE_SMALL;
    options.private_chip = true;
#if defined(__aarch64__)
    options.engine = SIDRA_ENGINE_AVX2;
#else
    options.engine = SIDRA_ENGINE_NEON;
#endif
    sidra_device* device = nullptr;
    EXPECT_FAILS(SIDRA_ERROR_NOT_SUPPORTED, sidra_device_open(0, &options, &device));
    EXPECT_EQ(nullptr, device);
}

TEST_F(Select, TheFallbackIsAnnouncedOnceAndCanBeQuiet) {
    setenv("SIDRA_QUIET", "1", 1);
    testing::internal::CaptureStderr();
    announce_embedded();
    EXPECT_EQ("", testing::internal::GetCapturedStderr());
    setenv("SIDRA_QUIET", "yes", 1);  // only 1 is quiet
    testing::internal::CaptureStderr();
    announce_embedded();
    announce_embedded();
    const std::string said = testing::internal::GetCapturedStderr();
    // Another test of this process may have been the first.
    if (!said.empty()) EXPECT_EQ("sidra: no /dev/sidra* found; using the embedded chip model\n", said);
    testing::internal::CaptureStderr();
    announce_embedded();
    EXPECT_EQ("", testing::internal::GetCapturedStderr());
}

TEST_F(Select, EmbeddedChipsOfOneIndexAreOne) {
    setenv("SIDRA_DEVICE", "embedded", 1);
    auto options = SIDRA_INIT(sidra_device_options);
    options.profile = SIDRA_PROFILE_SMALL;
    options.workers = 1;
    sidra_device *one = nullptr, *two = nullptr, *own = nullptr, *other = nullptr;
    ASSERT_OK(sidra_device_open(0, &options, &one));
    ASSERT_OK(sidra_device_open(0, &options, &two));
    options.private_chip = true;
    ASSERT_OK(sidra_device_open(0, &options, &own));
    options.private_chip = false;
    auto info_one = SIDRA_INIT(sidra_device_info), info_two = SIDRA_INIT(sidra_device_info),
         info_own = SIDRA_INIT(sidra_device_info);
    ASSERT_OK(sidra_device_get_info(one, &info_one));
    ASSERT_OK(sidra_device_get_info(two, &info_two));
    EXPECT_EQ(0, std::memcmp(info_one.uuid, info_two.uuid, sizeof info_one.uuid));
    ASSERT_OK(sidra_device_reset(one));
    ASSERT_OK(sidra_device_get_info(two, &info_two));
    EXPECT_EQ(1u, info_two.generation);
    ASSERT_OK(sidra_device_get_info(own, &info_own));
    EXPECT_EQ(0u, info_own.generation) << "a private chip is one's own";
    options.workers = 2;
    EXPECT_FAILS(SIDRA_ERROR_BUSY, sidra_device_open(0, &options, &other));
    sidra_device* as_open = nullptr;
    ASSERT_OK(sidra_device_open(0, nullptr, &as_open));  // takes the chip as it is
    auto info_as_open = SIDRA_INIT(sidra_device_info);
    EXPECT_OK(sidra_device_get_info(as_open, &info_as_open));
    EXPECT_EQ(0, std::memcmp(info_one.uuid, info_as_open.uuid, sizeof info_one.uuid));
    EXPECT_FAILS(SIDRA_ERROR_NO_DEVICE, sidra_device_open(1, &options, &other));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_device_open(0, &options, nullptr));
    EXPECT_EQ(nullptr, other);
    for (sidra_device* device : {one, two, own, as_open}) EXPECT_OK(sidra_device_close(device));
}

}  // namespace
}  // namespace sidra::test
