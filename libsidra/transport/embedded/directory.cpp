// SPDX-License-Identifier: MIT
#include "directory.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

namespace sidra::embedded {
namespace {

constexpr uint64_t kDataAlignment = 64;

constexpr uint64_t extent(uint64_t bytes) { return (bytes + kDataAlignment - 1) / kDataAlignment * kDataAlignment; }

}  // namespace

Credentials Credentials::current() {
    Credentials who;
    who.uid = geteuid();
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3]{};
    if (syscall(SYS_capget, &header, data) == 0)
        who.admin = data[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN);
    return who;
}

uint32_t granted_rights(const sidra_nvm_entry& entry, const Credentials& who) {
    if (who.admin) return SIDRA_WEIGHTS_RIGHTS;
    // Entries have no group: every user except the owner is "other".
    const uint32_t bits = who.uid == entry.owner ? entry.mode >> 6 : entry.mode;
    return (bits & 4 ? SIDRA_WEIGHTS_COMPUTE : 0u) | (bits & 2 ? SIDRA_WEIGHTS_PROGRAM | SIDRA_WEIGHTS_READBACK : 0u);
}

bool visible(const sidra_nvm_entry& entry, const Credentials& who) {
    return who.uid == entry.owner || granted_rights(entry, who) != 0;
}

Directory::Directory(NvmStore& store) : store_(store), data_(kDataOffset, store.size()) {}

// Entries that the driver wrote are always plausible; damaged memory must not cause out-of-range accesses.
bool Directory::plausible(const sidra_nvm_entry& entry) const {
    const bool named = entry.name[0] != '\0' && entry.name[sizeof entry.name - 1] == '\0';
    const uint32_t outputs = entry.encoding == SIDRA_ENCODING_DIFFERENTIAL ? SIDRA_XBAR_COLS / 2 : SIDRA_XBAR_COLS;
    const uint64_t tiles = (uint64_t{entry.rows} + SIDRA_XBAR_ROWS - 1) / SIDRA_XBAR_ROWS *
                           ((uint64_t{entry.cols} + outputs - 1) / outputs);
    return named && entry.uid < next_uid_ && entry.rows != 0 && entry.cols != 0 &&
           entry.encoding <= SIDRA_ENCODING_OFFSET && entry.tile_count == tiles && entry.data_size <= kDataMax &&
           entry.data_offset % kDataAlignment == 0;
}

int Directory::load(Detail& detail) {
    sidra_nvm_super super{};
    if (int error = store_.read(0, &super, sizeof super))
        return fail(detail, error, "the weights directory cannot be read");
    if (super.magic == 0 && super.version == 0) return 0;  // never written
    if (super.magic != SIDRA_NVM_MAGIC || super.version != SIDRA_NVM_VERSION)
        return fail(detail, -EPROTO,
                    "the weights directory has magic {:#x} version {}, this driver knows {:#x} version {}", super.magic,
                    super.version, SIDRA_NVM_MAGIC, SIDRA_NVM_VERSION);
    next_uid_ = uid_ = super.next_uid;
    std::vector<sidra_nvm_entry> all(SIDRA_NVM_ENTRIES);
    if (int error = store_.read(kEntriesOffset, all.data(), all.size() * sizeof all[0]))
        return fail(detail, error, "the weights directory cannot be read");
    for (uint32_t number = 0; number < all.size(); number++) {
        const sidra_nvm_entry& entry = all[number];
        if (entry.uid == 0 || !plausible(entry) || find(entry.owner, entry.name) || find_uid(entry.uid)) continue;
        if (entry.data_size != 0 && !data_.reserve(entry.data_offset, extent(entry.data_size))) continue;
        entries_.emplace(number, entry);
    }
    return 0;
}

int64_t Directory::take_uid(Detail& detail) {
    if (uid_ == next_uid_) {
        sidra_nvm_super super{};
        super.magic = SIDRA_NVM_MAGIC;
        super.version = SIDRA_NVM_VERSION;
        if (uid_ == 0) uid_ = 1;
        super.next_uid = uid_ + kUidBlock;
        if (int error = store_.write(0, &super, sizeof super)) {
            uid_ = next_uid_;
            return fail(detail, error, "the weights directory cannot be written");
        }
        next_uid_ = super.next_uid;
    }
    return static_cast<int64_t>(uid_++);
}

std::optional<uint32_t> Directory::find(uint32_t owner, const std::string& name) const {
    for (const auto& [number, entry] : entries_)
        if (entry.owner == owner && name == entry.name) return number;
    return std::nullopt;
}

std::optional<uint32_t> Directory::find_uid(uint64_t uid) const {
    for (const auto& [number, entry] : entries_)
        if (entry.uid == uid) return number;
    return std::nullopt;
}

int Directory::add(sidra_nvm_entry entry, std::span<const uint8_t> data, Detail& detail) {
    if (find(entry.owner, entry.name))
        return fail(detail, -EEXIST, "user {} has used the name \"{}\" already", entry.owner, entry.name);
    uint32_t number = 0;
    while (entries_.contains(number)) number++;
    if (number >= SIDRA_NVM_ENTRIES)
        return fail(detail, -ENOSPC,
                    "the weights directory has no room: all {} entries are taken; unlink names that are not needed",
                    SIDRA_NVM_ENTRIES);
    entry.data_offset = 0;
    entry.data_size = data.size();
    if (!data.empty()) {
        const auto offset = data_.allocate(extent(data.size()), kDataAlignment);
        if (!offset)
            return fail(detail, -ENOSPC,
                        "the weights directory has no room for the {} bytes of data of \"{}\": {} are free, at most {} "
                        "in one piece",
                        data.size(), entry.name, data_.free_total(), data_.largest_free());
        entry.data_offset = *offset;
    }
    const auto [place, inserted] = entries_.emplace(number, entry);
    static_cast<void>(inserted);
    int error = data.empty() ? 0 : store_.write(entry.data_offset, data.data(), data.size());
    if (error == 0) error = store_.write(entry_offset(number), &entry, sizeof entry);
    if (error == 0) return static_cast<int>(number);
    entries_.erase(place);
    if (!data.empty()) data_.free(entry.data_offset, extent(data.size()));
    return fail(detail, error, "the weights directory cannot be written");
}

int Directory::remove(uint32_t number, Detail& detail) {
    const sidra_nvm_entry& entry = entries_.at(number);
    const sidra_nvm_entry empty{};
    if (int error = store_.write(entry_offset(number), &empty, sizeof empty))
        return fail(detail, error, "the weights directory cannot be written");
    if (entry.data_size != 0) data_.free(entry.data_offset, extent(entry.data_size));
    entries_.erase(number);
    return 0;
}

int Directory::read_data(uint32_t number, std::vector<uint8_t>* data, Detail& detail) {
    const sidra_nvm_entry& entry = entries_.at(number);
    data->resize(entry.data_size);
    if (entry.data_size == 0) return 0;
    if (int error = store_.read(entry.data_offset, data->data(), data->size()))
        return fail(detail, error, "the data of the name \"{}\" cannot be read", entry.name);
    return 0;
}

}  // namespace sidra::embedded
