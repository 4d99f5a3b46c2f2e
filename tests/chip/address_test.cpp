// SPDX-License-Identifier: MIT
// Addresses that no driver writes, wherever the chip takes one: tables, registers, admin commands and a migration
// stream. The chip must not touch other memory of its process, must not ask its host for addresses beyond the bus, and
// must not hang.
#include <unistd.h>
#include <algorithm>
#include <atomic>

#include <initializer_list>

#include "bench.h"
#include "packets.h"
#include "stream.h"

namespace sidra::chip_test {
namespace {

constexpr uint64_t kBusEnd = uint64_t{1} << 52;
constexpr uint64_t kLocalBit = uint64_t{1} << 62;  // once meant L3 inside the chip

// All are 4 KiB aligned, so that only their size is wrong.
constexpr std::initializer_list<uint64_t> kBeyond = {
    ~uint64_t{0} - kPage + 1,
    ~uint64_t{0} - 2 * kPage + 1,
    kBusEnd,
    kBusEnd + kPage,
    kLocalBit,
    kLocalBit | kPage,
    uint64_t{1} << 63,
    (uint64_t{1} << 63) + kPage,
    kLocalBit | uint64_t{1} << 46,  // far from L3
};

// Ends a process whose chip hangs, with SIGALRM.
class Deadline {
   public:
    Deadline() { alarm(static_cast<unsigned>(kPatience.count())); }
    ~Deadline() { alarm(0); }
    Deadline(const Deadline&) = delete;
    Deadline& operator=(const Deadline&) = delete;
};

// Records the highest address that the chip asks its host for.
class Asked {
   public:
    explicit Asked(Bench& bench) : bench_(bench) {
        bench.bus().set_outside_refused(true);
        bench.set_dma_hook([this](uint64_t bus) {
            uint64_t highest = highest_.load();
            while (highest < bus && !highest_.compare_exchange_weak(highest, bus)) {
            }
        });
    }
    ~Asked() { bench_.set_dma_hook(nullptr); }
    Asked(const Asked&) = delete;
    Asked& operator=(const Asked&) = delete;
    uint64_t highest() const { return highest_.load(); }

