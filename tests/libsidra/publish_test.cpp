// SPDX-License-Identifier: MIT
// What the chips of this process publish for monitors, as seen by a reader in another process that uses only
// uapi/sidra_publish.h.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "expect.h"
#include "patience.h"
#include "sidra/sidra.h"
#include "sidra_hw.h"
#include "sidra_publish.h"

namespace {

bool disk_is_full = false;

}  // namespace

// Like the system's, but can simulate a full disk.
extern "C" int posix_fallocate(int file, off_t offset, off_t size) {
    if (disk_is_full) return ENOSPC;
    return syscall(SYS_fallocate, file, 0, offset, size) == 0 ? 0 : errno;
}

namespace sidra::test {
namespace {

namespace fs = std::filesystem;

struct Seen {
    pid_t holder = 0;  // of the lock; 0 if it is free
    std::vector<uint8_t> bytes;

    const sidra_publish& header() const { return *reinterpret_cast<const sidra_publish*>(bytes.data()); }
    const sidra_telemetry& telemetry() const {
        return *reinterpret_cast<const sidra_telemetry*>(bytes.data() + header().telemetry);
    }
    const sidra_hw_xbar* xbars() const { return reinterpret_cast<const sidra_hw_xbar*>(bytes.data() + header().xbars); }
};

// A consistent snapshot; empty if none was found after many attempts.
std::vector<uint8_t> read_whole(int file) {
    struct stat it;
    if (fstat(file, &it) != 0 || it.st_size < static_cast<off_t>(sizeof(sidra_publish))) return {};
    std::vector<uint8_t> bytes(static_cast<size_t>(it.st_size));
    const auto sequence = [&] {
        uint64_t value = 1;
        return pread(file, &value, sizeof value, offsetof(sidra_publish, sequence)) == sizeof value ? value : 1;
    };
    for (int i = 0; i < 10'000; i++) {
        const uint64_t before = sequence();
        if (before % 2 == 0 && pread(file, bytes.data(), bytes.size(), 0) == it.st_size && sequence() == before)
            return bytes;
        usleep(100);
    }
    return {};
}

// Read by another process. nullopt if the file does not exist.
std::optional<Seen> look(const std::string& path) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW);
        if (file < 0) _exit(1);
        const std::vector<uint8_t> bytes = read_whole(file);
        struct flock lock {};  // after the contents that it protects
        lock.l_type = F_WRLCK;
        lock.l_len = 1;
        if (fcntl(file, F_GETLK, &lock) != 0) _exit(2);
        const pid_t holder = lock.l_type == F_UNLCK ? 0 : lock.l_pid;
        FILE* out = fdopen(ends[1], "w");
        fwrite(&holder, sizeof holder, 1, out);
        fwrite(bytes.data(), 1, bytes.size(), out);
        fclose(out);
        _exit(0);
    }
    close(ends[1]);
    Seen seen;
    FILE* in = fdopen(ends[0], "r");
    const bool there = fread(&seen.holder, sizeof seen.holder, 1, in) == 1;
    uint8_t part[4096];
    for (size_t n; (n = fread(part, 1, sizeof part, in)) > 0;) seen.bytes.insert(seen.bytes.end(), part, part + n);
    fclose(in);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == (there ? 0 : 1)) << status;
    if (!there) return std::nullopt;
    EXPECT_GE(seen.bytes.size(), sizeof(sidra_publish)) << "never whole";
    seen.bytes.resize(std::max(seen.bytes.size(), sizeof(sidra_publish)));
    return seen;
}

