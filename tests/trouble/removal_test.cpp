// SPDX-License-Identifier: MIT
// The card is removed while everything of it is in use, and comes back.
#include <libdrm/drm.h>

#include <thread>

#include "attribute_waiters.h"
#include "page_waiters.h"
#include "stuck_call.h"
#include "watchers.h"

namespace sidra::test {
namespace {

// The card's slot, through the configuration space of its port.
class Slot {
   public:
    explicit Slot(const Card& card) {
        char target[512] = {};
        if (readlink(("/sys/bus/pci/devices/" + card.name()).c_str(), target, sizeof target - 1) < 0) return;
        const std::string path = target;  // .../<port>/<card>
        const size_t end = path.rfind('/'), begin = path.rfind('/', end - 1) + 1;
        const std::string port = path.substr(begin, end - begin);
        native_ = access(("/sys/bus/pci_express/devices/" + port + kHotplugService).c_str(), F_OK) == 0;
        fd_ = open(("/sys/bus/pci/devices/" + port + "/config").c_str(), O_RDWR | O_CLOEXEC);
        uint8_t at = 0, capability[2] = {};
        if (pread(fd_, &at, 1, kCapabilities) != 1) return;
        for (; at != 0 && capability[0] != kExpress; at = capability[1]) {
            if (pread(fd_, capability, 2, at) != 2) return;
            control_at_ = at + kControl;
        }
    }
    ~Slot() {
        if (fd_ >= 0) close(fd_);
    }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

    // Simulates pulling the card: switches the power off with the port's interrupts disabled, and restores both. The
    // card is gone at once, before the kernel notices.
    bool pull() const {
        const uint16_t control = read();
        return write(static_cast<uint16_t>((control | kOff) & ~kInterrupt)) && write(control);
    }
    // The slot is at rest. The PCI Express port driver switches it off some time after the node has gone, and would
    // unplug a card plugged in earlier. With ACPI the power stays on.
    bool rests() const { return !native_ || (read() & kOff) == kOff; }

   private:
    // PCI Express Base Specification, Slot Control Register.
    static constexpr uint8_t kCapabilities = 0x34, kExpress = 0x10, kControl = 0x18;
    static constexpr uint16_t kOff = 0x0400 | 0x0300, kInterrupt = 0x0020;  // power; its indicator
    static constexpr const char* kHotplugService = ":pcie004";

    uint16_t read() const {
        uint16_t control = 0;
        EXPECT_EQ(pread(fd_, &control, sizeof control, control_at_), 2);
        return control;
    }
    bool write(uint16_t control) const { return pwrite(fd_, &control, sizeof control, control_at_) == 2; }

