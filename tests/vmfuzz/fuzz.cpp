// SPDX-License-Identifier: MIT
// sidra-vmfuzz: makes system calls on the driver's nodes at random, guided by what they execute of the driver (KCOV).
// It runs in the guest, with a driver that is compiled for KCOV; others watch for the kernel's reports
// (tests/vm/fuzz.py). The programs that ran last are in a file, to be run again.
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <map>
#include <random>
#include <unordered_set>

#include "coverage.h"
#include "program.h"

namespace sidra::vmfuzz {
namespace {

constexpr int kPatienceMs = 20'000;      // until a program is killed that still waits for something
constexpr int kDeathMs = 240'000;        // until a killed one must be gone
constexpr size_t kDictionaryMax = 4096;  // constants that the driver compares with
constexpr uint64_t kLastPrograms = 16;

uint64_t now_ms() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1'000'000;
}

// The programs that ran last: a file that outlives the guest.
class Record {
   public:
    explicit Record(const std::string& path) : fd_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {}
    void add(const Program& program) {
        Slot slot{++number_, program.size(), {}};
        std::copy(program.begin(), program.end(), slot.calls);
        if (pwrite(fd_, &slot, sizeof slot, static_cast<off_t>(number_ % kLastPrograms * sizeof slot)) != sizeof slot)
            std::perror("vmfuzz: record");
    }
    // In the order in which they ran.
    std::vector<Program> all() const {
        std::map<uint64_t, Program> found;
        Slot slot;
        for (off_t at = 0; pread(fd_, &slot, sizeof slot, at) == sizeof slot; at += static_cast<off_t>(sizeof slot))
            if (slot.number && slot.count <= kCallsMax)
                found[slot.number] = Program(slot.calls, slot.calls + slot.count);
        std::vector<Program> programs;
        for (auto& [number, program] : found) programs.push_back(std::move(program));
        return programs;
    }

   private:
    struct Slot {
        uint64_t number, count;
        CallBytes calls[kCallsMax];
    };
    const int fd_;
    uint64_t number_ = 0;
};

class Fuzzer {
   public:
    Fuzzer(uint64_t seed, const std::string& record) : random_(seed), record_(record) {}

    bool can_start() const { return coverage_.works(); }

    // Runs programs until the time is over; false: one could not be killed.
    bool run(uint64_t end_ms) {
        for (const Program& program : first_programs())
            if (!attempt(program)) return false;
        for (uint64_t next = 0; now_ms() < end_ms;) {
            if (!attempt(mutant())) return false;
            if (now_ms() < next) continue;
            next = now_ms() + 30'000;
            tell();
        }
        tell();
        return true;
    }

    // Runs a program in a process of its own; false: it could not be killed.
    bool execute(const Program& program, unsigned mode, bool told) {
        record_.add(program);
        const pid_t child = fork();
        if (child == 0) {
            setpgid(0, 0);
            if (coverage_.works() && !coverage_.begin(mode)) std::perror("vmfuzz: KCOV");
            vmfuzz::run(program, told);
            _exit(0);
        }
        setpgid(child, child);
        programs_++;
        const bool ended = wait_for(child, kPatienceMs);
        if (!ended) killed_++;
        kill(-child, SIGKILL);  // also the processes that it has left
        return ended || wait_for(child, kDeathMs);
    }

   private:
    static bool wait_for(pid_t child, int ms) {
        pollfd end{static_cast<int>(syscall(SYS_pidfd_open, child, 0)), POLLIN, 0};
        const bool ended = poll(&end, 1, ms) == 1 && waitpid(child, nullptr, 0) == child;
        close(end.fd);
        return ended;
    }

    // Keeps a program that reaches places which none before has reached.
    bool attempt(const Program& program) {
        if (!execute(program, KCOV_TRACE_PC, false)) return false;
        const size_t before = places_.size();
        places_.insert(coverage_.places().begin(), coverage_.places().end());
        if (places_.size() == before) return true;
        corpus_.push_back(program);
        if (!execute(program, KCOV_TRACE_CMP, false)) return false;
        for (const auto& [type, first, second, place] : coverage_.comparisons())
            if (type & KCOV_CMP_CONST && dictionary_.size() < kDictionaryMax)
                dictionary_.insert(second ? first : second);
        words_.assign(dictionary_.begin(), dictionary_.end());
        return true;
    }