class Publish : public testing::Test {
   protected:
    Publish() {
        std::string name = (fs::temp_directory_path() / "sidra-test-XXXXXX").string();
        EXPECT_NE(mkdtemp(name.data()), nullptr);
        run_ = name;
        for (const char* variable : {"XDG_RUNTIME_DIR", "SIDRA_PUBLISH", "SIDRA_DEVICE"})
            if (const char* value = std::getenv(variable)) before_.emplace_back(variable, value);
        setenv("XDG_RUNTIME_DIR", run_.c_str(), 1);
        setenv("SIDRA_DEVICE", "embedded", 1);
        unsetenv("SIDRA_PUBLISH");
    }
    ~Publish() override {
        disk_is_full = false;
        for (const char* variable : {"XDG_RUNTIME_DIR", "SIDRA_PUBLISH", "SIDRA_DEVICE"}) unsetenv(variable);
        for (const auto& [variable, value] : before_) setenv(variable.c_str(), value.c_str(), 1);
        fs::remove_all(run_);
    }
    std::string folder() const { return run_ + "/sidra"; }
    std::string file(unsigned number, pid_t pid = getpid()) const {
        return folder() + "/" + std::to_string(pid) + "-" + std::to_string(number);
    }
    std::set<std::string> names() const {
        std::set<std::string> found;
        if (fs::is_directory(folder()))
            for (const auto& entry : fs::directory_iterator(folder())) found.insert(entry.path().filename().string());
        return found;
    }

    struct Chip {
        explicit Chip(uint64_t seed = 1) {
            auto options = SIDRA_INIT(sidra_device_options);
            options.profile = SIDRA_PROFILE_SMALL;
            options.private_chip = true;
            options.workers = 2;
            options.seed = seed;
            EXPECT_OK(sidra_device_open(0, &options, &device));
            EXPECT_OK(sidra_context_create(device, &context));
            EXPECT_OK(sidra_stream_create(context, nullptr, &stream));
        }
        ~Chip() {
            EXPECT_OK(sidra_stream_destroy(stream));
            EXPECT_OK(sidra_context_destroy(context));
            EXPECT_OK(sidra_device_close(device));
        }
        Chip(const Chip&) = delete;
        Chip& operator=(const Chip&) = delete;
        void works() {
            EXPECT_OK(sidra_nop_async(stream));
            EXPECT_OK(sidra_stream_synchronize(stream, soon()));
        }
        sidra_device* device = nullptr;
        sidra_context* context = nullptr;
        sidra_stream* stream = nullptr;
    };

    // Waits until the contents are as wanted, and returns the last contents.
    template <class Wanted>
    Seen sees(const std::string& path, Wanted wanted) {
        Seen last;
        EXPECT_TRUE(eventually([&] {
            auto seen = look(path);
            if (!seen) return false;
            last = std::move(*seen);
            return wanted(last);
        }));
        if (last.bytes.empty()) last.bytes.resize(4096);
        return last;
    }
    Seen moves(const std::string& path) {
        const auto first = look(path);
        EXPECT_TRUE(first);
        const uint64_t before = first ? first->header().sequence : 0;
        return sees(path, [&](const Seen& seen) { return seen.header().sequence > before; });
    }

    // A chip of another process, which is killed when that is over.
    struct Other {
        Other() {
            int ends[2];
            EXPECT_EQ(pipe(ends), 0);
            pid = fork();
            if (pid == 0) {
                const Chip chip;
                const char ready = 1;
                if (write(ends[1], &ready, 1) == 1) pause();
                _exit(1);
            }
            close(ends[1]);
            char ready = 0;
            EXPECT_EQ(read(ends[0], &ready, 1), 1);
            close(ends[0]);
        }
        ~Other() {
            if (!killed_) kill();
        }
        void kill() {
            killed_ = true;
            EXPECT_EQ(::kill(pid, SIGKILL), 0);
            EXPECT_EQ(waitpid(pid, nullptr, 0), pid);
        }
        pid_t pid = 0;

       private:
        bool killed_ = false;
    };

    std::string run_;

   private:
    std::vector<std::pair<std::string, std::string>> before_;
};