    int fd_ = -1, control_at_ = 0;
    bool native_ = false;
};

bool plug(const Card&, const Slot& slot) {
    return eventually([&] { return slot.rests(); }) &&
           eventually([] { return qmp("device_add driver=sidra bus=port0 id=sidra0"); }) && Card::comes();
}

struct Way {
    const char* name;
    int fast, full;  // rounds
    bool (*out)(const Card& card, const Slot& slot);
    bool (*in)(const Card& card, const Slot& slot);
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

const Way kOfTheDriver[] = {
    {"Unbind", 3, 50, [](const Card& card, const Slot&) { return card.unbind(); },
     [](const Card& card, const Slot&) { return card.bind(); }},
};
const Way kOfTheSlot[] = {
    {"InOrder", 1, 10, [](const Card& card, const Slot&) { return qmp("device_del id=sidra0") && card.goes(); }, plug},
    {"Pulled", 2, 50, [](const Card& card, const Slot& slot) { return slot.pull() && card.goes(); }, plug},
    {"LinkLostBefore", 1, 10,
     [](const Card& card, const Slot& slot) { return knob("link-lost", 1) && slot.pull() && card.goes(); }, plug},
};

class Removal : public NodeTest, public testing::WithParamInterface<Way> {};

TEST_P(Removal, UnderLoad) {
    const Way& way = GetParam();
    const Card card;
    ASSERT_TRUE(card.known());
    const Slot slot(card);
    for (int round = 0; round < rounds(way.fast, way.full); round++) {
        Node node;
        Context context(node);
        Queue queue(context, SIDRA_QUEUE_USER), kernel(context, SIDRA_QUEUE_KERNEL), parked(context, SIDRA_QUEUE_USER);
        Buffer buffer(context, 1 << 20), local(context, 65536, SIDRA_BUFFER_LOCAL);
        std::vector<uint8_t> memory(1 << 20);
        sidra_ioctl_buffer_register enroll{reinterpret_cast<uintptr_t>(memory.data()), memory.size(), 0, 0};
        ASSERT_EQ(node.call(SIDRA_IOCTL_BUFFER_REGISTER, enroll), 0);
        const uint64_t registered = Buffer::bind(context, enroll.handle);
        drm_prime_handle import{0, 0, foreign_buffer(1 << 20)}, exported{buffer.handle, DRM_CLOEXEC | DRM_RDWR, -1};
        ASSERT_GE(import.fd, 0);
        ASSERT_EQ(node.call(DRM_IOCTL_PRIME_FD_TO_HANDLE, import), 0);
        ASSERT_EQ(node.call(DRM_IOCTL_PRIME_HANDLE_TO_FD, exported), 0);
        const uint64_t foreign = Buffer::bind(context, import.handle);
        sidra_ioctl_weights_create weights{
            context.handle, SIDRA_ENCODING_OFFSET, 16, 16, SIDRA_WEIGHTS_RIGHTS, 0, 0, 0, 0};
        ASSERT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_CREATE, weights), 0);
        sidra_ioctl_weights_share share{context.handle, weights.index, SIDRA_WEIGHTS_RIGHTS, -1, 0, 0, 0};
        ASSERT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_SHARE, share), 0);
        local.words[0] = 1;
        parked.push(sem_wait(buffer.va, 1));
        for (int i = 0; i < 30; i++) queue.push(copy(i % 2 ? registered : foreign, buffer.va, 1 << 20));
        for (int i = 0; i < 30; i++) kernel.submit({copy(buffer.va + 65536, registered, 65536)});
        const std::vector<sidra_cmd> packets = {nop()};
        sidra_ioctl_submit fenced = kernel.request(packets);
        fenced.flags = SIDRA_SUBMIT_OUT_FENCE;
        ASSERT_EQ(node.call(SIDRA_IOCTL_SUBMIT, fenced), 0);
        const int event = eventfd(0, EFD_CLOEXEC);
        sidra_ioctl_arm arm{context.handle, parked.create.queue, 1, event, 0, parked.epoch(), 0};
        ASSERT_EQ(node.call(SIDRA_IOCTL_ARM, arm), 0);
        int waited = 0;
        std::thread waiter([&] { waited = parked.wait(1); });
        sleep_ms(20);

        EXPECT_TRUE(way.out(card, slot));
        waiter.join();
        EXPECT_TRUE(waited == -ENODEV || waited == -EIO) << waited;  // -EIO: the link was lost first
        pollfd fired{event, POLLIN, 0}, signalled{fenced.out_fence_fd, POLLIN, 0};
        EXPECT_EQ(poll(&fired, 1, static_cast<int>(kPatienceMs)), 1);
        EXPECT_EQ(poll(&signalled, 1, static_cast<int>(kPatienceMs)), 1);
        EXPECT_NE(access(node_path().c_str(), F_OK), 0);
        EXPECT_EQ(queue.run_state(), SIDRA_QUEUE_LOST);
        sidra_ioctl_device_query query{};
        EXPECT_EQ(node.call(SIDRA_IOCTL_DEVICE_QUERY, query), -ENODEV);
        EXPECT_EQ(kernel.submit({nop()}), -ENODEV);
        EXPECT_EQ(queue.wait(1000), -ENODEV);
        EXPECT_EQ(node.map(queue.create.state_offset, SIDRA_PAGE_SIZE, PROT_READ), nullptr);
        // Mappings stay: memory keeps its contents, registers and L3 become private pages.
        queue.push(nop());
        local.words[0] = 7;
        EXPECT_EQ(local.words[0], 7u);
        buffer.words[5] = 9;
        EXPECT_EQ(buffer.words[5], 9u);

