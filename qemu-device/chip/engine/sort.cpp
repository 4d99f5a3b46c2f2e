// SPDX-License-Identifier: MIT
// Each element becomes an unsigned key that has the order of the elements, with its column. Few elements of a long row
// are selected in one pass; what is left is sorted by digits of the keys, or by comparisons if it is short.
#include "sort.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace sidra::engine {
namespace {

// A key and its column. Items of a row are all different, so their order does not depend on how they are sorted.
struct Narrow {
    using Key = uint32_t;
    uint64_t bits;
    static_assert(SIDRA_SORT_COLS_MAX <= 1u << 16);
    static Narrow of(Key key, size_t column) { return {uint64_t{key} << 16 | column}; }
    Key key() const { return static_cast<Key>(bits >> 16); }
    size_t column() const { return bits & 0xffff; }
    bool operator<(const Narrow& other) const { return bits < other.bits; }
};
struct Wide {
    using Key = uint64_t;
    uint64_t its_key, its_column;
    static Wide of(Key key, size_t column) { return {key, column}; }
    Key key() const { return its_key; }
    size_t column() const { return its_column; }
    bool operator<(const Wide& other) const {
        return its_key != other.its_key ? its_key < other.its_key : its_column < other.its_column;
    }
};
static_assert(sort_scratch(1) == 2 * sizeof(Wide) && sizeof(Narrow) <= sizeof(Wide));

// Elements of a type: their bits, and their keys in ascending order.
template <class Unsigned>
struct UnsignedElement {
    using Bits = Unsigned;
    static Bits key(Bits x) { return x; }
};
template <class Unsigned>
struct SignedElement {
    using Bits = Unsigned;
    static Bits key(Bits x) { return static_cast<Bits>(x ^ Bits{1} << (8 * sizeof(Bits) - 1)); }
};
struct BoolElement {
    using Bits = uint8_t;
    static Bits key(Bits x) { return x != 0; }
};
// Infinity: the bits of +infinity. All zeros have one key, all NaN the largest.
template <class Unsigned, Unsigned Infinity>
struct FloatElement {
    using Bits = Unsigned;
    static Bits key(Bits x) {
        constexpr auto kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
        const auto magnitude = static_cast<Bits>(x & ~kSign);
        const auto number = static_cast<Bits>(x & kSign ? kSign - magnitude : kSign + magnitude);
        return magnitude > Infinity ? std::numeric_limits<Bits>::max() : number;
    }
};

template <class Element>
using ItemOf = std::conditional_t<sizeof(typename Element::Bits) == 8, Wide, Narrow>;

template <class Element>
struct Row {
    using Bits = typename Element::Bits;
    using Item = ItemOf<Element>;
    using Key = typename Item::Key;
    const uint8_t* in;
    Bits flip;  // all ones: descending

