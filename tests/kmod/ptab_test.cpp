// SPDX-License-Identifier: MIT
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "pure.h"

namespace sidra::test {
namespace {

constexpr u64 kPage = SIDRA_PAGE_SIZE, kHuge = SIDRA_HUGE_SIZE, kRw = SIDRA_PTE_READ | SIDRA_PTE_WRITE;

// Tables whose bus addresses differ from their pointers, so that confusing the two is noticed.
struct Memory {
    std::map<u64, u64*> tables;
    u64 next = u64{1} << 40;
    unsigned left = ~0u;

    static void* alloc(void* owner, u64* bus) {
        auto* self = static_cast<Memory*>(owner);
        if (self->left-- == 0) {
            self->left = 0;
            return nullptr;
        }
        auto* table = static_cast<u64*>(std::calloc(1, kPage));
        *bus = self->next;
        self->next += kPage;
        self->tables[*bus] = table;
        return table;
    }
    static void free(void* owner, void* table, u64 bus) {
        auto* self = static_cast<Memory*>(owner);
        EXPECT_EQ(self->tables.at(bus), table);
        self->tables.erase(bus);
        std::free(table);
    }
};
constexpr sidra_ptab_memory kMemory{Memory::alloc, Memory::free};

struct Leaf {
    u64 address, flags;
    bool huge;
};

class Ptab : public Pure {
   protected:
    void SetUp() override {
        Pure::SetUp();
        ASSERT_EQ(sidra_ptab_init(&ptab, &kMemory, &memory), 0);
    }
    void TearDown() override {
        sidra_ptab_fini(&ptab);
        EXPECT_TRUE(memory.tables.empty());
        Pure::TearDown();
    }
    std::vector<sidra_ptab_run> told() const {
        std::vector<sidra_ptab_run> runs;
        const auto add = [](void* to, const sidra_ptab_run* run) {
            static_cast<std::vector<sidra_ptab_run>*>(to)->push_back(*run);
        };
        sidra_ptab_runs(&ptab, add, &runs);
        return runs;
    }
    std::map<u64, u64> told_pages() const {
        std::map<u64, u64> pages;
        for (const sidra_ptab_run& run : told())
            for (u64 at = 0; at < run.size; at += kPage) pages[run.va + at] = run.bus + at;
        return pages;
    }
    // Straight from the description in uapi/sidra_hw.h.
    std::optional<Leaf> walk(u64 va) const {
        u64 bus = sidra_ptab_root(&ptab);
        for (int shift = 30; shift >= 12; shift -= 9) {
            const u64 entry = memory.tables.at(bus)[va >> shift & 511];
            EXPECT_EQ(entry & SIDRA_PTE_RESERVED, 0u);
            if (!(entry & SIDRA_PTE_VALID)) return std::nullopt;
            bus = entry & SIDRA_PTE_ADDR;
            if (!(entry & SIDRA_PTE_LEAF)) continue;
            EXPECT_NE(shift, 30);
            EXPECT_EQ(bus & ((u64{1} << shift) - 1), 0u);
            return Leaf{bus + (va & ((u64{1} << shift) - 1) & ~(kPage - 1)), entry & (kRw | SIDRA_PTE_LOCAL),
                        shift == 21};
        }
        ADD_FAILURE() << "a table entry at the lowest level";
        return std::nullopt;
    }
    Memory memory;
    sidra_ptab ptab{};
};

TEST_F(Ptab, HugePagesWhereBothSidesAllow) {
    ASSERT_EQ(sidra_ptab_map(&ptab, 3 * kHuge - kPage, 7 * kHuge - kPage, 2 * kHuge + 2 * kPage, kRw), 0);
    EXPECT_FALSE(walk(3 * kHuge - kPage)->huge);
    EXPECT_TRUE(walk(3 * kHuge)->huge);
    EXPECT_EQ(walk(4 * kHuge + 5 * kPage)->address, 8 * kHuge + 5 * kPage);
    EXPECT_FALSE(walk(5 * kHuge)->huge);
    EXPECT_FALSE(walk(5 * kHuge + kPage));
    EXPECT_FALSE(walk(3 * kHuge - 2 * kPage));
    sidra_ptab_unmap(&ptab, 3 * kHuge - kPage, 2 * kHuge + 2 * kPage);
    EXPECT_FALSE(walk(4 * kHuge));
    EXPECT_GT(memory.tables.size(), 1u) << "until the chip has let go";
    sidra_ptab_free_unlinked(&ptab);
    EXPECT_EQ(memory.tables.size(), 1u);
    // Differently aligned: 4 KiB pages.
    ASSERT_EQ(sidra_ptab_map(&ptab, kHuge, kHuge + kPage, 2 * kHuge, SIDRA_PTE_READ | SIDRA_PTE_LOCAL), 0);
    EXPECT_FALSE(walk(kHuge)->huge);
    EXPECT_EQ(walk(kHuge)->flags, SIDRA_PTE_READ | SIDRA_PTE_LOCAL);
}

TEST_F(Ptab, RunsGoOnAcrossTables) {
    ASSERT_EQ(sidra_ptab_map(&ptab, 3 * kHuge - kPage, 7 * kHuge - kPage, kHuge + 2 * kPage, kRw), 0);
    ASSERT_EQ(sidra_ptab_map(&ptab, 4 * kHuge + kPage, 8 * kHuge + kPage, kPage, SIDRA_PTE_READ), 0);
    ASSERT_EQ(sidra_ptab_map(&ptab, 4 * kHuge + 2 * kPage, 9 * kHuge, kPage, SIDRA_PTE_READ), 0);
    const std::vector<sidra_ptab_run> runs = told();
    ASSERT_EQ(runs.size(), 3u);
    EXPECT_EQ(runs[0].va, 3 * kHuge - kPage);
    EXPECT_EQ(runs[0].bus, 7 * kHuge - kPage);
    EXPECT_EQ(runs[0].size, kHuge + 2 * kPage);
    EXPECT_EQ(runs[0].flags, kRw);
    EXPECT_EQ(runs[1].flags, SIDRA_PTE_READ) << "other rights";
    EXPECT_EQ(runs[2].bus, 9 * kHuge) << "another place";
}

TEST_F(Ptab, AgainstAMap) {
    std::map<u64, std::pair<u64, u64>> live;  // va -> bus, size
    std::map<u64, u64> pages;
    std::mt19937_64 random(11);
    for (int step = 0; step < 2'000; step++) {
        if (random() % 2 == 0 && !live.empty()) {
            auto place = live.begin();
            std::advance(place, random() % live.size());
            sidra_ptab_unmap(&ptab, place->first, place->second.second);
            if (random() % 2 == 0) sidra_ptab_free_unlinked(&ptab);
            for (u64 at = 0; at < place->second.second; at += kPage) pages.erase(place->first + at);
            live.erase(place);
            continue;
        }
        const u64 size = kPage * (1 + random() % 700), va = random() % 64 * kHuge * 37 % (u64{1} << 38) + kHuge;
        const u64 bus = random() % 2 ? random() % 1000 * kHuge : random() % 100'000 * kPage;
        const auto behind = live.lower_bound(va);
        if ((behind != live.end() && behind->first < va + size) ||
            (behind != live.begin() && std::prev(behind)->first + std::prev(behind)->second.second > va))
            continue;
        ASSERT_EQ(sidra_ptab_map(&ptab, va, bus, size, kRw), 0);
        live[va] = {bus, size};
        for (u64 at = 0; at < size; at += kPage) pages[va + at] = bus + at;
    }
    for (const auto& [va, bus] : pages) ASSERT_EQ(walk(va)->address, bus);
    EXPECT_EQ(told_pages(), pages);
    for (const auto& [va, entry] : live) {
        if (!pages.contains(va + entry.second)) EXPECT_FALSE(walk(va + entry.second));
        sidra_ptab_unmap(&ptab, va, entry.second);
    }
    sidra_ptab_free_unlinked(&ptab);
    EXPECT_EQ(memory.tables.size(), 1u);
}

// The tables lie in memory that the chip can write to, so they do not decide what the driver keeps.
TEST_F(Ptab, TheChipMayClearLeaves) {
    constexpr u64 va = 5 * kHuge;
    ASSERT_EQ(sidra_ptab_map(&ptab, va, 7 * kHuge + kPage, 2 * kPage, kRw), 0);
    ASSERT_EQ(memory.tables.size(), 3u);
    u64* low = memory.tables.rbegin()->second;
    low[0] = 0;
    EXPECT_EQ(told_pages().size(), 2u);
    sidra_ptab_unmap(&ptab, va, 2 * kPage);
    sidra_ptab_free_unlinked(&ptab);
    EXPECT_EQ(memory.tables.size(), 1u) << "an empty table would hide a huge page that is mapped later";
}

TEST_F(Ptab, TheChipMayInventLeaves) {
    constexpr u64 va = 5 * kHuge;
    ASSERT_EQ(sidra_ptab_map(&ptab, va, 7 * kHuge + kPage, kPage, kRw), 0);
    u64* low = memory.tables.rbegin()->second;
    low[1] = 9 * kHuge | kRw | SIDRA_PTE_VALID | SIDRA_PTE_LEAF;
    EXPECT_EQ(told_pages(), (std::map<u64, u64>{{va, 7 * kHuge + kPage}}));
    sidra_ptab_unmap(&ptab, va + kPage, kPage);  // as after a mapping that ended early
    EXPECT_EQ(ptab.unlinked, nullptr);
    EXPECT_TRUE(walk(va));
}

TEST_F(Ptab, NoMemoryLeavesNothing) {
    ASSERT_EQ(sidra_ptab_map(&ptab, kHuge, 0, kPage, kRw), 0);
    const size_t before = memory.tables.size();
    for (unsigned left = 0; left < 6; left++) {
        memory.left = left;
        const u64 va = (u64{1} << 30) - 3 * kPage, size = 2 * kHuge;  // four tables more
        const int error = sidra_ptab_map(&ptab, va, kPage, size, kRw);
        memory.left = ~0u;
        if (error == 0) {
            EXPECT_GE(left, 4u);
            sidra_ptab_unmap(&ptab, va, size);
        } else {
            EXPECT_EQ(error, -ENOMEM);
            EXPECT_FALSE(walk(va));
        }
        sidra_ptab_free_unlinked(&ptab);
        EXPECT_EQ(memory.tables.size(), before) << left;
    }
    EXPECT_TRUE(walk(kHuge));
}

}  // namespace
}  // namespace sidra::test