        ASSERT_TRUE(way.in(card, slot));
        {
            Node fresh;
            Context its_context(fresh);
            Queue its_queue(its_context, SIDRA_QUEUE_USER);
            EXPECT_EQ(its_queue.wait(its_queue.push(nop())), 0);
            EXPECT_EQ(node.call(SIDRA_IOCTL_DEVICE_QUERY, query), -ENODEV) << "the old file stays dead";
            queue.kick();
            sidra_ioctl_weights_import again{};
            again.context = its_context.handle;
            again.fd = share.fd;
            EXPECT_EQ(fresh.call(SIDRA_IOCTL_WEIGHTS_IMPORT, again), -ENOENT);
        }
        close(share.fd);
        close(event);
        close(fenced.out_fence_fd);
        close(import.fd);
        close(exported.fd);
    }
}

// Waiters for fences do not delay the removal, and each job has ended when the card is gone.
TEST_P(Removal, WhileTheyWaitForFences) {
    const Way& way = GetParam();
    for (int round = 0; round < rounds(1, 10); round++) {
        const Card card;
        ASSERT_TRUE(card.known());
        const Slot slot(card);
        {
            const Node node;
            const Context context(node);
            FenceWaiters waiters(context);
            EXPECT_TRUE(way.out(card, slot));
            waiters.expect_job_ended();
            waiters.expect_others_wait(-ENODEV);
        }
        knob("stall", 0);  // of the card that stays in its slot
        ASSERT_TRUE(way.in(card, slot));
    }
}

// A call that waits for memory of its program, perhaps for ever, does not delay the removal either.
TEST_P(Removal, WhileTheyWaitForPages) {
    const Way& way = GetParam();
    MissingPages pages(PageWaiters::kPages);
    ASSERT_TRUE(pages.known()) << "the kernel has no CONFIG_USERFAULTFD";
    const Card card;
    ASSERT_TRUE(card.known());
    const Slot slot(card);
    {
        const Node node;
        const Context context(node);
        PageWaiters waiters(context, pages);
        EXPECT_TRUE(way.out(card, slot));
        waiters.expect_wait(-ENODEV);
    }
    ASSERT_TRUE(way.in(card, slot));
}

// Nor does a call that waits for a chip that does not acknowledge a command, nor who waits behind it, nor readers and
// writers of attributes, who wait for the chip or for its firmware.
TEST_P(Removal, WhileTheyWaitForTheChip) {
    const Way& way = GetParam();
    for (int round = 0; round < rounds(1, 10); round++) {
        const Card card;
        ASSERT_TRUE(card.known());
        const Slot slot(card);
        {
            const Node node;
            const Context context(node);
            const Buffer buffer(context, SIDRA_PAGE_SIZE);
            StuckCall stuck;
            Caller behind("BUFFER_UNBIND behind it", [&] {
                sidra_ioctl_buffer_unbind unbind{context.vm, buffer.handle, buffer.va};
                return node.call(SIDRA_IOCTL_BUFFER_UNBIND, unbind);
            });
            EXPECT_TRUE(stays_asleep([&] { return behind.state() == 'D'; }));
            FirmwareWaiters firmware_waiters;
            AttributeWaiter reader(kClass + "crossbars");
            EXPECT_TRUE(stays_asleep([&] { return reader.sleeps(); }));
            EXPECT_TRUE(way.out(card, slot));
            EXPECT_TRUE(stuck.patient()) << "it waited until the driver gave up the command";
            stuck.expect_removed();
            EXPECT_EQ(behind.result(), 0);
            reader.expect_removed();
            firmware_waiters.expect_removed();
        }
        ASSERT_TRUE(way.in(card, slot));
    }
}

// Reads of all that the kernel shows of the card, also through open files.
TEST_P(Removal, WhileTheyRead) {
    const Way& way = GetParam();
    for (int round = 0; round < rounds(2, 20); round++) {
        const Card card;
        ASSERT_TRUE(card.known());
        const Slot slot(card);
        Watchers watchers;
        watchers.look();
        ASSERT_TRUE(way.out(card, slot));
        watchers.look();
        watchers.stop();
        ASSERT_TRUE(way.in(card, slot));
    }
}

std::string name_of(const testing::TestParamInfo<Way>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Driver, Removal, testing::ValuesIn(kOfTheDriver), name_of);
INSTANTIATE_TEST_SUITE_P(Slot, Removal, testing::ValuesIn(kOfTheSlot), name_of);

}  // namespace
}  // namespace sidra::test
