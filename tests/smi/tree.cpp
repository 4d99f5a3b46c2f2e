// SPDX-License-Identifier: MIT
#include "tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace sidra::test {
namespace fs = std::filesystem;

sidra_telemetry telemetry(uint64_t seed) {
    sidra_telemetry page = {};
    page.magic = SIDRA_TELEMETRY_MAGIC;
    page.version = SIDRA_TELEMETRY_VERSION;
    page.size = sizeof page;
    page.valid = SIDRA_TELEMETRY_HAS_COUNTERS | SIDRA_TELEMETRY_HAS_THERMAL | SIDRA_TELEMETRY_HAS_POWER |
                 SIDRA_TELEMETRY_HAS_LIMITS;
    page.clock_ns = seed * 1'000'000'000;
    uint64_t number = seed * 1000;
    for (uint64_t* counter :
         {&page.packets,      &page.call_packets, &page.faults,           &page.doorbells, &page.arms,
          &page.mmio_reads,   &page.mmio_writes,  &page.interrupts,       &page.mvms,      &page.macs,
          &page.vec_elements, &page.copy_bytes,   &page.programmed_cells, &page.device_ps, &page.energy_pj,
          &page.busy_ns,      &page.dma_errors,   &page.pulses,           &page.reads,     &page.failed_cells,
          &page.clipped,      &page.stuck_cells,  &page.spare_columns})
        *counter = ++number;
    for (uint64_t& engine : page.engine_ns) engine = ++number;
    page.xbars_total = 6400;
    page.xbars_programmed = 128;
    page.contexts = 2;
    page.queues = 3;
    page.temperature_mc = 45'500;
    page.power_mw = 12'250;
    page.clock_khz = 1'000'000;
    page.status = SIDRA_STAGE_RUNTIME | SIDRA_STATUS_READY | SIDRA_STATUS_FIRMWARE_ALIVE;
    page.generation = 7;
    page.boot_reason = SIDRA_BOOT_RESET;
    page.heartbeat = 99;
    page.temperature_max_mc = 95'000;
    page.temperature_crit_mc = 105'000;
    page.power_limit_mw = 60'000;
    page.power_limit_min_mw = 10'000;
    page.power_limit_max_mw = 75'000;
    page.clock_max_khz = 1'200'000;
    page.throttles = 4;
    page.calibrated_ns = page.clock_ns / 4;
    return page;
}

std::string bytes_of(const sidra_telemetry& page) { return {reinterpret_cast<const char*>(&page), sizeof page}; }

Tree::Tree() {
    std::string name = (fs::temp_directory_path() / "sidra-smi-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
}

Tree::~Tree() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
}

void Tree::write(const std::string& name, std::string_view text) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    std::ofstream file(path(name), std::ios::binary | std::ios::trunc);
    file << text;
    ASSERT_TRUE(file.flush());
}

void Tree::link(const std::string& target, const std::string& name) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    fs::create_symlink(target, path(name));
}

void Tree::remove(const std::string& name) const { fs::remove_all(path(name)); }

void Tree::function(const std::string& bdf) const {
    const std::string folder = "sys/devices/pci0000:00/0000:00:03.0/" + bdf;
    write(folder + "/vendor", "0x5349\n");
    write(folder + "/device", "0x5931\n");
    write(folder + "/current_link_speed", "16.0 GT/s PCIe\n");
    write(folder + "/max_link_speed", "32.0 GT/s PCIe\n");
    write(folder + "/current_link_width", "8\n");
    write(folder + "/max_link_width", "16\n");
    write(folder + "/numa_node", "0\n");
    write(folder + "/local_cpulist", "0-3\n");
    link("../../../devices/pci0000:00/0000:00:03.0/" + bdf, "sys/bus/pci/devices/" + bdf);
}

std::string Tree::node(unsigned number, const std::string& attribute) const {
    return fmt::format("sys/class/sidra/sidra{}/{}", number, attribute);
}

void Tree::card(unsigned number, const std::string& bdf) const {
    function(bdf);
    link("../../../devices/pci0000:00/0000:00:03.0/" + bdf, node(number, "device"));
    write(node(number, "uuid"), fmt::format("{:08x}-0000-4000-8000-00000000000{}\n", 0xc0ffee00 + number, number));
    write(node(number, "hw_version"), "2.0\n");
    write(node(number, "driver_version"), "1.1\n");
    write(node(number, "firmware_version"), "1.0.3\n");
    write(node(number, "generation"), "7\n");
    write(node(number, "resets"), "6\n");
    write(node(number, "features"), "0x3\n");
    write(node(number, "geometry"), "10 32 20\n");
    write(node(number, "l3_size"), "16777216\n");
    write(node(number, "l3_free"), "16773120\n");
    write(node(number, "nvm_size"), "1048576\n");
    write(node(number, "pids"), "");
    write(node(number, "telemetry"), bytes_of(telemetry(number + 1)));
}