   private:
    Bench& bench_;
    std::atomic<uint64_t> highest_{0};
};

using QueueField = uint64_t sidra_hw_queue::*;
struct NamedField {
    const char* name;
    QueueField field;
};
constexpr NamedField kQueueFields[] = {{"ring", &sidra_hw_queue::ring},
                                       {"write_index", &sidra_hw_queue::write_index},
                                       {"state", &sidra_hw_queue::state},
                                       {"report", &sidra_hw_queue::report}};

TEST(Addresses, QueueEntriesBeyondTheirSpaceAreNotLoaded) {
    const Deadline deadline;
    for (const bool kernel : {true, false})
        for (const NamedField& named : kQueueFields)
            for (const uint64_t value : kBeyond) {
                SCOPED_TRACE(::testing::Message()
                             << (kernel ? "kernel" : "user") << " queue, " << named.name << " 0x" << std::hex << value);
                Bench bench;
                const Asked asked(bench);
                Context& context = bench.context();
                Queue& queue = context.queue({.kernel = kernel});
                for (unsigned i = 0; i < 3; i++) queue.push(nop());
                queue.publish();
                const sidra_hw_queue sound = queue.entry();
                queue.entry().*named.field = value;
                queue.store_entry();
                queue.doorbell();
                bench.run(1000);
                EXPECT_LT(asked.highest(), kBusEnd);
                queue.entry() = sound;
                const sidra_queue_state state = queue.state();
                EXPECT_EQ(state.timeline, 0u);
                EXPECT_EQ(state.fault.cause, uint32_t{SIDRA_FAULT_NONE}) << "it was never loaded";
                // With its own entry the same queue runs.
                queue.store_entry();
                queue.doorbell();
                bench.run(1000);
                EXPECT_TRUE(retired(queue));
                if (HasFailure()) return;
            }
}

TEST(Addresses, KernelQueueReadsNoMemoryOfTheChip) {
    const Deadline deadline;
    Bench bench;
    const Asked asked(bench);
    Context& context = bench.context();
    Queue& queue = context.queue({.kernel = true});
    const uint64_t planted = 0x5ec2e75ec2e7;
    std::memcpy(bench.l3() + kPage, &planted, sizeof planted);
    queue.entry().write_index = kLocalBit | kPage;
    queue.store_entry();
    queue.doorbell();
    bench.run(1000);
    EXPECT_NE(queue.state().fault.address, planted) << "L3 came back in a fault record";
    EXPECT_EQ(queue.timeline(), 0u);
    EXPECT_LT(asked.highest(), kBusEnd);
}

TEST(Addresses, LastPageOfTheBusIsAPageAsAnyOther) {
    const Deadline deadline;
    Bench bench;
    const Asked asked(bench);
    Context& context = bench.context();
    Queue& queue = context.queue({.kernel = true});
    queue.push(nop());
    queue.publish();
    const sidra_hw_queue sound = queue.entry();
    for (const NamedField& named : kQueueFields) {
        queue.entry() = sound;
        // Neither the ring nor the reports of 64 packets are longer than that.
        queue.entry().*named.field = kBusEnd - kPage;
        queue.store_entry();
        queue.doorbell();
        bench.run(1000);
        EXPECT_LE(asked.highest(), kBusEnd - 8) << named.name;
        EXPECT_EQ(bench.admin(SIDRA_ADMIN_RESET_CONTEXT, context.index()), uint32_t{SIDRA_ADMIN_OK});
    }
    EXPECT_GE(asked.highest(), kBusEnd - kPage) << "the host is asked, and refuses";
    // In a ring longer by one page, the next page lies beyond the bus.
    bench.bus().store64(sound.state, 0);  // the timeline
    queue.entry() = sound;
    queue.entry().ring = kBusEnd - kPage;
    queue.entry().ring_log2 = 7;
    queue.store_entry();
    queue.doorbell();
    bench.run(1000);
    EXPECT_EQ(queue.timeline(), 0u);
}

TEST(Addresses, ContextEntriesBeyondTheBusAreNotLoaded) {
    const Deadline deadline;
    struct Named {
        const char* name;
        uint64_t sidra_hw_context::*field;
    };
    constexpr Named kFields[] = {{"page_table", &sidra_hw_context::page_table},
                                 {"weights_table", &sidra_hw_context::weights_table},
                                 {"queue_table", &sidra_hw_context::queue_table}};
    for (const Named& named : kFields)
        for (const uint64_t value : kBeyond) {
            SCOPED_TRACE(::testing::Message() << named.name << " 0x" << std::hex << value);
            Bench bench;
            const Asked asked(bench);
            Context& context = bench.context();
            const uint32_t weights = context.weights({.rows = 4, .cols = 4});
            Queue& queue = context.queue();
            const uint64_t data = context.alloc(kPage);
            queue.push(program(weights, 0, 4, 0, 4, data, 4));
            queue.publish();
            const sidra_hw_context sound = context.entry();
            context.entry().*named.field = value;
            context.store_entry();
            queue.doorbell();
            bench.run(1000);
            EXPECT_LT(asked.highest(), kBusEnd);
            EXPECT_EQ(queue.timeline(), 0u);
            EXPECT_EQ(queue.state().fault.cause, uint32_t{SIDRA_FAULT_NONE});
            context.entry() = sound;
            context.store_entry();
            queue.doorbell();
            bench.run(1000);
            EXPECT_TRUE(retired(queue));
            if (HasFailure()) return;
        }
}

TEST(Addresses, WeightsEntriesBeyondTheBusFault) {
    const Deadline deadline;
    for (const uint64_t value : kBeyond) {
        SCOPED_TRACE(::testing::Message() << "tiles 0x" << std::hex << value);
        Bench bench;
        const Asked asked(bench);
        Context& context = bench.context();
        const uint32_t weights = context.weights({.rows = 4, .cols = 4});
        sidra_hw_weights entry = context.weights_entry(weights);
        entry.tiles = value;
        context.store_weights_entry(weights, entry);
        Queue& queue = context.queue();
        const sidra_cmd cmd = program(weights, 0, 4, 0, 4, context.alloc(kPage), 4);
        queue.submit(cmd);
        bench.run(1000);
        EXPECT_LT(asked.highest(), kBusEnd);
        EXPECT_TRUE(faulted(queue, 0, cmd, {{SIDRA_FAULT_WEIGHTS}}));
    }
}

TEST(Addresses, RegistersAndAdminCommandsBeyondTheBusAreRefused) {
    const Deadline deadline;
    Bench bench;
    const Asked asked(bench);
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint64_t data = bench.bus().alloc_page();
    for (const uint64_t value : kBeyond) {
        SCOPED_TRACE(::testing::Message() << "0x" << std::hex << value);
        EXPECT_EQ(bench.admin(SIDRA_ADMIN_TEST_DMA, value, data, 64), uint32_t{SIDRA_ADMIN_BUS_ERROR});
        EXPECT_EQ(bench.admin(SIDRA_ADMIN_TEST_DMA, data, value, 64), uint32_t{SIDRA_ADMIN_BUS_ERROR});
        EXPECT_EQ(bench.admin(SIDRA_ADMIN_NVM_READ, 0, value, 64), uint32_t{SIDRA_ADMIN_BUS_ERROR});
        EXPECT_EQ(bench.admin(SIDRA_ADMIN_NVM_WRITE, 0, value, 64), uint32_t{SIDRA_ADMIN_BUS_ERROR});
        EXPECT_EQ(bench.admin(SIDRA_ADMIN_XBAR_READ, 0, value, 1), uint32_t{SIDRA_ADMIN_BUS_ERROR});
        EXPECT_EQ(bench.admin(SIDRA_ADMIN_XBAR_REPORT, 0, value, 1), uint32_t{SIDRA_ADMIN_BUS_ERROR});
        EXPECT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_RANGE, context.index(), value, kPage), uint32_t{SIDRA_ADMIN_BAD_ARG});
        EXPECT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_RANGE, context.index(), kPage, value), uint32_t{SIDRA_ADMIN_BAD_ARG});
    }
    // The end of a buffer counts, too.
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_TEST_DMA, kBusEnd - 32, data, 64), uint32_t{SIDRA_ADMIN_BUS_ERROR});
    EXPECT_LT(asked.highest(), kBusEnd);
    for (const uint64_t value : kBeyond) {
        sidra_chip_reset(bench.chip());
        bench.write64(SIDRA_REG_CONTEXT_TABLE, value);
        bench.write32(SIDRA_REG_CONTROL, SIDRA_CONTROL_ENABLE);
        queue.submit(nop());
        bench.run(1000);
        EXPECT_EQ(queue.timeline(), 0u);
    }
    EXPECT_LT(asked.highest(), kBusEnd);
}