    // Each call with its usual arguments, alone and after those that make what it needs.
    static std::vector<Program> first_programs() {
        std::vector<Program> programs;
        Program all;
        for (size_t call = 0; call < calls(); call++) {
            const CallBytes bytes{static_cast<uint8_t>(call)};
            programs.push_back({bytes});
            const std::string name = name_of(call);
            if (name.find("CREATE") != std::string::npos || name.find("BIND") != std::string::npos)
                all.push_back(bytes);
        }
        for (size_t call = 0; call < calls(); call++) {
            Program program(all.begin(), all.begin() + static_cast<long>(std::min(all.size(), kCallsMax - 1)));
            program.push_back({static_cast<uint8_t>(call)});
            programs.push_back(program);
        }
        return programs;
    }

    size_t below(size_t limit) { return random_() % limit; }

    CallBytes new_call() {
        CallBytes bytes{static_cast<uint8_t>(below(calls()))};
        for (size_t changes = below(4); changes > 0; changes--) change(bytes);
        return bytes;
    }

    void change(CallBytes& bytes) {
        const size_t at = 1 + below(kCallBytes - 1);
        switch (below(4)) {
            case 0:
                bytes[at] = static_cast<uint8_t>(random_());
                break;
            case 1:
                bytes[at] = 0;
                break;
            case 2:
                bytes[at] ^= static_cast<uint8_t>(1u << below(8));
                break;
            default:
                // As an integer of anything is written: program.cpp.
                if (!words_.empty() && at + 9 <= kCallBytes) {
                    bytes[at] = 1;
                    std::memcpy(&bytes[at + 1], &words_[below(words_.size())], sizeof words_[0]);
                }
        }
    }

    Program mutant() {
        Program program = corpus_.empty() ? Program{new_call()} : corpus_[below(corpus_.size())];
        for (size_t changes = 1 + below(4); changes > 0; changes--) {
            const auto at = program.begin() + static_cast<long>(below(program.size() + 1));
            switch (below(6)) {
                case 0:
                case 1:
                    program.insert(at, new_call());
                    break;
                case 2:
                    if (at != program.end() && program.size() > 1) program.erase(at);
                    break;
                case 3:
                    if (at != program.end()) program.insert(at, CallBytes(*at));
                    break;
                case 4: {
                    const Program& other = corpus_.empty() ? program : corpus_[below(corpus_.size())];
                    const Program tail(other.begin() + static_cast<long>(below(other.size())), other.end());
                    program.insert(at, tail.begin(), tail.end());
                    break;
                }
                default:
                    if (at != program.end()) change(*at);
            }
            if (program.size() > kCallsMax) program.resize(kCallsMax);
        }
        return program;
    }

    void tell() const {
        std::printf("# %llu programs, %llu of them killed; %zu places, %zu programs kept, %zu constants\n",
                    static_cast<unsigned long long>(programs_), static_cast<unsigned long long>(killed_),
                    places_.size(), corpus_.size(), words_.size());
        std::fflush(stdout);
    }

    std::mt19937_64 random_;
    Record record_;
    Coverage coverage_;
    std::vector<Program> corpus_;
    std::unordered_set<uint64_t> places_, dictionary_;
    std::vector<uint64_t> words_;
    uint64_t programs_ = 0, killed_ = 0;
};

int main_of(int argc, char** argv) {
    CLI::App app("fuzzes the driver's system calls, guided by KCOV");
    double minutes = 1;
    uint64_t seed = 1;
    std::string record = "/tmp/vmfuzz.last", replay;
    app.add_option("--minutes", minutes, "how long");
    app.add_option("--seed", seed, "of the random numbers");
    app.add_option("--record", record, "file for the programs that ran last");
    app.add_option("--replay", replay, "runs the programs of such a file instead, and prints what their calls return");
    CLI11_PARSE(app, argc, argv);

    Fuzzer fuzzer(seed, replay.empty() ? record : "/tmp/vmfuzz.replayed");
    if (!replay.empty()) {
        for (const Program& program : Record(replay).all()) {
            std::printf("# a program of %zu calls\n", program.size());
            std::fflush(stdout);
            if (!fuzzer.execute(program, KCOV_TRACE_PC, true)) return 1;
        }
        return 0;
    }
    if (!fuzzer.can_start()) {
        std::fprintf(
            stderr,
            "vmfuzz: this kernel has no /sys/kernel/debug/kcov; the fuzzer is for the debug kernel: make vm-fuzz\n");
        return 1;
    }
    std::printf("# seed %llu\n", static_cast<unsigned long long>(seed));
    if (fuzzer.run(now_ms() + static_cast<uint64_t>(minutes * 60'000))) return 0;
    std::printf("vmfuzz: a program cannot be killed: it is the last one of %s\n", record.c_str());
    return 1;
}

}  // namespace
}  // namespace sidra::vmfuzz

int main(int argc, char** argv) { return sidra::vmfuzz::main_of(argc, argv); }
