// SPDX-License-Identifier: MIT
// sidra-dump: its output for complete dumps, and its message for each damaged one.
#include "dump.h"

#include <gtest/gtest.h>

#include <cstring>

#include "image/crc32.h"
#include "sidra_boot.h"
#include "sidra_hw.h"
#include "words.h"

namespace sidra::test {
namespace {

using Bytes = std::vector<uint8_t>;

void seal(sidra_boot_dump& dump) {
    dump.crc32 = sidra_image_crc32(0, reinterpret_cast<const uint8_t*>(&dump), offsetof(sidra_boot_dump, crc32));
}

sidra_boot_dump trap() {
    sidra_boot_dump dump{};
    dump.magic = SIDRA_BOOT_DUMP_MAGIC;
    dump.size = sizeof dump;
    dump.code = SIDRA_PANIC_TRAP | 2;
    dump.version = 3u << 24 | 2u << 16 | 1;
    dump.cycles = 123'456'789;
    for (uint32_t i = 0; i < 32; i++) dump.x[i] = i * 0x01010101;
    dump.pc = 0x10000234;
    dump.mcause = 2;
    dump.mtval = 0xffffffff;
    const std::string log = "first\nbell \a and \x1b[31mred\nlast";
    std::memcpy(dump.log, log.data(), log.size());
    dump.log_bytes = static_cast<uint32_t>(log.size());
    seal(dump);
    return dump;
}

Bytes bytes_of(const sidra_boot_dump& dump) {
    const auto* begin = reinterpret_cast<const uint8_t*>(&dump);
    return {begin, begin + sizeof dump};
}
Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

const std::string kDriverDump =
    "sidra-coredump: 1\n"
    "cause: queue-timeout\n"
    "subject: queue 1 of context 0\n"
    "register.STATUS: 0x5ff\n"
    "register.PANIC: 0x10002\n"
    "context.0: lost=0 generation=3 fault=0 fault_clock_ns=0 fault_sequence=0 fault_address=0\n"
    "queue.0.1: kind=1 log2=6 priority=1 state=3 timeline=1 index=13 progress=1 parked=0 fault=17 fault_clock_ns=5\n"
    "packet.0.1.1: opcode=7\n"
    "something.new: whatever it may say\n";

// The error message; empty if there is none.
std::string refusal(const Bytes& bytes) {
    try {
        dump::decode(bytes, nullptr);
        return "";
    } catch (const dump::DumpError& e) {
        EXPECT_TRUE(std::string(e.what()).starts_with("it")) << e.what();
        return e.what();
    }
}

bool says(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

TEST(FirmwareDump, IsTold) {
    const dump::Report report = dump::decode(bytes_of(trap()), nullptr);
    for (const char* words :
         {"firmware  3.2.1\n", "panic     0x10002  (trap: illegal instruction)\n", "time      1234567890 ns",
          "pc        0x10000234\n", "mcause    0x00000002  (illegal instruction)\n",
          "mtval     0xffffffff  (the instruction)\n", "\nra        0x01010101\n", "\nt6        0x1f1f1f1f\n",
          "log\n  first\n  bell \\x07 and \\x1b[31mred\n  last\n"})
        EXPECT_TRUE(says(report.text, words)) << words << "\n" << report.text;
    const std::string json = report.json.text();
    for (const char* words :
         {"\"schema\": \"sidra-dump/1\"", "\"kind\": \"firmware\"", "\"version\": \"3.2.1\"", "\"code\": 65538",
          "\"time_ns\": 1234567890", "\"pc_symbol\": null", "\"s0\": 134744072", R"("bell \\x07 and \\x1b[31mred")"})
        EXPECT_TRUE(says(json, words)) << words << "\n" << json;
}

TEST(FirmwareDump, EveryTruncationIsNoticed) {
    const Bytes whole = bytes_of(trap());
    ASSERT_EQ(refusal(whole), "");
    for (size_t size = 0; size < whole.size(); size++) {
        const std::string why = refusal(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)));
        EXPECT_TRUE(says(why, size == 0 ? "empty" : size < 4 ? "not a dump" : "truncated")) << size << ": " << why;
    }
    Bytes longer = whole;
    longer.push_back(0);
    EXPECT_TRUE(says(refusal(longer), "has 1 extra bytes"));
}

TEST(FirmwareDump, EveryFlippedBitIsNoticed) {
    Bytes bytes = bytes_of(trap());
    for (size_t bit = 0; bit < bytes.size() * 8; bit++) {
        bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
        EXPECT_NE(refusal(bytes), "") << "bit " << bit;
        bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    }
}

// The CRC is valid, but the contents must still be checked.
TEST(FirmwareDump, WhatItSaysIsNotTrusted) {
    sidra_boot_dump dump = trap();
    dump.log_bytes = SIDRA_BOOT_DUMP_LOG + 1;
    seal(dump);
    EXPECT_TRUE(says(refusal(bytes_of(dump)), "announces 1025 bytes of log"));
    dump = trap();
    dump.size++;
    seal(dump);
    EXPECT_TRUE(says(refusal(bytes_of(dump)), "needs a newer sidra-dump"));
    dump = trap();
    dump.code = dump.mcause = dump.mtval = dump.version = ~0u;
    dump.cycles = ~uint64_t{0};
    std::memset(dump.log, 0xff, sizeof dump.log);
    dump.log_bytes = sizeof dump.log;
    seal(dump);
    EXPECT_EQ(refusal(bytes_of(dump)), "");
}

TEST(DriverDump, IsTold) {
    const dump::Report report = dump::decode(bytes_of(kDriverDump), nullptr);
    for (const char* words : {"sidra-coredump: 1\n", "cause: queue-timeout  (a queue with work made no progress)\n",
                              "subject: queue 1 of context 0\n", "register.STATUS: 0x5ff  (firmware panic)\n",
                              "register.PANIC: 0x10002  (trap: illegal instruction)\n",
                              "fault_clock_ns=5  (kind: kernel queue, state: faulted, fault: no progress)\n",
                              "opcode=7  (opcode: FILL)\n", "something.new: whatever it may say\n"})
        EXPECT_TRUE(says(report.text, words)) << words << "\n" << report.text;
    const std::string json = report.json.text();
    for (const char* words : {"\"kind\": \"driver\"", "\"cause\": \"queue-timeout\"", "\"index\": \"13\"",
                              "\"something.new\": \"whatever it may say\""})
        EXPECT_TRUE(says(json, words)) << words << "\n" << json;
}

// Lines that are whole are believed: a text has no checksum. Nothing else is.
TEST(DriverDump, Truncated) {
    for (size_t size = 0; size < kDriverDump.size(); size++) {
        const std::string why = refusal(bytes_of(kDriverDump.substr(0, size)));
        const bool whole_lines = size > 0 && kDriverDump[size - 1] == '\n';
        EXPECT_EQ(why.empty(), whole_lines) << size << ": " << why;
    }
}

TEST(DriverDump, DamagedAnywhere) {
    for (size_t at = 0; at < kDriverDump.size(); at++)
        for (int value = static_cast<int>(at % 7); value < 256; value += 7) {
            std::string text = kDriverDump;
            text[at] = static_cast<char>(value);
            const std::string why = refusal(bytes_of(text));
            const bool no_text = (value < 0x20 && value != '\n') || value >= 0x7f;
            if (no_text) EXPECT_NE(why, "") << "byte " << value << " at " << at;
        }
}

TEST(DriverDump, WhatItSaysIsNotTrusted) {
    const std::pair<const char*, const char*> dumps[] = {
        {"sidra-coredump: 2\n", "its format is 2"},
        {"sidra-coredump: one\n", "no version of the format"},
        {"sidra-coredump:1\n", "line 1 is not 'key: value'"},
        {"sidra-coredump: 1\n\n", "line 2 is not 'key: value'"},
        {"sidra-coredump: 1\n: 1\n", "line 2 is not 'key: value'"},
        {"sidra-coredump: 1\ntwo words: 1\n", "line 2 is not 'key: value'"},
        {"sidra-coredump: 1\na: 1\nb: 2\na: 3\n", "line 4 repeats the key 'a'"},
    };
    for (const auto& [text, words] : dumps)
        EXPECT_TRUE(says(refusal(bytes_of(text)), words)) << refusal(bytes_of(text));
    for (const char* odd : {"sidra-coredump: 1\nq: a=99999999999999999999999 b=\n", "sidra-coredump: 1\nq: fault=77\n",
                            "sidra-coredump: 1\nq: =1\n", "sidra-coredump: 1\nq:  \n"})
        EXPECT_EQ(refusal(bytes_of(odd)), "") << odd;
    EXPECT_TRUE(says(dump::decode(bytes_of("sidra-coredump: 1\nq: fault=77\n"), nullptr).text, "unknown fault"));
}

TEST(Dump, OthersAreNone) {
    EXPECT_TRUE(says(refusal({}), "it is empty"));
    EXPECT_TRUE(says(refusal(bytes_of("hello\n")), "not a dump of a SIDRA card"));
    EXPECT_TRUE(says(refusal(Bytes(1 << 20)), "not a dump of a SIDRA card"));
}

// Against the numbers of the specification.
TEST(Words, Registers) {
    EXPECT_STREQ(dump::kRegisterNames[1], "ra");
    EXPECT_STREQ(dump::kRegisterNames[8], "s0");
    EXPECT_STREQ(dump::kRegisterNames[10], "a0");
    EXPECT_STREQ(dump::kRegisterNames[17], "a7");
    EXPECT_STREQ(dump::kRegisterNames[18], "s2");
    EXPECT_STREQ(dump::kRegisterNames[27], "s11");
    EXPECT_STREQ(dump::kRegisterNames[28], "t3");
}

TEST(Words, Numbers) {
    EXPECT_EQ(dump::mcause_text(5), "load access fault");
    EXPECT_EQ(dump::mcause_text(8), "unknown exception");
    EXPECT_EQ(dump::mcause_text(0x80000007), "interrupt 7");
    EXPECT_EQ(dump::mtval_text(5, 0), "the address");
    EXPECT_EQ(dump::mtval_text(2, 0), "");
    EXPECT_EQ(dump::panic_text(SIDRA_PANIC_SELF_TEST | 2), "self-test 2 failed");
    EXPECT_EQ(dump::panic_text(SIDRA_PANIC_ROM | 7), "trap in the ROM: store access fault");
    EXPECT_EQ(dump::panic_text(0x00990000), "unknown code");
    EXPECT_EQ(dump::stage_text(SIDRA_STAGE_RUNTIME | SIDRA_STATUS_READY), "firmware running");
}

}  // namespace
}  // namespace sidra::test