    Key key(size_t column) const {
        Bits bits;
        std::memcpy(&bits, in + column * sizeof(Bits), sizeof bits);
        return static_cast<Bits>(Element::key(bits) ^ flip);
    }
};

// Selects the first `count` items of a row into `items`, in any order. `items` has room for 2 * count, at least
// kSelectMin, of which the row has as many.
constexpr size_t kSelectMin = 64;
template <class Element>
void select(const Row<Element>& row, size_t cols, size_t count, ItemOf<Element>* items) {
    using Item = ItemOf<Element>;
    using Key = typename Item::Key;
    const size_t room = std::max(2 * count, kSelectMin);
    for (size_t c = 0; c < room; ++c) items[c] = Item::of(row.key(c), c);
    std::nth_element(items, items + count - 1, items + room);
    // An equal element of a later column comes later.
    Key limit = items[count - 1].key();
    size_t found = count;
    const auto add = [&](Key key, size_t column) {
        if (key >= limit) return;
        items[found++] = Item::of(key, column);
        if (found < room) return;
        std::nth_element(items, items + count - 1, items + room);
        limit = items[count - 1].key();
        found = count;
    };
    constexpr size_t kBlock = 32;
    size_t c = room;
    for (; c + kBlock <= cols; c += kBlock) {
        Key keys[kBlock];
        unsigned any = 0;
        for (size_t i = 0; i < kBlock; ++i) {
            keys[i] = row.key(c + i);
            any |= keys[i] < limit ? 1u : 0u;
        }
        if (any == 0) continue;
        for (size_t i = 0; i < kBlock; ++i) add(keys[i], c + i);
    }
    for (; c < cols; ++c) add(row.key(c), c);
    if (found > count) std::nth_element(items, items + count - 1, items + found);
}

// Sorts by the lowest `digits` bytes of the keys; items are in the order of their columns, and so equal ones stay.
// Returns where the result is: `items` or `other`.
template <class Item>
Item* sort_by_digits(Item* items, Item* other, size_t count, size_t digits) {
    uint32_t numbers[8][256] = {};
    const auto digit = [](const Item& item, size_t d) { return static_cast<uint8_t>(item.key() >> (8 * d)); };
    for (size_t i = 0; i < count; ++i)
        for (size_t d = 0; d < digits; ++d) ++numbers[d][digit(items[i], d)];
    for (size_t d = 0; d < digits; ++d) {
        if (numbers[d][digit(items[0], d)] == count) continue;  // all have the same digit
        uint32_t next = 0;
        for (uint32_t& number : numbers[d]) next += std::exchange(number, next);
        for (size_t i = 0; i < count; ++i) other[numbers[d][digit(items[i], d)]++] = items[i];
        std::swap(items, other);
    }
    return items;
}

template <class Element>
void sort_elements(const Sort& s, uint8_t* scratch) {
    using Item = ItemOf<Element>;
    using Bits = typename Element::Bits;
    constexpr size_t kFew = 256;  // so few are faster by comparisons
    constexpr size_t kPart = 8;   // selecting so small a part of a row is faster than sorting the row
    const bool part = s.count <= s.cols / kPart;
    auto* const first = reinterpret_cast<Item*>(scratch);
    for (size_t r = 0; r < s.rows; ++r) {
        const Row<Element> row{static_cast<const uint8_t*>(s.in) + r * s.in_stride,
                               s.descending ? std::numeric_limits<Bits>::max() : Bits{0}};
        Item* items = first;
        if (part && s.cols >= 2 * kSelectMin) {
            select(row, s.cols, s.count, items);
            std::sort(items, items + s.count);
        } else {
            for (size_t c = 0; c < s.cols; ++c) items[c] = Item::of(row.key(c), c);
            if (part) std::partial_sort(items, items + s.count, items + s.cols);
            else if (s.cols < kFew) std::sort(items, items + s.cols);
            else items = sort_by_digits(items, first + s.cols, s.cols, sizeof(Bits));
        }
        if (s.values != nullptr) {
            uint8_t* const to = static_cast<uint8_t*>(s.values) + r * s.values_stride;
            for (size_t i = 0; i < s.count; ++i)
                std::memcpy(to + i * sizeof(Bits), row.in + items[i].column() * sizeof(Bits), sizeof(Bits));
        }
        if (s.indices == nullptr) continue;
        uint8_t* const to = static_cast<uint8_t*>(s.indices) + r * s.indices_stride;
        for (size_t i = 0; i < s.count; ++i) {
            const auto column = static_cast<int64_t>(items[i].column());
            const auto short_column = static_cast<int32_t>(column);
            if (s.index_type == SIDRA_TYPE_S64) std::memcpy(to + i * 8, &column, 8);
            else std::memcpy(to + i * 4, &short_column, 4);
        }
    }
}

}  // namespace

void sort_rows(const Sort& s, uint8_t* scratch) {
    switch (s.type) {
        case SIDRA_TYPE_U8:
            return sort_elements<UnsignedElement<uint8_t>>(s, scratch);
        case SIDRA_TYPE_S8:
            return sort_elements<SignedElement<uint8_t>>(s, scratch);
        case SIDRA_TYPE_S16:
            return sort_elements<SignedElement<uint16_t>>(s, scratch);
        case SIDRA_TYPE_S32:
            return sort_elements<SignedElement<uint32_t>>(s, scratch);
        case SIDRA_TYPE_S64:
            return sort_elements<SignedElement<uint64_t>>(s, scratch);
        case SIDRA_TYPE_BOOL:
            return sort_elements<BoolElement>(s, scratch);
        case SIDRA_TYPE_F16:
            return sort_elements<FloatElement<uint16_t, 0x7c00>>(s, scratch);
        case SIDRA_TYPE_BF16:
            return sort_elements<FloatElement<uint16_t, 0x7f80>>(s, scratch);
        default:
            return sort_elements<FloatElement<uint32_t, 0x7f800000>>(s, scratch);
    }
}

}  // namespace sidra::engine
