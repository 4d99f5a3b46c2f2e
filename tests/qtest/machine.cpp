// SPDX-License-Identifier: MIT
#include "machine.h"
#include "paths.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

namespace sidra::qtest {
namespace {

constexpr std::chrono::seconds kPatience{120};  // only a hang reaches it
constexpr uint64_t kEcam = 0xb0000000;

std::string format(const char* text, uint64_t a, uint64_t b = 0, uint64_t c = 0) {
    std::array<char, 128> line{};
    std::snprintf(line.data(), line.size(), text, a, b, c);
    return line.data();
}

uint64_t number(const std::string& answer) { return std::strtoull(answer.c_str(), nullptr, 0); }

}  // namespace

Line::~Line() { close(fd_); }

void Line::send(const std::string& text) {
    const std::string line = text + "\n";
    for (size_t sent = 0; sent < line.size();) {
        const ssize_t n = ::send(fd_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
        if (n <= 0) throw std::runtime_error("QEMU has gone away at: " + text.substr(0, 100));
        sent += static_cast<size_t>(n);
    }
}

std::string Line::receive() {
    for (;;) {
        if (const size_t end = buffer_.find('\n'); end != std::string::npos) {
            std::string line = buffer_.substr(0, end);
            buffer_.erase(0, end + 1);
            return line;
        }
        pollfd wait{.fd = fd_, .events = POLLIN, .revents = 0};
        if (poll(&wait, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count())) <= 0)
            throw std::runtime_error("QEMU does not answer");
        std::array<char, 65536> some;
        const ssize_t n = recv(fd_, some.data(), some.size(), 0);
        if (n <= 0) throw std::runtime_error("QEMU has gone away");
        buffer_.append(some.data(), static_cast<size_t>(n));
    }
}

std::string qemu_binary(std::string* why) {
    if (const char* given = std::getenv("SIDRA_QEMU")) return given;
    const std::string name = test::source_file("scripts/qemu.sh");
    FILE* script = popen((name + " path 2>&1").c_str(), "r");
    if (script == nullptr) return *why = name + " does not run", std::string();
    std::array<char, 4096> line{};
    const bool any = std::fgets(line.data(), line.size(), script) != nullptr;
    const bool good = pclose(script) == 0 && any;
    std::string text = line.data();
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (good) return text;
    *why = text;
    return {};
}

Machine::Machine(const std::vector<std::string>& arguments) {
    start(arguments);
    map_config();
}

Machine::~Machine() { quit(); }

void Machine::restart(const std::vector<std::string>& arguments) {
    quit();
    start(arguments);
}

void Machine::start(const std::vector<std::string>& arguments) {
    std::string why;
    const std::string binary = qemu_binary(&why);
    if (binary.empty()) throw std::runtime_error(why);
    int qtest[2], qmp[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, qtest) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, qmp) != 0)
        throw std::runtime_error("no sockets");
    std::vector<std::string> all = {binary,       "-machine",
                                    "q35",        "-m",
                                    "256",        "-nodefaults",
                                    "-display",   "none",
                                    "-qtest-log", "/dev/null",
                                    "-chardev",   "socket,id=qtest,fd=" + std::to_string(qtest[1]),
                                    "-qtest",     "chardev:qtest",
                                    "-chardev",   "socket,id=qmp,fd=" + std::to_string(qmp[1]),
                                    "-mon",       "chardev=qmp,mode=control"};
    if (std::find(arguments.begin(), arguments.end(), "-accel") == arguments.end())
        all.insert(all.end(), {"-accel", "qtest"});
    all.insert(all.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& argument : all) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        fcntl(qtest[1], F_SETFD, 0);
        fcntl(qmp[1], F_SETFD, 0);
        execv(binary.c_str(), argv.data());
        _exit(127);
    }
    close(qtest[1]);
    close(qmp[1]);
    qtest_.emplace(qtest[0]);
    qmp_.emplace(qmp[0]);
    qmp_->receive();  // greeting
    this->qmp(R"({"execute": "qmp_capabilities"})");
}

void Machine::kill() {
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
}

void Machine::quit() {
    if (pid_ == -1) return;
    try {
        qmp(R"({"execute": "quit"})");
    } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
        ::kill(pid_, SIGKILL);
    }
    int status = 0;
    waitpid(pid_, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "QEMU ended with wait status " << status;
}

