// SPDX-License-Identifier: MIT
// sidra-smi slurm: the lines of gres.conf for cards in several places. tests/slurm.sh gives them to Slurm itself.
#include "slurm_document.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tree.h"

namespace sidra::smi_tool {
namespace {

// The lines without comments.
std::vector<std::string> lines(const std::vector<SlurmCard>& cards, const Cores& cores) {
    std::vector<std::string> found;
    const std::string text = slurm_document(cards, cores);
    for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
        if (text[at] != '#') found.push_back(text.substr(at, text.find('\n', at) - at));
    return found;
}

// Two sockets with two cores each, and two threads in each core. As on many machines, the second threads have the
// higher numbers, and the numbers of cores have gaps.
void write_machine(const test::Tree& tree) {
    for (unsigned cpu = 0; cpu < 8; ++cpu) {
        const std::string folder = fmt::format("sys/devices/system/cpu/cpu{}/topology/", cpu);
        tree.write(folder + "physical_package_id", fmt::format("{}\n", cpu / 2 % 2));
        tree.write(folder + "core_id", fmt::format("{}\n", cpu % 2 * 4));
    }
    tree.write("sys/devices/system/cpu/cpufreq/boost", "0\n");
    tree.write("sys/devices/system/cpu/cpu8/online", "0\n");  // no topology while it is offline
}

TEST(Slurm, CoresAreCountedSocketBySocket) {
    const test::Tree tree;
    write_machine(tree);
    const Cores expected = {{0, 0}, {4, 0}, {1, 1}, {5, 1}, {2, 2}, {6, 2}, {3, 3}, {7, 3}};
    EXPECT_EQ(read_cores(tree.root()), expected);
    const test::Tree none;
    EXPECT_TRUE(read_cores(none.root()).empty());
}

TEST(Slurm, CoresNearACard) {
    const test::Tree tree;
    write_machine(tree);
    const Cores cores = read_cores(tree.root());
    const auto of = [&](const char* cpus) { return lines({{"/dev/sidra0", "", cpus, ""}}, cores)[0]; };
    EXPECT_EQ(of("0-1,4-5"), "Name=sidra Type=y1 File=/dev/sidra0 Cores=0-1");
    EXPECT_EQ(of("2,3,6,7"), "Name=sidra Type=y1 File=/dev/sidra0 Cores=2-3");
    EXPECT_EQ(of("0,3"), "Name=sidra Type=y1 File=/dev/sidra0 Cores=0,3");
    // All cores, none that is known, and what is no list say nothing.
    for (const char* cpus : {"0-7", "", "9", "x", "3-1", "0-", "1,,2", "0-99999999999"})
        EXPECT_EQ(of(cpus), "Name=sidra Type=y1 File=/dev/sidra0") << cpus;
    EXPECT_EQ(lines({{"/dev/sidra0", "", "0-1", ""}}, {})[0], "Name=sidra Type=y1 File=/dev/sidra0");
}

TEST(Slurm, LinksBelowOnePort) {
    const std::vector<SlurmCard> cards = {{"/dev/sidra0", "", "", "0000:00:01.0"},
                                          {"/dev/sidra1", "", "", ""},
                                          {"/dev/sidra5", "", "", "0000:00:01.0"},
                                          {"/dev/sidra6", "", "", ""}};
    EXPECT_EQ(lines(cards, {}), (std::vector<std::string>{
                                    "Name=sidra Type=y1 File=/dev/sidra0 Links=-1,0,1,0",
                                    "Name=sidra Type=y1 File=/dev/sidra1 Links=0,-1,0,0",
                                    "Name=sidra Type=y1 File=/dev/sidra5 Links=1,0,-1,0",
                                    "Name=sidra Type=y1 File=/dev/sidra6 Links=0,0,0,-1",
                                }));
}

}  // namespace
}  // namespace sidra::smi_tool
