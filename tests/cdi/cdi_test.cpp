// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cdi/command.h"
#include "cdi/document.h"
#include "session.h"

namespace {

using sidra::smi::cdi::run;

constexpr const char* kUuid = "51d2a000-0000-4000-8000-00000000000a";
constexpr const char* kOther = "51d2a000-0000-4000-8000-00000000000b";

class Cdi : public testing::Test {
   protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "sidra-cdi-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string file() const { return (folder_ / "sidra.json").string(); }

    std::string content() const {
        std::ifstream stream(file());
        return {std::istreambuf_iterator<char>(stream), {}};
    }

    // The devices of the file that a session gives, as the reader of schema.py has them.
    std::string devices(sidra_smi session) const {
        EXPECT_EQ(run(&session, file()), SIDRA_SMI_OK);
        const std::string command = "python3 -B '" SIDRA_CDI_SCHEMA "' <'" + file() + "' 2>&1";
        const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
        std::string said;
        std::array<char, 4096> part{};
        while (pipe && std::fgets(part.data(), part.size(), pipe.get())) said += part.data();
        return said;
    }

    std::filesystem::path folder_;
};

TEST_F(Cdi, OneCard) {
    EXPECT_EQ(devices({{{"/dev/sidra0", kUuid}}}),
              "sidra/card\n0 /dev/sidra0\n" + std::string(kUuid) + " /dev/sidra0\nall /dev/sidra0\n");
}

TEST_F(Cdi, NamesByNodeNotByPlace) {
    EXPECT_EQ(devices({{{"/dev/sidra2", kUuid}, {"/dev/sidra10", kOther}}}),
              "sidra/card\n2 /dev/sidra2\n10 /dev/sidra10\n" + std::string(kUuid) + " /dev/sidra2\n" + kOther +
                  " /dev/sidra10\nall /dev/sidra2 /dev/sidra10\n");
}

TEST_F(Cdi, WhatHasNoNodeIsLeftOut) {
    sidra_smi session{{{"/dev/sidra0", ""}, {"", kOther}, {"/dev/sidra7", kUuid}, {"/dev/sidra9", kUuid}}};
    session.chips[2].kind = SIDRA_SMI_MODEL;
    session.chips[3].gone = true;
    EXPECT_EQ(devices(session), "sidra/card\n0 /dev/sidra0\nall /dev/sidra0\n");
}

TEST_F(Cdi, NamesThatAreNotOneCards) {
    testing::internal::CaptureStderr();
    const std::string seen =
        devices({{{"/dev/sidra0", kUuid}, {"/dev/sidra1", kUuid}, {"/dev/sidra2", "all"}, {"/dev/sidra3", "1"}}});
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(seen,
              "sidra/card\n0 /dev/sidra0\n1 /dev/sidra1\n2 /dev/sidra2\n3 /dev/sidra3\nall /dev/sidra0 /dev/sidra1 "
              "/dev/sidra2 /dev/sidra3\n");
    for (const char* one : {"/dev/sidra0 ", "/dev/sidra1 ", "/dev/sidra2 ", "/dev/sidra3 "})
        EXPECT_NE(said.find(one), std::string::npos) << said;
}

// A driver that lies has nothing to say about what else is in the file, or on the terminal.
TEST_F(Cdi, NamesThatAreNone) {
    for (const char* name : {"a b", "-a", "a.", "\"", "a\"}", "a\nb", "\xc3\xa4", "/", ":"}) {
        testing::internal::CaptureStderr();
        EXPECT_EQ(devices({{{"/dev/sidra0", name}}}), "sidra/card\n0 /dev/sidra0\nall /dev/sidra0\n") << name;
        const std::string said = testing::internal::GetCapturedStderr();
        EXPECT_NE(said.find("the UUID of /dev/sidra0 names no device"), std::string::npos) << name;
        EXPECT_EQ(said.find('\n'), said.size() - 1) << name;
    }
}

TEST_F(Cdi, NodesThatAreNone) {
    std::vector<std::string> left_out;
    for (const char* node : {"", "/dev/sidra", "/dev/sidra0x", "/dev/sda", "sidra0", "/dev/sidra/0"})
        EXPECT_THROW(sidra::smi::cdi::document({{node, kUuid}}, &left_out), std::invalid_argument) << node;
}

TEST_F(Cdi, NoCard) {
    sidra_smi none, models{{{"", kUuid, SIDRA_SMI_MODEL}}}, broken{{{"/dev/sidra0", kUuid}}, SIDRA_SMI_INTERNAL};
    EXPECT_EQ(run(&none, file()), SIDRA_SMI_NO_DEVICE);
    EXPECT_EQ(run(&models, file()), SIDRA_SMI_NO_DEVICE);
    EXPECT_EQ(run(&broken, file()), SIDRA_SMI_INTERNAL);
    EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(Cdi, AFileThatCannotBeWrittenStaysAsItWas) {
    sidra_smi session{{{"/dev/sidra0", kUuid}}};
    std::ofstream(file()) << "before";
    EXPECT_THROW(run(&session, file() + "/more.json"), std::runtime_error);
    EXPECT_EQ(content(), "before");
    EXPECT_EQ(run(&session, file()), SIDRA_SMI_OK);
    EXPECT_NE(content(), "before");
}

TEST_F(Cdi, ToStandardOutput) {
    sidra_smi session{{{"/dev/sidra0", kUuid}}};
    ASSERT_EQ(run(&session, file()), SIDRA_SMI_OK);
    testing::internal::CaptureStdout();
    EXPECT_EQ(run(&session, ""), SIDRA_SMI_OK);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), content());
}

}  // namespace
