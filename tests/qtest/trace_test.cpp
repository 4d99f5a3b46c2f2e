// SPDX-License-Identifier: MIT
// The trace of a card: whole when QEMU ends, which unplugs nothing.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "fixture.h"

namespace sidra::qtest {
namespace {

using Trace = Qtest;

TEST_F(Trace, IsWholeWhenTheMachineEnds) {
    const std::string path = "/tmp/sidra-qtest-trace-" + std::to_string(getpid());
    bring_up({std::string(kSmallCard) + ",trace-file=" + path});
    machine.reset();
    std::ifstream file(path);
    const std::string all{std::istreambuf_iterator<char>(file), {}};
    std::filesystem::remove(path);
    EXPECT_EQ(all.substr(0, 2), "[\n");
    EXPECT_NE(all.find("\"name\":\"summary\""), std::string::npos) << all;
    ASSERT_GE(all.size(), 3u);
    EXPECT_EQ(all.substr(all.size() - 3), "\n]\n");
}

TEST_F(Trace, AFileThatCannotBeIsRefused) {
    machine = std::make_unique<Machine>(
        std::vector<std::string>{"-device", "pcie-root-port,id=rp,addr=6.0,chassis=1,slot=1"});
    const std::string answer = machine->qmp(
        R"({"execute": "device_add", "arguments": {"driver": "sidra", "bus": "rp", "id": "late", "trace-file": "/no/such"}})");
    EXPECT_NE(answer.find("trace file '/no/such' cannot be written: No such file"), std::string::npos) << answer;
}

}  // namespace
}  // namespace sidra::qtest
