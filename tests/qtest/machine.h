// SPDX-License-Identifier: MIT
// A machine without a guest: QEMU under -accel qtest, driven over its qtest socket (one line a memory, port or clock
// access) and its QMP socket. The wall clock only guards against hangs.
#ifndef SIDRA_TESTS_QTEST_MACHINE_H
#define SIDRA_TESTS_QTEST_MACHINE_H

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sidra::qtest {

// A line-based connection to QEMU. Throws std::runtime_error when the other side is closed or silent.
class Line {
   public:
    explicit Line(int fd) : fd_(fd) {}
    ~Line();
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;
    void send(const std::string& text);
    std::string receive();

   private:
    int fd_;
    std::string buffer_;
};

// Path of the binary of this tree: $SIDRA_QEMU, else the answer of scripts/qemu.sh; empty if there is none, with the
// reason.
std::string qemu_binary(std::string* why);

class Machine {
   public:
    // q35 with 256 MiB, PCI configuration space mapped (ECAM), and `arguments` (the devices). The CPU is idle unless
    // they contain an -accel.
    explicit Machine(const std::vector<std::string>& arguments);
    ~Machine();   // quits; an unclean exit fails the test
    void kill();  // without a word; then it can only be replaced
    // Replaces the process; allocated memory addresses stay allocated. With -incoming the configuration space comes
    // from the stream.
    void restart(const std::vector<std::string>& arguments);
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    uint64_t read(uint64_t address, unsigned size);
    void write(uint64_t address, uint64_t value, unsigned size);
    std::vector<uint8_t> read_bytes(uint64_t address, size_t count);
    void write_bytes(uint64_t address, const void* data, size_t count);
    void fill(uint64_t address, size_t count, uint8_t value);
    uint32_t config(unsigned devfn, unsigned offset, unsigned size, unsigned bus = 0);
    void set_config(unsigned devfn, unsigned offset, uint32_t value, unsigned size, unsigned bus = 0);
    void map_config();  // after a reset of the machine; done by the constructor
    void step_clock(uint64_t ns);

    // The answer to a QMP command, {"return": ...} or {"error": ...}.
    std::string qmp(const std::string& command);
    // Whether QEMU has reported such an event until now.
    bool reported(const std::string& event);
    // qom-set of a device by id; returns the reply.
    std::string set_property(const std::string& id, const std::string& name, const std::string& json_value);

    // Zeroed guest memory that nothing else uses.
    uint64_t alloc(uint64_t bytes, uint64_t align = 4096);
    static constexpr uint64_t kRamSize = 256u << 20;

   private:
    void start(const std::vector<std::string>& arguments);
    void quit();
    std::string ask(const std::string& command);

    pid_t pid_ = -1;
    std::optional<Line> qtest_;
    std::optional<Line> qmp_;
    std::string events_;
    uint64_t next_ = 16u << 20;
};

// The firmware of a machine with -accel tcg, as a file for -bios: code that the CPU runs from power-on on, in real
// mode.
class Bios {
   public:
    explicit Bios(std::vector<uint8_t> code);
    ~Bios();
    Bios(const Bios&) = delete;
    Bios& operator=(const Bios&) = delete;
    const char* name() const { return name_; }

   private:
    char name_[32] = "/tmp/sidra-qtest-XXXXXX";
};

// Whether the condition became true before the timeout.
bool eventually(const std::function<bool()>& condition);

}  // namespace sidra::qtest

#endif
