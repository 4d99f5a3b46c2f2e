// SPDX-License-Identifier: MIT
#include <cstring>
#include <random>

#include "pure.h"

namespace sidra::test {
namespace {

struct Store {
    explicit Store(size_t size = 1 << 20) : bytes(size) {}
    std::vector<uint8_t> bytes;
    int writes_left = -1;  // then -EIO

    static int read(void* owner, u64 offset, void* to, u64 size) {
        auto* self = static_cast<Store*>(owner);
        EXPECT_LE(offset + size, self->bytes.size());
        std::memcpy(to, self->bytes.data() + offset, size);
        return 0;
    }
    static int write(void* owner, u64 offset, const void* from, u64 size) {
        auto* self = static_cast<Store*>(owner);
        if (self->writes_left == 0) return -EIO;
        if (self->writes_left > 0) self->writes_left--;
        EXPECT_LE(offset + size, self->bytes.size());
        std::memcpy(self->bytes.data() + offset, from, size);
        return 0;
    }
};
constexpr sidra_nvm_store kStore{Store::read, Store::write};

class Nvm : public Pure {
   protected:
    void TearDown() override {
        sidra_nvm_fini(&nvm);
        Pure::TearDown();
    }
    int load() { return sidra_nvm_load(&nvm, &kStore, &store, store.bytes.size()); }
    int reload() {
        sidra_nvm_fini(&nvm);
        return load();
    }
    int add(const char* name, std::string data = "", u32 owner = 0) {
        sidra_nvm_entry entry{};
        entry.owner = owner;
        EXPECT_EQ(sidra_nvm_take_uid(&nvm, &entry.uid), 0);
        entry.rows = entry.cols = 300;
        entry.encoding = SIDRA_ENCODING_OFFSET;
        entry.tile_count = 4;
        std::strncpy(entry.name, name, sizeof entry.name - 1);
        const int number = sidra_nvm_add(&nvm, &entry, data.data(), data.size());
        EXPECT_EQ(sidra_nvm_find_uid(&nvm, entry.uid), -ENOENT) << "not before it is shown";
        if (number >= 0) sidra_nvm_show(&nvm, static_cast<u32>(number), &entry);
        return number;
    }
    Store store;
    sidra_nvm nvm{};
};

TEST_F(Nvm, KeepsEntriesAndIdentities) {
    ASSERT_EQ(load(), 0);
    EXPECT_TRUE(sidra_nvm_fresh(&nvm));
    EXPECT_EQ(add("one", "scales"), 0);
    EXPECT_EQ(add("two"), 1);
    EXPECT_EQ(add("one"), -EEXIST);
    ASSERT_EQ(reload(), 0);
    EXPECT_FALSE(sidra_nvm_fresh(&nvm));
    ASSERT_EQ(sidra_nvm_find(&nvm, 0, "one"), 0);
    const sidra_nvm_entry& one = nvm.entries[0];
    EXPECT_EQ(std::memcmp(store.bytes.data() + one.data_offset, "scales", 6), 0);
    EXPECT_EQ(one.data_offset % 64, 0u);
    EXPECT_GE(one.data_offset, SIDRA_NVM_DATA_OFFSET);
    u64 uid;
    ASSERT_EQ(sidra_nvm_take_uid(&nvm, &uid), 0);
    EXPECT_GT(uid, 3u) << "never one that was given out before";
    ASSERT_EQ(sidra_nvm_remove(&nvm, 0), 0);
    EXPECT_EQ(sidra_nvm_find(&nvm, 0, "one"), 0) << "until it is hidden";
    sidra_nvm_hide(&nvm, 0);
    EXPECT_EQ(sidra_nvm_find(&nvm, 0, "one"), -ENOENT);
    ASSERT_EQ(reload(), 0);
    EXPECT_EQ(sidra_nvm_find(&nvm, 0, "one"), -ENOENT);
    EXPECT_EQ(sidra_nvm_find(&nvm, 0, "two"), 1);
    EXPECT_EQ(add("three"), 0) << "the place is free again";
}

TEST_F(Nvm, FullAndFailingMemory) {
    ASSERT_EQ(load(), 0);
    for (u32 i = 0; i < SIDRA_NVM_ENTRIES; i++) ASSERT_GE(add(std::to_string(i).c_str()), 0);
    EXPECT_EQ(add("more"), -ENOSPC);
    ASSERT_EQ(sidra_nvm_remove(&nvm, 5), 0);
    sidra_nvm_hide(&nvm, 5);
    const u64 free = nvm.data.total;
    EXPECT_EQ(add("large", std::string(store.bytes.size(), 'x')), -ENOSPC);
    for (int writes = 0; writes < 2; writes++) {
        store.writes_left = writes;
        EXPECT_EQ(add("broken", std::string(1000, 'x')), -EIO);
        store.writes_left = -1;
        EXPECT_EQ(nvm.data.total, free);
        EXPECT_EQ(sidra_nvm_find(&nvm, 0, "broken"), -ENOENT);
    }
    store.writes_left = 0;
    EXPECT_EQ(sidra_nvm_remove(&nvm, 7), -EIO);
    u64 uid;
    while (nvm.uid != nvm.next_uid) ASSERT_EQ(sidra_nvm_take_uid(&nvm, &uid), 0);
    EXPECT_EQ(sidra_nvm_take_uid(&nvm, &uid), -EIO) << "the next block cannot be reserved";
    EXPECT_EQ(sidra_nvm_find(&nvm, 0, "7"), 7);
}

TEST_F(Nvm, DamagedMemoryIsHarmless) {
    ASSERT_EQ(load(), 0);
    ASSERT_EQ(add("good", "data"), 0);
    const std::vector<uint8_t> image = store.bytes;
    std::mt19937 random(5);
    for (int round = 0; round < 300; round++) {
        store.bytes = image;
        for (int i = 0; i < 8; i++)
            store.bytes[sizeof(sidra_nvm_super) + random() % 1024] = static_cast<uint8_t>(random());
        ASSERT_EQ(reload(), 0);
        for (u32 i = 0; i < SIDRA_NVM_ENTRIES; i++) {
            const sidra_nvm_entry& entry = nvm.entries[i];
            if (!entry.uid || !entry.data_size) continue;
            EXPECT_GE(entry.data_offset, SIDRA_NVM_DATA_OFFSET);
            EXPECT_LE(entry.data_offset + entry.data_size, store.bytes.size());
        }
    }
    store.bytes = image;
    store.bytes[0] ^= 1;
    EXPECT_EQ(reload(), -EPROTO);
    store.bytes = image;
    store.bytes[4] = 9;
    EXPECT_EQ(reload(), -EPROTO) << "a newer version";
    // Uids that would begin anew, with 0.
    for (const u64 next : {~u64{0}, ~u64{0} - 255, ~u64{0} / 2 + 1}) {
        store.bytes = image;
        std::memcpy(store.bytes.data() + offsetof(sidra_nvm_super, next_uid), &next, sizeof next);
        EXPECT_EQ(reload(), -EPROTO) << next;
    }
    // Two of one name: the first counts.
    store.bytes = image;
    std::memcpy(store.bytes.data() + SIDRA_NVM_ENTRIES_OFFSET + 256, store.bytes.data() + SIDRA_NVM_ENTRIES_OFFSET,
                256);
    ASSERT_EQ(reload(), 0);
    EXPECT_EQ(nvm.entries[1].uid, 0u);
}

TEST_F(Nvm, EachUserHasNamesOfItsOwn) {
    ASSERT_EQ(load(), 0);
    EXPECT_EQ(add("model", "", 1000), 0);
    EXPECT_EQ(add("model", "", 1001), 1);
    EXPECT_EQ(add("model", "", 1000), -EEXIST);
    EXPECT_EQ(sidra_nvm_find(&nvm, 1000, "model"), 0);
    EXPECT_EQ(sidra_nvm_find(&nvm, 1001, "model"), 1);
    EXPECT_EQ(sidra_nvm_find(&nvm, 1002, "model"), -ENOENT);
    ASSERT_EQ(reload(), 0);
    EXPECT_EQ(sidra_nvm_find(&nvm, 1001, "model"), 1) << "both are stored";
    EXPECT_EQ(sidra_nvm_remove(&nvm, 0), 0);
    sidra_nvm_hide(&nvm, 0);
    EXPECT_EQ(sidra_nvm_find(&nvm, 1000, "model"), -ENOENT);
    EXPECT_EQ(sidra_nvm_find(&nvm, 1001, "model"), 1);
}

TEST_F(Nvm, RightsOfOwnerAndOthers) {
    sidra_nvm_entry entry{};
    entry.owner = 1000;
    entry.mode = 0640;
    const u32 all = SIDRA_WEIGHTS_RIGHTS;
    const sidra_nvm_user owner{1000, false}, other{1001, false}, admin{1001, true};
    EXPECT_EQ(sidra_nvm_rights(&entry, &owner), all);
    EXPECT_EQ(sidra_nvm_rights(&entry, &other), 0u);
    EXPECT_EQ(sidra_nvm_rights(&entry, &admin), all);
    EXPECT_FALSE(sidra_nvm_visible(&entry, &other));
    EXPECT_TRUE(sidra_nvm_visible(&entry, &admin));
    entry.mode = 0604;
    EXPECT_EQ(sidra_nvm_rights(&entry, &other), SIDRA_WEIGHTS_COMPUTE);
    EXPECT_TRUE(sidra_nvm_visible(&entry, &other));
    entry.mode = 0;
    EXPECT_EQ(sidra_nvm_rights(&entry, &owner), 0u);
    EXPECT_TRUE(sidra_nvm_visible(&entry, &owner));
    EXPECT_EQ(sidra_tile_count(300, 300, SIDRA_ENCODING_DIFFERENTIAL), 6u);
    EXPECT_EQ(sidra_tile_count(~0u, ~0u, SIDRA_ENCODING_OFFSET), u64{1} << 48);
}

}  // namespace
}  // namespace sidra::test