std::string Machine::ask(const std::string& command) {
    qtest_->send(command);
    for (;;) {
        std::string answer = qtest_->receive();
        if (answer.starts_with("IRQ ")) continue;
        if (answer == "OK") return {};
        if (answer.starts_with("OK ")) return answer.substr(3);
        throw std::runtime_error(command + ": " + answer);
    }
}

uint64_t Machine::read(uint64_t address, unsigned size) {
    const char* name = size == 1 ? "readb" : size == 2 ? "readw" : size == 4 ? "readl" : "readq";
    return number(ask(name + format(" 0x%" PRIx64, address)));
}

void Machine::write(uint64_t address, uint64_t value, unsigned size) {
    const char* name = size == 1 ? "writeb" : size == 2 ? "writew" : size == 4 ? "writel" : "writeq";
    ask(name + format(" 0x%" PRIx64 " 0x%" PRIx64, address, value));
}

std::vector<uint8_t> Machine::read_bytes(uint64_t address, size_t count) {
    const std::string hex = ask(format("read 0x%" PRIx64 " 0x%" PRIx64, address, count));
    std::vector<uint8_t> bytes(count);
    for (size_t i = 0; i < count; i++)
        bytes[i] = static_cast<uint8_t>(std::strtoul(hex.substr(2 + 2 * i, 2).c_str(), nullptr, 16));
    return bytes;
}

void Machine::write_bytes(uint64_t address, const void* data, size_t count) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string hex;
    for (const auto* byte = static_cast<const uint8_t*>(data); hex.size() < 2 * count; byte++) {
        hex += kDigits[*byte >> 4];
        hex += kDigits[*byte & 15];
    }
    ask(format("write 0x%" PRIx64 " 0x%" PRIx64 " 0x", address, count) + hex);
}

void Machine::fill(uint64_t address, size_t count, uint8_t value) {
    ask(format("memset 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64, address, count, value));
}

uint32_t Machine::config(unsigned devfn, unsigned offset, unsigned size, unsigned bus) {
    return static_cast<uint32_t>(read(kEcam | bus << 20 | devfn << 12 | offset, size));
}

void Machine::set_config(unsigned devfn, unsigned offset, uint32_t value, unsigned size, unsigned bus) {
    write(kEcam | bus << 20 | devfn << 12 | offset, value, size);
}

void Machine::map_config() {
    ask("outl 0xcf8 0x80000060");  // PCIEXBAR of the host bridge
    ask(format("outl 0xcfc 0x%" PRIx64, kEcam | 1));
}

void Machine::step_clock(uint64_t ns) { ask(format("clock_step %" PRIu64, ns)); }

std::string Machine::qmp(const std::string& command) {
    qmp_->send(command);
    for (;;) {
        std::string answer = qmp_->receive();
        if (answer.find("\"event\"") == std::string::npos) return answer;
        events_ += answer;
    }
}

bool Machine::reported(const std::string& event) {
    qmp(R"({"execute": "query-name"})");
    return events_.find("\"" + event + "\"") != std::string::npos;
}

std::string Machine::set_property(const std::string& id, const std::string& name, const std::string& json_value) {
    return qmp(R"({"execute": "qom-set", "arguments": {"path": "/machine/peripheral/)" + id + R"(", "property": ")" +
               name + R"(", "value": )" + json_value + "}}");
}

uint64_t Machine::alloc(uint64_t bytes, uint64_t align) {
    next_ = (next_ + align - 1) / align * align;
    const uint64_t at = next_;
    next_ += bytes;
    if (next_ > kRamSize) throw std::runtime_error("the machine has no memory left");
    return at;
}

Bios::Bios(std::vector<uint8_t> code) {
    constexpr size_t kBytes = 65536, kEntry = 0xfff0;
    code.resize(kBytes, 0xf4);
    const uint8_t entry[] = {0xe9, 0x0d, 0x00};  // jmp 0
    std::copy(std::begin(entry), std::end(entry), code.begin() + kEntry);
    const int fd = mkstemp(name_);
    EXPECT_EQ(::write(fd, code.data(), code.size()), static_cast<ssize_t>(code.size()));
    close(fd);
}

Bios::~Bios() { unlink(name_); }

bool eventually(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return true;
}

}  // namespace sidra::qtest