// A packet of a user queue may contain any address.
TEST(Addresses, PacketsBeyondTheDeviceAddressSpaceFault) {
    const Deadline deadline;
    Bench bench;
    const Asked asked(bench);
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint64_t data = context.alloc(kPage);
    const uint64_t end = uint64_t{1} << SIDRA_VA_BITS;
    std::vector<uint64_t> wild = kBeyond;
    wild.insert(wild.end(), {end, end - kPage / 2 + 64});
    for (const uint64_t at : wild) {
        SCOPED_TRACE(::testing::Message() << "0x" << std::hex << at);
        const sidra_cmd cmds[] = {copy(at, data, kPage),
                                  copy(data, at, kPage),
                                  fill(at, kPage, 0, 8),
                                  timestamp(at == wild.back() ? end - 24 : at),
                                  call(at, 64),
                                  sort(SIDRA_TYPE_F32, 1, 1024, at, data),
                                  sort(SIDRA_TYPE_F32, 1, 1024, data, at)};
        for (const sidra_cmd& cmd : cmds) {
            queue.submit(cmd);
            bench.run(1000);
            EXPECT_TRUE(faulted(queue, 0, cmd, {{SIDRA_FAULT_LIMIT, SIDRA_FAULT_TRANSLATION}}));
            queue.reset();
        }
    }
    EXPECT_LT(asked.highest(), kBusEnd);
}

