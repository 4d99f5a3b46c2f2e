// SPDX-License-Identifier: MIT
#include "store.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sidra::compiler {

std::string hash_of(Bytes bytes) {
    const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string Store::add(std::vector<std::byte> bytes) {
    auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    const Bytes view(*owner);
    return add(view, std::move(owner));
}

std::string Store::add(Bytes bytes, std::shared_ptr<const void> owner) {
    std::string hash = hash_of(bytes);
    const std::lock_guard guard(lock_);
    entries_.try_emplace(hash, Entry{bytes, std::move(owner)});
    return hash;
}

Bytes Store::find(std::string_view hash) const {
    const std::lock_guard guard(lock_);
    const auto found = entries_.find(hash);
    return found == entries_.end() ? Bytes() : found->second.bytes;
}

}  // namespace sidra::compiler
