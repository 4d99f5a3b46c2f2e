// SPDX-License-Identifier: MIT
// A debugger of the management core on a running chip, through its socket as GDB connects. The protocol itself is
// tested in tests/core.
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "bench.h"
#include "folder.h"
#include "packets.h"
#include "paths.h"

namespace sidra::chip_test {
namespace {

constexpr uint64_t kMs = 1'000'000, kSecond = 1000 * kMs;

std::string framed(const std::string& packet) {
    unsigned sum = 0;
    for (const char c : packet) sum += static_cast<unsigned char>(c);
    char check[4];
    snprintf(check, sizeof check, "#%02x", sum & 0xff);
    return "$" + packet + check;
}

class Socket {
   public:
    explicit Socket(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un name{};
        name.sun_family = AF_UNIX;
        path.copy(name.sun_path, sizeof name.sun_path - 1);
        EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&name), sizeof name), 0) << strerror(errno);
    }
    ~Socket() { close(fd_); }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    void send(const std::string& bytes) const {
        EXPECT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    }
    int fd() const { return fd_; }

   private:
    int fd_;
};

class GdbChip : public testing::Test {
   protected:
    void listen() { ASSERT_EQ(refusal(path), ""); }
    // The reason why the chip cannot listen there; "" if it can.
    std::string refusal(const std::string& address) {
        char error[512] = "";
        return sidra_chip_gdb_listen(bench.chip(), address.c_str(), error, sizeof error) == 0 ? "" : error;
    }
    void come() { client = std::make_unique<Socket>(path); }

    // Advances the clock and runs the chip.
    void pass(uint64_t ns, uint64_t step = kMs) {
        for (uint64_t left = ns; left != 0; left -= std::min(left, step)) {
            bench.clock() += std::min(left, step);
            bench.run();
        }
    }
    uint32_t beats() { return bench.read32(SIDRA_REG_HEARTBEAT); }
    uint32_t stage() { return bench.read32(SIDRA_REG_STATUS) & SIDRA_STATUS_STAGE_MASK; }
    void boot() {
        for (int i = 0; i < 1000 && stage() != SIDRA_STAGE_RUNTIME; i++) pass(kMs);
        ASSERT_EQ(stage(), uint32_t{SIDRA_STAGE_RUNTIME});
    }

    // Runs the chip until the socket has data, or is closed (""), and advances the clock by `step` each time.
    std::string hear(uint64_t step = 0) {
        const auto deadline = std::chrono::steady_clock::now() + kPatience;
        for (;;) {
            if (step) pass(step, step);
            else bench.run();
            pollfd wait{client->fd(), POLLIN, 0};
            if (poll(&wait, 1, step ? 0 : 1) > 0) break;
            if (std::chrono::steady_clock::now() > deadline) {
                ADD_FAILURE() << "no answer";
                return "";
            }
        }
        char bytes[8192];
        const ssize_t count = recv(client->fd(), bytes, sizeof bytes, 0);
        return {bytes, static_cast<size_t>(std::max<ssize_t>(count, 0))};
    }
    // A whole packet without its frame. An acknowledgement may precede it.
    std::string hear_packet(uint64_t step = 0) {
        std::string all = std::exchange(rest, "");
        size_t end;
        while ((end = all.find('#')) == std::string::npos || all.size() < end + 3) {
            const std::string more = hear(step);
            if (more.empty()) return "closed";
            all += more;
        }
        rest = all.substr(end + 3);
        const size_t begin = all.find('$') + 1;
        return all.substr(begin, end - begin);
    }
    std::string ask(const std::string& packet) {
        client->send(framed(packet));
        return hear_packet();
    }
    uint32_t pc() { return word(ask("p20")); }
    // Digits of its bytes, the lowest first.
    static uint32_t word(const std::string& digits) {
        return __builtin_bswap32(static_cast<uint32_t>(std::stoul(digits, nullptr, 16)));
    }
    // Attaches a debugger; the core is stopped.
    void attach() {
        listen();
        come();
        ASSERT_EQ(ask("?"), "S05");
    }
    void go_on() { client->send(framed("c")); }
    // The debugger closes the connection without detaching, which the chip notices.
    void leave() {
        client.reset();
        const auto deadline = std::chrono::steady_clock::now() + kPatience;
        while (!lives() && std::chrono::steady_clock::now() < deadline) {
        }
    }
    // Whether its heart beats.
    bool lives() {
        const uint32_t before = beats();
        pass(500 * kMs);
        return beats() > before;
    }

    Folder folder;
    const std::string path = folder.path("gdb");
    Bench bench;
    std::unique_ptr<Socket> client;
    std::string rest;
};

