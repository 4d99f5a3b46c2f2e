// SPDX-License-Identifier: MIT
// The directory of named weights in the chip's non-volatile memory: struct sidra_nvm_super, the entries, then data in
// extents.
#ifndef SIDRA_EMBEDDED_DIRECTORY_H
#define SIDRA_EMBEDDED_DIRECTORY_H

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "detail.h"
#include "range_allocator.h"
#include "sidra_accel.h"
#include "sidra_hw.h"

namespace sidra::embedded {

// Non-volatile memory. Returns 0 or -errno.
class NvmStore {
   public:
    virtual int read(uint64_t offset, void* to, uint64_t size) = 0;
    virtual int write(uint64_t offset, const void* from, uint64_t size) = 0;
    virtual uint64_t size() const = 0;

   protected:
    ~NvmStore() = default;
};

// The user that requests access to a named object.
struct Credentials {
    uint32_t uid = 0;
    bool admin = false;  // CAP_SYS_ADMIN
    static Credentials current();
};

// SIDRA_WEIGHTS_* granted by owner and mode.
uint32_t granted_rights(const sidra_nvm_entry& entry, const Credentials& who);
// Whether a user may know of the object: its owner, and who has any rights.
bool visible(const sidra_nvm_entry& entry, const Credentials& who);

// Not thread-safe. Every change is in NVM before the call returns. An entry is written after its data, so that an
// interrupted change leaves the old state.
class Directory {
   public:
    static constexpr uint64_t kEntriesOffset = sizeof(sidra_nvm_super);
    static constexpr uint64_t kDataOffset = kEntriesOffset + SIDRA_NVM_ENTRIES * sizeof(sidra_nvm_entry);
    static constexpr uint64_t kDataMax = SIDRA_WEIGHTS_DATA_MAX;

    explicit Directory(NvmStore& store);

    // Reads the directory. Memory that was never written becomes an empty directory when something is stored.
    int load(Detail& detail);

    // Whether no object was ever stored on this array.
    bool fresh() const { return next_uid_ == 0; }
    // Returns an identity that was never used on this array: > 0, or -errno.
    int64_t take_uid(Detail& detail);

    // Bytes for data of names, and those that are in use.
    uint64_t data_size() const { return store_.size() - kDataOffset; }
    uint64_t data_used() const { return data_size() - data_.free_total(); }

    // Entries by number, 0..SIDRA_NVM_ENTRIES - 1.
    const std::map<uint32_t, sidra_nvm_entry>& entries() const { return entries_; }
    // Each user has names of its own.
    std::optional<uint32_t> find(uint32_t owner, const std::string& name) const;
    std::optional<uint32_t> find_uid(uint64_t uid) const;

    // Stores a new entry (and fills in its data extent). Returns its number, or -EEXIST, -ENOSPC, -EIO.
    int add(sidra_nvm_entry entry, std::span<const uint8_t> data, Detail& detail);
    int remove(uint32_t number, Detail& detail);
    int read_data(uint32_t number, std::vector<uint8_t>* data, Detail& detail);

   private:
    static constexpr uint64_t kUidBlock = 256;  // identities reserved with one write; unused ones are skipped
    static uint64_t entry_offset(uint32_t number) {
        return kEntriesOffset + uint64_t{number} * sizeof(sidra_nvm_entry);
    }
    bool plausible(const sidra_nvm_entry& entry) const;

    NvmStore& store_;
    std::map<uint32_t, sidra_nvm_entry> entries_;
    RangeAllocator data_;
    uint64_t next_uid_ = 0;  // as stored; 0: nothing stored yet
    uint64_t uid_ = 0;       // next identity; all below next_uid_ are reserved
};

}  // namespace sidra::embedded

#endif
