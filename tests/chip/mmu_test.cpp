// SPDX-License-Identifier: MIT
// Address translation: random mappings against the walker of the bench, malformed tables, local memory, refused tables.
#include <random>

#include "bench.h"
#include "packets.h"

namespace sidra::chip_test {
namespace {

constexpr uint64_t kLeaf = SIDRA_PTE_VALID | SIDRA_PTE_LEAF;

class Mmu : public ::testing::Test {
   protected:
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    uint64_t buffer = context.alloc(kPage);

    // Reads or writes 8 bytes at `va` through the chip; the cause that it finds.
    uint32_t access(uint64_t va, bool write) {
        const sidra_cmd cmd = write ? copy(va, buffer, 8) : copy(buffer + 64, va, 8);
        const uint64_t at = queue.submit(cmd);
        bench.run();
        const sidra_queue_state state = queue.state();
        if (state.run_state != SIDRA_QUEUE_FAULTED) {
            EXPECT_EQ(state.timeline, at + 1);
            return SIDRA_FAULT_NONE;
        }
        EXPECT_EQ(state.fault.address / kPage, va / kPage);
        queue.reset();
        return state.fault.cause;
    }
    void invalidate() {
        // Quiesce the widest range, then resume.
        EXPECT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_RANGE, context.index(), 0, uint64_t{1} << SIDRA_VA_BITS),
                  uint32_t{SIDRA_ADMIN_OK});
    }
};

TEST_F(Mmu, RandomMappingsAgainstTheWalker) {
    std::mt19937_64 random(21);
    // Pages to map: two in memory for each right, some local, one huge.
    std::vector<uint64_t> pages;
    for (unsigned i = 0; i < 16; ++i) {
        pages.push_back(bench.bus().alloc_page());
    }
    const uint64_t huge = bench.bus().alloc(SIDRA_HUGE_SIZE, SIDRA_HUGE_SIZE);
    // A few neighbourhoods: near 0, around a 1 GiB border, the top of the address space.
    const uint64_t regions[] = {0x20'0000, (uint64_t{1} << 30) - 8 * kPage,
                                (uint64_t{1} << 33) + 5 * SIDRA_HUGE_SIZE - 4 * kPage,
                                (uint64_t{1} << 39) - 16 * kPage};
    for (unsigned round = 0; round < rounds(60); ++round) {
        for (unsigned i = 0; i < 10; ++i) {
            const uint64_t va = regions[random() % 4] + random() % 16 * kPage;
            if (context.space().raw(va & ~(SIDRA_HUGE_SIZE - 1)).cause == SIDRA_FAULT_NONE &&
                (bench.bus().load64(context.space().entry(va, 1)) & SIDRA_PTE_LEAF) != 0) {
                continue;
            }
            uint64_t entry = 0;
            const uint64_t rights = (random() % 4) << 2;
            switch (random() % 6) {
                case 0:
                    entry = 0;
                    break;
                case 1:
                    entry = kLeaf | rights | SIDRA_PTE_LOCAL | random() % (bench.l3_size() / kPage) * kPage;
                    break;
                case 2:
                    entry = pages[random() % pages.size()] | rights | SIDRA_PTE_LEAF;
                    break;  // not valid
                default:
                    entry = pages[random() % pages.size()] | rights | kLeaf;
                    break;
            }
            context.space().set(va, 0, entry);
        }
        // A huge page that is mapped and unmapped repeatedly.
        const uint64_t huge_va = uint64_t{5} << 30;
        context.space().set(huge_va, 1, random() % 2 != 0 ? huge | (random() % 4) << 2 | kLeaf : 0);
        invalidate();
        for (unsigned i = 0; i < 40; ++i) {
            uint64_t va = regions[random() % 4] + random() % 16 * kPage + random() % 512 * 8;
            if (random() % 5 == 0) {
                va = huge_va + random() % (SIDRA_HUGE_SIZE / 8) * 8;
            }
            const bool write = random() % 2 != 0;
            const uint64_t value = random();
            const Translation want = context.space().walk(va, write);
            const auto word = [&]() -> uint8_t* {
                return want.local ? bench.l3() + want.address : bench.bus().storage(want.address);
            };
            uint64_t before = 0;
            if (want.cause == SIDRA_FAULT_NONE) {
                if (!write) {
                    std::memcpy(word(), &value, 8);
                } else {
                    context.store64(buffer, value);
                    std::memcpy(&before, word(), 8);
                }
            }
            ASSERT_EQ(access(va, write), uint32_t{want.cause}) << std::hex << va << (write ? " write" : " read");
            if (want.cause == SIDRA_FAULT_NONE) {
                uint64_t got = 0;
                if (write) {
                    std::memcpy(&got, word(), 8);
                } else {
                    got = context.load64(buffer + 64);
                }
                ASSERT_EQ(got, value) << std::hex << va;
            }
        }
    }
}

