// SPDX-License-Identifier: MIT
// COPY and FILL against a byte model, over scattered pages, 2 MiB pages and local memory; CALL.
#include <algorithm>
#include <random>

#include "bench.h"
#include "packets.h"

namespace sidra::chip_test {
namespace {

struct Case {
    bool scatter;
    uint32_t workers;
};

class CopyTest : public ::testing::TestWithParam<Case> {};

// One flat model of three regions that differ in how they are mapped.
class Arena {
   public:
    Arena(Bench& bench, Context& context, uint64_t seed) : context_(context), random_(seed) {
        small_ = context.alloc(kBytes);
        huge_ = context.reserve(SIDRA_HUGE_SIZE, SIDRA_HUGE_SIZE);
        context.space().set(
            huge_, 1,
            bench.bus().alloc(SIDRA_HUGE_SIZE, SIDRA_HUGE_SIZE) | kReadWrite | SIDRA_PTE_VALID | SIDRA_PTE_LEAF);
        local_ = context.reserve(kBytes);
        for (uint64_t at = 0; at < kBytes; at += kPage) {
            context.map(local_ + at, bench.l3_size() - kPage - at, kReadWrite, SIDRA_PTE_LOCAL);  // backwards in L3
        }
        for (unsigned region = 0; region < 3; ++region) {
            model_[region].resize(kBytes);
            for (uint8_t& byte : model_[region]) {
                byte = static_cast<uint8_t>(random_());
            }
            context.write(base(region), model_[region].data(), kBytes);
        }
    }
    static constexpr uint64_t kBytes = 200 * 1024;
    uint64_t base(unsigned region) const { return region == 0 ? small_ : region == 1 ? huge_ + 777 : local_; }
    std::vector<uint8_t>& model(unsigned region) { return model_[region]; }
    void check() {
        for (unsigned region = 0; region < 3; ++region) {
            const auto got = context_.get<uint8_t>(base(region), kBytes);
            const auto [a, b] = std::mismatch(got.begin(), got.end(), model_[region].begin());
            ASSERT_TRUE(a == got.end()) << "region " << region << " differs at " << (a - got.begin());
        }
    }

