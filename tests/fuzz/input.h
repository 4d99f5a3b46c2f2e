// SPDX-License-Identifier: MIT
// An input as fields. What lies behind its end is zero, so that a short input is a valid one.
#ifndef SIDRA_TESTS_FUZZ_INPUT_H
#define SIDRA_TESTS_FUZZ_INPUT_H

#include <cstdint>
#include <cstring>
#include <span>

namespace sidra::fuzz {

class Input {
   public:
    explicit Input(std::span<const uint8_t> bytes) : bytes_(bytes) {}

    template <typename T>
    T take() {
        T value{};
        const size_t size = bytes_.size() < sizeof value ? bytes_.size() : sizeof value;
        if (size) std::memcpy(&value, bytes_.data(), size);
        bytes_ = bytes_.subspan(size);
        return value;
    }
    uint8_t u8() { return take<uint8_t>(); }
    uint16_t u16() { return take<uint16_t>(); }
    uint32_t u32() { return take<uint32_t>(); }
    uint64_t u64() { return take<uint64_t>(); }
    // The next `size` bytes as an input of their own.
    Input part(size_t size) {
        if (size > bytes_.size()) size = bytes_.size();
        const Input first(bytes_.first(size));
        bytes_ = bytes_.subspan(size);
        return first;
    }
    bool empty() const { return bytes_.empty(); }
    std::span<const uint8_t> rest() const { return bytes_; }

   private:
    std::span<const uint8_t> bytes_;
};

}  // namespace sidra::fuzz

#endif
