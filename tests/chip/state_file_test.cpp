// SPDX-License-Identifier: MIT
// The state file on its own: whatever happens to it, it has the old or the new records, and reports when it has
// neither.
#include "state_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <random>

#include "bench.h"
#include "folder.h"
#include "sum.h"

namespace sidra::chip_test {
namespace {

using chip::Record;
using chip::StateFile;
using chip::StateFileError;
using Bytes = std::vector<uint8_t>;
using Contents = std::map<std::pair<uint32_t, uint64_t>, Bytes>;  // by tag and number

constexpr uint32_t kTag = 7, kOther = 8;

Bytes bytes(size_t count, uint64_t seed) {
    std::mt19937_64 random(seed);
    Bytes result(count);
    for (uint8_t& byte : result) byte = static_cast<uint8_t>(random());
    return result;
}

// What a test has written, and what the file reports.
struct Opened {
    explicit Opened(const std::string& path, const chip::StateFileLimits& limits = {})
        : file(
              path,
              [this](const std::string& line) {
                  std::lock_guard guard(lock);
                  lines += line + "\n";
                  pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
              },
              limits) {
        if (file.empty()) file.replace([](const StateFile::Put&) {});
        // Each payload of these tests starts with a number that identifies it.
        file.replay([this](uint32_t tag, const Bytes& payload) {
            uint64_t number;
            std::memcpy(&number, payload.data(), sizeof number);
            const bool first = found.emplace(std::pair{tag, number}, payload).second;
            EXPECT_TRUE(first) << "a key comes twice";
        });
        file.settle();
    }
    std::string said() {
        std::lock_guard guard(lock);
        return lines;
    }
    Contents found;
    std::mutex lock;
    std::string lines;
    sigset_t blocked{};  // signals of the thread that has reported last
    StateFile file;
};

Bytes payload(uint64_t number, size_t size, uint64_t seed) {
    Bytes result = bytes(size, seed);
    std::memcpy(result.data(), &number, sizeof number);
    return result;
}

bool put(StateFile& file, uint32_t tag, uint64_t number, const Bytes& data) {
    const Record record{tag, number, data, {}};
    return file.append({&record, 1});
}

bool remove(StateFile& file, uint32_t tag, uint64_t number) { return put(file, tag, number, {}); }

class StateFileTest : public testing::Test {
   protected:
    // "" or the reason why it cannot be opened; and its contents.
    std::string open_error(Contents* found = nullptr) {
        try {
            Opened opened(path_);
            if (found) *found = opened.found;
            said_ = opened.said();
            return "";
        } catch (const StateFileError& error) {
            code_ = error.code;
            return error.what();
        }
    }
    Contents contents() {
        Contents found;
        EXPECT_EQ(open_error(&found), "");
        return found;
    }
    Bytes raw() const { return read_file(path_); }
    void set_raw(const Bytes& data) const { write_file(path_, data); }

