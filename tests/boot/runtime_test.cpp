// SPDX-License-Identifier: MIT
// The signed and shipped runtime on the core, from power-on, with a host that talks to it.
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "machine.h"
#include "sidra_hw.h"
#include "sidra_operation.h"

namespace sidra::test {
namespace {

constexpr uint32_t kA = SIDRA_MGMT_SLOT_A, kB = SIDRA_MGMT_SLOT_B;
constexpr uint64_t kMs = 1'000'000 / SIDRA_MGMT_CYCLE_NS;  // in cycles

Bytes shipped() { return {sidra_factory_runtime, sidra_factory_runtime_end}; }

// The same, of another version.
Bytes shipped_as(uint32_t version, uint32_t security_version = 1) {
    const Bytes original = shipped();
    Image image;
    image.header.assign(original.begin(), original.begin() + kHeader);
    image.payload.assign(original.begin() + kHeader,
                         original.begin() + static_cast<long>(kHeader + get(original, kAtImageSize, 4)));
    put(image.header, kAtVersion, version, 4);
    put(image.header, kAtSecurityVersion, security_version, 4);
    return image.image();
}

class Runtime : public testing::Test {
   protected:
    static constexpr uint32_t kEntries = 8;
    static constexpr uint64_t kRequests = Machine::kHost, kReplies = kRequests + 0x10000, kData = kRequests + 0x20000;

    void SetUp() override {
        machine.fill(kA, shipped());
        pass(40);
        ASSERT_EQ(machine.running(), kA);
        open();
    }
    void open() {
        mailbox = {kRequests, kReplies, kEntries, 0, 0};
        machine.unit.write_mailbox(mailbox);
    }
    // Advances the clock in the steps of a host.
    void pass(uint64_t ms) {
        for (const uint64_t end = machine.unit.cycle() + ms * kMs; machine.unit.cycle() < end;)
            machine.unit.run(std::min(end, machine.unit.cycle() + 10 * kMs), 1'000'000);
    }

    static sidra_mailbox_msg message(uint16_t opcode, std::vector<uint64_t> words = {}) {
        static uint64_t cookie = 0x1234567800000000;
        sidra_mailbox_msg made{};
        made.opcode = opcode;
        made.cookie = ++cookie;
        made.length = static_cast<uint32_t>(words.size() * 8);
        std::copy(words.begin(), words.end(), made.inline_data);
        return made;
    }
    void post(const sidra_mailbox_msg& request) {
        std::memcpy(&machine.host[kRequests - Machine::kHost + mailbox.doorbell % kEntries * 64], &request, 64);
        mailbox.doorbell++;
    }
    void ring() {
        machine.unit.write_mailbox(mailbox);
        machine.unit.ring();
        do pass(1);
        while (!machine.unit.core().state().waiting && machine.unit.panic() == 0);
    }
    bool replied() const { return machine.unit.reply_index() != mailbox.reply_read; }
    sidra_mailbox_msg take() {
        sidra_mailbox_msg reply;
        EXPECT_TRUE(replied());
        std::memcpy(&reply, &machine.host[kReplies - Machine::kHost + mailbox.reply_read % kEntries * 64], 64);
        EXPECT_EQ(reply.sequence, mailbox.reply_read);
        mailbox.reply_read++;
        return reply;
    }
    sidra_mailbox_msg ask(const sidra_mailbox_msg& request) {
        post(request);
        ring();
        const sidra_mailbox_msg reply = take();
        EXPECT_EQ(reply.opcode, request.opcode | SIDRA_MAILBOX_REPLY);
        EXPECT_EQ(reply.cookie, request.cookie);
        EXPECT_FALSE(replied());
        return reply;
    }
    uint32_t status_of(const sidra_mailbox_msg& request) { return ask(request).status; }
    sidra_mailbox_msg with_data(uint16_t opcode, uint32_t bytes, uint64_t word = 0) {
        sidra_mailbox_msg request = message(opcode, {word});
        request.length = bytes;
        request.payload = kData;
        return request;
    }
    std::string log() {
        const sidra_mailbox_msg reply = ask(with_data(SIDRA_MAILBOX_LOG_RING, 8192));
        const auto begin = machine.host.begin() + (kData - Machine::kHost);
        return {begin, begin + static_cast<long>(reply.inline_data[0])};
    }
    void expect_alive() { EXPECT_EQ(status_of(message(SIDRA_MAILBOX_HELLO, {1u << 16})), SIDRA_MAILBOX_OK); }