TEST_F(Publish, SaysWhichChipItIs) {
    const Chip chip;
    EXPECT_EQ(fs::status(folder()).permissions(), fs::perms::owner_all);
    EXPECT_EQ(names(), std::set<std::string>{std::to_string(getpid()) + "-0"}) << "as soon as it is open";
    sidra_device_info info = SIDRA_INIT(sidra_device_info);
    ASSERT_OK(sidra_device_get_info(chip.device, &info));
    ASSERT_TRUE(look(file(0)));
    const Seen seen = *look(file(0));
    const sidra_publish& header = seen.header();
    EXPECT_EQ(seen.holder, getpid());
    EXPECT_EQ(header.magic, SIDRA_PUBLISH_MAGIC);
    EXPECT_EQ(header.version, SIDRA_PUBLISH_VERSION);
    EXPECT_EQ(header.header_size, sizeof header);
    EXPECT_EQ(header.size, seen.bytes.size());
    EXPECT_EQ(header.size, fs::file_size(file(0)));
    EXPECT_EQ(header.pid, static_cast<uint32_t>(getpid()));
    EXPECT_EQ(header.uid, geteuid());
    EXPECT_EQ(header.index, 0u);
    EXPECT_GE(header.updated_ns, header.started_ns);
    EXPECT_EQ(std::string(header.comm), std::string("sidra-test-libsidra").substr(0, 15));
    EXPECT_EQ(std::memcmp(header.uuid, info.uuid, sizeof header.uuid), 0);
    EXPECT_EQ(header.hw_version, info.hw_version);
    EXPECT_EQ(header.driver_version, info.driver_version);
    EXPECT_NE(header.features & SIDRA_FEATURE_FIRMWARE, 0u);
    EXPECT_GT(header.nvm_size, 0u);
    EXPECT_EQ(header.clusters, info.clusters);
    EXPECT_EQ(header.cus_per_cluster, info.cus_per_cluster);
    EXPECT_EQ(header.xbars_per_cu, info.crossbars_per_cu);
    EXPECT_EQ(header.l3_size, info.l3_size);
    EXPECT_EQ(header.level, uint32_t{SIDRA_LEVEL_FAST});
    EXPECT_EQ(header.persistent, 0u);
    EXPECT_EQ(header.xbar_count, info.crossbars_total);
    EXPECT_LE(header.xbars + header.xbar_count * sizeof(sidra_hw_xbar), header.size);
    EXPECT_GE(header.xbars, header.telemetry + sizeof(sidra_telemetry));
    EXPECT_EQ(seen.telemetry().magic, SIDRA_TELEMETRY_MAGIC);
    EXPECT_EQ(seen.telemetry().xbars_total, header.xbar_count);
}

TEST_F(Publish, SaysWhatTheProcessHas) {
    const Chip chip;
    sidra_buffer *host = nullptr, *local = nullptr;
    ASSERT_OK(sidra_buffer_create(chip.context, 3 << 20, SIDRA_BUFFER_HOST, &host));
    const auto before = sees(file(0), [&](const Seen& seen) { return seen.header().memory >= 3 << 20; }).header();
    ASSERT_OK(sidra_buffer_create(chip.context, 1 << 20, SIDRA_BUFFER_DEVICE, &local));
    const auto with = sees(file(0), [&](const Seen& seen) { return seen.header().l3_used != 0; }).header();
    EXPECT_EQ(with.contexts, 1u);
    EXPECT_EQ(with.queues, 1u);
    EXPECT_EQ(with.buffers, before.buffers + 1);
    EXPECT_EQ(with.l3_used, 1u << 20);
    EXPECT_EQ(with.memory, before.memory) << "what lies on the chip is not the process's";
    ASSERT_OK(sidra_buffer_destroy(local));
    ASSERT_OK(sidra_buffer_destroy(host));
    const auto after = sees(file(0), [&](const Seen& seen) { return seen.header().buffers < before.buffers; }).header();
    EXPECT_EQ(after.buffers, before.buffers - 1);
    EXPECT_EQ(after.memory, before.memory - (3 << 20));
    EXPECT_EQ(after.l3_used, 0u);
}