    Folder folder_;
    const std::string path_ = folder_.path("state");
    std::string said_;
    int code_ = 0;
};

TEST_F(StateFileTest, TheLastRecordOfAKeyCounts) {
    Contents expected;
    {
        Opened opened(path_);
        EXPECT_TRUE(opened.found.empty());
        for (uint64_t number : {1u, 2u, 3u}) EXPECT_TRUE(put(opened.file, kTag, number, payload(number, 100, number)));
        EXPECT_TRUE(put(opened.file, kOther, 2, expected[{kOther, 2}] = payload(2, 64, 9)));
        EXPECT_TRUE(put(opened.file, kTag, 2, expected[{kTag, 2}] = payload(2, 1000, 10)));
        EXPECT_TRUE(remove(opened.file, kTag, 3));
        EXPECT_TRUE(remove(opened.file, kTag, 4)) << "was never there";
        expected[{kTag, 1}] = payload(1, 100, 1);
    }
    EXPECT_EQ(contents(), expected);
    EXPECT_EQ(said_, "");
    const Bytes before = raw();
    EXPECT_EQ(contents(), expected);
    EXPECT_EQ(raw(), before) << "to look at it does not change it";
}

// The file of a killed process: all complete groups before the cut are restored.
TEST_F(StateFileTest, EveryTruncation) {
    std::vector<std::pair<size_t, Contents>> states;  // valid from this size of the file on
    {
        Opened opened(path_);
        Contents now;
        const auto reached = [&] { states.emplace_back(raw().size(), now); };
        reached();
        now[{kTag, 1}] = payload(1, 40, 1);
        put(opened.file, kTag, 1, now[{kTag, 1}]);
        reached();
        now[{kTag, 1}] = payload(1, 130, 2);
        now[{kOther, 1}] = payload(1, 64, 3);
        now[{kTag, 5}] = payload(5, 9, 4);
        const Record together[] = {
            {kTag, 1, now[{kTag, 1}], {}},
            {kOther, 1, std::span(now[{kOther, 1}]).first(10), std::span(now[{kOther, 1}]).subspan(10)},
            {kTag, 5, now[{kTag, 5}], {}}};
        EXPECT_TRUE(opened.file.append(together));
        reached();
        now.erase({kTag, 5});
        remove(opened.file, kTag, 5);
        reached();
    }
    const Bytes whole = raw();
    for (size_t size = 0; size < whole.size(); size += kStep) {
        SCOPED_TRACE(size);
        set_raw({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)});
        Contents found;
        const std::string error = open_error(&found);
        if (size < states[0].first) {
            // Shorter than the header of a new file.
            EXPECT_EQ(error.empty(), size == 0) << error;
            continue;
        }
        ASSERT_EQ(error, "");
        size_t last = 0;
        while (last + 1 < states.size() && size >= states[last + 1].first) last++;
        EXPECT_EQ(found, states[last].second);
        EXPECT_EQ(said_.find("are cut off") != std::string::npos, size != states[last].first) << said_;
        EXPECT_EQ(open_error(&found), "");
        EXPECT_EQ(said_, "") << "said once";
        EXPECT_EQ(found, states[last].second);
    }
}

// A closed file: no live record may be lost unnoticed.
TEST_F(StateFileTest, EveryByteFlipped) {
    Contents expected;
    size_t dead_begin = 0, dead_end = 0;
    {
        Opened opened(path_);
        put(opened.file, kTag, 1, expected[{kTag, 1}] = payload(1, 100, 1));
        dead_begin = raw().size() + sizeof(chip::RecordHead);
        put(opened.file, kTag, 2, payload(2, 100, 2));
        dead_end = raw().size();
        put(opened.file, kTag, 2, expected[{kTag, 2}] = payload(2, 100, 3));
        const Record together[] = {{kTag, 3, expected[{kTag, 3}] = payload(3, 70, 4), {}},
                                   {kTag, 4, expected[{kTag, 4}] = payload(4, 70, 5), {}}};
        opened.file.append(together);
    }
    const Bytes whole = raw();
    const size_t mark = whole.size() - sizeof(chip::RecordHead);
    for (size_t at = 0; at < whole.size(); at += kStep) {
        for (const uint8_t mask : {0x01, 0x80, 0xff}) {
            SCOPED_TRACE(at);
            Bytes damaged = whole;
            damaged[at] ^= mask;
            set_raw(damaged);
            Contents found;
            const std::string error = open_error(&found);
            if (at >= mark) {  // the sync mark: the records themselves are complete
                EXPECT_EQ(error, "");
                EXPECT_EQ(found, expected);
            } else if (at >= dead_begin && at < dead_end) {  // replaced by a later record
                EXPECT_EQ(error, "");
                EXPECT_EQ(found, expected);
                EXPECT_EQ(said_, "");
            } else {
                EXPECT_NE(error, "");
                EXPECT_NE(error.find(path_), std::string::npos) << error;
                EXPECT_EQ(raw(), damaged) << "left alone";
                if (at >= sizeof(chip::FileHead)) {
                    EXPECT_NE(error.find("damaged at offset "), std::string::npos) << error;
                    EXPECT_NE(error.find("move it away"), std::string::npos) << error;
                }
            }
        }
    }
}

// The power fails: any part that was not synced may be missing, even with complete records after it.
TEST_F(StateFileTest, HolesInWhatWasNotSynced) {
    Bytes synced, whole;
    Contents sure, before;
    size_t hole = 0;
    {
        Opened opened(path_);
        put(opened.file, kTag, 1, sure[{kTag, 1}] = payload(1, 300, 1));
        EXPECT_TRUE(opened.file.sync());
        synced = raw();
        before = sure;
        put(opened.file, kTag, 2, before[{kTag, 2}] = payload(2, 300, 2));
        hole = raw().size();
        put(opened.file, kTag, 3, payload(3, 300, 3));
        put(opened.file, kTag, 4, payload(4, 300, 4));
        whole = raw();
    }
    Bytes damaged = whole;
    std::fill_n(damaged.begin() + static_cast<ptrdiff_t>(hole), 200, uint8_t{0});
    set_raw(damaged);
    EXPECT_EQ(contents(), before) << "up to the hole";
    EXPECT_NE(said_.find("from offset " + std::to_string(hole) + " on are cut off"), std::string::npos) << said_;
    // In the synced part it is damage, whatever follows.
    damaged = whole;
    damaged[synced.size() - 200] ^= 1;
    set_raw(damaged);
    EXPECT_NE(open_error().find("damaged at offset"), std::string::npos);
    // Also when only the sync mark is intact after it.
    for (size_t at = synced.size() - 450; at < synced.size() - 64; at++) {
        damaged = synced;
        damaged[at] = static_cast<uint8_t>(~damaged[at]);
        set_raw(damaged);
        EXPECT_NE(open_error().find("damaged at offset"), std::string::npos) << at;
    }
}

// A record inside a payload is bytes, and no record.
TEST_F(StateFileTest, RecordsInsideAPayloadAreNone) {
    Bytes inner;
    {
        Opened opened(folder_.path("other"));
        put(opened.file, kTag, 9, payload(9, 200, 1));
        opened.file.sync();
        inner = read_file(folder_.path("other"));
    }
    {
        Opened opened(path_);
        Bytes evil = payload(1, 64, 1);
        evil.insert(evil.end(), inner.begin(), inner.end());
        put(opened.file, kTag, 2, payload(2, 64, 2));
        put(opened.file, kTag, 1, evil);
    }
    Bytes data = raw();
    data.erase(data.end() - 128, data.end());  // the mark and the end of the record before it
    set_raw(data);
    EXPECT_EQ(contents().size(), 1u);
    EXPECT_NE(said_.find("cut off"), std::string::npos);
}

TEST_F(StateFileTest, WhatIsNoStateFileIsSaidAndLeftAlone) {
    const auto refused = [&](const Bytes& data, const char* why) {
        set_raw(data);
        const std::string error = open_error();
        EXPECT_NE(error.find(why), std::string::npos) << error;
        EXPECT_NE(error.find("state file '" + path_ + "' cannot be used"), std::string::npos) << error;
        EXPECT_EQ(code_, EINVAL);
        EXPECT_EQ(raw(), data);
    };
    const std::string script = "#!/bin/sh\necho somebody else's file, which is longer than a head of a state file\n";
    refused({script.begin(), script.end()}, "not the state file");
    refused({'x'}, "not the state file");
    Bytes former(200, 0);
    std::copy_n("SDNV\x28", 5, former.begin());
    refused(former, "earlier version of the model");
    { Opened opened(folder_.path("good")); }
    const Bytes good = read_file(folder_.path("good"));
    chip::FileHead head;
    std::memcpy(&head, good.data(), sizeof head);
    head.version = 2;
    chip::FileHead signed_head = head;
    uint64_t sum = 0xcbf29ce484222325u;  // the same arithmetic, written down again
    for (size_t at = 0; at < sizeof head - 8; at += 8) {
        uint64_t word;
        std::memcpy(&word, reinterpret_cast<const uint8_t*>(&head) + at, 8);
        sum = (sum ^ word) * 0x100000001b3u;
        sum ^= sum >> 32;
    }
    signed_head.sum = sum;
    Bytes newer = good;
    std::memcpy(newer.data(), &signed_head, sizeof signed_head);
    refused(newer, "is in version 2 of the format");
    std::memcpy(newer.data(), &head, sizeof head);
    refused(newer, "head is damaged");
}

TEST_F(StateFileTest, WhatCannotBeOpened) {
    const auto error_of = [&](const std::string& path) {
        try {
            Opened opened(path);
        } catch (const StateFileError& error) {
            code_ = error.code;
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_NE(error_of(folder_.path("")).find("Is a directory"), std::string::npos);
    EXPECT_NE(error_of("/dev/null").find("not a regular file"), std::string::npos);
    EXPECT_NE(error_of(folder_.path("no/such")).find("No such file"), std::string::npos);
    const std::string fifo = folder_.path("fifo");
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    EXPECT_NE(error_of(fifo).find("not a regular file"), std::string::npos);
    if (geteuid() != 0) {
        { Opened opened(path_); }
        ASSERT_EQ(chmod(path_.c_str(), 0400), 0);
        EXPECT_NE(error_of(path_).find("Permission denied"), std::string::npos);
        EXPECT_EQ(code_, EACCES);
    }
}

TEST_F(StateFileTest, OneHolder) {
    {
        Opened opened(path_);
        EXPECT_NE(open_error().find("another chip has it"), std::string::npos);
        EXPECT_EQ(code_, EBUSY);
        opened.file.replace([](const StateFile::Put&) {});
        EXPECT_NE(open_error().find("another chip has it"), std::string::npos) << "the new file is locked, too";
    }
    EXPECT_EQ(open_error(), "");
    // A child forked meanwhile does not keep the lock.
    pid_t child;
    {
        Opened opened(path_);
        child = fork();
        if (child == 0)
            for (;;) pause();
    }
    EXPECT_EQ(open_error(), "");
    kill(child, SIGKILL);
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
}

// The partial file of a chip that is killed while it compacts its file, cut at this size.
Bytes left_part(size_t size) {
    chip::FileHead head{};
    std::memcpy(head.magic, chip::kFileMagic, sizeof head.magic);
    head.version = chip::kFileVersion;
    head.salt = 4711;
    head.part = chip::kPart;
    chip::Sum sum(0);
    sum.add(&head, offsetof(chip::FileHead, sum));
    head.sum = sum.value();
    Bytes left(sizeof head + 100, 7);
    std::memcpy(left.data(), &head, sizeof head);
    left.resize(size);
    return left;
}

TEST_F(StateFileTest, LeftPartsDoNotMatter) {
    for (const size_t size : {0, 64, 164}) {
        set_raw({});
        write_file(path_ + ".part", left_part(size));
        {
            Opened opened(path_);
            put(opened.file, kTag, 1, payload(1, 10, 1));
        }
        EXPECT_FALSE(std::filesystem::exists(path_ + ".part"));
        EXPECT_EQ(contents().size(), 1u);
    }
}

// A file that merely has the name of a partial file is not deleted.
TEST_F(StateFileTest, WhatOnlyHasTheNameOfAPartIsLeftAlone) {
    const std::string part = path_ + ".part";
    const auto refused = [&](const std::string& why) {
        set_raw({});
        const std::string error = open_error();
        EXPECT_NE(error.find("'" + part + "' is in the way: " + why), std::string::npos) << error;
        EXPECT_EQ(error.find("The old one"), std::string::npos) << "there is none";
    };
    Bytes damaged = left_part(164);
    damaged[33] ^= 1;
    for (const Bytes& precious : {bytes(8, 1), bytes(100, 1), left_part(63), damaged}) {
        write_file(part, precious);
        refused("it was not left by a chip that was killed");
        EXPECT_EQ(read_file(part), precious);
    }
    std::filesystem::remove(part);
    {
        Opened other(part);
        put(other.file, kTag, 1, payload(1, 10, 1));
        refused("another chip has it");
    }
    const Bytes whole = read_file(part);
    refused("it was not left by a chip that was killed");
    EXPECT_EQ(read_file(part), whole);
    std::filesystem::remove(part);
    ASSERT_EQ(symlink("elsewhere", part.c_str()), 0);
    refused("it was not left by a chip that was killed");
    EXPECT_TRUE(std::filesystem::is_symlink(part));
}

TEST_F(StateFileTest, LinksAndModesStay) {
    const std::string link = folder_.path("link");
    set_raw({});
    ASSERT_EQ(chmod(path_.c_str(), 0640), 0);
    ASSERT_EQ(symlink("state", link.c_str()), 0);
    {
        Opened opened(link);
        put(opened.file, kTag, 1, payload(1, 10, 1));
    }
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_FALSE(std::filesystem::exists(path_ + ".part"));
    EXPECT_EQ(std::filesystem::status(path_).permissions(), std::filesystem::perms{0640});
    EXPECT_EQ(contents().size(), 1u);
}

// A full disk, at every length at which a write can end.
TEST_F(StateFileTest, NoRoom) {
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const auto handler = signal(SIGXFSZ, SIG_IGN);
    Contents expected;
    {
        Opened opened(path_);
        ASSERT_TRUE(put(opened.file, kTag, 1, expected[{kTag, 1}] = payload(1, 100, 1)));
        const size_t size = raw().size();
        const Bytes first = payload(1, 100, 2), second = payload(2, 90, 3);
        const Record together[] = {{kTag, 1, first, {}}, {kTag, 2, second, {}}};
        for (size_t room = 0; room < 64 + 128 + 64 + 128; room++) {
            const rlimit little{size + room, before.rlim_max};
            setrlimit(RLIMIT_FSIZE, &little);
            EXPECT_FALSE(opened.file.append(together));
            setrlimit(RLIMIT_FSIZE, &before);
            EXPECT_EQ(raw().size(), size) << "no half of it stays";
            const std::string line = opened.file.failure();
            if (room == 0)
                EXPECT_NE(line.find("state file '" + path_ + "' cannot be written: File too large"), std::string::npos);
            else EXPECT_EQ(line, "") << "said once";
        }
        EXPECT_TRUE(opened.file.append(together)) << "there is room again";
        expected[{kTag, 1}] = first;
        expected[{kTag, 2}] = second;
        const rlimit none{0, before.rlim_max};
        setrlimit(RLIMIT_FSIZE, &none);
        EXPECT_FALSE(opened.file.append(together));
        EXPECT_NE(opened.file.failure(), "") << "said again after it worked";
        EXPECT_THROW(opened.file.replace([&](const StateFile::Put& to) { to(together[0]); }), StateFileError);
        setrlimit(RLIMIT_FSIZE, &before);
        EXPECT_FALSE(std::filesystem::exists(path_ + ".part"));
    }
    signal(SIGXFSZ, handler);
    EXPECT_EQ(contents(), expected);
}

TEST_F(StateFileTest, ReplacedAsAWhole) {
    {
        Opened opened(path_);
        put(opened.file, kTag, 1, payload(1, 100, 1));
        opened.file.replace([](const StateFile::Put& to) {
            const Bytes data = payload(2, 100, 2);
            to({kTag, 2, data, {}});
        });
        put(opened.file, kTag, 3, payload(3, 100, 3));
        EXPECT_THROW(opened.file.replace([](const StateFile::Put&) { throw StateFileError(EIO, "no"); }),
                     StateFileError);
        put(opened.file, kTag, 4, payload(4, 100, 4));
    }
    const Contents expected = {
        {{kTag, 2}, payload(2, 100, 2)}, {{kTag, 3}, payload(3, 100, 3)}, {{kTag, 4}, payload(4, 100, 4)}};
    EXPECT_EQ(contents(), expected);
}

TEST_F(StateFileTest, CompactedAtOpening) {
    {
        Opened opened(path_);
        for (uint64_t round = 0; round < 100; round++) put(opened.file, kTag, 1, payload(1, 4096, round));
        put(opened.file, kTag, 2, payload(2, 4096, 2));
        put(opened.file, kTag, 3, payload(3, 64, 3));
        remove(opened.file, kTag, 3);
    }
    EXPECT_GT(raw().size(), 100u * 4096);
    const Contents expected = {{{kTag, 1}, payload(1, 4096, 99)}, {{kTag, 2}, payload(2, 4096, 2)}};
    EXPECT_EQ(contents(), expected);
    EXPECT_LT(raw().size(), 3u * 4096);
    EXPECT_EQ(contents(), expected);
}

// Writers continue while the file is compacted many times; each has its own keys and knows their contents.
TEST_F(StateFileTest, CompactedInUse) {
    constexpr unsigned kWriters = 4, kKeys = 5;
    const unsigned writes = rounds(3000);
    std::array<Contents, kWriters> expected;
    {
        Opened opened(path_, {.at_opening = 1 << 16, .in_use = 1 << 16});
        std::vector<std::thread> threads;
        for (unsigned writer = 0; writer < kWriters; writer++)
            threads.emplace_back([&, writer] {
                std::mt19937_64 random(writer);
                for (unsigned i = 0; i < writes; i++) {
                    const uint64_t number = writer * kKeys + random() % kKeys;
                    Contents& mine = expected[writer];
                    if (random() % 8 == 0) {
                        EXPECT_TRUE(remove(opened.file, kTag, number));
                        mine.erase({kTag, number});
                    } else {
                        const Bytes data = payload(number, 8 + random() % 2000, random());
                        EXPECT_TRUE(put(opened.file, kTag, number, data));
                        mine[{kTag, number}] = data;
                    }
                    // Twice the live records, the records that may be written during the copy, and one record of each
                    // writer.
                    EXPECT_LT(std::filesystem::file_size(path_), (2 * 48 + 4 * 64 + 4 * 4) << 10);
                    if (random() % 512 == 0) EXPECT_TRUE(opened.file.sync());
                }
            });
        for (std::thread& thread : threads) thread.join();
        // Some megabytes were written, of which these keys are some ten KiB.
        for (uint64_t i = 0; std::filesystem::file_size(path_) > 256 << 10; i++) {
            EXPECT_TRUE(put(opened.file, kOther, 0, expected[0][{kOther, 0}] = payload(0, 100, i)));
            EXPECT_TRUE(opened.file.sync());
        }
        EXPECT_EQ(opened.said(), "");
    }
    Contents all;
    for (const Contents& each : expected) all.insert(each.begin(), each.end());
    EXPECT_TRUE(contents() == all);
    EXPECT_FALSE(std::filesystem::exists(path_ + ".part"));
}

// A file that cannot be compacted grows, with a warning, and still works.
TEST_F(StateFileTest, CompactionThatFails) {
    Contents expected;
    {
        Opened opened(path_, {.at_opening = 1 << 16, .in_use = 1 << 16});
        std::filesystem::create_directory(path_ + ".part");  // in the way, and no file that can be removed
        write_file(path_ + ".part/x", {});
        for (uint64_t round = 0; round < 200; round++)
            ASSERT_TRUE(put(opened.file, kTag, 1, expected[{kTag, 1}] = payload(1, 4096, round)));
        while (opened.said().empty()) std::this_thread::yield();
        EXPECT_NE(opened.said().find("is in the way"), std::string::npos) << opened.said();
        EXPECT_EQ(sigismember(&opened.blocked, SIGTERM), 1) << "signals are for the application's threads";
    }
    std::filesystem::remove_all(path_ + ".part");
    EXPECT_EQ(contents(), expected);
}

// Killed repeatedly, at any moment, while it writes and compacts: each key has its last write or the one in progress.
TEST_F(StateFileTest, KilledAtAnyMoment) {
    constexpr uint64_t kKeys = 8;
    std::mt19937_64 random(20260102);
    uint64_t reached = 0;
    { Opened opened(path_); }
    for (unsigned round = 0; round < rounds(60); round++) {
        int pipe_ends[2];
        ASSERT_EQ(pipe(pipe_ends), 0);
        const uint64_t begin = reached;
        const pid_t child = fork();
        if (child == 0) {
            // Write n goes to key n % kKeys and to the next key.
            Opened opened(path_, {.at_opening = 1 << 14, .in_use = 1 << 14});
            for (uint64_t n = begin + 1;; n++) {
                Bytes a = payload(n % kKeys, 3000, n), b = payload(100 + n % kKeys, 500, n);
                std::memcpy(a.data() + 8, &n, 8);
                std::memcpy(b.data() + 8, &n, 8);
                const Record records[] = {{kTag, n % kKeys, a, {}}, {kTag, 100 + n % kKeys, b, {}}};
                if (!opened.file.append(records)) _exit(1);
                if (::write(pipe_ends[1], &n, sizeof n) != sizeof n) _exit(2);
            }
        }
        ASSERT_GT(child, 0);
        close(pipe_ends[1]);
        // Some writes into its life, and then somewhere inside the next ones.
        uint64_t done = begin, n;
        const uint64_t until = begin + 1 + random() % 60;
        while (done < until && read(pipe_ends[0], &n, sizeof n) == sizeof n) done = n;
        ASSERT_EQ(done, until) << "the child has failed";
        for (uint64_t spin = random() % 20000; spin > 0; spin--) std::atomic_signal_fence(std::memory_order_seq_cst);
        kill(child, SIGKILL);
        while (read(pipe_ends[0], &n, sizeof n) == sizeof n) done = n;
        close(pipe_ends[0]);
        ASSERT_EQ(waitpid(child, nullptr, 0), child);
        Contents found = contents();
        uint64_t last = 0;
        for (const auto& [key, data] : found) {
            std::memcpy(&n, data.data() + 8, 8);
            last = std::max(last, n);
        }
        ASSERT_TRUE(last == done || last == done + 1) << last << ", told " << done;
        for (uint64_t back = 0; back < std::min(kKeys, last); back++) {
            n = last - back;
            Bytes a = payload(n % kKeys, 3000, n), b = payload(100 + n % kKeys, 500, n);
            std::memcpy(a.data() + 8, &n, 8);
            std::memcpy(b.data() + 8, &n, 8);
            EXPECT_EQ((found[{kTag, n % kKeys}]), a);
            EXPECT_EQ((found[{kTag, 100 + n % kKeys}]), b);
        }
        reached = last;
    }
    EXPECT_GT(reached, rounds(60));
}

}  // namespace
}  // namespace sidra::chip_test