// ---- The same by migration stream -----------------------------------------------------------------------------------

// Stores a word in the payload of the first chunk with this tag.
Stream forged(const Stream& stream, const char* tag, size_t offset, uint64_t value) {
    Stream copy = stream;
    for (const Chunk& chunk : chunks_of(stream)) {
        if (std::memcmp(&stream[chunk.at], tag, 4) != 0) continue;
        std::memcpy(&copy[chunk.at + 8 + offset], &value, sizeof value);
        sign(&copy);
        return copy;
    }
    ADD_FAILURE() << "no chunk " << tag;
    return copy;
}

class AddressesInStream : public ::testing::TestWithParam<bool> {};

TEST_P(AddressesInStream, AreCheckedAsTheDriversTablesAre) {
    const Deadline deadline;
    constexpr size_t kQueueEntry = 16, kContextEntry = 8;  // offsets in the payloads of QUEU and CTXT
    Bench bench;
    const Asked asked(bench);
    Context& context = bench.context();
    Queue& queue = context.queue({.kernel = GetParam()});
    queue.submit(nop());
    bench.run();
    ASSERT_TRUE(retired(queue));
    queue.push(nop());
    queue.publish();
    queue.doorbell();
    const Stream stream = save(bench);
    ASSERT_EQ(load(bench, stream), "");
    std::vector<std::pair<const char*, size_t>> fields;
    for (const size_t at : {offsetof(sidra_hw_queue, ring), offsetof(sidra_hw_queue, write_index),
                            offsetof(sidra_hw_queue, state), offsetof(sidra_hw_queue, report)})
        fields.emplace_back("QUEU", kQueueEntry + at);
    for (const size_t at : {offsetof(sidra_hw_context, page_table), offsetof(sidra_hw_context, weights_table),
                            offsetof(sidra_hw_context, queue_table)})
        fields.emplace_back("CTXT", kContextEntry + at);
    for (const auto& [tag, offset] : fields)
        for (const uint64_t value : kBeyond) {
            SCOPED_TRACE(::testing::Message() << tag << " + " << offset << " 0x" << std::hex << value);
            EXPECT_NE(load(bench, forged(stream, tag, offset, value)), "");
            bench.run(1000);
            if (HasFailure()) return;
        }
    // A guest may have written anything to a register: the chip checks the address of its table when it uses it.
    for (const uint64_t value : kBeyond) {
        EXPECT_EQ(load(bench, forged(stream, "REGS", 0, value)), "");
        EXPECT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_DEVICE), uint32_t{SIDRA_ADMIN_OK});
        EXPECT_EQ(bench.admin(SIDRA_ADMIN_RESUME_DEVICE), uint32_t{SIDRA_ADMIN_OK});
        bench.run(1000);
    }
    EXPECT_LT(asked.highest(), kBusEnd);
    ASSERT_EQ(load(bench, stream), "");
    bench.run();
    EXPECT_EQ(queue.timeline(), queue.next());
}

INSTANTIATE_TEST_SUITE_P(, AddressesInStream, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "KernelQueue" : "UserQueue"; });

}  // namespace
}  // namespace sidra::chip_test
