// SPDX-License-Identifier: MIT
#include "page_table.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>

namespace sidra::embedded {
namespace {

constexpr uint64_t kPage = SIDRA_PAGE_SIZE;
constexpr uint64_t kHuge = SIDRA_HUGE_SIZE;
constexpr uint64_t kRw = SIDRA_PTE_READ | SIDRA_PTE_WRITE;

struct Leaf {
    uint64_t address, flags;
    bool huge;
};

// An independent walker, straight from the description in uapi/sidra_hw.h.
std::optional<Leaf> walk(const PageTables& tables, uint64_t va) {
    const auto* table = reinterpret_cast<const uint64_t*>(tables.root());
    for (int shift = 30; shift >= 12; shift -= 9) {
        const uint64_t entry = table[va >> shift & 511];
        if (!(entry & SIDRA_PTE_VALID)) {
            EXPECT_EQ(entry, 0u);
            return std::nullopt;
        }
        EXPECT_EQ(entry & SIDRA_PTE_RESERVED, 0u);
        if (entry & SIDRA_PTE_LEAF) {
            EXPECT_NE(shift, 30);
            const uint64_t size = uint64_t{1} << shift;
            EXPECT_EQ(entry & SIDRA_PTE_ADDR & (size - 1), 0u);
            return Leaf{(entry & SIDRA_PTE_ADDR) + (va & (size - 1) & ~(kPage - 1)), entry & (kRw | SIDRA_PTE_LOCAL),
                        shift == 21};
        }
        EXPECT_EQ(entry & ~SIDRA_PTE_ADDR, SIDRA_PTE_VALID);
        table = reinterpret_cast<const uint64_t*>(entry & SIDRA_PTE_ADDR);
    }
    ADD_FAILURE() << "no leaf at the lowest level";
    return std::nullopt;
}

TEST(PageTables, StartEmpty) {
    PageTables tables;
    EXPECT_EQ(tables.root() % kPage, 0u);
    for (uint64_t va : {uint64_t{0}, kHuge, (uint64_t{1} << SIDRA_VA_BITS) - kPage}) EXPECT_FALSE(walk(tables, va));
    EXPECT_EQ(tables.table_bytes(), kPage);
}

TEST(PageTables, UseHugePagesWhereBothSidesAllow) {
    PageTables tables;
    // 3 small pages, 2 huge ones, 1 small: va and address are congruent.
    const uint64_t va = 5 * kHuge - 3 * kPage, address = (uint64_t{1} << 40) + 7 * kHuge - 3 * kPage,
                   size = 2 * kHuge + 4 * kPage;
    tables.map(va, address, size, kRw);
    for (uint64_t at = 0; at < size; at += kPage) {
        const auto leaf = walk(tables, va + at);
        ASSERT_TRUE(leaf) << at;
        EXPECT_EQ(leaf->address, address + at);
        EXPECT_EQ(leaf->huge, at >= 3 * kPage && at < 3 * kPage + 2 * kHuge) << at;
    }
    EXPECT_FALSE(walk(tables, va - kPage));
    EXPECT_FALSE(walk(tables, va + size));
}

TEST(PageTables, NeverUseHugePagesOnOddAddresses) {
    PageTables tables;
    tables.map(kHuge, (uint64_t{1} << 40) + kPage, kHuge, SIDRA_PTE_READ);
    const auto leaf = walk(tables, kHuge);
    ASSERT_TRUE(leaf);
    EXPECT_FALSE(leaf->huge);
}

TEST(PageTables, FreeTablesOnlyWhenTold) {
    PageTables tables;
    tables.map(kHuge, kPage, 2 * kPage, kRw);
    EXPECT_EQ(tables.table_bytes(), 3 * kPage);
    tables.unmap(kHuge, 2 * kPage);
    EXPECT_FALSE(walk(tables, kHuge));
    EXPECT_EQ(tables.table_bytes(), 3 * kPage) << "the chip may still look at them";
    tables.free_unlinked();
    EXPECT_EQ(tables.table_bytes(), kPage);
    tables.map(kHuge, 8 * kHuge, kHuge, kRw);  // the same place, now a huge page
    EXPECT_TRUE(walk(tables, kHuge)->huge);
}

TEST(PageTables, RandomMappingsAgreeWithAMap) {
    std::mt19937_64 random(7);
    struct Mapping {
        uint64_t address, size, flags;
    };
    std::map<uint64_t, Mapping> oracle;
    PageTables tables;
    const uint64_t span = 64 * kHuge, base = (uint64_t{3} << 30) - span / 2;  // across a border of root entries
    const auto taken = [&](uint64_t va, uint64_t size) {
        for (const auto& [at, m] : oracle)
            if (va < at + m.size && at < va + size) return true;
        return false;
    };
    for (int step = 0; step < 2000; step++) {
        if (random() % 3 != 0 || oracle.empty()) {
            uint64_t size = (1 + random() % 40) * kPage, va = base + random() % (span / kPage) * kPage;
            uint64_t address = (random() & SIDRA_PTE_ADDR) >> 1 & ~(kPage - 1);
            if (random() % 4 == 0) {  // sometimes such that huge pages fit
                size += (1 + random() % 3) * kHuge;
                address = (address & ~(kHuge - 1)) | (va & (kHuge - 1));
            }
            if (va + size > base + span || taken(va, size)) continue;
            const uint64_t flags =
                SIDRA_PTE_READ | (random() % 2 ? SIDRA_PTE_WRITE : 0) | (random() % 4 ? 0 : SIDRA_PTE_LOCAL);
            tables.map(va, address, size, flags);
            oracle[va] = {address, size, flags};
        } else {
            auto victim = oracle.begin();
            std::advance(victim, random() % oracle.size());
            tables.unmap(victim->first, victim->second.size);
            tables.free_unlinked();
            oracle.erase(victim);
        }
        for (int probe = 0; probe < 20; probe++) {
            const uint64_t va = base + random() % (span / kPage) * kPage;
            auto holder = oracle.upper_bound(va);
            const bool mapped = holder != oracle.begin() && (--holder, va < holder->first + holder->second.size);
            const auto leaf = walk(tables, va);
            ASSERT_EQ(leaf.has_value(), mapped) << std::hex << va;
            if (!mapped) continue;
            ASSERT_EQ(leaf->address, holder->second.address + (va - holder->first));
            ASSERT_EQ(leaf->flags, holder->second.flags);
        }
    }
    while (!oracle.empty()) {
        tables.unmap(oracle.begin()->first, oracle.begin()->second.size);
        oracle.erase(oracle.begin());
    }
    tables.free_unlinked();
    EXPECT_EQ(tables.table_bytes(), kPage) << "tables leak";
}

}  // namespace
}  // namespace sidra::embedded
