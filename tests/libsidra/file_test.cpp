// SPDX-License-Identifier: MIT
// Reading files into buffers, by io_uring and by pread.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>

#include "chip_fixture.h"
#include "file_reader.h"

namespace sidra::test {
namespace {

class File {
   public:
    explicit File(size_t size) : bytes(size) {
        std::mt19937_64 random(size);
        size_t at = 0;  // eight bytes at once, because a sanitizer checks each access
        for (; at + 8 <= size; at += 8) {
            const uint64_t word = random();
            std::memcpy(&bytes[at], &word, 8);
        }
        for (; at < size; at++) bytes[at] = static_cast<uint8_t>(random());
        char name[] = "/tmp/sidra-file-XXXXXX";
        fd = mkstemp(name);
        EXPECT_GE(fd, 0);
        unlink(name);
        EXPECT_EQ(static_cast<ssize_t>(size), pwrite(fd, bytes.data(), size, 0));
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() { close(fd); }

    std::vector<uint8_t> bytes;
    int fd = -1;
};

constexpr size_t kLarge = (40u << 20) + 4321;  // more pieces than are under way at once, and a broken one

class FileReadsTest : public testing::TestWithParam<FileReads> {
   protected:
    int64_t read(const File& file, uint64_t offset, std::vector<std::byte>& into) const {
        auto used = GetParam() == FileReads::kUring ? FileReads::kPread : FileReads::kUring;
        const FileRange range{offset, into.data(), into.size()};
        const int64_t got = read_file(file.fd, {&range, 1}, {}, GetParam(), -1, &used);
        EXPECT_EQ(used, GetParam());
        return got;
    }
};

TEST_P(FileReadsTest, WholeFilesAndParts) {
    const File file(kLarge);
    std::vector<std::byte> whole(kLarge);
    ASSERT_EQ(static_cast<int64_t>(kLarge), read(file, 0, whole));
    EXPECT_EQ(0, std::memcmp(whole.data(), file.bytes.data(), kLarge));
    std::vector<std::byte> part(777);
    ASSERT_EQ(777, read(file, 12345, part));
    EXPECT_EQ(0, std::memcmp(part.data(), file.bytes.data() + 12345, part.size()));
}

TEST_P(FileReadsTest, EndWhereTheFileEnds) {
    const File file(kLarge);
    std::vector<std::byte> more(kLarge + (5u << 20), std::byte{0x5a});
    EXPECT_EQ(static_cast<int64_t>(kLarge), read(file, 0, more));
    EXPECT_EQ(0, std::memcmp(more.data(), file.bytes.data(), kLarge));
    EXPECT_EQ(std::byte{0x5a}, more.back());
    EXPECT_EQ(0, read(file, kLarge + 1, more));
}

// Ranges of all sizes and alignments, of which the last ends behind the file.
TEST_P(FileReadsTest, PiecesComeInTheirOrder) {
    const File file(kLarge);
    struct Part {
        uint64_t offset;
        size_t size;
    };
    const Part parts[] = {{4096, 30u << 20}, {0, 5},    {8192, 4096},          {12'288, 1},
                          {4096, 4097},      {1, 8192}, {32u << 20, 10u << 20}};
    const size_t in_file = kLarge - (32u << 20);
    std::vector<std::byte> memory(45u << 20);
    std::vector<FileRange> ranges;
    auto* next = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(memory.data()) + 4095) / 4096 * 4096);
    int64_t expected = 0;
    for (const Part& part : parts) {
        ranges.push_back({part.offset, next, part.size});
        next += (part.size + 4095) / 4096 * 4096;
        expected += static_cast<int64_t>(&part == std::end(parts) - 1 ? in_file : part.size);
    }
    const int direct = open(fmt::format("/proc/self/fd/{}", file.fd).c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
    for (const int fd : {-1, direct}) {
        std::fill(memory.begin(), memory.end(), std::byte{0});
        size_t range = 0, at = 0;
        const auto piece = [&](size_t i, size_t from, size_t size) {
            if (at == ranges[range].size) range++, at = 0;
            EXPECT_EQ(range, i);
            EXPECT_EQ(at, from);
            EXPECT_EQ(0, std::memcmp(ranges[i].memory + from, file.bytes.data() + ranges[i].offset + from, size));
            at += size;
            return true;
        };
        EXPECT_EQ(expected, read_file(file.fd, ranges, piece, GetParam(), fd));
        EXPECT_EQ(std::size(parts) - 1, range);
        EXPECT_EQ(in_file, at);
    }
    if (direct >= 0) close(direct);
}

TEST_P(FileReadsTest, StopsWhenToldTo) {
    const File file(kLarge);
    std::vector<std::byte> memory(kLarge);
    const FileRange range{0, memory.data(), memory.size()};
    int pieces = 0;
    const auto third = [&](size_t, size_t, size_t) { return ++pieces < 3; };
    EXPECT_EQ(2 << 20, read_file(file.fd, {&range, 1}, third, GetParam()));
    EXPECT_EQ(3, pieces);
}

TEST_P(FileReadsTest, ErrorsAreTheKernels) {
    std::vector<std::byte> memory(kLarge);
    const FileRange range{0, memory.data(), memory.size()};
    EXPECT_EQ(-EBADF, read_file(-1, {&range, 1}, {}, GetParam()));
    const int folder = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    EXPECT_EQ(-EISDIR, read_file(folder, {&range, 1}, {}, GetParam()));
    close(folder);
}

INSTANTIATE_TEST_SUITE_P(Ways, FileReadsTest, testing::Values(FileReads::kUring, FileReads::kPread),
                         [](const auto& info) { return info.param == FileReads::kUring ? "Uring" : "Pread"; });

// The kernel creates the ring but refuses commands, as a sandbox may.
TEST(FileReadsRefused, RingFallsBackToPread) {
    const File file(kLarge);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        sock_filter program[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_enter, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const sock_fprog whole = {4, program};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole) != 0)
            _exit(1);
        void* memory = mmap(nullptr, kLarge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        FileReads used = FileReads::kUring;
        const FileRange range{0, static_cast<std::byte*>(memory), kLarge};
        const int64_t got = read_file(file.fd, {&range, 1}, {}, FileReads::kUring, -1, &used);
        if (got != static_cast<int64_t>(kLarge) || used != FileReads::kPread) _exit(2);
        _exit(std::memcmp(memory, file.bytes.data(), kLarge) == 0 ? 0 : 3);
    }
    int status = 0;
    ASSERT_EQ(child, waitpid(child, &status, 0));
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(0, WEXITSTATUS(status));
}

class BufferFile : public ChipTest {};

TEST_F(BufferFile, ReadsStraightIntoEachKindOfBuffer) {
    const File file(100'000);
    std::vector<uint8_t> own(100'000);
    sidra_buffer* enrolled = nullptr;
    ASSERT_OK(sidra_buffer_register(context, own.data(), own.size(), false, &enrolled));
    const Buffer host(context, 100'000);
    const Buffer local(context, 100'000, SIDRA_BUFFER_DEVICE);
    for (sidra_buffer* buffer : {enrolled, host.get(), local.get()}) {
        ASSERT_OK(sidra_buffer_read_file(buffer, 10, file.fd, 20, 99'000, nullptr));
        void* address = nullptr;
        ASSERT_OK(sidra_buffer_map(buffer, &address));
        EXPECT_EQ(0, std::memcmp(static_cast<uint8_t*>(address) + 10, file.bytes.data() + 20, 99'000));
        EXPECT_EQ(0, static_cast<uint8_t*>(address)[9]);
    }
    EXPECT_OK(sidra_buffer_destroy(enrolled));
}

TEST_F(BufferFile, ShortFilesTellHowMuchThereWas) {
    const File file(1000);
    const Buffer buffer(context, 4096);
    size_t got = 0;
    ASSERT_OK(sidra_buffer_read_file(buffer.get(), 0, file.fd, 0, 4096, &got));
    EXPECT_EQ(1000u, got);
    ASSERT_OK(sidra_buffer_read_file(buffer.get(), 0, file.fd, 5000, 4096, &got));
    EXPECT_EQ(0u, got);
}

TEST_F(BufferFile, BadInputIsRefused) {
    const File file(1000);
    const Buffer buffer(context, 4096);
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_buffer_read_file(buffer.get(), 0, file.fd, 0, 0, nullptr));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_buffer_read_file(buffer.get(), 4096, file.fd, 0, 1, nullptr));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_buffer_read_file(buffer.get(), SIZE_MAX, file.fd, 0, 2, nullptr));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT,
                 sidra_buffer_read_file(buffer.get(), 0, file.fd, UINT64_MAX, 2, nullptr));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_buffer_read_file(buffer.get(), 0, file.fd, 0, 1001, nullptr));
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "1000 of 1001")) << sidra_last_error();
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_buffer_read_file(buffer.get(), 0, -1, 0, 1, nullptr));
}

// Errors of the file are not reported as faults of a stream or as loss of the device, whatever the errno.
TEST_F(BufferFile, WhatCannotBeReadIsCalledWhatItIs) {
    const Buffer buffer(context, 4096);
    const auto refused = [&](int fd, const char* words) {
        EXPECT_GE(fd, 0);
        EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_buffer_read_file(buffer.get(), 0, fd, 0, 1, nullptr));
        EXPECT_NE(nullptr, std::strstr(sidra_last_error(), words)) << sidra_last_error();
        close(fd);
    };
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    refused(ends[0], "a pipe");
    close(ends[1]);
    ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    refused(ends[0], "a socket");
    close(ends[1]);
    refused(open("/dev/zero", O_RDONLY | O_CLOEXEC), "a character device");
    refused(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "a directory");
    refused(open("/tmp", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600), "open for reading");
    refused(open("/proc/self/mem", O_RDONLY | O_CLOEXEC), "Input/output error");  // nothing is mapped at 0
}

}  // namespace
}  // namespace sidra::test
