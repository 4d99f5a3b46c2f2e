// SPDX-License-Identifier: MIT
// sidra-smi cdi: the contents of the file for a reader that knows only the specification, and the conditions under
// which it exists.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "cdi_document.h"
#include "paths.h"
#include "tree.h"

namespace {

using sidra::smi_tool::cdi_document;
using sidra::smi_tool::CdiCard;
using sidra::test::Tree;

struct Said {
    std::string text;  // standard output and error
    int status = -1;
};

Said shell(const std::string& command) {
    Said said;
    FILE* pipe = popen(fmt::format("{{ {}; }} 2>&1", command).c_str(), "r");
    std::array<char, 4096> part{};
    while (pipe != nullptr && std::fgets(part.data(), part.size(), pipe) != nullptr) said.text += part.data();
    if (pipe != nullptr) said.status = WEXITSTATUS(pclose(pipe));
    return said;
}

std::string content(const std::string& path) {
    std::ifstream stream(path);
    return {std::istreambuf_iterator<char>(stream), {}};
}

// The devices of a file with their nodes.
std::string devices_in(const std::string& path) {
    return shell(fmt::format("python3 -B {} <{}", sidra::test::source_file("tests/cdi/schema.py"), path)).text;
}

std::string devices(const std::vector<CdiCard>& cards, std::vector<std::string>* left_out) {
    const Tree tree;
    tree.write("cdi", cdi_document(cards, left_out).text() + "\n");
    return devices_in(tree.path("cdi"));
}

Said cdi(const Tree& tree, const std::string& options) {
    return shell(fmt::format("{} --root {} --runtime {} cdi {}", sidra::test::smi_program(), tree.root(),
                             tree.runtime(), options));
}

constexpr const char* kUuid = "51d2a000-0000-4000-8000-00000000000a";
constexpr const char* kOther = "51d2a000-0000-4000-8000-00000000000b";

TEST(CdiDocument, NamesByNodeNotByPlace) {
    std::vector<std::string> left_out;
    EXPECT_EQ(devices({{"/dev/sidra2", kUuid}, {"/dev/sidra10", kOther}}, &left_out),
              fmt::format("sidra/card\n2 /dev/sidra2\n10 /dev/sidra10\n{} /dev/sidra2\n{} /dev/sidra10\n"
                          "all /dev/sidra2 /dev/sidra10\n",
                          kUuid, kOther));
    EXPECT_TRUE(left_out.empty());
}

TEST(CdiDocument, NamesThatAreNotOneCards) {
    std::vector<std::string> left_out;
    EXPECT_EQ(devices({{"/dev/sidra0", kUuid},
                       {"/dev/sidra1", kUuid},
                       {"/dev/sidra2", "all"},
                       {"/dev/sidra3", "1"},
                       {"/dev/sidra4", ""}},
                      &left_out),
              "sidra/card\n0 /dev/sidra0\n1 /dev/sidra1\n2 /dev/sidra2\n3 /dev/sidra3\n4 /dev/sidra4\n"
              "all /dev/sidra0 /dev/sidra1 /dev/sidra2 /dev/sidra3 /dev/sidra4\n");
    EXPECT_EQ(left_out, (std::vector<std::string>{"/dev/sidra0", "/dev/sidra1", "/dev/sidra2", "/dev/sidra3"}));
}

// A driver that reports false names cannot add anything else to the file.
TEST(CdiDocument, NamesThatAreNone) {
    for (const char* name : {"a b", "-a", "a.", "\"", "a\"}", "a\nb", "\xc3\xa4", "/", ":"}) {
        std::vector<std::string> left_out;
        EXPECT_EQ(devices({{"/dev/sidra0", name}}, &left_out), "sidra/card\n0 /dev/sidra0\nall /dev/sidra0\n") << name;
        EXPECT_EQ(left_out, std::vector<std::string>{"/dev/sidra0"}) << name;
    }
}

TEST(CdiDocument, NodesThatAreNone) {
    std::vector<std::string> left_out;
    for (const char* node : {"", "/dev/sidra", "/dev/sidra0x", "/dev/sda", "sidra0", "/dev/sidra/0"})
        EXPECT_THROW(cdi_document({{node, kUuid}}, &left_out), std::invalid_argument) << node;
}

TEST(Cdi, WhatHasNoNodeIsLeftOut) {
    const Tree tree;
    tree.card(0, "0000:01:00.0");
    tree.card(3, "0000:02:00.0");
    tree.function("0000:03:00.0");
    const sidra::test::Publisher model(tree, 0);
    std::filesystem::create_directory(tree.path("etc"));
    const Said said = cdi(tree, "--output " + tree.path("etc/cdi/sidra.json"));
    EXPECT_EQ(said.status, 0) << said.text;
    EXPECT_EQ(said.text, "");
    EXPECT_EQ(devices_in(tree.path("etc/cdi/sidra.json")),
              "sidra/card\n0 /dev/sidra0\n3 /dev/sidra3\nc0ffee00-0000-4000-8000-000000000000 /dev/sidra0\n"
              "c0ffee03-0000-4000-8000-000000000003 /dev/sidra3\nall /dev/sidra0 /dev/sidra3\n");
    EXPECT_EQ(cdi(tree, "").text, content(tree.path("etc/cdi/sidra.json")));
}

// Only the folder that container runtimes read is created: /etc/cdi on a system without any such file yet.
TEST(Cdi, AFolderThatIsMissing) {
    const Tree tree;
    tree.card(0, "0000:01:00.0");
    for (const char* name : {"etc/cid/sidra.json", "no/cdi/sidra.json"}) {
        const Said said = cdi(tree, "--output " + tree.path(name));
        EXPECT_NE(said.status, 0) << name;
        EXPECT_NE(said.text.find(std::filesystem::path(tree.path(name)).parent_path()), std::string::npos) << said.text;
        EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(tree.path(name)).parent_path())) << name;
    }
    EXPECT_FALSE(std::filesystem::exists(tree.path("no")));
}

