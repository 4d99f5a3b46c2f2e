// SPDX-License-Identifier: MIT
// The values of big constants, by the hash of their bytes: what `#xnn.values` names. A module and its copies share one.
#ifndef SIDRA_COMPILER_STORE_H
#define SIDRA_COMPILER_STORE_H

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sidra::compiler {

using Bytes = std::span<const std::byte>;

// The hash of bytes, in hexadecimal: XXH3, 128 bits.
std::string hash_of(Bytes bytes);

// Any thread.
class Store {
   public:
    // Keeps a copy of the bytes, or memory that somebody else owns, as long as `owner` exists. Returns their hash.
    std::string add(std::vector<std::byte> bytes);
    std::string add(Bytes bytes, std::shared_ptr<const void> owner);
    // The bytes with this hash, as long as the store exists; empty if there are none.
    Bytes find(std::string_view hash) const;

   private:
    struct Entry {
        Bytes bytes;
        std::shared_ptr<const void> owner;
    };
    mutable std::mutex lock_;
    std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace sidra::compiler

#endif
