// SPDX-License-Identifier: MIT
// Open and close, mappings and the faults that follow, and what is read and written in sysfs and debugfs.
#include "attributes.h"
#include "sweep.h"

namespace sidra::test {
namespace {

TEST_F(FailNth, Open) {
    sweep([](Attempt& attempt) {
        int fd = -1;
        attempt([&] {
            fd = open(node_path().c_str(), O_RDWR | O_CLOEXEC);
            return fd < 0 ? -errno : 0;
        });
        close(fd);
    });
}

// A process may end at any time: what it had goes without asking for anything.
TEST_F(FailNth, Close) {
    sweep([](Attempt& attempt) {
        {
            auto bench = std::make_unique<Bench>();
            sidra_ioctl_weights_create create{bench->context.handle, SIDRA_ENCODING_OFFSET, 16, 16,
                                              SIDRA_WEIGHTS_RIGHTS};
            ASSERT_EQ(bench->node.call(SIDRA_IOCTL_WEIGHTS_CREATE, create), 0);
            std::vector<uint8_t> memory(2 * SIDRA_PAGE_SIZE);
            sidra_ioctl_buffer_register enroll{reinterpret_cast<uintptr_t>(memory.data()), memory.size(), 0, 0};
            ASSERT_EQ(bench->node.call(SIDRA_IOCTL_BUFFER_REGISTER, enroll), 0);
            Buffer::bind(bench->context, enroll.handle);
            munmap(bench->context.doorbells, SIDRA_DOORBELL_PAGE_SIZE);
            munmap(bench->buffer.words, bench->buffer.size);
            munmap(bench->user.ring, bench->user.create.ring_size);
            for (const Queue* queue : {&bench->user, &bench->kernel})
                munmap(const_cast<sidra_queue_state*>(queue->state), SIDRA_PAGE_SIZE);
            attempt([&] { return close(bench->node.fd); }, {.never_fails = true});
            bench->node.fd = -1;
            bench->context.doorbells = nullptr;
            bench->buffer.words = nullptr;
            bench->user.ring = nullptr;
            bench->user.state = bench->kernel.state = nullptr;
        }
    });
}

// ---- Mappings ----

// An address that nothing is mapped near, so that the first touch of a mapping there needs a page table.
class Wasteland {
   public:
    Wasteland() : memory_(mmap(nullptr, 3 * kTable, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
        EXPECT_NE(memory_, MAP_FAILED);
    }
    ~Wasteland() { munmap(memory_, 3 * kTable); }
    Wasteland(const Wasteland&) = delete;
    Wasteland& operator=(const Wasteland&) = delete;
    void* middle() const {
        const uintptr_t second = reinterpret_cast<uintptr_t>(memory_) + kTable;
        return reinterpret_cast<void*>((second + kTable - 1) / kTable * kTable);
    }

   private:
    static constexpr size_t kTable = size_t{2} << 20;  // what one page table maps
    void* const memory_;
};

// Maps, and touches each page: both while something is refused. A fault that is refused memory is tried once more by
// the kernel.
void map_and_touch(Attempt& attempt, const Node& node, uint64_t offset, size_t size, int protection) {
    const Wasteland wasteland;
    attempt([&] {
        void* place =
            mmap(wasteland.middle(), size, protection, MAP_SHARED | MAP_FIXED, node.fd, static_cast<off_t>(offset));
        if (place == MAP_FAILED) return -errno;
        for (size_t at = 0; at < size; at += SIDRA_PAGE_SIZE)
            static_cast<void>(*reinterpret_cast<volatile uint32_t*>(static_cast<uint8_t*>(place) + at));
        return 0;
    });
}

TEST_F(FailNth, MapDoorbells) {
    sweep([](Attempt& attempt) {
        Node node;
        sidra_ioctl_context_create create{};
        create.vm = create_vm(node);
        ASSERT_EQ(node.call(SIDRA_IOCTL_CONTEXT_CREATE, create), 0);
        map_and_touch(attempt, node, create.doorbell_offset, SIDRA_DOORBELL_PAGE_SIZE, PROT_READ | PROT_WRITE);
    });
}

TEST_F(FailNth, MapRing) {
    sweep([](Attempt& attempt) {
        Bench bench;
        map_and_touch(attempt, bench.node, bench.user.create.ring_offset, bench.user.create.ring_size,
                      PROT_READ | PROT_WRITE);
        expect_works(bench);
    });
}

TEST_F(FailNth, MapTimeline) {
    sweep([](Attempt& attempt) {
        Bench bench;
        map_and_touch(attempt, bench.node, bench.user.create.state_offset, SIDRA_PAGE_SIZE, PROT_READ);
        expect_works(bench);
    });
}

void map_buffer(Attempt& attempt, uint32_t flags) {
    Node node;
    sidra_ioctl_buffer_create create{3 * SIDRA_PAGE_SIZE, flags, 0, 0};
    ASSERT_EQ(node.call(SIDRA_IOCTL_BUFFER_CREATE, create), 0);
    map_and_touch(attempt, node, create.mmap_offset, create.size, PROT_READ | PROT_WRITE);
}

TEST_F(FailNth, MapHostBuffer) {
    sweep([](Attempt& attempt) { map_buffer(attempt, 0); });
}

TEST_F(FailNth, MapLocalBuffer) {
    sweep([](Attempt& attempt) { map_buffer(attempt, SIDRA_BUFFER_LOCAL); });
}

// ---- What is read and written --------------------------------------------------------------------------------------

// Of each folder the files that can be read, which are those that somebody reads. What they say does not matter here.
std::vector<std::string> readable(const std::vector<std::string>& folders) {
    std::vector<std::string> paths;
    for (const std::string& folder : folders)
        for (const std::string& name : files_in(folder))
            if (access((folder + name).c_str(), R_OK) == 0 && read_file(folder + name).error == 0)
                paths.push_back(folder + name);
    return paths;
}

// All of them, one after the other, up to the first one that fails.
int read_all(const std::vector<std::string>& paths) {
    for (const std::string& path : paths)
        if (const int error = read_file(path).error) return error;
    return 0;
}

TEST_F(FailNth, ReadSysfs) {
    const std::vector<std::string> paths = readable({kClass});
    EXPECT_FALSE(paths.empty());
    sweep([&](Attempt& attempt) { attempt([&] { return read_all(paths); }); });
}

TEST_F(FailNth, ReadHwmon) {
    std::vector<std::string> folders;
    for (const auto& entry : std::filesystem::directory_iterator(kClass + "device/hwmon/"))
        folders.push_back(entry.path().string() + '/');
    const std::vector<std::string> paths = readable(folders);
    EXPECT_FALSE(paths.empty());
    sweep([&](Attempt& attempt) { attempt([&] { return read_all(paths); }); });
}

TEST_F(FailNth, ReadDebugfs) {
    const std::vector<std::string> paths = readable({"/sys/kernel/debug/accel/" + Card().name() + '/'});
    EXPECT_FALSE(paths.empty());
    sweep([&](Attempt& attempt) { attempt([&] { return read_all(paths); }); });
}

TEST_F(FailNth, ReadFdinfo) {
    sweep([](Attempt& attempt) {
        Bench bench;
        attempt([&] { return read_file("/proc/self/fdinfo/" + std::to_string(bench.node.fd)).error; });
    });
}

TEST_F(FailNth, WriteRegister) {
    const std::string path = "/sys/kernel/debug/accel/" + Card().name() + "/reg";
    sweep([&](Attempt& attempt) { attempt([&] { return write_text(path, "SCRATCH 7") ? 0 : -errno; }); });
}

TEST_F(FailNth, WriteCampaign) {
    sweep([&](Attempt& attempt) { attempt([&] { return write_attribute("campaign", "verify 0 1 1000"); }); });
}

// A worker asks the firmware for the answer.
TEST_F(FailNth, ReadCampaign) {
    sweep([&](Attempt& attempt) {
        attempt([&] {
            const int error = write_attribute("campaign", "verify 0 1 1000");  // after which no old answer is known
            return error ? error : attribute("campaign").error;
        });
    });
}

// What is in the file does not matter: it is read, and then refused.
TEST_F(FailNth, WriteFirmwareUpdate) {
    const std::string folder = "/tmp/fail-nth", path = "/sys/module/firmware_class/parameters/path";
    std::filesystem::create_directories(folder + "/sidra");
    std::ofstream(folder + "/sidra/y1-runtime.fw") << "not an image";
    ASSERT_TRUE(write_text(path, folder));
    ASSERT_EQ(write_attribute("firmware_update", "1"), -EIO);
    // The kernel looks for a file that it has no memory for in other folders, too.
    sweep([&](Attempt& attempt) {
        attempt(
            [] {
                const int error = write_attribute("firmware_update", "1");
                return error == -EIO ? 0 : error;
            },
            {.refused = {-ENOENT}});
    });
    EXPECT_TRUE(write_text(path, std::string(1, '\0')));
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace sidra::test
