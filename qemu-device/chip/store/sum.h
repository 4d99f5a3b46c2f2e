// SPDX-License-Identifier: MIT
// The checksum of saved data.
#ifndef SIDRA_CHIP_SUM_H
#define SIDRA_CHIP_SUM_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sidra::chip {

// Like FNV-1a, but by words: it detects damage, not malice. A single damaged word is always detected.
class Sum {
   public:
    explicit Sum(uint64_t salt = 0) : value_(0xcbf29ce484222325u ^ salt) {}
    void add(const void* data, size_t bytes) {
        const auto* at = static_cast<const uint8_t*>(data);
        for (; bytes != 0; bytes -= std::min<size_t>(bytes, 8), at += 8) {
            uint64_t word = 0;
            std::memcpy(&word, at, std::min<size_t>(bytes, 8));
            value_ = (value_ ^ word) * 0x100000001b3u;
            value_ ^= value_ >> 32;  // otherwise a high bit would never affect a low one
        }
    }
    uint64_t value() const { return value_; }

   private:
    uint64_t value_;
};

}  // namespace sidra::chip

#endif