TEST(Cdi, OnlyWhatIsSelected) {
    const Tree tree;
    tree.card(0, "0000:01:00.0");
    tree.card(3, "0000:02:00.0");
    EXPECT_EQ(cdi(tree, "--chip sidra3 --output " + tree.path("cdi")).status, 0);
    EXPECT_EQ(devices_in(tree.path("cdi")),
              "sidra/card\n3 /dev/sidra3\nc0ffee03-0000-4000-8000-000000000003 /dev/sidra3\nall /dev/sidra3\n");
}

TEST(Cdi, OneUuidOfTwoCards) {
    const Tree tree;
    tree.card(0, "0000:01:00.0");
    tree.card(1, "0000:02:00.0");
    tree.write(tree.node(1, "uuid"), "c0ffee00-0000-4000-8000-000000000000\n");
    const Said said = cdi(tree, "--output " + tree.path("cdi"));
    EXPECT_EQ(said.status, 0);
    for (const char* node : {"/dev/sidra0", "/dev/sidra1"})
        EXPECT_NE(said.text.find(fmt::format("no device is named by the UUID of {}", node)), std::string::npos)
            << said.text;
    EXPECT_EQ(devices_in(tree.path("cdi")), "sidra/card\n0 /dev/sidra0\n1 /dev/sidra1\nall /dev/sidra0 /dev/sidra1\n");
}

TEST(Cdi, NoCard) {
    const Tree tree;
    EXPECT_EQ(cdi(tree, "--output " + tree.path("cdi")).status, 1);
    tree.function("0000:03:00.0");
    const sidra::test::Publisher model(tree, 0);
    const Said said = cdi(tree, "--output " + tree.path("cdi"));
    EXPECT_EQ(said.status, 1);
    EXPECT_NE(said.text.find("sidra-smi: no card has a node that a container could use"), std::string::npos)
        << said.text;
    EXPECT_FALSE(std::filesystem::exists(tree.path("cdi")));
}

TEST(Cdi, AFileThatCannotBeWrittenStaysAsItWas) {
    const Tree tree;
    tree.card(0, "0000:01:00.0");
    tree.write("cdi", "before");
    const Said said = cdi(tree, "--output " + tree.path("cdi/more.json"));
    EXPECT_EQ(said.status, 64) << said.text;
    EXPECT_EQ(content(tree.path("cdi")), "before");
    EXPECT_EQ(cdi(tree, ">/dev/full").status, 64);
}

}  // namespace