TEST_F(GdbChip, HaltsTheCoreAndNothingElse) {
    boot();
    attach();
    EXPECT_FALSE(lives());
    EXPECT_EQ(ask("?"), "S05");
    EXPECT_FALSE(sidra_chip_pending(bench.chip())) << "who stands still costs nothing";
    EXPECT_GT(sidra_chip_due_ns(bench.chip()), bench.clock()) << "but a look at the temperature now and then";
    Queue& queue = bench.context().queue();
    for (int i = 0; i < 50; i++) queue.submit(nop());
    bench.run();
    EXPECT_TRUE(retired(queue));
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_DEVICE), uint32_t{SIDRA_ADMIN_OK});
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_RESUME_DEVICE), uint32_t{SIDRA_ADMIN_OK});
}

TEST_F(GdbChip, TheWatchdogWaits) {
    boot();
    pass(200 * kMs);
    attach();
    for (int i = 0; i < 3; i++) {
        pass(60 * kSecond, 100 * kMs);
        go_on();
        client->send("\x03");
        EXPECT_EQ(hear_packet(), "S02");
    }
    EXPECT_EQ(ask("D"), "OK");
    EXPECT_TRUE(lives());
    EXPECT_EQ(bench.read32(SIDRA_REG_BOOT_REASON), uint32_t{SIDRA_BOOT_POWER_ON});
}

TEST_F(GdbChip, ComesToABreakpointAgainAndAgain) {
    boot();
    attach();
    go_on();
    // Half way between two heartbeats: otherwise Ctrl-C might stop it in a loop that it executes many times per beat.
    const uint32_t started = beats();
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (beats() == started && std::chrono::steady_clock::now() < deadline) pass(kMs);
    pass(50 * kMs);
    client->send("\x03");
    ASSERT_EQ(hear_packet(), "S02");
    const uint32_t here = pc();  // after the WFI in which it sleeps
    char set[32], clear[32];
    snprintf(set, sizeof set, "Z0,%x,4", here);
    snprintf(clear, sizeof clear, "z0,%x,4", here);
    uint32_t before = 0;
    for (int i = 0; i < 4; i++) {
        EXPECT_EQ(ask(clear), "OK");
        EXPECT_EQ(ask("s"), "S05");
        EXPECT_EQ(ask(set), "OK");
        go_on();
        EXPECT_EQ(hear_packet(kMs), "S05");
        EXPECT_EQ(pc(), here);
        // The heartbeat counter advances a little later. (Ctrl-C may have come before or after its wake-up.)
        if (i) EXPECT_EQ(beats(), before + 1);
        before = beats();
    }
    leave();
    EXPECT_TRUE(lives());
}

TEST_F(GdbChip, WatchesARegisterOfABlock) {
    boot();
    attach();
    char text[32];
    constexpr uint32_t kHeartbeat = 0x4000000c;  // of sidra_management.h
    snprintf(text, sizeof text, "Z2,%x,4", kHeartbeat);
    EXPECT_EQ(ask(text), "OK");
    const uint32_t before = beats();
    go_on();
    EXPECT_EQ(hear_packet(kMs), "T05watch:4000000c;");
    EXPECT_EQ(beats(), before + 1);
}

TEST_F(GdbChip, StepsOverASleep) {
    boot();
    attach();
    const uint32_t here = pc();
    EXPECT_EQ(ask("s"), "S05");
    EXPECT_NE(pc(), here);
}

TEST_F(GdbChip, AResetFindsItHaltedAndLeavesItSo) {
    boot();
    attach();
    bench.write32(SIDRA_REG_RESET, SIDRA_RESET_MAGIC);
    bench.run();
    EXPECT_NE(bench.read32(SIDRA_REG_STATUS) & SIDRA_STATUS_READY, 0u);
    EXPECT_EQ(pc(), 0u) << "the first instruction of the ROM";
    pass(100 * kMs);
    EXPECT_EQ(stage(), uint32_t{SIDRA_STAGE_RESET});
    EXPECT_EQ(ask("D"), "OK");
    boot();
    EXPECT_EQ(bench.read32(SIDRA_REG_BOOT_REASON), uint32_t{SIDRA_BOOT_RESET});
}

TEST_F(GdbChip, AQuiescedDeviceAnswersLater) {
    boot();
    attach();
    ASSERT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_DEVICE), uint32_t{SIDRA_ADMIN_OK});
    client->send(framed("s"));
    pass(10 * kMs);
    pollfd wait{client->fd(), POLLIN, 0};
    EXPECT_EQ(poll(&wait, 1, 0), 0);
    ASSERT_EQ(bench.admin(SIDRA_ADMIN_RESUME_DEVICE), uint32_t{SIDRA_ADMIN_OK});
    EXPECT_EQ(hear_packet(), "S05");
}

