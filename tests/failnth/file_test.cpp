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
            fd = open(kNode, O_RDWR | O_CLOEXEC);
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
            munmap(bench->context.doorbells, SIDRA_BAR_DOORBELL_STRIDE);
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

// Maps, and touches each page: both while something is refused.
void map_and_touch(Attempt& attempt, const Node& node, uint64_t offset, size_t size, int protection) {
    void* place = MAP_FAILED;
    const auto map = [&] {
        place = mmap(nullptr, size, protection, MAP_SHARED, node.fd, static_cast<off_t>(offset));
        return place == MAP_FAILED ? -errno : 0;
    };
    attempt([&] {
        const int error = map();
        for (size_t at = 0; error == 0 && at < size; at += SIDRA_PAGE_SIZE)
            static_cast<void>(*reinterpret_cast<volatile uint32_t*>(static_cast<uint8_t*>(place) + at));
        return error;
    });
    munmap(place, size);
}

TEST_F(FailNth, MapDoorbells) {
    sweep([](Attempt& attempt) {
        Node node;
        sidra_ioctl_context_create create{};
        ASSERT_EQ(node.call(SIDRA_IOCTL_CONTEXT_CREATE, create), 0);
        map_and_touch(attempt, node, create.doorbell_offset, SIDRA_BAR_DOORBELL_STRIDE, PROT_READ | PROT_WRITE);
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

// ---- What is read and written
// -----------------------------------------------------------------------------------------

// Each file of a folder that can be read. What it says does not matter here, nor whether it says anything.
void read_all(const std::string& folder,
              const std::function<void(const std::string&, const std::function<void(Attempt&)>&)>& sweep) {
    for (const std::string& name : files_in(folder)) {
        const std::string path = folder + name;
        if (access(path.c_str(), R_OK) != 0 || read_file(path).error != 0) continue;
        sweep(name, [path](Attempt& attempt) { attempt([&] { return read_file(path).error; }); });
    }
}

TEST_F(FailNth, ReadSysfs) {
    read_all(kClass, [this](const auto& name, const auto& round) { sweep(name, round); });
}

TEST_F(FailNth, ReadHwmon) {
    const std::string folder = kClass + "device/hwmon/";
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        read_all(entry.path().string() + '/', [this](const auto& name, const auto& round) { sweep(name, round); });
}

TEST_F(FailNth, ReadDebugfs) {
    read_all("/sys/kernel/debug/accel/" + Card().name() + '/',
             [this](const auto& name, const auto& round) { sweep(name, round); });
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

}  // namespace
}  // namespace sidra::test