   private:
    Context& context_;
    std::mt19937_64 random_;
    uint64_t small_, huge_, local_;
    std::vector<uint8_t> model_[3];
};

TEST_P(CopyTest, RandomAgainstBytes) {
    Bench bench({.workers = GetParam().workers, .scatter = GetParam().scatter});
    Context& context = bench.context();
    Queue& queue = context.queue();
    Arena arena(bench, context, 8);
    std::mt19937_64 random(12);
    const auto below = [&](uint64_t n) { return random() % n; };
    for (unsigned round = 0; round < 300; ++round) {
        const auto from = static_cast<unsigned>(below(3));
        const auto to = static_cast<unsigned>((from + 1 + below(2)) % 3);
        auto& src = arena.model(from);
        auto& dst = arena.model(to);
        uint64_t row_bytes = 1 + below(below(4) == 0 ? 40000 : 300);
        uint64_t rows = 1;
        uint64_t src_stride = 0, dst_stride = 0;
        if (below(2) != 0) {
            row_bytes = 1 + below(below(3) == 0 ? 9000 : 70);
            src_stride = row_bytes + below(3) * below(500);
            dst_stride = row_bytes + below(3) * below(500);
            rows = 2 + below(std::max<uint64_t>(1, (Arena::kBytes - row_bytes) / std::max(src_stride, dst_stride) - 1));
            rows = std::min<uint64_t>(rows, 200);
        }
        const uint64_t src_span = (rows - 1) * src_stride + row_bytes, dst_span = (rows - 1) * dst_stride + row_bytes;
        if (src_span > Arena::kBytes || dst_span > Arena::kBytes) {
            continue;
        }
        const uint64_t a = below(Arena::kBytes - src_span + 1), b = below(Arena::kBytes - dst_span + 1);
        for (uint64_t row = 0; row < rows; ++row) {
            std::copy_n(src.begin() + static_cast<ptrdiff_t>(a + row * src_stride), row_bytes,
                        dst.begin() + static_cast<ptrdiff_t>(b + row * dst_stride));
        }
        queue.submit(rows == 1 ? copy(arena.base(to) + b, arena.base(from) + a, row_bytes)
                               : copy_2d(arena.base(to) + b, dst_stride, arena.base(from) + a, src_stride, row_bytes,
                                         static_cast<uint32_t>(rows)));
        if (round % 40 == 39) {
            bench.run();
            ASSERT_TRUE(retired(queue));
            arena.check();
        }
    }
    bench.run();
    ASSERT_TRUE(retired(queue));
    arena.check();
}

TEST_P(CopyTest, FillsOfEveryPattern) {
    Bench bench({.workers = GetParam().workers, .scatter = GetParam().scatter});
    Context& context = bench.context();
    Queue& queue = context.queue();
    Arena arena(bench, context, 9);
    std::mt19937_64 random(13);
    const uint64_t skew = 777 % 8;  // the huge region does not start at a multiple of 8
    for (unsigned round = 0; round < 200; ++round) {
        const uint32_t size = 1u << random() % 4;
        const auto region = static_cast<unsigned>(random() % 3);
        const uint64_t shift = region == 1 ? (8 - skew) % 8 : 0;
        const uint64_t pattern = size == 8 ? random() : random() & ((uint64_t{1} << (8 * size)) - 1);
        const uint64_t bytes = (1 + random() % (random() % 4 == 0 ? 100000 : 500)) / size * size + size;
        const uint64_t at = shift + random() % (Arena::kBytes - bytes - 8) / size * size;
        for (uint64_t i = 0; i < bytes; ++i) {
            arena.model(region)[at + i] = static_cast<uint8_t>(pattern >> (8 * (i % size)));
        }
        queue.submit(fill(arena.base(region) + at, bytes, pattern, size));
        if (round % 40 == 39) {
            bench.run();
            ASSERT_TRUE(retired(queue));
            arena.check();
        }
    }
    bench.run();
    ASSERT_TRUE(retired(queue));
    arena.check();
}

TEST_P(CopyTest, LargeCopies) {
    Bench bench({.workers = GetParam().workers, .scatter = GetParam().scatter, .pages = 16384});
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint64_t bytes = (5 << 20) + 4321;
    std::vector<uint8_t> data(bytes);
    std::mt19937_64 random(2);
    for (uint8_t& byte : data) {
        byte = static_cast<uint8_t>(random());
    }
    const uint64_t src = context.alloc(bytes + kPage) + 123;
    const uint64_t dst = context.alloc(bytes + kPage) + 2000;
    context.write(src, data.data(), bytes);
    queue.submit(copy(dst, src, bytes));
    queue.submit(copy_2d(src, 100, dst + 7, 131, 99, 30000));
    bench.run();
    ASSERT_TRUE(retired(queue));
    EXPECT_TRUE(context.get<uint8_t>(dst, bytes) == data);
    const auto got = context.get<uint8_t>(src, 3000000);
    for (size_t row = 0; row < 30000; ++row) {
        ASSERT_TRUE(std::equal(got.begin() + static_cast<ptrdiff_t>(row * 100),
                               got.begin() + static_cast<ptrdiff_t>(row * 100 + 99),
                               data.begin() + static_cast<ptrdiff_t>(7 + row * 131)));
        ASSERT_EQ(got[row * 100 + 99], data[row * 100 + 99]) << "between the rows nothing is written";
    }
    EXPECT_EQ(context.get<uint8_t>(dst + bytes, 1)[0], 0u);
    EXPECT_EQ(context.get<uint8_t>(dst - 1, 1)[0], 0u);
}

INSTANTIATE_TEST_SUITE_P(Hosts, CopyTest,
                         ::testing::Values(Case{true, 1}, Case{false, 1}, Case{true, 2}, Case{false, 2}),
                         [](const auto& kind) {
                             return std::string(kind.param.scatter ? "Scattered" : "Contiguous") +
                                    std::to_string(kind.param.workers);
                         });

TEST(Copy, OverlapIsHarmlessToOthers) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    Queue& other = bench.context().queue();
    const uint64_t at = context.alloc(4 * kPage);
    for (const uint64_t shift : {0u, 1u, 64u, 4096u}) {
        queue.submit(copy(at, at + shift, 8000));
        other.submit(nop());
        bench.run();
        EXPECT_TRUE(retired(other));
        const sidra_queue_state state = queue.state();
        if (state.run_state == SIDRA_QUEUE_FAULTED) {
            queue.reset();
        } else {
            EXPECT_TRUE(retired(queue));
        }
    }
}

TEST(Copy, LastPageOfTheAddressSpace) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint64_t top = (uint64_t{1} << SIDRA_VA_BITS) - kPage;
    context.map(top, bench.bus().alloc_page());
    const uint64_t src = context.put(std::vector<uint8_t>(kPage, 0x3c));
    queue.submit(copy(top, src, kPage));
    bench.run();
    ASSERT_TRUE(retired(queue));
    EXPECT_EQ(context.get<uint8_t>(top, kPage), std::vector<uint8_t>(kPage, 0x3c));
    const sidra_cmd over = copy(top + 1, src, kPage);
    const uint64_t at = queue.submit(over);
    bench.run();
    EXPECT_TRUE(faulted(queue, at, over, {{SIDRA_FAULT_LIMIT, SIDRA_FAULT_TRANSLATION}}));
}