TEST_F(Mmu, MalformedEntriesFault) {
    const uint64_t page = bench.bus().alloc_page();
    const uint64_t huge = bench.bus().alloc(SIDRA_HUGE_SIZE, SIDRA_HUGE_SIZE);
    const uint64_t va = uint64_t{7} << 30;
    context.space().set(va, 0, page | kReadWrite | kLeaf);
    context.store64(va, 5);
    ASSERT_EQ(access(va, false), uint32_t{SIDRA_FAULT_NONE});
    const auto wrong = [&](const char* what, unsigned level, uint64_t entry) {
        const uint64_t at = context.space().entry(va, level);
        const uint64_t good = bench.bus().load64(at);
        bench.bus().store64(at, entry);
        invalidate();
        EXPECT_EQ(access(va, false), uint32_t{SIDRA_FAULT_TRANSLATION}) << what;
        EXPECT_EQ(access(va, true), uint32_t{SIDRA_FAULT_TRANSLATION}) << what;
        bench.bus().store64(at, good);
        invalidate();
        EXPECT_EQ(access(va, false), uint32_t{SIDRA_FAULT_NONE}) << what << ", mended";
    };
    const uint64_t middle = bench.bus().load64(context.space().entry(va, 1)),
                   root = bench.bus().load64(context.space().entry(va, 2));
    for (unsigned bit = 0; bit < 64; ++bit) {
        if ((SIDRA_PTE_RESERVED >> bit & 1) != 0) {
            wrong("reserved bit in a page", 0, page | kReadWrite | kLeaf | uint64_t{1} << bit);
            wrong("reserved bit in a middle table", 1, middle | uint64_t{1} << bit);
            wrong("reserved bit in the root", 2, root | uint64_t{1} << bit);
            wrong("reserved bit in a huge page", 1, huge | kReadWrite | kLeaf | uint64_t{1} << bit);
        }
    }
    wrong("leaf at the root", 2, huge | kReadWrite | kLeaf);
    wrong("table at the last level", 0, page | SIDRA_PTE_VALID);
    for (const uint64_t bits : {SIDRA_PTE_READ, SIDRA_PTE_WRITE, SIDRA_PTE_LOCAL}) {
        wrong("table entry with leaf bits, middle", 1, middle | bits);
        wrong("table entry with leaf bits, root", 2, root | bits);
    }
    for (unsigned level = 0; level < 3; ++level) {
        wrong("not valid", level, 0);
        wrong("all but valid", level, ~uint64_t{0} & ~SIDRA_PTE_VALID & ~SIDRA_PTE_RESERVED);
    }
}