    // Sends an image in pieces; the status of the last message.
    sidra_mailbox_msg send(const Bytes& image, uint64_t tried, uint32_t piece = 32768) {
        EXPECT_EQ(status_of(message(SIDRA_MAILBOX_FW_BEGIN, {image.size()})), SIDRA_MAILBOX_OK);
        for (size_t at = 0; at < image.size(); at += piece) {
            const auto bytes = static_cast<uint32_t>(std::min<size_t>(piece, image.size() - at));
            std::copy_n(image.begin() + static_cast<long>(at), bytes, machine.host.begin() + (kData - Machine::kHost));
            EXPECT_EQ(status_of(with_data(SIDRA_MAILBOX_FW_DATA, bytes, at)), SIDRA_MAILBOX_OK) << at;
        }
        return ask(message(SIDRA_MAILBOX_FW_COMMIT, {tried}));
    }
    // Replaces the next instruction of the core.
    void replace_code(uint32_t instruction) {
        uint8_t bytes[4];
        std::memcpy(bytes, &instruction, 4);
        ASSERT_TRUE(machine.unit.core().write(machine.unit.core().state().pc, bytes));
    }

    Machine machine;
    management::MailboxRegisters mailbox{};
};

// ---- Life ----

TEST_F(Runtime, ConfirmsItselfAndLives) {
    EXPECT_EQ(machine.newest()->attempts, 1u) << "not before it has run for a while";
    EXPECT_EQ(machine.unit.security_version(), 0u);
    pass(100);
    EXPECT_EQ(machine.newest()->attempts, 0u);
    EXPECT_EQ(machine.unit.security_version(), 1u);
    const uint32_t beats = machine.unit.heartbeat(), sequence = machine.newest()->sequence;
    pass(5000);
    EXPECT_NEAR(machine.unit.heartbeat() - beats, 50, 1);
    EXPECT_EQ(machine.info().reason, uint32_t{SIDRA_BOOT_POWER_ON}) << "the watchdog is content";
    EXPECT_EQ(machine.newest()->sequence, sequence) << "said once";
    EXPECT_TRUE(machine.interrupts.empty());
}

TEST_F(Runtime, SleepsBetweenBeats) {
    pass(300);
    const uint64_t before = machine.unit.core().state().minstret;
    pass(10'000);
    EXPECT_LT(machine.unit.core().state().minstret - before, 100u * 1000);
}

TEST_F(Runtime, AHangEndsByTheWatchdog) {
    pass(300);
    replace_code(jal(zero, 0));
    pass(1200);
    EXPECT_EQ(machine.running(), kA);
    EXPECT_EQ(machine.info().reason, uint32_t{SIDRA_BOOT_WATCHDOG});
    EXPECT_EQ(machine.interrupts, std::vector<uint32_t>{SIDRA_INT_FIRMWARE});
    open();
    expect_alive();
}

TEST_F(Runtime, ATrapLeavesADump) {
    pass(300);
    const uint32_t pc = machine.unit.core().state().pc;
    machine.unit.core().state().x[s1] = 0x51de5a11;
    replace_code(0);
    pass(200);
    EXPECT_EQ(machine.unit.panic(), SIDRA_PANIC_TRAP | core::kIllegal);
    EXPECT_EQ(machine.unit.stage(), SIDRA_STAGE_PANIC);
    EXPECT_EQ(machine.interrupts, std::vector<uint32_t>{SIDRA_INT_FIRMWARE});
    machine.unit.restart(SIDRA_BOOT_PANIC);
    pass(40);
    ASSERT_EQ(machine.running(), kA);
    open();
    EXPECT_EQ(status_of(with_data(SIDRA_MAILBOX_CRASH_DUMP, 100)), SIDRA_MAILBOX_BAD_LENGTH);
    const sidra_mailbox_msg reply = ask(with_data(SIDRA_MAILBOX_CRASH_DUMP, 4096));
    ASSERT_EQ(reply.status, SIDRA_MAILBOX_OK);
    ASSERT_EQ(reply.inline_data[0], sizeof(sidra_boot_dump));
    EXPECT_EQ(reply.inline_data[1], uint64_t{SIDRA_PANIC_TRAP | core::kIllegal});
    sidra_boot_dump dump;
    std::memcpy(&dump, &machine.host[kData - Machine::kHost], sizeof dump);
    EXPECT_EQ(dump.magic, SIDRA_BOOT_DUMP_MAGIC);
    EXPECT_EQ(dump.pc, pc);
    EXPECT_EQ(dump.mcause, uint32_t{core::kIllegal});
    EXPECT_EQ(dump.x[0], 0u);
    EXPECT_EQ(dump.x[s1], 0x51de5a11u);
    EXPECT_GE(dump.x[sp], SIDRA_BOOT_RAM_BEGIN);
    EXPECT_NE(std::string(dump.log, dump.log_bytes).find("panic 0x00010002"), std::string::npos);
}

// Memory protection: each violation in its own runtime.
TEST_F(Runtime, MemoryIsForWhatItIsFor) {
    const core::State running = machine.unit.core().state();
    const uint32_t code = running.pc & ~0xfffu, guard = running.pmpaddr[2] << 2, stack = running.x[sp];
    EXPECT_GT(stack, guard + 4096);
    EXPECT_LE(stack, guard + 4096 + 8192) << "right below it";
    const uint32_t store = sw(t0, s1, 0), load = lw(t0, s1, 0), jump = i_type(0x67, 0, zero, s1, 0);
    const struct {
        const char* what;
        uint32_t instruction, address, cause;
    } wrongs[] = {
        {"code is written", store, code, core::kStoreFault},
        {"the stack is full", store, guard + 4092, core::kStoreFault},
        {"the stack is read too far", load, guard, core::kLoadFault},
        {"data is run", jump, guard - 4096, core::kFetchFault},
        {"the stack is run", jump, stack & ~3u, core::kFetchFault},
        {"a dump is run", jump, SIDRA_BOOT_DUMP, core::kFetchFault},
        {"registers are run", jump, SIDRA_MGMT_SYSTEM_ID, core::kFetchFault},
        {"nothing is read", load, 0, core::kLoadFault},
        {"nothing is called", jump, 0, core::kFetchFault},
    };
    for (const auto& wrong : wrongs) {
        SCOPED_TRACE(wrong.what);
        ASSERT_EQ(machine.running(), kA);
        machine.unit.core().state().x[s1] = wrong.address;
        replace_code(wrong.instruction);
        pass(200);
        EXPECT_EQ(machine.unit.panic(), SIDRA_PANIC_TRAP | wrong.cause);
        machine.all_is_well();
        machine.unit.restart(SIDRA_BOOT_PANIC);
        pass(40);
    }
    open();
    expect_alive();
}

// The protection cannot be removed.
TEST_F(Runtime, ProtectionStaysUntilAReset) {
    const core::State before = machine.unit.core().state();
    for (uint32_t entry = 0; entry < 6; entry++) EXPECT_TRUE(before.pmpcfg[entry] & 0x80) << entry;
    replace_code(csrrw(zero, 0x3a0, zero));
    pass(110);
    EXPECT_EQ(std::memcmp(machine.unit.core().state().pmpcfg, before.pmpcfg, sizeof before.pmpcfg), 0);
}

TEST_F(Runtime, HasNoDumpToBeginWith) {
    const sidra_mailbox_msg reply = ask(with_data(SIDRA_MAILBOX_CRASH_DUMP, 4096));
    EXPECT_EQ(reply.status, SIDRA_MAILBOX_OK);
    EXPECT_EQ(reply.inline_data[0], 0u);
}

// Erasing a sector takes longer than a start, and each start writes two records.
TEST_F(Runtime, NoStartWaitsForASectorOfRecords) {
    pass(200);
    uint64_t longest = 0;
    const auto sector = [&] { return machine.newest()->place * 64 / SIDRA_MGMT_FLASH_SECTOR; };
    unsigned turns = 0;
    for (uint32_t start = 0; start < Machine::kRecords; start++) {
        const uint32_t before = sector();
        const uint64_t began = machine.unit.cycle();
        machine.unit.restart(SIDRA_BOOT_RESET);
        while (machine.unit.stage() != SIDRA_STAGE_RUNTIME) machine.unit.run(machine.unit.cycle() + 1000, 1000);
        longest = std::max(longest, machine.unit.cycle() - began);
        pass(200);
        ASSERT_EQ(machine.newest()->attempts, 0u);
        turns += sector() != before;
    }
    EXPECT_EQ(turns, 4u);
    EXPECT_LT(longest, 10 * kMs);
}

// ---- Mailbox ----

TEST_F(Runtime, SaysHello) {
    const sidra_mailbox_msg reply = ask(message(SIDRA_MAILBOX_HELLO, {1u << 16}));
    EXPECT_EQ(reply.status, SIDRA_MAILBOX_OK);
    EXPECT_EQ(reply.length, 24u);
    EXPECT_EQ(reply.inline_data[0], 1u << 16);
    EXPECT_EQ(reply.inline_data[1], get(shipped(), kAtVersion, 4) | uint64_t{1} << 32);
    EXPECT_EQ(reply.inline_data[2], kA);
    EXPECT_EQ(machine.interrupts, std::vector<uint32_t>{SIDRA_INT_MAILBOX});
    const sidra_mailbox_msg other = ask(message(SIDRA_MAILBOX_HELLO, {7u << 16}));
    EXPECT_EQ(other.status, SIDRA_MAILBOX_UNSUPPORTED);
    EXPECT_EQ(other.inline_data[0], 1u << 16) << "so that both can be named";
    EXPECT_EQ(status_of(message(SIDRA_MAILBOX_HELLO)), SIDRA_MAILBOX_BAD_LENGTH);
}

// By default the build id is derived from the program.
TEST_F(Runtime, SaysWhichBuildItIs) {
    const Bytes image = shipped();
    const size_t size = get(image, kAtImageSize, 4);
    Bytes expected = sha256(std::span(image).subspan(kHeader, size));
    expected.resize(20);
    const sidra_mailbox_msg reply = ask(message(SIDRA_MAILBOX_FW_BUILD));
    EXPECT_EQ(reply.status, SIDRA_MAILBOX_OK);
    EXPECT_EQ(std::memcmp(reply.inline_data, expected.data(), 20), 0);
}

TEST_F(Runtime, TellsItsStatus) {
    pass(1000);
    const sidra_mailbox_msg reply = ask(message(SIDRA_MAILBOX_STATUS));
    EXPECT_EQ(reply.inline_data[0], SIDRA_STAGE_RUNTIME | uint64_t{machine.unit.heartbeat()} << 32);
    EXPECT_NEAR(static_cast<double>(reply.inline_data[1]), static_cast<double>(machine.unit.cycle() * 10), 2e6);
    EXPECT_EQ(reply.inline_data[2] & 0xffffffff, uint64_t{SIDRA_BOOT_POWER_ON});
    EXPECT_EQ(reply.inline_data[2] >> 32, log().size());
}

TEST_F(Runtime, LoopsBack) {
    const sidra_mailbox_msg inlined = ask(message(SIDRA_MAILBOX_LOOPBACK, {1, ~0ull, 0x1122334455667788}));
    EXPECT_EQ(inlined.status, SIDRA_MAILBOX_OK);
    EXPECT_EQ(inlined.inline_data[1], ~0ull);
    EXPECT_EQ(inlined.inline_data[2], 0x1122334455667788u);
    for (uint32_t i = 0; i < 4096; i++) machine.host[kData - Machine::kHost + i] = static_cast<uint8_t>(i * 3);
    EXPECT_EQ(status_of(with_data(SIDRA_MAILBOX_LOOPBACK, 4096)), SIDRA_MAILBOX_OK);
    for (uint32_t i = 0; i < 4096; i++)
        ASSERT_EQ(machine.host[kData - Machine::kHost + i], static_cast<uint8_t>(~(i * 3))) << i;
    EXPECT_EQ(status_of(with_data(SIDRA_MAILBOX_LOOPBACK, 4097)), SIDRA_MAILBOX_BAD_LENGTH);
}

TEST_F(Runtime, LogsWithTheTime) {
    const std::string text = log();
    EXPECT_NE(text.find("SIDRA runtime, version 0x00010000\n"), std::string::npos) << text;
    EXPECT_NE(text.find("] running\n"), std::string::npos) << text;
    EXPECT_EQ(text.substr(0, 5), "[0.00") << text;
}

TEST_F(Runtime, AnswersEverythingAndNothingButThat) {
    EXPECT_EQ(status_of(message(0x0fff)), SIDRA_MAILBOX_UNSUPPORTED);
    EXPECT_EQ(status_of(message(0)), SIDRA_MAILBOX_UNSUPPORTED);
    sidra_mailbox_msg flagged = message(SIDRA_MAILBOX_STATUS);
    flagged.flags = 1;
    EXPECT_EQ(status_of(flagged), SIDRA_MAILBOX_BAD_ARGUMENT);
    sidra_mailbox_msg late = message(SIDRA_MAILBOX_STATUS);
    late.deadline = 1;
    EXPECT_EQ(status_of(late), SIDRA_MAILBOX_DEADLINE);
    late.deadline = (machine.unit.cycle() + 100 * kMs) * SIDRA_MGMT_CYCLE_NS;
    EXPECT_EQ(status_of(late), SIDRA_MAILBOX_OK);
    for (const uint16_t opcode : {SIDRA_MAILBOX_LOOPBACK, SIDRA_MAILBOX_LOG_RING}) {
        sidra_mailbox_msg nowhere = with_data(opcode, 64);
        nowhere.payload = 0x1000;
        EXPECT_EQ(status_of(nowhere), SIDRA_MAILBOX_BAD_ARGUMENT);
    }
    ring();
    EXPECT_FALSE(replied()) << "nobody asked";
}

TEST_F(Runtime, ManyAtOnceInTheirOrder) {
    for (int round = 0; round < 5; round++) {  // round the rings
        std::vector<uint64_t> cookies;
        for (uint32_t i = 0; i < kEntries; i++) {
            const sidra_mailbox_msg request = message(SIDRA_MAILBOX_LOOPBACK, {i});
            cookies.push_back(request.cookie);
            post(request);
        }
        ring();
        for (uint32_t i = 0; i < kEntries; i++) {
            const sidra_mailbox_msg reply = take();
            EXPECT_EQ(reply.cookie, cookies[i]);
            EXPECT_EQ(reply.inline_data[0], i);
        }
        EXPECT_FALSE(replied());
    }
}

TEST_F(Runtime, RepliesThatNobodyTakesAreNotOverwritten) {
    for (uint32_t i = 0; i < kEntries; i++) post(message(SIDRA_MAILBOX_LOOPBACK, {i}));
    ring();
    for (uint32_t i = 0; i < 3; i++) post(message(SIDRA_MAILBOX_LOOPBACK, {100 + i}));
    ring();
    EXPECT_EQ(machine.unit.reply_index(), kEntries);
    for (uint32_t i = 0; i < kEntries; i++) EXPECT_EQ(take().inline_data[0], i);
    ring();
    for (uint32_t i = 0; i < 3; i++) EXPECT_EQ(take().inline_data[0], 100 + i);
}

TEST_F(Runtime, SurvivesAHostThatTalksNonsense) {
    const management::MailboxRegisters good = mailbox;
    for (const uint32_t entries : {0u, 1u, 3u, 512u, ~0u}) {
        mailbox.entries = entries;
        mailbox.doorbell++;
        ring();
    }
    mailbox = good;
    mailbox.doorbell += 1000;
    ring();
    mailbox.request = 0;
    mailbox.doorbell += 1;
    ring();
    EXPECT_EQ(machine.unit.reply_index(), 0u);
    mailbox.request = good.request;
    expect_alive();
    mailbox.reply = 0;
    post(message(SIDRA_MAILBOX_STATUS));
    ring();
    mailbox.reply = good.reply;
    mailbox.reply_read = machine.unit.reply_index();
    expect_alive();
    EXPECT_EQ(machine.unit.panic(), 0u);
}

TEST_F(Runtime, RandomMessages) {
    std::mt19937_64 random(1);
    const uint16_t known[] = {1, 2, 0x10, 0x13, 0x20, 0x30, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x50, 0x60};
    pass(200);
    for (int i = 0; i < 3000; i++) {
        sidra_mailbox_msg request;
        auto* words = reinterpret_cast<uint64_t*>(&request);
        for (int word = 0; word < 8; word++) words[word] = random() >> random() % 64;
        if (random() % 4 != 0) request.opcode = known[random() % std::size(known)];
        if (random() % 4 != 0) request.flags = 0;
        if (random() % 4 != 0) request.deadline = 0;
        if (random() % 2 != 0) request.payload = kData + random() % 100;
        if (random() % 2 != 0) request.length %= 40'000;
        post(request);
        machine.unit.write_mailbox(mailbox);
        machine.unit.ring();
        pass(request.opcode == SIDRA_MAILBOX_FW_DATA ? 600 : 5);
        ASSERT_TRUE(replied()) << i;
        const sidra_mailbox_msg reply = take();
        ASSERT_EQ(reply.cookie, request.cookie);
        ASSERT_LE(reply.status, uint32_t{SIDRA_MAILBOX_INTERNAL});
    }
    EXPECT_EQ(machine.unit.panic(), 0u);
    EXPECT_EQ(machine.info().reason, uint32_t{SIDRA_BOOT_POWER_ON});
    expect_alive();
    machine.boot();
    EXPECT_EQ(machine.info().slot, kA) << "what runs was never touched";
}

// Each crossbar once, wherever the resets occur. (When a campaign is abandoned: tests/services.)
TEST_F(Runtime, ACampaignOutlivesResets) {
    constexpr uint32_t kXbars = 400;
    std::vector<uint32_t> done;
    const auto work = [&](const management::Sequencer::Order& order) -> management::Sequencer::Outcome {
        if (order.command == SIDRA_MGMT_SEQUENCER_REFRESH) done.push_back(order.xbar);
        return {SIDRA_MGMT_OK, 100, 10, 1, 30, 50'000, 9'000, 1'000'000, 7};
    };
    machine.unit.sequencer().connect(kXbars, work, [](const management::Policy&) { return true; });
    const sidra_mailbox_msg begun = message(SIDRA_MAILBOX_ISPP_REFRESH, {uint64_t{kXbars} << 32, 20'000});
    post(begun);
    machine.unit.write_mailbox(mailbox);
    machine.unit.ring();
    for (int i = 0; i < 1000 && !replied(); i++) machine.unit.run(machine.unit.cycle() + 1000, 1000);
    ASSERT_EQ(take().status, SIDRA_MAILBOX_ACCEPTED);
    std::mt19937 random(7);
    uint32_t resets = 0;
    for (; done.size() < kXbars / 2; resets++) {
        const uint64_t some = random() % 3000;
        machine.unit.run(machine.unit.cycle() + some, some);
        ASSERT_LT(done.size(), kXbars);
        machine.unit.restart(SIDRA_BOOT_RESET);
        while (machine.unit.stage() != SIDRA_STAGE_RUNTIME) machine.unit.run(machine.unit.cycle() + 100, 100);
        machine.all_is_well();
    }
    EXPECT_GT(resets, 50u);
    pass(200);
    open();
    const sidra_mailbox_msg reply = ask(with_data(SIDRA_MAILBOX_OP_QUERY, sizeof(sidra_operation)));
    ASSERT_EQ(reply.status, SIDRA_MAILBOX_OK);
    sidra_operation operation;
    std::memcpy(&operation, &machine.host[kData - Machine::kHost], sizeof operation);
    EXPECT_EQ(operation.state, uint32_t{SIDRA_OPERATION_DONE});
    EXPECT_EQ(operation.resumed, resets);
    EXPECT_EQ(operation.cells, uint64_t{kXbars} * 100);
    EXPECT_EQ(operation.pulses, uint64_t{kXbars} * 30);
    ASSERT_EQ(done.size(), kXbars);
    for (uint32_t i = 0; i < kXbars; i++) EXPECT_EQ(done[i], i);
}

// Before the firmware reports that it runs, and whatever the result.
TEST_F(Runtime, CalibratesClusterAfterCluster) {
    std::vector<std::pair<uint32_t, uint32_t>> runs;
    uint32_t result = SIDRA_MGMT_OK;
    const auto work = [&](const management::Sequencer::Order& order) -> management::Sequencer::Outcome {
        EXPECT_EQ(order.command, SIDRA_MGMT_SEQUENCER_CALIBRATE);
        EXPECT_EQ(machine.unit.stage(), SIDRA_STAGE_CALIBRATE);
        runs.push_back({order.xbar, order.count});
        return {result, order.count, 5, 2, 0, 1023, 0, 240'000, 7};
    };
    machine.unit.sequencer().connect(1000, work, [](const management::Policy&) { return true; });
    const auto restart = [&] {
        runs.clear();
        machine.unit.restart(SIDRA_BOOT_RESET);
        pass(200);
        open();
        EXPECT_EQ(machine.unit.stage(), SIDRA_STAGE_RUNTIME);
    };
    restart();
    EXPECT_EQ(runs, (std::vector<std::pair<uint32_t, uint32_t>>{{0, 400}, {400, 400}, {800, 200}}));
    const std::string good = log();
    EXPECT_NE(good.find("calibrate: crossbars with a new trim 0x0000000f\n"), std::string::npos) << good;
    EXPECT_NE(good.find("calibrate: crossbars with ADC offsets beyond the trim range 0x00000006\n"), std::string::npos)
        << good;
    result = SIDRA_MGMT_BAD_COMMAND;
    restart();
    EXPECT_EQ(runs.size(), 1u);
    EXPECT_NE(log().find("calibrate: sequencer error 0x00000002\n"), std::string::npos);
}

// ---- Updates ----

class Update : public Runtime {
   protected:
    void SetUp() override {
        Runtime::SetUp();
        pass(200);
    }
    // The replies to FW_DATA take a while, because sectors are erased.
    void restart(uint64_t ms) {
        machine.unit.restart(SIDRA_BOOT_UPDATE);
        pass(ms);
        open();
    }
};

TEST_F(Update, IsTriedAndConfirmsItself) {
    const sidra_mailbox_msg reply = send(shipped_as(0x02000000, 3), 1, 5000);
    ASSERT_EQ(reply.status, SIDRA_MAILBOX_OK);
    EXPECT_EQ(machine.running(), kA) << "nothing happens by itself";
    restart(60);
    ASSERT_EQ(machine.running(), kB);
    EXPECT_EQ(machine.info().trial, 1u);
    EXPECT_EQ(machine.info().version, 0x02000000u);
    EXPECT_EQ(machine.unit.security_version(), 1u) << "not yet";
    pass(200);
    EXPECT_EQ(machine.newest()->active, kB);
    EXPECT_EQ(machine.newest()->trial, SIDRA_BOOT_NO_SLOT);
    EXPECT_EQ(machine.unit.security_version(), 3u);
    const sidra_mailbox_msg info = ask(message(SIDRA_MAILBOX_FW_INFO));
    EXPECT_EQ(info.inline_data[0], kB | uint64_t{SIDRA_BOOT_NO_SLOT} << 32);
    EXPECT_EQ(info.inline_data[1], uint64_t{kB});
    EXPECT_EQ(info.inline_data[2], 0x02000000u | uint64_t{3} << 32);
    restart(60);
    EXPECT_EQ(machine.running(), kB);
    // The other direction; by now the first image is too old.
    const sidra_mailbox_msg old = send(shipped(), 1);
    EXPECT_EQ(old.status, SIDRA_MAILBOX_BAD_ARGUMENT);
    EXPECT_EQ(old.inline_data[0], uint64_t{SIDRA_IMAGE_ROLLBACK});
    ASSERT_EQ(send(shipped_as(0x03000000, 3), 1).status, SIDRA_MAILBOX_OK);
    restart(60);
    EXPECT_EQ(machine.running(), kA);
}

TEST_F(Update, ThatDiesOnTrialIsTakenBack) {
    ASSERT_EQ(send(shipped_as(0x02000000), 1).status, SIDRA_MAILBOX_OK);
    restart(60);
    ASSERT_EQ(machine.running(), kB);
    replace_code(jal(zero, 0));
    pass(1200);
    EXPECT_EQ(machine.running(), kA);
    EXPECT_EQ(machine.info().reason, uint32_t{SIDRA_BOOT_WATCHDOG});
    pass(200);
    open();
    const auto failed = [&] { return ask(message(SIDRA_MAILBOX_FW_INFO)).inline_data[1] >> 48; };
    EXPECT_EQ(failed(), kB + 1u);
    ASSERT_EQ(status_of(message(SIDRA_MAILBOX_FW_ACTIVATE)), SIDRA_MAILBOX_OK);
    EXPECT_EQ(failed(), 0u) << "another trial";
}

TEST_F(Update, StoredOnlyIsNotTried) {
    ASSERT_EQ(send(shipped_as(0x02000000), 0).status, SIDRA_MAILBOX_OK);
    restart(60);
    EXPECT_EQ(machine.running(), kA);
}

TEST_F(Update, StoredOnlyIsTriedWhenItIsActivated) {
    ASSERT_EQ(send(shipped_as(0x02000000), 0).status, SIDRA_MAILBOX_OK);
    for (const uint32_t next : {kB, kA}) {  // and back to the previous one
        const sidra_mailbox_msg reply = ask(message(SIDRA_MAILBOX_FW_ACTIVATE));
        ASSERT_EQ(reply.status, SIDRA_MAILBOX_OK);
        EXPECT_EQ(reply.inline_data[0], next);
        EXPECT_NE(machine.running(), next) << "nothing happens by itself";
        restart(60);
        ASSERT_EQ(machine.running(), next);
        EXPECT_EQ(machine.info().trial, 1u);
        pass(200);
        EXPECT_EQ(machine.newest()->active, next);
    }
}

TEST_F(Update, ThatIsDamagedIsRefused) {
    struct Case {
        size_t at;
        sidra_image_result result;
    };
    const Bytes good = shipped_as(0x02000000);
    for (const Case& one : {Case{kAtVersion, SIDRA_IMAGE_HEADER_CRC}, Case{kHeader + 5000, SIDRA_IMAGE_DIGEST},
                            Case{good.size() - 1, SIDRA_IMAGE_SIGNATURE}}) {
        Bytes image = good;
        image.at(one.at) ^= 4;
        const sidra_mailbox_msg reply = send(image, 1);
        EXPECT_EQ(reply.status, SIDRA_MAILBOX_BAD_ARGUMENT);
        EXPECT_EQ(reply.inline_data[0], uint64_t{one.result});
        EXPECT_EQ(machine.newest()->trial, SIDRA_BOOT_NO_SLOT);
    }
}

TEST_F(Update, OutOfOrderIsRefused) {
    EXPECT_EQ(status_of(with_data(SIDRA_MAILBOX_FW_DATA, 100)), SIDRA_MAILBOX_BAD_ARGUMENT) << "none was begun";
    EXPECT_EQ(status_of(message(SIDRA_MAILBOX_FW_COMMIT, {1})), SIDRA_MAILBOX_BAD_ARGUMENT);
    for (const uint64_t bytes :
         {uint64_t{0}, uint64_t{255}, uint64_t{SIDRA_MGMT_FLASH_SLOT_SIZE} + 1, uint64_t{1} << 40})
        EXPECT_EQ(status_of(message(SIDRA_MAILBOX_FW_BEGIN, {bytes})), SIDRA_MAILBOX_BAD_ARGUMENT);
    const sidra_mailbox_msg begun = ask(message(SIDRA_MAILBOX_FW_BEGIN, {50'000}));
    EXPECT_EQ(begun.inline_data[0], uint64_t{kB});
    const auto most = static_cast<uint32_t>(begun.inline_data[1]);
    EXPECT_EQ(status_of(with_data(SIDRA_MAILBOX_FW_DATA, 100, 1)), SIDRA_MAILBOX_BAD_ARGUMENT) << "a hole";
    EXPECT_EQ(status_of(with_data(SIDRA_MAILBOX_FW_DATA, 0, 0)), SIDRA_MAILBOX_BAD_LENGTH);
    EXPECT_EQ(status_of(with_data(SIDRA_MAILBOX_FW_DATA, most + 1, 0)), SIDRA_MAILBOX_BAD_LENGTH);
    EXPECT_EQ(status_of(with_data(SIDRA_MAILBOX_FW_DATA, most, 0)), SIDRA_MAILBOX_OK);
    EXPECT_EQ(status_of(with_data(SIDRA_MAILBOX_FW_DATA, most, most)), SIDRA_MAILBOX_BAD_LENGTH)
        << "more than announced";
    EXPECT_EQ(status_of(message(SIDRA_MAILBOX_FW_COMMIT, {1})), SIDRA_MAILBOX_BAD_ARGUMENT) << "not all of it";
    sidra_mailbox_msg nowhere = with_data(SIDRA_MAILBOX_FW_DATA, 100, most);
    nowhere.payload = 0;
    EXPECT_EQ(status_of(nowhere), SIDRA_MAILBOX_BAD_ARGUMENT);
    EXPECT_EQ(status_of(with_data(SIDRA_MAILBOX_FW_DATA, 100, most)), SIDRA_MAILBOX_BAD_ARGUMENT)
        << "from the beginning";
}

// A host that disappears in mid-update: the running image keeps running, and the next host starts over.
TEST_F(Update, ThatIsCutShortHarmsNobody) {
    ASSERT_EQ(send(shipped_as(0x02000000), 1).status, SIDRA_MAILBOX_OK);
    ASSERT_EQ(status_of(message(SIDRA_MAILBOX_FW_BEGIN, {50'000})), SIDRA_MAILBOX_OK);
    EXPECT_EQ(status_of(with_data(SIDRA_MAILBOX_FW_DATA, 10'000, 0)), SIDRA_MAILBOX_OK);
    restart(60);
    EXPECT_EQ(machine.running(), kA) << "the trial is off: its image is gone";
    pass(200);
    ASSERT_EQ(send(shipped_as(0x02000000), 1).status, SIDRA_MAILBOX_OK);
    restart(60);
    EXPECT_EQ(machine.running(), kB);
}

}  // namespace
}  // namespace sidra::test