// ---- CALL
// ---------------------------------------------------------------------------------------------------------------

struct Calls {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    uint64_t data = context.alloc(kPage);

    uint64_t body(const std::vector<sidra_cmd>& cmds) { return context.put(cmds, kRead); }
    void expect_fault_inside(uint64_t at, const sidra_cmd& inner, uint32_t index, sidra_fault_cause cause) {
        const sidra_queue_state state = queue.state();
        EXPECT_EQ(state.run_state, uint32_t{SIDRA_QUEUE_FAULTED});
        EXPECT_STREQ(cause_name(state.fault.cause), cause_name(cause));
        EXPECT_EQ(state.timeline, at);
        EXPECT_EQ(state.fault.sequence, at);
        EXPECT_EQ(state.fault.in_call, 1);
        EXPECT_EQ(state.fault.call_index, index);
        EXPECT_EQ(state.fault.opcode, inner.hdr.opcode);
        EXPECT_EQ(state.fault.cookie, inner.hdr.cookie);
    }
};

TEST(Call, RunsItsPacketsAsOne) {
    Calls t;
    std::vector<sidra_cmd> cmds;
    for (unsigned i = 0; i < 200; ++i) {  // crosses pages
        cmds.push_back(fill(t.data + i * 8, 8, i + 1, 8));
    }
    cmds.push_back(timestamp(t.data + 2048));
    cmds.push_back(barrier());
    t.queue.submit(nop());
    const sidra_cmd outer = call(t.body(cmds), static_cast<uint32_t>(cmds.size()));
    const uint64_t at = t.queue.submit(outer);
    t.bench.run();
    ASSERT_TRUE(retired(t.queue));
    EXPECT_EQ(t.queue.timeline(), 2u);
    for (unsigned i = 0; i < 200; ++i) {
        ASSERT_EQ(t.context.load64(t.data + i * 8), i + 1);
    }
    sidra_timestamp stamp{};
    t.context.read(t.data + 2048, &stamp, sizeof stamp);
    EXPECT_EQ(stamp.sequence, at) << "of the CALL, when recorded";
    const sidra_report report = t.queue.report(at);
    EXPECT_EQ(report.sequence, at);
    EXPECT_EQ(report.cookie, outer.hdr.cookie);
    EXPECT_EQ(report.opcode, SIDRA_CMD_CALL);
    EXPECT_GT(report.device_ps, t.queue.report(0).device_ps);
    const sidra_queue_state state = t.queue.state();
    EXPECT_EQ(state.device_ps, t.queue.report(0).device_ps + report.device_ps);
    EXPECT_EQ(t.bench.telemetry().packets, 2u);
    EXPECT_EQ(t.bench.telemetry().call_packets, cmds.size());
}

TEST(Call, MayStartInTheMiddleOfAPageAndAtItsEnd) {
    Calls t;
    const uint64_t at = t.context.alloc(2 * kPage, kRead);
    for (const uint64_t offset : {uint64_t{64}, kPage - 64, kPage - 128}) {
        const std::vector<sidra_cmd> cmds = {fill(t.data, 8, offset, 8), nop(), nop()};
        t.context.write(at + offset, cmds.data(), cmds.size() * 64);
        t.queue.submit(call(at + offset, 3));
        t.bench.run();
        ASSERT_TRUE(retired(t.queue));
        EXPECT_EQ(t.context.load64(t.data), offset);
    }
}

TEST(Call, FaultInsideTellsWhere) {
    Calls t;
    for (const uint32_t index : {0u, 1u, 63u, 64u, 150u}) {
        std::vector<sidra_cmd> cmds;
        for (uint32_t i = 0; i < 160; ++i) {
            cmds.push_back(fill(t.data + i * 8, 8, 0x100 + index, 8));
        }
        cmds[index] = blank(static_cast<sidra_cmd_opcode>(99));
        t.queue.reset();
        t.queue.submit(nop());
        const uint64_t at = t.queue.submit(call(t.body(cmds), 160));
        t.queue.submit(nop());
        t.bench.run();
        t.expect_fault_inside(at, cmds[index], index, SIDRA_FAULT_OPCODE);
        for (uint32_t i = 0; i < 160; ++i) {
            if (i != index) {
                ASSERT_EQ(t.context.load64(t.data + i * 8) == 0x100 + index, i < index) << i;
            }
        }
    }
}