TEST_F(Mmu, WhatBecomesValidBesideAPageInUseCounts) {
    // Entries may be prefetched: one that was invalid or malformed at that time is not cached.
    const uint64_t va = uint64_t{8} << 30;
    const uint64_t page = bench.bus().alloc_page();
    for (unsigned i = 0; i < 16; ++i) {
        context.space().set(va + i * kPage, 0, page | kReadWrite | kLeaf);
        ASSERT_EQ(access(va + i * kPage, false), uint32_t{SIDRA_FAULT_NONE}) << i;
        if (i == 15) break;
        ASSERT_EQ(access(va + (i + 1) * kPage, false), uint32_t{SIDRA_FAULT_TRANSLATION}) << i;
        context.space().set(va + (i + 1) * kPage, 0, page | kReadWrite | SIDRA_PTE_VALID);
        ASSERT_EQ(access(va + (i + 1) * kPage, false), uint32_t{SIDRA_FAULT_TRANSLATION}) << i << ", no leaf";
    }
}

TEST_F(Mmu, PagesThatFollowEachOtherCostAFewTableReads) {
    constexpr uint64_t kPages = 64;
    const uint64_t src = uint64_t{12} << 30, dst = src + (kPages << 20);  // far apart, by a power of two
    for (uint64_t i = 0; i < kPages; ++i) {
        context.map(src + i * kPage, bench.bus().alloc_page());
        context.map(dst + i * kPage, bench.bus().alloc_page());
    }
    invalidate();
    const uint64_t before = bench.bus().calls();
    queue.submit(copy(dst, src, kPages * kPage));
    bench.run();
    ASSERT_TRUE(retired(queue));
    // Each page is mapped and unmapped once, and eight neighbours share one access to their table. The remainder: both
    // page table walks and the queue's own pages.
    EXPECT_LE(bench.bus().calls() - before, 2 * 2 * (kPages + kPages / 8) + 48);
}

TEST_F(Mmu, LocalMemoryEndsWhereItEnds) {
    const uint64_t va = uint64_t{3} << 30;
    context.map(va, bench.l3_size() - kPage, kReadWrite, SIDRA_PTE_LOCAL);
    EXPECT_EQ(access(va + kPage - 8, true), uint32_t{SIDRA_FAULT_NONE});
    for (const uint64_t offset :
         {bench.l3_size(), bench.l3_size() + kPage, uint64_t{1} << 40, uint64_t{SIDRA_PTE_ADDR}}) {
        context.map(va + kPage, offset, kReadWrite, SIDRA_PTE_LOCAL);
        invalidate();
        const uint32_t cause = access(va + kPage, true);
        EXPECT_TRUE(cause == SIDRA_FAULT_TRANSLATION || cause == SIDRA_FAULT_BUS) << cause_name(cause);
    }
    // A 2 MiB page in local memory, on a chip whose L3 is smaller than that.
    const uint64_t huge = uint64_t{4} << 30;
    context.space().set(huge, 1, kReadWrite | SIDRA_PTE_LOCAL | kLeaf);
    EXPECT_NE(access(huge + bench.l3_size(), true), uint32_t{SIDRA_FAULT_NONE});
    EXPECT_NE(access(huge + SIDRA_HUGE_SIZE - 8, false), uint32_t{SIDRA_FAULT_NONE});
}

TEST_F(Mmu, TablesThatTheHostRefuses) {
    const uint64_t va = uint64_t{9} << 30;
    context.map(va, bench.bus().alloc_page());
    for (unsigned level = 0; level < 2; ++level) {
        const uint64_t table = context.space().entry(va, level) & ~(kPage - 1);
        bench.bus().set_access(table, kPage, Access::kRefused);
        invalidate();
        EXPECT_EQ(access(va, false), uint32_t{SIDRA_FAULT_BUS}) << level;
        bench.bus().set_access(table, kPage, Access::kOpen);
    }
    EXPECT_EQ(access(va, false), uint32_t{SIDRA_FAULT_NONE});
}

