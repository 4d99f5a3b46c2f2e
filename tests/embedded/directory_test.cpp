// SPDX-License-Identifier: MIT
#include "directory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

namespace sidra::embedded {
namespace {

// NVM whose failures the test controls.
class FakeNvm final : public NvmStore {
   public:
    int read(uint64_t offset, void* to, uint64_t bytes) override {
        if (offset > data.size() || bytes > data.size() - offset) return -EINVAL;
        std::memcpy(to, &data[offset], bytes);
        return 0;
    }
    int write(uint64_t offset, const void* from, uint64_t bytes) override {
        if (writes_left == 0) return -EIO;
        writes_left--;
        if (offset > data.size() || bytes > data.size() - offset) return -EINVAL;
        std::memcpy(&data[offset], from, bytes);
        return 0;
    }
    uint64_t size() const override { return data.size(); }

    std::vector<uint8_t> data = std::vector<uint8_t>(Directory::kDataOffset + (1u << 20));
    uint64_t writes_left = ~uint64_t{0};
};

constexpr uint32_t kOwner = 1000;

sidra_nvm_entry entry(const char* name, uint64_t uid, uint32_t mode = 0600, uint32_t owner = kOwner) {
    sidra_nvm_entry e{};
    e.uid = uid;
    e.owner = owner;
    e.mode = mode;
    e.rows = 300;
    e.cols = 10;
    e.encoding = SIDRA_ENCODING_OFFSET;
    e.tile_count = 2;
    std::strcpy(e.name, name);
    return e;
}

uint64_t uid(Directory& directory) {
    Detail detail;
    const int64_t id = directory.take_uid(detail);
    EXPECT_GT(id, 0) << detail;
    return static_cast<uint64_t>(id);
}

TEST(Directory, IsEmptyOnNewMemory) {
    FakeNvm nvm;
    Directory directory(nvm);
    Detail detail;
    EXPECT_EQ(directory.load(detail), 0);
    EXPECT_TRUE(directory.fresh());
    EXPECT_TRUE(directory.entries().empty());
}

TEST(Directory, SurvivesAndNeverRepeatsIdentities) {
    FakeNvm nvm;
    Detail detail;
    std::set<uint64_t> seen;
    for (int life = 0; life < 3; life++) {
        Directory directory(nvm);
        ASSERT_EQ(directory.load(detail), 0) << detail;
        EXPECT_EQ(directory.fresh(), life == 0);
        for (int i = 0; i < 600; i++) ASSERT_TRUE(seen.insert(uid(directory)).second);
        EXPECT_EQ(directory.entries().size(), static_cast<size_t>(life));
        const std::vector<uint8_t> data(1000 + 100 * static_cast<size_t>(life), static_cast<uint8_t>(life + 1));
        ASSERT_GE(directory.add(entry(fmt::format("w{}", life).c_str(), uid(directory)), data, detail), 0) << detail;
    }
    Directory directory(nvm);
    ASSERT_EQ(directory.load(detail), 0);
    for (size_t life = 0; life < 3; life++) {
        const auto number = directory.find(kOwner, fmt::format("w{}", life));
        ASSERT_TRUE(number);
        std::vector<uint8_t> data;
        ASSERT_EQ(directory.read_data(*number, &data, detail), 0);
        EXPECT_EQ(data, std::vector<uint8_t>(1000 + 100 * life, static_cast<uint8_t>(life + 1)));
    }
}

TEST(Directory, NamesAreTakenOnceAndFreedByRemove) {
    FakeNvm nvm;
    Directory directory(nvm);
    Detail detail;
    const int number = directory.add(entry("a", uid(directory)), {}, detail);
    ASSERT_GE(number, 0);
    EXPECT_EQ(directory.add(entry("a", uid(directory)), {}, detail), -EEXIST);
    EXPECT_NE(detail.find("\"a\""), std::string::npos);
    EXPECT_EQ(directory.remove(static_cast<uint32_t>(number), detail), 0);
    EXPECT_GE(directory.add(entry("a", uid(directory)), {}, detail), 0);
}

TEST(Directory, SaysWhenItIsFull) {
    FakeNvm nvm;
    Directory directory(nvm);
    Detail detail;
    const std::vector<uint8_t> half(600'000);
    ASSERT_GE(directory.add(entry("big", uid(directory)), half, detail), 0);
    EXPECT_EQ(directory.add(entry("big2", uid(directory)), half, detail), -ENOSPC);
    EXPECT_FALSE(directory.find(kOwner, "big2"));
    ASSERT_EQ(directory.remove(*directory.find(kOwner, "big"), detail), 0);
    EXPECT_GE(directory.add(entry("big2", uid(directory)), half, detail), 0) << "room comes back";
    for (uint32_t i = 1; i < SIDRA_NVM_ENTRIES; i++)
        ASSERT_GE(directory.add(entry(fmt::format("n{}", i).c_str(), uid(directory)), {}, detail), 0) << detail;
    EXPECT_EQ(directory.add(entry("more", uid(directory)), {}, detail), -ENOSPC);
}

TEST(Directory, AFailedWriteChangesNothing) {
    FakeNvm nvm;
    Directory directory(nvm);
    Detail detail;
    const uint64_t id = uid(directory);
    const std::vector<uint8_t> data(500, 7);
    for (uint64_t allowed : {0, 1}) {
        nvm.writes_left = allowed;
        EXPECT_EQ(directory.add(entry("x", id), data, detail), -EIO);
        EXPECT_FALSE(directory.find(kOwner, "x"));
        Directory again(nvm);
        EXPECT_EQ(again.load(detail), 0);
        EXPECT_FALSE(again.find(kOwner, "x"));
    }
    nvm.writes_left = ~uint64_t{0};
    EXPECT_GE(directory.add(entry("x", id), data, detail), 0);
    nvm.writes_left = 0;
    EXPECT_EQ(directory.remove(*directory.find(kOwner, "x"), detail), -EIO);
    EXPECT_TRUE(directory.find(kOwner, "x"));
}

TEST(Directory, RefusesWhatItDoesNotKnowAndSkipsDamage) {
    FakeNvm nvm;
    Detail detail;
    {
        Directory directory(nvm);
        const std::vector<uint8_t> data(500, 7);
        for (const char* name : {"good", "wild", "twin"})
            ASSERT_GE(directory.add(entry(name, uid(directory)), data, detail), 0);
    }
    auto* entries = reinterpret_cast<sidra_nvm_entry*>(&nvm.data[Directory::kEntriesOffset]);
    entries[1].data_offset = ~uint64_t{63};           // outside
    entries[2].data_offset = entries[0].data_offset;  // on top of another
    entries[3] = entry("future", ~uint64_t{0});       // an identity never assigned
    entries[4] = entry("tiles", 4);
    entries[4].tile_count = 1u << 30;
    std::memset(entries[5].name, 'x', sizeof entries[5].name);  // not terminated
    entries[5].uid = 5;
    {
        Directory directory(nvm);
        EXPECT_EQ(directory.load(detail), 0);
        EXPECT_EQ(directory.entries().size(), 1u);
        EXPECT_TRUE(directory.find(kOwner, "good"));
    }
    nvm.data[4] = 9;  // version
    Directory directory(nvm);
    EXPECT_EQ(directory.load(detail), -EPROTO);
    EXPECT_NE(detail.find("version 9"), std::string::npos) << detail;
}

TEST(Directory, EachUserHasNamesOfItsOwn) {
    FakeNvm nvm;
    Directory directory(nvm);
    Detail detail;
    ASSERT_EQ(directory.add(entry("a", uid(directory), 0600, 1000), {}, detail), 0);
    ASSERT_EQ(directory.add(entry("a", uid(directory), 0600, 1001), {}, detail), 1) << detail;
    EXPECT_EQ(directory.add(entry("a", uid(directory), 0600, 1001), {}, detail), -EEXIST);
    EXPECT_EQ(directory.find(1000, "a"), 0u);
    EXPECT_EQ(directory.find(1001, "a"), 1u);
    EXPECT_FALSE(directory.find(1002, "a"));
    const Credentials owner{1000, false}, other{1001, false}, admin{0, true};
    EXPECT_TRUE(visible(entry("a", 1, 0), owner));
    EXPECT_FALSE(visible(entry("a", 1, 0600), other));
    EXPECT_TRUE(visible(entry("a", 1, 0604), other));
    EXPECT_TRUE(visible(entry("a", 1, 0600), admin));
}

TEST(Directory, RightsComeFromOwnerAndMode) {
    const uint32_t w = SIDRA_WEIGHTS_PROGRAM | SIDRA_WEIGHTS_READBACK;
    const Credentials owner{1000, false}, other{1001, false}, admin{0, true}, root_without{0, false};
    EXPECT_EQ(granted_rights(entry("a", 1, 0600), owner), SIDRA_WEIGHTS_RIGHTS);
    EXPECT_EQ(granted_rights(entry("a", 1, 0600), other), 0u);
    EXPECT_EQ(granted_rights(entry("a", 1, 0644), other), SIDRA_WEIGHTS_COMPUTE);
    EXPECT_EQ(granted_rights(entry("a", 1, 0422), other), w);
    EXPECT_EQ(granted_rights(entry("a", 1, 0422), owner), SIDRA_WEIGHTS_COMPUTE);
    EXPECT_EQ(granted_rights(entry("a", 1, 0), admin), SIDRA_WEIGHTS_RIGHTS);
    EXPECT_EQ(granted_rights(entry("a", 1, 0600), root_without), 0u);
}

}  // namespace
}  // namespace sidra::embedded