TEST_F(Publish, CountersAreExact) {
    constexpr uint64_t kRows = 300, kCols = 140, kProducts = 7, kBatch = 5, kCopies = 11, kBytes = 12'345;
    const Chip chip;
    const uint64_t tiles = (kRows + SIDRA_XBAR_ROWS - 1) / SIDRA_XBAR_ROWS * 2;  // of pairs: 128 outputs each
    sidra_buffer *in = nullptr, *out = nullptr;
    ASSERT_OK(sidra_buffer_create(chip.context, 1 << 16, SIDRA_BUFFER_HOST, &in));
    ASSERT_OK(sidra_buffer_create(chip.context, 1 << 16, SIDRA_BUFFER_HOST, &out));
    const std::vector<int8_t> matrix(kRows * kCols, 3);
    sidra_weights* weights = nullptr;
    ASSERT_OK(sidra_weights_create_s8(chip.context, kRows, kCols, matrix.data(), kCols, nullptr, nullptr, &weights));
    sidra_telemetry before{}, after{};
    // The firmware works with the crossbars while it boots.
    sees(file(0), [](const Seen& s) { return (s.telemetry().status & SIDRA_STATUS_FIRMWARE_ALIVE) != 0; });
    ASSERT_OK(sidra_device_telemetry(chip.device, &before, sizeof before));
    ASSERT_OK(sidra_weights_program_async(chip.stream, weights));
    sidra_mvm mvm = SIDRA_INIT(sidra_mvm);
    mvm.batch = kBatch;
    mvm.in_type = SIDRA_U8;
    mvm.out_type = SIDRA_S32;
    mvm.in = {in, 0};
    mvm.out = {out, 0};
    for (uint64_t i = 0; i < kProducts; i++) ASSERT_OK(sidra_mvm_async(chip.stream, weights, &mvm));
    for (uint64_t i = 0; i < kCopies; i++) ASSERT_OK(sidra_copy_async(chip.stream, {out, 0}, {in, 0}, kBytes));
    ASSERT_OK(sidra_stream_synchronize(chip.stream, soon()));
    ASSERT_OK(sidra_device_telemetry(chip.device, &after, sizeof after));
    const Seen seen = sees(file(0), [&](const Seen& s) {
        uint64_t owned = 0;
        for (uint32_t i = 0; i < s.header().xbar_count; i++) owned += s.xbars()[i].uid != 0;
        return s.telemetry().packets >= after.packets && owned >= tiles;  // the map may be a second late
    });
    const sidra_telemetry& shown = seen.telemetry();
    EXPECT_EQ(shown.mvms - before.mvms, kProducts * kBatch * tiles);
    EXPECT_EQ(shown.macs - before.macs, kProducts * kBatch * kRows * kCols);
    EXPECT_EQ(shown.copy_bytes - before.copy_bytes, kCopies * kBytes);
    EXPECT_EQ(shown.programmed_cells - before.programmed_cells, kRows * kCols * 2);
    EXPECT_EQ(shown.packets, after.packets);
    EXPECT_EQ(shown.packets - before.packets, kProducts + kCopies + 1) << "one PROGRAM";
    EXPECT_EQ(shown.faults, 0u);
    EXPECT_EQ(shown.xbars_programmed, tiles);
    EXPECT_EQ(shown.device_ps, after.device_ps);
    EXPECT_EQ(shown.energy_pj, after.energy_pj);
    for (uint32_t i = 0; i < SIDRA_HW_ENGINE_COUNT; i++) EXPECT_EQ(shown.engine_ns[i], after.engine_ns[i]) << i;
    EXPECT_GT(shown.engine_ns[SIDRA_HW_ENGINE_MVM], 0u);
    EXPECT_EQ(shown.engine_ns[SIDRA_HW_ENGINE_VEC], 0u);
    uint32_t owned = 0;
    for (uint32_t i = 0; i < seen.header().xbar_count; i++) {
        owned += seen.xbars()[i].uid != 0;
        EXPECT_EQ(seen.xbars()[i].programs, seen.xbars()[i].uid != 0) << i;
    }
    EXPECT_EQ(owned, tiles);
    ASSERT_OK(sidra_weights_destroy(weights));
    sees(file(0), [&](const Seen& s) {
        for (uint32_t i = 0; i < s.header().xbar_count; i++)
            if (s.xbars()[i].uid != 0) return false;
        return true;
    });
    ASSERT_OK(sidra_buffer_destroy(in));
    ASSERT_OK(sidra_buffer_destroy(out));
}

TEST_F(Publish, GoesOnWhileWorkDoes) {
    Chip chip;
    const uint64_t before = look(file(0))->header().sequence;
    EXPECT_TRUE(eventually([&] {
        for (int i = 0; i < 1000; i++) chip.works();
        return look(file(0))->header().sequence >= before + 8;
    }));
}