TEST_F(Mmu, WildTablesReachNothing) {
    // Entries that name any bus address: the host refuses, the queue faults, nothing else happens.
    bench.bus().set_outside_refused(true);
    std::mt19937_64 random(33);
    const uint64_t va = uint64_t{11} << 30;
    for (unsigned i = 0; i < 200; ++i) {
        const auto level = static_cast<unsigned>(random() % 3);
        const uint64_t entry = context.space().entry(va, level);
        const uint64_t good = bench.bus().load64(entry);
        const uint64_t address = (random() << random() % 30 & SIDRA_PTE_ADDR) | uint64_t{1} << 51;  // beyond all memory
        bench.bus().store64(entry, address | SIDRA_PTE_VALID | (level == 0 ? SIDRA_PTE_LEAF | kReadWrite : 0));
        invalidate();
        EXPECT_EQ(access(va, random() % 2 != 0), uint32_t{SIDRA_FAULT_BUS}) << level << std::hex << " " << address;
        bench.bus().store64(entry, good);
    }
    bench.bus().set_outside_refused(false);
}

TEST_F(Mmu, ContextsHaveTheirOwnSpaces) {
    Context& other = bench.context();
    Queue& theirs = other.queue();
    const uint64_t va = uint64_t{2} << 30;
    context.map(va, bench.bus().alloc_page());
    other.map(va, bench.bus().alloc_page());
    for (unsigned round = 0; round < 20; ++round) {
        queue.submit(fill(va, 64, 0xaa, 1));
        theirs.submit(fill(va, 64, 0x55, 1));
        queue.submit(copy(va + 128, va, 64));
        theirs.submit(copy(va + 128, va, 64));
    }
    bench.run();
    ASSERT_TRUE(retired(queue));
    ASSERT_TRUE(retired(theirs));
    EXPECT_EQ(context.load64(va + 128), 0xaaaaaaaaaaaaaaaaull);
    EXPECT_EQ(other.load64(va + 128), 0x5555555555555555ull);
    EXPECT_EQ(other.space().raw(buffer).cause, SIDRA_FAULT_TRANSLATION);
    const sidra_cmd cmd = copy(va, buffer + 4 * kPage, 8);
    const uint64_t at = theirs.submit(cmd);
    bench.run();
    EXPECT_TRUE(faulted(theirs, at, cmd, {{SIDRA_FAULT_TRANSLATION}}));
}

TEST_F(Mmu, QuiesceRangeCoversPartsOfPages) {
    // Invalidating any byte of a page invalidates the page; a huge page likewise.
    const uint64_t va = uint64_t{6} << 30;
    const uint64_t huge_va = va + (uint64_t{1} << 30);
    std::mt19937_64 random(3);
    const uint64_t huge[2] = {bench.bus().alloc(SIDRA_HUGE_SIZE, SIDRA_HUGE_SIZE),
                              bench.bus().alloc(SIDRA_HUGE_SIZE, SIDRA_HUGE_SIZE)};
    const uint64_t small[2] = {bench.bus().alloc_page(), bench.bus().alloc_page()};
    for (unsigned i = 0; i < 2; ++i) {
        bench.bus().store64(huge[i] + SIDRA_HUGE_SIZE - 8, 100 + i);
        bench.bus().store64(small[i] + 8, 200 + i);
    }
    for (unsigned round = 0; round < 40; ++round) {
        const unsigned pick = round % 2;
        context.space().set(huge_va, 1, huge[pick] | kRead | kLeaf);
        context.space().set(va, 0, small[pick] | kRead | kLeaf);
        EXPECT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_RANGE, context.index(), huge_va + random() % SIDRA_HUGE_SIZE, 1),
                  uint32_t{SIDRA_ADMIN_OK});
        EXPECT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_RANGE, context.index(), va - 5, 6 + random() % 5000),
                  uint32_t{SIDRA_ADMIN_OK});
        queue.submit(copy(buffer, huge_va + SIDRA_HUGE_SIZE - 8, 8));
        queue.submit(copy(buffer + 8, va + 8, 8));
        bench.run();
        ASSERT_TRUE(retired(queue));
        ASSERT_EQ(context.load64(buffer), 100 + pick);
        ASSERT_EQ(context.load64(buffer + 8), 200 + pick);
    }
}

}  // namespace
}  // namespace sidra::chip_test