void Tree::fdinfo(unsigned number, pid_t pid, unsigned fd, const std::string& name, std::string_view text) const {
    const std::string folder = fmt::format("proc/{}", pid);
    write(folder + "/comm", name + "\n");
    write(fmt::format("{}/fdinfo/{}", folder, fd), text);
    link(fmt::format("/dev/sidra{}", number), fmt::format("{}/fd/{}", folder, fd));
    std::ofstream(path(node(number, "pids")), std::ios::app) << pid << '\n';
}

std::string Tree::runtime() const { return path(fmt::format("tmp/sidra-{}", geteuid())); }

namespace {

void put(int fd, const void* from, size_t size, uint64_t at) {
    ASSERT_EQ(pwrite(fd, from, size, static_cast<off_t>(at)), static_cast<ssize_t>(size));
}

}  // namespace

Publisher::Publisher(const Tree& tree, unsigned number,
                     const std::function<void(sidra_publish&, sidra_telemetry&)>& change,
                     const std::vector<sidra_hw_xbar>& xbars)
    : number_(number) {
    fs::create_directories(tree.runtime());
    EXPECT_EQ(chmod(tree.runtime().c_str(), 0700), 0);
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) {
        // The file is named after the process: the child creates it itself, and holds the lock while it lives.
        path_ = fmt::format("{}/{}", tree.runtime(), name());
        pid_ = getpid();
        path_ = fmt::format("{}/{}", tree.runtime(), name());
        const int fd = open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
        struct flock lock = {};
        lock.l_type = F_WRLCK;
        lock.l_whence = SEEK_SET;
        lock.l_len = 1;
        if (fd < 0 || fcntl(fd, F_SETLK, &lock) != 0 || ::write(ready[1], "", 1) != 1) _exit(1);
        for (;;) pause();
    }
    path_ = fmt::format("{}/{}", tree.runtime(), name());
    char go;
    EXPECT_EQ(read(ready[0], &go, 1), 1);
    close(ready[0]);
    close(ready[1]);

    sidra_publish header = {};
    header.magic = SIDRA_PUBLISH_MAGIC;
    header.version = SIDRA_PUBLISH_VERSION;
    header.header_size = sizeof header;
    header.size = sizeof header + sizeof(sidra_telemetry) + xbars.size() * sizeof(sidra_hw_xbar);
    header.sequence = 2;
    header.updated_ns = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
    header.pid = static_cast<uint32_t>(pid_);
    header.uid = geteuid();
    header.index = number;
    std::strcpy(header.comm, "worker");
    for (uint8_t n = 0; n < sizeof header.uuid; ++n) header.uuid[n] = static_cast<uint8_t>(0xe0 + n);
    header.features = 1;
    header.hw_version = 0x20000;
    header.driver_version = 0x10001;
    header.firmware_version = 0x01000003;
    header.clusters = 10;
    header.cus_per_cluster = 32;
    header.xbars_per_cu = 20;
    header.l3_size = 1 << 24;
    header.l3_used = 4096;
    header.nvm_size = 1 << 20;
    header.memory = 65536;
    header.contexts = 1;
    header.queues = 2;
    header.telemetry = sizeof header;
    header.xbars = sizeof header + sizeof(sidra_telemetry);
    header.xbar_count = static_cast<uint32_t>(xbars.size());
    sidra_telemetry page = telemetry(9);
    if (change) change(header, page);
    const int fd = open(path_.c_str(), O_RDWR);
    put(fd, &header, sizeof header, 0);
    put(fd, &page, sizeof page, sizeof header);
    if (!xbars.empty()) put(fd, xbars.data(), xbars.size() * sizeof xbars[0], sizeof header + sizeof page);
    close(fd);
}

Publisher::~Publisher() {
    die();
    std::error_code ignored;
    fs::remove(path_, ignored);
}

std::string Publisher::name() const { return fmt::format("{}-{}", pid_, number_); }

void Publisher::update(const std::function<void(sidra_publish&, sidra_telemetry&)>& change) {
    const int fd = open(path_.c_str(), O_RDWR);
    sidra_publish header;
    sidra_telemetry page;
    ASSERT_EQ(pread(fd, &header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
    ASSERT_EQ(pread(fd, &page, sizeof page, sizeof header), static_cast<ssize_t>(sizeof page));
    header.sequence += 2;
    change(header, page);
    put(fd, &header, sizeof header, 0);
    put(fd, &page, sizeof page, sizeof header);
    close(fd);
}

void Publisher::before(const sidra_telemetry& page) {
    update([&](sidra_publish& header, sidra_telemetry&) {
        header.before = header.size;
        header.size += sizeof page;
        const int fd = open(path_.c_str(), O_RDWR);
        put(fd, &page, sizeof page, header.before);
        close(fd);
    });
}

void Publisher::die() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
}

}  // namespace sidra::test
