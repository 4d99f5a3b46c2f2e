// SPDX-License-Identifier: MIT
// The driver's dumps in /sys/class/devcoredump after errors that it detects itself: the reader has no other
// information.
#include <map>
#include <sstream>

#include "dumps.h"

namespace sidra::test {
namespace {

class Coredump : public NodeTest {
   protected:
    const Card card;
    const Dumps dumps{card.name()};

    void SetUp() override {
        NodeTest::SetUp();
        ASSERT_TRUE(card.known()) << "only root reads dumps";
        dumps.release_all();
    }
    // Waits for a dump, reads and releases it. Values by key; the first line is the format.
    std::map<std::string, std::string> take() const {
        std::map<std::string, std::string> values;
        std::istringstream file(dumps.take());
        std::string line;
        bool first = true;
        for (; std::getline(file, line); first = false) {
            const size_t colon = line.find(": ");
            EXPECT_NE(colon, std::string::npos) << line;
            EXPECT_TRUE(!first || line == "sidra-coredump: 1") << line;
            EXPECT_TRUE(values.emplace(line.substr(0, colon), line.substr(colon + 2)).second) << line;
        }
        return values;
    }
    // The one of a line's NAME=VALUE.
    static std::string part(const std::string& line, const std::string& name) {
        std::istringstream words(line);
        for (std::string word; words >> word;)
            if (word.rfind(name + "=", 0) == 0) return word.substr(name.size() + 1);
        return "none";
    }
    static std::string number(uint64_t value) { return std::to_string(value); }
    static std::string hex(uint64_t value) {
        std::ostringstream text;
        text << "0x" << std::hex << value;
        return text.str();
    }
    // As bytes of a packet are printed.
    static std::string bytes_of(uint64_t value) {
        std::string text;
        for (int i = 0; i < 8; i++, value >>= 8) {
            text += "0123456789abcdef"[value >> 4 & 15];
            text += "0123456789abcdef"[value & 15];
        }
        return text;
    }
    void expect_card(const std::map<std::string, std::string>& dump, bool link = true) const {
        ASSERT_EQ(dump.count("card"), 1u);
        EXPECT_EQ(dump.at("card"), card.name());
        EXPECT_EQ(dump.at("link"), link ? "up" : "lost");
        EXPECT_EQ(dump.count("register.ID"), link ? 1u : 0u) << "a link that is gone is not asked";
        if (link) EXPECT_EQ(dump.at("register.ID"), hex(SIDRA_ID_MAGIC));
        std::string uuid;
        std::ifstream("/sys/class/sidra/sidra0/uuid") >> uuid;
        EXPECT_EQ(dump.at("uuid"), uuid);
    }
};

TEST_F(Coredump, OfAQueueThatDoesNotGetOn) {
    Node node;
    Context context(node);
    Buffer buffer(context, 1 << 16);
    Queue user(context, SIDRA_QUEUE_USER), kernel(context, SIDRA_QUEUE_KERNEL);
    EXPECT_EQ(user.wait(user.push(nop())), 0);
    constexpr uint64_t kSecret = 0x5ec0e70123456789;
    ASSERT_TRUE(knob("stall", 1));
    sidra_cmd fill = packet(SIDRA_CMD_FILL);
    fill.fill.dst = buffer.va;
    fill.fill.pattern = kSecret;
    fill.fill.pattern_bytes = 8;
    fill.fill.bytes = 4096;
    for (int i = 0; i < 12; i++) user.push(fill);
    ASSERT_EQ(kernel.submit({copy(buffer.va, buffer.va + 8192, 4096), nop()}), 0);
    EXPECT_EQ(wait_for_time_out(user, user.next), -EIO);
    EXPECT_EQ(wait_for_time_out(kernel, 2), -EIO);
    ASSERT_TRUE(knob("stall", 0));

    const auto dump = take();
    ASSERT_NO_FATAL_FAILURE(expect_card(dump));
    EXPECT_EQ(dump.at("cause"), "queue-timeout");
    const std::string slot = number(user.state->fault.context);
    const auto name = [&](const Queue& queue) { return slot + "." + number(queue.create.queue); };
    EXPECT_TRUE(dump.at("subject") == "queue " + number(user.create.queue) + " of context " + slot ||
                dump.at("subject") == "queue " + number(kernel.create.queue) + " of context " + slot);
    EXPECT_EQ(part(dump.at("context." + slot), "lost"), "0");
    const std::string of_user = dump.at("queue." + name(user)), of_kernel = dump.at("queue." + name(kernel));
    EXPECT_EQ(part(of_user, "kind"), number(SIDRA_QUEUE_USER));
    EXPECT_EQ(part(of_user, "timeline"), "1");
    EXPECT_EQ(part(of_user, "index"), "13");
    EXPECT_EQ(part(of_kernel, "kind"), number(SIDRA_QUEUE_KERNEL));
    EXPECT_EQ(part(of_kernel, "index"), "2");
    for (uint64_t at = 1; at < 9; at++)
        EXPECT_EQ(dump.at("packet." + name(user) + "." + number(at)), "opcode=" + number(SIDRA_CMD_FILL));
    EXPECT_EQ(dump.count("packet." + name(user) + ".9"), 0u) << "eight are enough";
    const std::string copied = dump.at("packet." + name(kernel) + ".0");
    EXPECT_EQ(part(copied, "opcode"), number(SIDRA_CMD_COPY));
    EXPECT_NE(copied.find(bytes_of(buffer.va + 8192)), std::string::npos) << copied;
    for (const auto& [key, value] : dump)
        EXPECT_EQ(value.find(bytes_of(kSecret)), std::string::npos) << "a user's data: " << key;
    ASSERT_EQ(user.reset(), 0);
    EXPECT_EQ(user.wait(user.push(nop())), 0);
    // A dump of the other queue may be pending: unbinding the driver discards it, so that no other test takes it.
    ASSERT_TRUE(card.unbind());
    ASSERT_TRUE(card.bind());
}

TEST_F(Coredump, OfAnAcknowledgementThatDoesNotCome) {
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_USER);
    std::vector<uint8_t> memory(1 << 16);
    sidra_ioctl_buffer_register enroll{reinterpret_cast<uintptr_t>(memory.data()), memory.size(), 0, 0};
    ASSERT_EQ(node.call(SIDRA_IOCTL_BUFFER_REGISTER, enroll), 0);
    sidra_ioctl_buffer_unbind unbind{context.vm, enroll.handle, Buffer::bind(context, enroll.handle)};
    ASSERT_TRUE(knob("no-quiesce-ack", 1));
    EXPECT_EQ(node.call(SIDRA_IOCTL_BUFFER_UNBIND, unbind), 0);
    ASSERT_TRUE(knob("no-quiesce-ack", 0));
    const auto dump = take();
    ASSERT_NO_FATAL_FAILURE(expect_card(dump));
    EXPECT_EQ(dump.at("cause"), "no-acknowledgement");
    const std::string op = number(SIDRA_ADMIN_QUIESCE_RANGE);
    EXPECT_EQ(dump.at("subject"), "admin command " + op + " of context " + number(queue.state->fault.context));
    EXPECT_EQ(part(dump.at("admin"), "op"), op);
    EXPECT_EQ(std::stoull(dump.at("register.ADMIN_STATUS"), nullptr, 16) & SIDRA_ADMIN_BUSY,
              uint64_t{SIDRA_ADMIN_BUSY});
}

TEST_F(Coredump, OfALinkThatIsLost) {
    Node node;
    Context context(node);
    ASSERT_TRUE(knob("link-lost", 1));
    EXPECT_TRUE(finds_lost_link(node));
    const auto dump = take();
    ASSERT_TRUE(knob("link-lost", 0));
    ASSERT_NO_FATAL_FAILURE(expect_card(dump, false));
    EXPECT_EQ(dump.at("cause"), "link-lost");
    device_of(node);
}

TEST_F(Coredump, OfAnErrorOfTheBus) {
    Node node;
    Context context(node);
    ASSERT_TRUE(qmp("human-monitor-command 'command-line=pcie_aer_inject_error sidra0 COMP_TIME'"));
    const auto dump = take();
    ASSERT_NO_FATAL_FAILURE(expect_card(dump));
    EXPECT_EQ(dump.at("cause"), "bus-error");
    EXPECT_EQ(dump.at("subject"), "not fatal");
    EXPECT_EQ(state_of(context), SIDRA_CONTEXT_LOST);
}

TEST_F(Coredump, NotOfWhatIsAUsersOwnFaultOrWish) {
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_USER);
    EXPECT_EQ(queue.wait(queue.push(packet(static_cast<sidra_cmd_opcode>(99)))), -EIO);
    ASSERT_EQ(queue.reset(), 0);
    sidra_ioctl_device_reset reset{0};
    ASSERT_EQ(node.call(SIDRA_IOCTL_DEVICE_RESET, reset), 0);
    EXPECT_EQ(state_of(context), SIDRA_CONTEXT_LOST);
    // The steps above left no dump: it would be the first one here.
    ASSERT_TRUE(knob("link-lost", 1));
    EXPECT_TRUE(finds_lost_link(node));
    EXPECT_EQ(take()["cause"], "link-lost");
    ASSERT_TRUE(knob("link-lost", 0));
    device_of(node);
}

TEST_F(Coredump, NothingIsLeftWhenTheDriverGoes) {
    {
        Node node;
        ASSERT_TRUE(knob("link-lost", 1));
        EXPECT_TRUE(finds_lost_link(node));
        ASSERT_TRUE(eventually([this] { return !dumps.pending().empty(); }));
        ASSERT_TRUE(knob("link-lost", 0));
    }
    ASSERT_TRUE(card.unbind());
    EXPECT_EQ(dumps.pending(), "");
    ASSERT_TRUE(card.bind());
}

}  // namespace
}  // namespace sidra::test