TEST_F(GdbChip, SecondOneIsSentAwayAndTheNextIsWelcome) {
    boot();
    attach();
    auto first = std::move(client);
    come();
    EXPECT_EQ(hear(), "");
    client = std::move(first);
    EXPECT_EQ(ask("qAttached"), "1");
    for (int i = 0; i < 5; i++) {
        client.reset();
        come();
        EXPECT_EQ(ask("?"), "S05");
    }
}

TEST_F(GdbChip, WhoSaysNothingHarmsNobody) {
    boot();
    listen();
    come();
    client.reset();
    come();
    client.reset();
    sidra_chip_gdb_close(bench.chip());
    EXPECT_TRUE(lives());
    EXPECT_FALSE(std::filesystem::exists(path)) << "nothing is left behind";
    sidra_chip_gdb_close(bench.chip());
    sidra_chip_gdb_close(nullptr);
    listen();
    come();  // the chip is destroyed while a debugger is attached
}

TEST_F(GdbChip, WhoDoesNotListenIsNotListenedTo) {
    boot();
    attach();
    const std::string packet = framed("m10000000,800");
    std::string many;
    for (int i = 0; i < 64; i++) many += packet;
    fcntl(client->fd(), F_SETFL, O_NONBLOCK);
    size_t sent = 0;
    for (int idle = 0; idle < 20;) {  // until the socket's buffer is full
        const ssize_t n = ::send(client->fd(), many.data(), many.size(), MSG_NOSIGNAL);
        idle = n > 0 ? 0 : idle + 1;
        sent += n > 0 ? static_cast<size_t>(n) : 0;
        bench.run();
        ASSERT_LT(sent, 64u << 20) << "it keeps them all";
    }
    leave();
    EXPECT_TRUE(lives());
}