TEST_F(Publish, GoesOnWithoutWorkAndWithoutFirmware) {
    const Chip chip;
    const Seen booted = sees(file(0), [](const Seen& seen) {
        return (seen.telemetry().valid & SIDRA_TELEMETRY_HAS_LIMITS) && seen.header().firmware_version != 0;
    });
    EXPECT_EQ(booted.telemetry().clock_max_khz, 1'000'000u);
    EXPECT_NE(booted.telemetry().status & SIDRA_STATUS_FIRMWARE_ALIVE, 0u);
    sidra_device_info info = SIDRA_INIT(sidra_device_info);
    ASSERT_OK(sidra_device_get_info(chip.device, &info));
    const uint32_t version = booted.header().firmware_version;
    EXPECT_EQ(version >> 24 << 16 | (version >> 16 & 0xff), info.firmware_version);
    ASSERT_OK(sidra_device_set_fault_knob(chip.device, "firmware-hang", 1));
    moves(file(0));  // this reading may be older
    const uint32_t beat = moves(file(0)).telemetry().heartbeat;
    sees(file(0), [beat](const Seen& seen) {
        if (seen.telemetry().boot_reason == SIDRA_BOOT_WATCHDOG) return true;
        EXPECT_EQ(seen.telemetry().heartbeat, beat) << "it does not run";
        return false;
    });
}

TEST_F(Publish, EachChipHasAFileAsLongAsItIsOpen) {
    {
        const Chip first;
        std::optional<Chip> second(std::in_place);
        EXPECT_EQ(names().size(), 2u);
        EXPECT_EQ(look(file(1))->header().index, 1u);
        EXPECT_NE(std::memcmp(look(file(0))->header().uuid, look(file(1))->header().uuid, 16), 0)
            << "two chips, whatever their seed";
        second.reset();
        EXPECT_EQ(names().size(), 1u);
        EXPECT_EQ(moves(file(0)).holder, getpid()) << "the other's end was not its own";
    }
    EXPECT_EQ(names().size(), 0u);
    const Chip again;
    EXPECT_TRUE(look(file(0)));
}

TEST_F(Publish, WhatAKilledProcessLeavesIsSwept) {
    Other killed, lives;
    EXPECT_EQ(look(file(0, killed.pid))->holder, killed.pid);
    killed.kill();
    ASSERT_TRUE(look(file(0, killed.pid)));
    EXPECT_EQ(look(file(0, killed.pid))->holder, 0);
    const std::string half = "." + std::to_string(killed.pid) + "-77";
    const std::set<std::string> not_ours = {"notes", "12-", "-12", "1-2-3", "12-x", "..-1"};
    for (const std::string& name : not_ours) std::ofstream(folder() + "/" + name) << "mine";
    std::ofstream(folder() + "/" + half) << "cut short";
    fs::create_directory(folder() + "/1-1");
    fs::create_symlink(folder() + "/notes", folder() + "/1-2");
    const Chip chip;
    std::set<std::string> expected = not_ours;
    expected.insert({"1-1", "1-2", std::to_string(lives.pid) + "-0", std::to_string(getpid()) + "-0"});
    EXPECT_EQ(names(), expected);
    EXPECT_EQ(look(file(0, lives.pid))->holder, lives.pid);
}

// In a container each process may have the process number of its predecessor.
TEST_F(Publish, WhatAnEarlierProcessOfThisNumberLeftIsSwept) {
    fs::create_directory(folder());
    fs::permissions(folder(), fs::perms::owner_all);
    std::ofstream(file(0)) << "of a process that had this number";
    std::ofstream(folder() + "/." + std::to_string(getpid()) + "-77") << "cut short";
    const Chip chip;
    EXPECT_EQ(names(), std::set<std::string>{std::to_string(getpid()) + "-0"});
    std::ofstream(file(5)) << "one more";
    const Chip second;
    EXPECT_EQ(look(file(0))->holder, getpid()) << "this process's own files are not looked into: their locks would go";
    EXPECT_EQ(look(file(1))->header().index, 1u);
    EXPECT_EQ(names().size(), 2u);
}