TEST(Call, DoesNotNest) {
    Calls t;
    const uint64_t leaf = t.body({nop()});
    const sidra_cmd inner = call(leaf, 1);
    const uint64_t at = t.queue.submit(call(t.body({nop(), inner, nop()}), 3));
    t.bench.run();
    t.expect_fault_inside(at, inner, 1, SIDRA_FAULT_CALL);
    t.queue.reset();
    const uint64_t self = t.context.alloc(kPage);
    const sidra_cmd recursion = call(self, 1);
    t.context.write(self, &recursion, sizeof recursion);
    const uint64_t again = t.queue.submit(call(self, 1));
    t.bench.run();
    t.expect_fault_inside(again, recursion, 0, SIDRA_FAULT_CALL);
}

TEST(Call, BodyThatCannotBeReadFaults) {
    Calls t;
    const uint64_t unmapped = t.context.reserve(kPage);
    const uint64_t write_only = t.context.alloc(kPage, kWrite);
    const uint64_t edge = t.context.alloc(kPage);
    const std::vector<sidra_cmd> cmds(64, nop());
    t.context.write(edge, cmds.data(), kPage);
    for (const auto& [addr, count, cause] : {std::tuple{unmapped, 1u, SIDRA_FAULT_TRANSLATION},
                                             {write_only, 1u, SIDRA_FAULT_PERMISSION},
                                             {edge + kPage - 64, 2u, SIDRA_FAULT_TRANSLATION}}) {
        const uint64_t at = t.queue.submit(call(addr, count));
        t.bench.run();
        const sidra_queue_state state = t.queue.state();
        EXPECT_EQ(state.run_state, uint32_t{SIDRA_QUEUE_FAULTED});
        EXPECT_STREQ(cause_name(state.fault.cause), cause_name(cause));
        EXPECT_EQ(state.timeline, at);
        EXPECT_EQ(state.fault.address / kPage, (count == 1 ? addr : edge + kPage) / kPage);
        t.queue.reset();
    }
    for (const uint64_t wild : {(uint64_t{1} << 39) - 64, uint64_t{1} << 39, ~uint64_t{63}}) {
        const uint64_t at = t.queue.submit(call(wild, 2));
        t.bench.run();
        const sidra_queue_state state = t.queue.state();
        EXPECT_EQ(state.run_state, uint32_t{SIDRA_QUEUE_FAULTED});
        EXPECT_TRUE(state.fault.cause == SIDRA_FAULT_LIMIT || state.fault.cause == SIDRA_FAULT_TRANSLATION)
            << cause_name(state.fault.cause);
        EXPECT_EQ(state.timeline, at);
        t.queue.reset();
    }
}

TEST(Call, WaitInsideParksTheQueueThere) {
    Calls t;
    Queue& other = t.context.queue();
    const uint64_t word = t.context.alloc(kPage);
    const uint64_t body = t.body({fill(t.data, 8, 1, 8), sem_wait(word, 1), fill(t.data, 8, 2, 8)});
    t.queue.submit(call(body, 3));
    t.bench.run();
    EXPECT_EQ(t.queue.state().parked, 1u);
    EXPECT_EQ(t.context.load64(t.data), 1u);
    other.submit(sem_signal(word, 1));
    t.bench.run();
    ASSERT_TRUE(retired(t.queue));
    EXPECT_EQ(t.context.load64(t.data), 2u);
}

TEST(Call, SurvivesQuiesceInTheMiddle) {
    Calls t;
    Queue& other = t.context.queue();
    const uint64_t word = t.context.alloc(kPage);
    t.queue.submit(call(t.body({fill(t.data, 8, 1, 8), sem_wait(word, 1), copy(t.data + 8, t.data, 8)}), 3));
    t.bench.run();
    EXPECT_EQ(t.bench.admin(SIDRA_ADMIN_QUIESCE_CONTEXT, t.context.index()), uint32_t{SIDRA_ADMIN_OK});
    // The first packet must not be executed a second time.
    t.context.store64(t.data, 77);
    EXPECT_EQ(t.bench.admin(SIDRA_ADMIN_RESUME_CONTEXT, t.context.index()), uint32_t{SIDRA_ADMIN_OK});
    other.submit(sem_signal(word, 1));
    t.bench.run();
    ASSERT_TRUE(retired(t.queue));
    EXPECT_EQ(t.context.load64(t.data + 8), 77u);
}

}  // namespace
}  // namespace sidra::chip_test
