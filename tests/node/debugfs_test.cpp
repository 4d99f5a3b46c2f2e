// SPDX-License-Identifier: MIT
// The driver's files in debugfs.
#include "attributes.h"

namespace sidra::test {
namespace {

class Debugfs : public NodeTest {
   protected:
    const Card card;
    std::string folder;

    void SetUp() override {
        NodeTest::SetUp();
        ASSERT_TRUE(card.known());
        folder = "/sys/kernel/debug/accel/" + card.name() + '/';
    }
    std::string file(const std::string& name) const { return read_file(folder + name).bytes; }
};

TEST_F(Debugfs, IsDocumented) {
    std::set<std::string> files = files_in(folder);
    for (const char* of_drm : {"clients", "gem_names", "name"}) files.erase(of_drm);
    EXPECT_EQ(files, documented("debugfs-sidra"));
}

TEST_F(Debugfs, ContextsQueuesAndPageTables) {
    EXPECT_EQ(file("contexts"), "");
    EXPECT_EQ(file("queues"), "");
    const Node node;
    const Context context(node);
    const Buffer host(context, 3 * SIDRA_PAGE_SIZE), local(context, SIDRA_PAGE_SIZE, SIDRA_BUFFER_LOCAL);
    Queue queue(context, SIDRA_QUEUE_KERNEL);
    uint64_t value = 0;
    ASSERT_EQ(queue.submit({nop(), nop()}, &value), 0);
    ASSERT_EQ(queue.wait(value), 0);
    EXPECT_NE(file("contexts")
                  .find("context=0 handle=" + std::to_string(context.handle) +
                        " generation=1 state=ok fault=0 queues=1 weights=0 buffers=2"),
              std::string::npos)
        << file("contexts");
    EXPECT_NE(file("queues").find("context=0 queue=0 kind=kernel priority=1 ring=64 "), std::string::npos)
        << file("queues");
    EXPECT_NE(file("queues").find(" timeline=2 index=2 "), std::string::npos) << file("queues");
    for (const Buffer* buffer : {&host, &local}) {
        char first[32];
        std::snprintf(first, sizeof first, "  %#011llx..", static_cast<unsigned long long>(buffer->va));
        const std::string tables = file("page_tables");
        const size_t at = tables.find(first);
        ASSERT_NE(at, std::string::npos) << first << " in\n" << tables;
        EXPECT_NE(tables.substr(at, tables.find('\n', at) - at).find(buffer == &local ? " l3 " : " bus "),
                  std::string::npos);
    }
    sidra_ioctl_context destroy{context.handle, 0};
    ASSERT_EQ(node.call(SIDRA_IOCTL_CONTEXT_DESTROY, destroy), 0);
    EXPECT_EQ(file("page_tables"), "");
}

TEST_F(Debugfs, WrongWritesOfRegistersAreRefused) {
    const auto refused = [&](const std::string& text) { return write_text(folder + "reg", text) ? 0 : errno; };
    EXPECT_EQ(refused(std::string(64, 'x')), EINVAL) << "longer than any name and number";
    EXPECT_EQ(refused("SCRATCH"), EINVAL) << "no value";
    EXPECT_EQ(refused("SCRATCH one"), EINVAL);
    EXPECT_EQ(refused("SCRATCH 0x100000000"), EINVAL) << "more than 32 bits";
    EXPECT_EQ(refused("NOTHING 1"), ENOENT);
    EXPECT_EQ(refused("ID 1"), EACCES) << "read only";
    EXPECT_EQ(refused("SCRATCH 77"), 0);
    EXPECT_NE(file("regs").find(" 0xffffffb2\n"), std::string::npos) << "it reads as the complement";
}

TEST_F(Debugfs, LogOfTheFirmware) {
    ASSERT_TRUE(eventually([] { return attribute("firmware_version").line() != "none"; }));
    EXPECT_TRUE(eventually([&] {  // it may go on between the two
        const std::string told = file("log");
        return told.find("running") != std::string::npos && told == attribute("firmware_log").bytes;
    })) << file("log");
}

}  // namespace
}  // namespace sidra::test
