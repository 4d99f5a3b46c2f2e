// SPDX-License-Identifier: MIT
#include "page_table.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

namespace sidra::embedded {
namespace {

struct alignas(SIDRA_PAGE_SIZE) Table {
    std::array<uint64_t, SIDRA_PT_ENTRIES> entries{};
};

constexpr unsigned kLeafLevel = 0;
constexpr unsigned kHugeLevel = 1;

constexpr unsigned index_at(uint64_t va, unsigned level) {
    return static_cast<unsigned>(va >> (SIDRA_PAGE_SHIFT + 9 * level)) & (SIDRA_PT_ENTRIES - 1);
}

}  // namespace

// A table, with data that the chip does not need.
struct PageTables::Node {
    explicit Node(unsigned its_level) : level(its_level) {
        if (level != kLeafLevel) children.resize(SIDRA_PT_ENTRIES);
    }
    // Release: everything below the entry is complete before the chip can follow it.
    void set(unsigned index, uint64_t entry) {
        std::atomic_ref<uint64_t>(table->entries[index]).store(entry, std::memory_order_release);
    }
    uint64_t bus() const { return reinterpret_cast<uint64_t>(table.get()); }

    const unsigned level;
    std::unique_ptr<Table> table = std::make_unique<Table>();
    std::vector<std::unique_ptr<Node>> children;  // tables below; empty at the lowest level
    unsigned used = 0;                            // valid entries
    std::unique_ptr<Node> next;                   // list of unlinked tables
};

PageTables::PageTables() : root_(std::make_unique<Node>(SIDRA_PT_LEVELS - 1)), tables_(1) {}
PageTables::~PageTables() { free_unlinked(); }

uint64_t PageTables::root() const { return root_->bus(); }

PageTables::Node* PageTables::child(Node& parent, unsigned index) {
    std::unique_ptr<Node>& slot = parent.children[index];
    if (!slot) {
        slot = std::make_unique<Node>(parent.level - 1);
        tables_++;
        parent.used++;
        parent.set(index, slot->bus() | SIDRA_PTE_VALID);
    }
    return slot.get();
}

void PageTables::map(uint64_t va, uint64_t address, uint64_t size, uint64_t flags) {
    const uint64_t begin = va;
    const uint64_t leaf = flags | SIDRA_PTE_VALID | SIDRA_PTE_LEAF;
    try {
        while (size != 0) {
            Node* node = child(*root_, index_at(va, SIDRA_PT_LEVELS - 1));
            uint64_t step = SIDRA_HUGE_SIZE;
            unsigned index = index_at(va, kHugeLevel);
            if (((va | address) & (SIDRA_HUGE_SIZE - 1)) != 0 || size < SIDRA_HUGE_SIZE) {
                node = child(*node, index);
                index = index_at(va, kLeafLevel);
                step = SIDRA_PAGE_SIZE;
            }
            node->set(index, address | leaf);
            node->used++;
            va += step, address += step, size -= step;
        }
    } catch (...) {  // out of memory for a table: undo
        unmap(begin, va - begin);
        throw;
    }
}

void PageTables::unmap(uint64_t va, uint64_t size) {
    const uint64_t end = va + size;
    while (va < end) {
        const unsigned root_index = index_at(va, SIDRA_PT_LEVELS - 1);
        const unsigned huge_index = index_at(va, kHugeLevel);
        Node* middle = root_->children[root_index].get();
        Node* low = middle ? middle->children[huge_index].get() : nullptr;
        const uint64_t huge_end = (va | (SIDRA_HUGE_SIZE - 1)) + 1;
        if (low) {
            for (; va < std::min(end, huge_end); va += SIDRA_PAGE_SIZE) {
                const unsigned index = index_at(va, kLeafLevel);
                if (low->table->entries[index] == 0) continue;
                low->set(index, 0);
                low->used--;
            }
            if (low->used == 0) {
                middle->set(huge_index, 0);
                middle->used--;
                unlink(std::move(middle->children[huge_index]));
            }
        } else if (middle && middle->table->entries[huge_index] != 0) {
            middle->set(huge_index, 0);
            middle->used--;
        }
        if (middle && middle->used == 0) {
            root_->set(root_index, 0);
            root_->used--;
            unlink(std::move(root_->children[root_index]));
        }
        va = std::min(end, huge_end);
    }
}

void PageTables::unlink(std::unique_ptr<Node> node) {
    node->next = std::move(unlinked_);
    unlinked_ = std::move(node);
}

void PageTables::free_unlinked() {
    while (unlinked_) {
        unlinked_ = std::move(unlinked_->next);
        tables_--;
    }
}

}  // namespace sidra::embedded