TEST_F(Publish, ANameThatIsTakenIsLeftAlone) {
    fs::create_directory(folder());
    fs::permissions(folder(), fs::perms::owner_all);
    std::ofstream(file(0)) << "of a process of this number in another container";
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t other = fork();
    if (other == 0) {
        struct flock lock {};
        lock.l_type = F_WRLCK;
        lock.l_len = 1;
        const int taken = open(file(0, getppid()).c_str(), O_RDWR);
        if (fcntl(taken, F_SETLK, &lock) == 0 && write(ends[1], "", 1) == 1) pause();
        _exit(1);
    }
    close(ends[1]);
    char ready;
    EXPECT_EQ(read(ends[0], &ready, 1), 1);
    close(ends[0]);
    {
        const Chip chip;
        EXPECT_EQ(fs::file_size(file(0)), 48u);
        EXPECT_EQ(look(file(1))->header().index, 1u);
    }
    EXPECT_EQ(kill(other, SIGKILL), 0);
    EXPECT_EQ(waitpid(other, nullptr, 0), other);
}

// A single read yields two points in time.
TEST_F(Publish, SaysHowItWasBefore) {
    const Chip chip;
    Seen first = moves(file(0)), second;
    EXPECT_TRUE(eventually([&] {
        second = moves(file(0));
        if (second.header().sequence == first.header().sequence + 2) return true;
        first = second;  // one was missed
        return false;
    }));
    ASSERT_NE(second.header().before, 0u);
    ASSERT_LE(second.header().before + sizeof(sidra_telemetry), second.bytes.size());
    EXPECT_EQ(std::memcmp(second.bytes.data() + second.header().before, &first.telemetry(), sizeof(sidra_telemetry)),
              0);
    EXPECT_GT(second.telemetry().clock_ns, first.telemetry().clock_ns);
}

TEST_F(Publish, AChildOfForkLeavesItAlone) {
    auto* chip = new Chip;
    const pid_t child = fork();
    if (child == 0) {
        delete chip;
        _exit(0);
    }
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
    ASSERT_TRUE(look(file(0)));
    EXPECT_EQ(moves(file(0)).holder, getpid());
    delete chip;
    EXPECT_FALSE(look(file(0)));
}

TEST_F(Publish, NobodyWhoMeddlesWithTheFileHurtsTheProcess) {
    Chip chip;
    close(open(file(0).c_str(), O_RDONLY));  // which releases the lock
    moves(file(0));                          // may have started before that
    EXPECT_EQ(moves(file(0)).holder, getpid());
    ASSERT_EQ(truncate(file(0).c_str(), 0), 0);
    EXPECT_TRUE(eventually([&] { return fs::file_size(file(0)) != 0; }));
    chip.works();
    fs::remove_all(folder());
    chip.works();
}

// ---- Where nothing can be published ----

class NotPublished : public Publish {
   protected:
    void nothing_is() {
        Chip chip;
        chip.works();
        EXPECT_EQ(names(), std::set<std::string>{});
    }
};

TEST_F(NotPublished, SwitchedOff) {
    setenv("SIDRA_PUBLISH", "0", 1);
    nothing_is();
    EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(Publish, OnlyZeroSwitchesItOff) {
    setenv("SIDRA_PUBLISH", "no", 1);
    Chip chip;
    chip.works();
    EXPECT_EQ(names().size(), 1u);
}

TEST_F(NotPublished, NoFolder) {
    setenv("XDG_RUNTIME_DIR", (run_ + "/not/there").c_str(), 1);
    nothing_is();
    EXPECT_FALSE(fs::exists(run_ + "/not"));
    std::ofstream(folder()) << "a file";
    setenv("XDG_RUNTIME_DIR", run_.c_str(), 1);
    nothing_is();
    EXPECT_TRUE(fs::is_regular_file(folder()));
}

TEST_F(NotPublished, AFolderThatOthersMayChange) {
    fs::create_directory(folder());
    for (const fs::perms bad : {fs::perms(0755), fs::perms(0770), fs::perms(0777), fs::perms(01700)}) {
        fs::permissions(folder(), bad);
        nothing_is();
    }
    fs::permissions(folder(), fs::perms::owner_all);
    if (geteuid() == 0) {
        ASSERT_EQ(chown(folder().c_str(), 12'345, 12'345), 0);
        nothing_is();
        ASSERT_EQ(chown(folder().c_str(), 0, 0), 0);
    }
    fs::rename(folder(), run_ + "/elsewhere");
    fs::create_directory_symlink(run_ + "/elsewhere", folder());
    nothing_is();
}

TEST_F(NotPublished, AFullDisk) {
    disk_is_full = true;
    nothing_is();
}

}  // namespace
}  // namespace sidra::test