TEST_F(GdbChip, KeepsToThisMachineAndToItsOwner) {
    for (const char* other : {"tcp:0.0.0.0:1234", "tcp:192.168.1.1:1234", "tcp::1234", "tcp:1234", "tcp:example.com:1"})
        EXPECT_EQ(refusal(other), "gdb: '" + std::string(other) +
                                      "' cannot be listened at: only this machine may debug: tcp:127.0.0.1:PORT, or a "
                                      "Unix socket");
    for (const char* nonsense : {"", "x", "65536", "-1", "12x", "tcp:127.0.0.1:", "tcp:127.0.0.1:99999"})
        EXPECT_NE(refusal(nonsense).find("must be a port (0 to 65535)"), std::string::npos) << nonsense;
    EXPECT_NE(refusal(folder.path("no/such/folder")).find("No such file or directory"), std::string::npos);
    EXPECT_NE(refusal(folder.path(std::string(200, 'x'))).find("at most 107 bytes"), std::string::npos);
    write_file(path, {1, 2, 3});
    EXPECT_NE(refusal(path).find("Address already in use"), std::string::npos);
    EXPECT_EQ(read_file(path).size(), 3u) << "somebody else's";
    std::filesystem::remove(path);
    listen();
    struct stat found {};
    ASSERT_EQ(stat(path.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0600u);
    Bench other;
    char error[512];
    errno = 0;
    EXPECT_EQ(sidra_chip_gdb_listen(other.chip(), path.c_str(), error, sizeof error), -1);
    EXPECT_EQ(errno, EADDRINUSE);
    come();
    EXPECT_EQ(ask("?"), "S05") << "the first one has it still";
}

TEST_F(GdbChip, TakesTheSocketOfWhoWasKilled) {
    const int dead = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    path.copy(name.sun_path, sizeof name.sun_path - 1);
    ASSERT_EQ(bind(dead, reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
    close(dead);
    attach();
}

TEST_F(GdbChip, AnyPortOfThisMachine) {
    listen();
    ASSERT_EQ(refusal("tcp:127.0.0.1:0"), "");
    EXPECT_FALSE(std::filesystem::exists(path)) << "one place at a time";
    const std::string said = bench.reports().back();
    const size_t at = said.find("127.0.0.1:");
    ASSERT_NE(at, std::string::npos) << said;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(static_cast<uint16_t>(std::stoi(said.substr(at + 10))));
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
    close(fd);
}

// Random packets, well-formed and malformed.
class Babble {
   public:
    explicit Babble(unsigned seed) : random_(seed) {}
    std::string packet() {
        if (below(8) == 0) return noise(below(40));
        std::string text(1, "?gGpPmMsZzHqckDvXT!"[below(19)]);
        if (text == "q" && below(2)) text += "Xfer:features:read:target.xml:";
        if (text == "Z" || text == "z") text += static_cast<char>('0' + below(6)), text += ',';
        if (text == "P") return text + number(66) + "=" + number(~0u);
        if (text != "g" && text != "?") text += number(below(2) ? 0x40 : ~0u) + "," + number(below(2) ? 8 : ~0u);
        if (text[0] == 'M' || text[0] == 'X') text += ":" + noise(below(20));
        return text;
    }
    unsigned below(unsigned end) { return static_cast<unsigned>(random_() % end); }
    std::string noise(unsigned size) {
        std::string bytes;
        while (size--) bytes += static_cast<char>(below(256));
        return bytes;
    }

   private:
    // Places of the core's memory and registers among them.
    std::string number(unsigned most) {
        constexpr unsigned kBases[] = {0, 0x10000000, 0x40000000};
        char text[16];
        snprintf(text, sizeof text, "%x", most == ~0u ? kBases[below(3)] + below(0x40000) : below(most));
        return text;
    }
    std::minstd_rand random_;
};

TEST_F(GdbChip, NonsenseOnALiveChipHarmsNobodyElse) {
    boot();
    listen();
    Queue& queue = bench.context().queue();
    for (unsigned seed = 0; seed < rounds(200); seed++) {
        SCOPED_TRACE(seed);
        Babble babble(seed);
        come();
        fcntl(client->fd(), F_SETFL, O_NONBLOCK);
        for (int i = 0; i < 50; i++) {
            std::string bytes = framed(babble.packet());
            if (babble.below(10) == 0) bytes = babble.noise(babble.below(5000));
            if (babble.below(10) == 0) bytes += "\x03";
            [[maybe_unused]] const ssize_t sent = ::send(client->fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
            char answers[8192];
            [[maybe_unused]] const ssize_t got = recv(client->fd(), answers, sizeof answers, 0);
            if (i % 10 == 0) queue.submit(nop());
            pass(kMs);
        }
        client.reset();
        ASSERT_TRUE(retired(queue));
    }
    bench.drop_violation_checks();  // the debugger could write everything that the firmware can
    sidra_chip_gdb_close(bench.chip());
    bench.write32(SIDRA_REG_RESET, SIDRA_RESET_MAGIC);
    bench.run();
    pass(kSecond);
    EXPECT_NE(stage(), uint32_t{SIDRA_STAGE_RESET}) << "its ROM, at least, is as it was";
    queue.reset();
}

// ---- GDB itself ----

// Runs a program against the chip, which keeps running meanwhile, and returns its output.
std::string output_of(const std::vector<std::string>& arguments, const std::string& file,
                      const std::function<void()>& meanwhile) {
    std::vector<char*> argv;
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    pid_t child = -1;
    const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) return "";
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    for (int status; waitpid(child, &status, WNOHANG) == 0;) {
        meanwhile();
        if (std::chrono::steady_clock::now() < deadline) continue;
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        break;
    }
    const std::vector<uint8_t> bytes = read_file(file);
    return {bytes.begin(), bytes.end()};
}

TEST_F(GdbChip, TheRealOneSeesFunctionsAndVariables) {
    if (std::system("command -v gdb-multiarch >/dev/null") != 0) GTEST_SKIP() << "gdb-multiarch is not installed";
    boot();
    listen();
    std::vector<std::string> arguments = {"gdb-multiarch", "-nx", "-batch", sidra::test::runtime_elf()};
    for (const std::string& command :
         {"target remote " + path, std::string("break update_all_is_well"), std::string("continue"),
          std::string("backtrace"), std::string("print boot->slot"), std::string("watch said"), std::string("continue"),
          std::string("info registers mcause"), std::string("stepi"), std::string("detach")})
        arguments.insert(arguments.end(), {"-ex", command});
    // The firmware has not yet finished its first tenth of a second when GDB attaches.
    const uint32_t before = beats();
    const uint64_t kicks = bench.kicks();
    const std::string said = output_of(arguments, folder.path("said"), [&] {
        if (bench.kicks() != kicks) pass(kMs);
    });
    for (const char* wanted : {"Breakpoint 1, update_all_is_well", "#1 ", "in runtime_main", "$1 = 0",
                               "Hardware watchpoint 2: said", "Old value = 0", "New value = 1", "mcause "})
        EXPECT_NE(said.find(wanted), std::string::npos) << wanted << " is not in:\n" << said;
    EXPECT_GT(beats(), before);
    EXPECT_TRUE(lives());
    EXPECT_EQ(bench.read32(SIDRA_REG_BOOT_REASON), uint32_t{SIDRA_BOOT_POWER_ON});
}

}  // namespace
}  // namespace sidra::chip_test
