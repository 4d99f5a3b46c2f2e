// SPDX-License-Identifier: MIT
// The trace as a file: it agrees with the reports and the telemetry, does not depend on the engine, and its errors harm
// nothing else.
#include <signal.h>
#include <sys/resource.h>
#include <algorithm>
#include <atomic>
#include <chrono>

#include <map>
#include <random>
#include <semaphore>
#include <sstream>

#include "bench.h"
#include "folder.h"
#include "packets.h"
#include "paths.h"
#include "vectors.h"

namespace sidra::chip_test {
namespace {

// An event is a line; this is all of JSON that is needed to read one.
struct Event {
    std::string line;
    uint64_t number(const std::string& name) const {
        const size_t at = line.find("\"" + name + "\":");
        EXPECT_NE(at, std::string::npos) << name << " is not in " << line;
        return at == std::string::npos ? 0 : std::stoull(line.substr(at + name.size() + 3));
    }
    // Microseconds with six digits.
    uint64_t ps(const std::string& name) const {
        const size_t at = line.find("\"" + name + "\":") + name.size() + 3, dot = line.find('.', at);
        return std::stoull(line.substr(at, dot - at)) * 1'000'000 + std::stoull(line.substr(dot + 1, 6));
    }
    std::string text(const std::string& name) const {
        const size_t at = line.find("\"" + name + "\":\"") + name.size() + 4;
        return line.substr(at, line.find('"', at) - at);
    }
    bool is(const std::string& phase) const { return text("ph") == phase; }
};

std::string contents(const std::string& path) {
    const std::vector<uint8_t> bytes = read_file(path);
    return {bytes.begin(), bytes.end()};
}

std::vector<Event> events_of(const std::string& path) {
    std::vector<Event> events;
    std::istringstream lines(contents(path));
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line.front() != '{') continue;
        if (line.back() == ',') line.pop_back();
        events.push_back({line});
    }
    return events;
}

// Whether another reader of JSON agrees.
bool is_json(const std::string& path) {
    return std::system(
               ("python3 -c 'import json, sys; json.load(open(sys.argv[1]))' " + path + " 2>/dev/null").c_str()) == 0;
}

// Whether tests/trace.py finds nothing wrong with the order of events; and what it says.
bool in_order(const std::string& path, std::string* said = nullptr) {
    const std::string output = path + ".said";
    const int status = std::system(
        ("python3 " + sidra::test::source_file("tests/trace.py") + " " + path + " >" + output + " 2>&1").c_str());
    const std::string text = contents(output);
    if (said) *said = text;
    if (status != 0) ADD_FAILURE() << text;
    return status == 0;
}

constexpr uint64_t kPackets = 2, kFirstCu = 5;  // tracks

class TraceChip : public testing::Test {
   protected:
    BenchOptions options() const { return {.trace_file = path}; }

    // All kinds of packets, the same each time.
    static void work(Bench& bench) {
        Context& context = bench.context();
        Queue& queue = context.queue({.log2 = 8});
        const uint64_t data = context.alloc(1 << 20);
        uint32_t cookie = 0;
        const auto submit = [&](sidra_cmd cmd) {
            cmd.hdr.cookie = ++cookie;
            queue.submit(cmd);
        };
        const uint32_t small = context.weights({.rows = 100, .cols = 40});
        const uint32_t large = context.weights({.rows = 300, .cols = 600});  // 2 x 3 tiles
        submit(nop());
        submit(program(small, 0, 100, 0, 40, data, 40));
        submit(program(large, 0, 300, 0, 600, data, 600));
        submit(program(large, 250, 50, 250, 10, data, 10));  // parts of four tiles
        submit(mvm(static_cast<uint16_t>(small), SIDRA_TYPE_U8, SIDRA_TYPE_S32, 3, data, 128, data + 0x40000, 256));
        submit(mvm(static_cast<uint16_t>(large), SIDRA_TYPE_U8, SIDRA_TYPE_S32, 50, data, 320, data + 0x40000, 2400));
        submit(copy(data + 0x80000, data, 100'000));
        submit(fill(data + 0x80000, 4096, 1, 1));
        submit(relu(context, 8, 1000, {data}, {data + 0x80000}));
        submit(readback(small, 0, 100, 0, 40, data + 0x80000, 40));
        std::vector<sidra_cmd> recorded = {
            nop(), mvm(static_cast<uint16_t>(small), SIDRA_TYPE_U8, SIDRA_TYPE_S32, 1, data, 128, data + 0x40000, 256),
            barrier()};
        for (sidra_cmd& cmd : recorded) cmd.hdr.cookie = 77;
        submit(call(context.put(recorded), 3));
        submit(timestamp(data + 0x90000));
        bench.run();
        EXPECT_TRUE(retired(queue));
    }

    Folder folder;
    const std::string path = folder.path("trace.json");
};

TEST_F(TraceChip, AgreesWithTheReportsAndTheTelemetry) {
    Bench bench(options());
    work(bench);
    sidra_chip_end_trace(bench.chip());
    const sidra_telemetry telemetry = bench.telemetry();
    ASSERT_TRUE(is_json(path));
    uint64_t ps = 0, pj = 0, end = 0, last = 0;
    std::map<uint64_t, uint64_t> units_pj, packet_pj, packet_begin, packet_end;
    for (const Event& event : events_of(path)) {
        if (!event.is("X")) continue;
        const uint64_t begin = event.ps("ts"), stop = begin + event.ps("dur");
        if (event.number("tid") != kPackets) {
            EXPECT_GE(begin, last) << "within its packet, behind what every packet takes: " << event.line;
            EXPECT_LE(stop, end);
            units_pj[event.number("sequence")] += event.number("energy_pj");
            continue;
        }
        EXPECT_EQ(stop - begin, event.number("device_ps"));
        if (event.text("name") == "CALL") {
            EXPECT_EQ(stop, end + 4'000) << "its own share comes last";
            ps += 4'000, pj += 20;
            end = stop;
            continue;
        }
        EXPECT_EQ(begin, end) << "packets follow each other";
        last = begin + 4'000;
        end = stop;
        ps += event.number("device_ps");
        pj += event.number("energy_pj");
        if (event.line.find("in_call") == std::string::npos)
            packet_pj[event.number("sequence")] = event.number("energy_pj") - 20;
    }
    EXPECT_EQ(ps, telemetry.device_ps);
    EXPECT_EQ(pj, telemetry.energy_pj);
    EXPECT_EQ(end, telemetry.device_ps) << "there was one queue";
    packet_pj.erase(0);
    for (const auto& [sequence, energy] : packet_pj)
        if (energy != 0) EXPECT_EQ(units_pj[sequence], energy) << "packet " << sequence;
}

TEST_F(TraceChip, EachPacketSaysWhatItsReportSays) {
    Bench bench(options());
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint64_t data = context.alloc(1 << 16);
    const uint32_t weights = context.weights({.rows = 256, .cols = 256});
    queue.submit(program(weights, 0, 256, 0, 256, data, 256));
    queue.submit(mvm(static_cast<uint16_t>(weights), SIDRA_TYPE_U8, SIDRA_TYPE_S32, 4, data, 256, data + 0x8000, 1024));
    queue.submit(copy(data, data + 0x8000, 4096));
    bench.run();
    ASSERT_TRUE(retired(queue));
    sidra_chip_sync(bench.chip());
    uint64_t seen = 0;
    for (const Event& event : events_of(path)) {
        if (!event.is("X") || event.number("tid") != kPackets) continue;
        const sidra_report report = queue.report(seen);
        EXPECT_EQ(event.number("sequence"), seen);
        EXPECT_EQ(event.number("device_ps"), report.device_ps);
        EXPECT_EQ(event.number("energy_pj"), report.energy_pj);
        EXPECT_EQ(event.number("cookie"), report.cookie);
        seen++;
    }
    EXPECT_EQ(seen, 3u);
    const std::string so_far = contents(path);
    write_file(folder.path("cut"), {so_far.begin(), so_far.end()});
    EXPECT_FALSE(is_json(folder.path("cut"))) << "what is missing is the last bracket,";
    std::ofstream(folder.path("cut"), std::ios::app) << "]";
    EXPECT_TRUE(is_json(folder.path("cut"))) << "and nothing else";
}

TEST_F(TraceChip, SumsUpByOpcodeAndByUnit) {
    {
        Bench bench(options());
        work(bench);
    }
    ASSERT_TRUE(is_json(path));
    const std::vector<Event> events = events_of(path);
    const std::string& summary = events.back().line;
    EXPECT_NE(summary.find("\"summary\""), std::string::npos);
    for (const char* wanted :
         {"\"NOP\":{\"packets\":2,\"device_ps\":8000,\"energy_pj\":40}",
          "\"CALL\":{\"packets\":1,\"device_ps\":4000,\"energy_pj\":20}",
          // 100 x 40 cells: 16 groups of 256, six pulses of 10 ns; and so on
          "\"PROGRAM\":{\"packets\":3,", "\"MVM\":{\"packets\":3,", "\"cus\":{\"cluster 0 CU 0\":{\"busy_ps\":"})
        EXPECT_NE(summary.find(wanted), std::string::npos) << wanted << " is not in " << summary;
    std::map<std::string, uint64_t> busy;
    uint64_t of_cus = 0, in_summary = 0;
    for (const Event& event : events)
        if (event.is("X") && event.number("tid") >= kFirstCu) of_cus += event.number("busy_ps");
    for (size_t at = 0; (at = summary.find("\"busy_ps\":", at)) != std::string::npos; at++)
        in_summary += std::stoull(summary.substr(at + 10));
    EXPECT_EQ(of_cus, in_summary);
}

TEST_F(TraceChip, IsTheSameWhateverComputes) {
    std::string first;
    const auto compare = [&](const BenchOptions& given) {
        {
            Bench bench(given);
            work(bench);
        }
        const std::string now = contents(path);
        if (first.empty()) first = now;
        EXPECT_TRUE(first == now) << "workers " << given.workers << ", engine " << given.engine;
    };
    for (const uint32_t engine : available_engines()) {
        for (const uint32_t workers : {1u, 4u}) {
            BenchOptions given = options();
            given.engine = engine;
            given.workers = workers;
            compare(given);
        }
    }
    EXPECT_GT(first.size(), 3000u);
}

// The events of each queue do not depend on the order in which threads run the queues.
TEST_F(TraceChip, QueuesDoNotDisturbEachOther) {
    const auto of_queues = [&](unsigned threads) {
        {
            Bench bench(options());
            Context& context = bench.context();
            std::vector<Queue*> queues;
            const uint64_t data = context.alloc(1 << 16);
            for (int i = 0; i < 3; i++) queues.push_back(&context.queue());
            if (threads) bench.start_threads(threads);
            for (uint32_t i = 0; i < 60; i++) {
                sidra_cmd cmd = i % 2 ? nop() : copy(data + 0x8000 + 0x2000 * (i % 3), data, 64 * (i + 1));
                cmd.hdr.cookie = i;
                queues[i % 3]->submit(cmd);
            }
            for (Queue* queue : queues) EXPECT_TRUE(bench.wait(*queue, 20));
            bench.stop_threads();
        }
        std::map<uint64_t, std::string> lines;
        for (const Event& event : events_of(path))
            if (event.number("pid") != 0) lines[event.number("pid")] += event.line + "\n";
        EXPECT_EQ(lines.size(), 3u);
        return lines;
    };
    EXPECT_EQ(of_queues(0), of_queues(2));
}

// The slices of packets with that name, in the order of the file.
std::vector<Event> packets_of(const std::string& path, const std::string& name) {
    std::vector<Event> found;
    for (const Event& event : events_of(path))
        if (event.is("X") && event.number("tid") == kPackets && event.text("name") == name) found.push_back(event);
    return found;
}
uint64_t end_of(const Event& event) { return event.ps("ts") + event.ps("dur"); }

// One axis: what waits begins when that has ended which it waits for, be it of a word or of a timeline.
TEST_F(TraceChip, QueuesAreOrderedByTheirSemaphores) {
    {
        Bench bench(options());
        Context& context = bench.context();
        Queue &first = context.queue(), &second = context.queue(), &third = context.queue();
        const uint64_t data = context.alloc(1 << 17), word = context.alloc(kPage);
        second.submit(sem_wait(word, 1));  // before there is anything to wait for
        second.submit(copy(data + 0x8000, data, 100));
        third.submit(second.waited_for(2));
        third.submit(nop());
        bench.run();
        first.submit(copy(data + 0x10000, data, 0x8000));
        first.submit(sem_signal(word, 1));
        first.submit(copy(data + 0x10000, data, 0x8000));  // later, but nobody waits for it
        bench.run();
        for (Queue* queue : {&first, &second, &third}) EXPECT_TRUE(retired(*queue));
        // The word falls, as when its memory has a new owner: its past is of no use any more.
        context.store64(word, 0);
        second.submit(sem_wait(word, 1));
        first.submit(sem_signal(word, 1));
        bench.run();
        EXPECT_TRUE(retired(second));
    }
    const auto waits = packets_of(path, "SEM_WAIT"), signals = packets_of(path, "SEM_SIGNAL"),
               copies = packets_of(path, "COPY");
    ASSERT_EQ(waits.size(), 3u);
    ASSERT_EQ(signals.size(), 2u);
    ASSERT_EQ(copies.size(), 3u);
    EXPECT_GT(signals[0].ps("ts"), 2'000'000u) << "32 KiB by 16 GB/s";
    EXPECT_EQ(waits[0].ps("ts"), end_of(signals[0]));
    const Event& of_second = copies[1].number("pid") == copies[0].number("pid") ? copies[2] : copies[1];
    EXPECT_EQ(of_second.ps("ts"), end_of(waits[0]));
    EXPECT_EQ(waits[1].ps("ts"), end_of(of_second));
    EXPECT_EQ(waits[2].ps("ts"), end_of(signals[1]));
    EXPECT_TRUE(in_order(path));
}

// What a signal says of its word does not depend on which came first: a value is reached with the first that is not
// below.
TEST_F(TraceChip, SignalsOfAWordMayComeInAnyOrder) {
    for (const uint64_t of_late : {1, 10}) {
        {
            Bench bench(options());
            Context& context = bench.context();
            Queue &late = context.queue(), &early = context.queue(), &waits = context.queue();
            const uint64_t data = context.alloc(1 << 17), word = context.alloc(kPage);
            late.submit(copy(data + 0x10000, data, 0x8000));
            late.submit(sem_signal(word, of_late));
            bench.run();
            early.submit(sem_signal(word, 5));
            bench.run();
            waits.submit(sem_wait(word, 1));
            waits.submit(sem_wait(word, std::max<uint64_t>(of_late, 5)));
            bench.run();
            EXPECT_TRUE(retired(waits));
        }
        const auto waits = packets_of(path, "SEM_WAIT"), signals = packets_of(path, "SEM_SIGNAL");
        ASSERT_EQ(waits.size(), 2u);
        ASSERT_EQ(signals.size(), 2u);
        EXPECT_EQ(waits[0].ps("ts"), end_of(signals[1]));
        EXPECT_EQ(waits[1].ps("ts"), of_late == 10 ? end_of(signals[0]) : end_of(waits[0]));
        EXPECT_TRUE(in_order(path));
    }
}

// Where an epoch begins there is nothing to wait for.
TEST_F(TraceChip, TheBeginOfAnEpochIsNoPacketsEnd) {
    {
        Bench bench(options());
        Context& context = bench.context();
        Queue &first = context.queue(), &second = context.queue();
        const uint64_t data = context.alloc(1 << 17);
        first.submit(nop());
        bench.run();
        first.reset_at(7);
        first.submit(copy(data + 0x10000, data, 0x8000));
        bench.run();
        second.submit(first.waited_for(7));
        second.submit(first.waited_for(8));
        bench.run();
        EXPECT_TRUE(retired(second));
    }
    const auto waits = packets_of(path, "SEM_WAIT"), copies = packets_of(path, "COPY");
    ASSERT_EQ(waits.size(), 2u);
    EXPECT_EQ(waits[0].ps("ts"), 0u);
    EXPECT_EQ(waits[1].ps("ts"), end_of(copies[0]));
}

// A word need not be readable, with a trace as without.
TEST_F(TraceChip, SignalsAWordThatCannotBeRead) {
    for (const BenchOptions& given : {BenchOptions{}, options()}) {
        Bench bench(given);
        Context& context = bench.context();
        Queue& queue = context.queue();
        queue.submit(sem_signal(context.alloc(kPage, kWrite), 1));
        bench.run();
        EXPECT_TRUE(retired(queue));
    }
}

// The host may make the chip wait for memory until a thread has gone on that itself waits for the chip, as QEMU does
// behind an IOMMU.
TEST_F(TraceChip, NobodyWaitsForAThreadThatWaitsForTheHost) {
    BenchOptions kept = options();
    kept.level = SIDRA_CHIP_ACCURATE;
    kept.state_file = folder.path("state");
    Bench bench(kept);
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint64_t word = context.alloc(kPage), bus = context.space().raw(word).address;
    std::counting_semaphore<> asks(0), answers(0);
    std::atomic<bool> waited_too_long{false};
    bench.set_dma_hook([&](uint64_t at) {
        if (at != bus || waited_too_long) return;
        asks.release();
        waited_too_long = !answers.try_acquire_for(kPatience);
    });
    bench.start_threads(1);
    unsigned asked = 0;
    for (uint64_t value = 1; value <= 3; value++) {
        queue.submit(sem_signal(word, value));
        while (queue.timeline() < value && !waited_too_long) {
            if (!asks.try_acquire_for(std::chrono::milliseconds(1))) continue;
            EXPECT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_AGE_S, 1)) << "which writes the trace, too";
            answers.release();
            asked++;
        }
    }
    bench.stop_threads();
    EXPECT_FALSE(waited_too_long);
    EXPECT_GE(asked, 3u);
    EXPECT_EQ(context.load64(word), 3u);
}

// A chain that goes around queues, whatever threads do with it.
TEST_F(TraceChip, TheOrderDoesNotDependOnThreads) {
    const auto lines_of = [&](unsigned threads) {
        {
            Bench bench(options());
            Context& context = bench.context();
            const uint64_t data = context.alloc(1 << 17), words = context.alloc(kPage);
            std::vector<Queue*> queues;
            for (int i = 0; i < 3; i++) queues.push_back(&context.queue());
            for (uint64_t round = 1; round <= 8; round++)
                for (uint32_t i = 0; i < 3; i++) {
                    std::vector<sidra_cmd> body = {copy(data + 0x4000 * i, data + 0x10000, 64 * (round + i))};
                    body[0].hdr.cookie = 0;
                    for (sidra_cmd cmd : {sem_wait(words + 8 * i, i == 0 ? round - 1 : round),
                                          round % 2 ? body[0] : call(context.put(body), 1),
                                          sem_signal(words + 8 * ((i + 1) % 3), round)}) {
                        cmd.hdr.cookie = 0;
                        queues[i]->push(cmd);
                    }
                }
            if (threads) bench.start_threads(threads);
            for (Queue* queue : queues) {
                queue->publish();
                queue->doorbell();
            }
            for (Queue* queue : queues) EXPECT_TRUE(bench.wait(*queue, 24));
            bench.stop_threads();
        }
        std::map<uint64_t, std::string> lines;
        for (const Event& event : events_of(path))
            if (event.number("pid") != 0) lines[event.number("pid")] += event.line + "\n";
        return lines;
    };
    const auto alone = lines_of(0);
    EXPECT_EQ(alone.size(), 3u);
    EXPECT_TRUE(in_order(path));
    EXPECT_EQ(alone, lines_of(2));
    EXPECT_TRUE(in_order(path));
}

sidra_cmd label(const std::string& text) {
    sidra_cmd cmd = blank(SIDRA_CMD_LABEL);
    std::memcpy(cmd.label.text, text.data(), std::min(text.size(), sizeof cmd.label.text));
    return cmd;
}
sidra_cmd label_weights(uint32_t weights, const std::string& text) {
    sidra_cmd cmd = label(text);
    cmd.label.flags = SIDRA_CMD_LABEL_WEIGHTS;
    cmd.label.weights = static_cast<uint16_t>(weights);
    return cmd;
}

TEST_F(TraceChip, HasTheNamesOfWeightsAndOperations) {
    uint64_t device_ps = 0, energy_pj = 0;
    {
        Bench bench(options());
        Context& context = bench.context();
        Queue &queue = context.queue(), &other = context.queue();
        const uint64_t data = context.alloc(1 << 17);
        const uint32_t weights = context.weights({.rows = 100, .cols = 40}),
                       nameless = context.weights({.rows = 9, .cols = 9});
        const sidra_cmd multiply =
            mvm(static_cast<uint16_t>(weights), SIDRA_TYPE_U8, SIDRA_TYPE_S32, 1, data, 128, data + 0x4000, 256);
        const std::vector<sidra_cmd> body = {label("inside"), multiply};
        for (const sidra_cmd& cmd :
             {label_weights(weights, "fc1.weight"), label_weights(12'345, "nobody"),
              program(weights, 0, 100, 0, 40, data, 40), program(nameless, 0, 9, 0, 9, data, 9), label("attention"),
              multiply, call(context.put(body), 2), nop(), label("a \"quoted\" \\ \x01\xff µ"),
              copy(data + 0x8000, data, 64), label(std::string(56, 'x')), nop(), label(""), nop()})
            queue.submit(cmd);
        bench.run();
        EXPECT_TRUE(retired(queue));
        other.submit(multiply);
        bench.run();
        EXPECT_TRUE(retired(other));
        device_ps = queue.state().device_ps, energy_pj = queue.state().energy_pj;
    }
    std::string said;
    ASSERT_TRUE(in_order(path, &said));
    EXPECT_NE(said.find("weights ['fc1.weight'], operations ['a \"quoted\" \\\\ \\x01? µ', 'attention', 'inside', '" +
                        std::string(56, 'x') + "']"),
              std::string::npos)
        << said;
    EXPECT_EQ(packets_of(path, "MVM fc1.weight").size(), 3u) << "of every queue";
    EXPECT_EQ(packets_of(path, "PROGRAM fc1.weight").size(), 1u);
    EXPECT_EQ(packets_of(path, "PROGRAM").size(), 1u);
    EXPECT_EQ(packets_of(path, "MVM fc1.weight")[1].text("operation"), "inside");
    const auto nops = packets_of(path, "NOP");
    ASSERT_EQ(nops.size(), 3u);
    EXPECT_EQ(nops[0].text("operation"), "attention") << "again, behind the CALL";
    EXPECT_EQ(nops[2].line.find("operation"), std::string::npos);
    // Names take nothing: the same packets without them.
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint64_t data = context.alloc(1 << 17);
    const uint32_t weights = context.weights({.rows = 100, .cols = 40}),
                   nameless = context.weights({.rows = 9, .cols = 9});
    const sidra_cmd multiply =
        mvm(static_cast<uint16_t>(weights), SIDRA_TYPE_U8, SIDRA_TYPE_S32, 1, data, 128, data + 0x4000, 256);
    const std::vector<sidra_cmd> body = {multiply};
    for (const sidra_cmd& cmd :
         {program(weights, 0, 100, 0, 40, data, 40), program(nameless, 0, 9, 0, 9, data, 9), multiply,
          call(context.put(body), 1), nop(), copy(data + 0x8000, data, 64), nop(), nop()})
        queue.submit(cmd);
    bench.run();
    EXPECT_EQ(queue.state().device_ps, device_ps);
    EXPECT_EQ(queue.state().energy_pj, energy_pj);
}

// The next owner of a queue's number has not given that name, though its epochs have the same numbers.
TEST_F(TraceChip, ANameIsOfItsOwner) {
    {
        Bench bench(options());
        for (const uint32_t owner : {1u, 2u}) {
            Context& context = bench.context_at(3);
            Queue& queue = context.queue();
            if (owner == 1) queue.submit(label("of the first"));
            queue.submit(nop());
            bench.run();
            EXPECT_TRUE(retired(queue));
            EXPECT_EQ(bench.admin(SIDRA_ADMIN_RESET_CONTEXT, 3), uint32_t{SIDRA_ADMIN_OK});
        }
    }
    const auto nops = packets_of(path, "NOP");
    ASSERT_EQ(nops.size(), 2u);
    EXPECT_NE(nops[0].line.find("of the first"), std::string::npos);
    EXPECT_EQ(nops[1].line.find("of the first"), std::string::npos);
    EXPECT_TRUE(in_order(path));
}

// Names and ends cost memory of the chip's process, so there is an end to it: what is oldest is forgotten.
TEST_F(TraceChip, ForgetsTheNamesOfTheOldestWeights) {
    {
        Bench bench(options());
        Context& context = bench.context();
        Queue& queue = context.queue({.log2 = 16, .reports = false});
        const uint64_t data = context.alloc(kPage);
        const uint32_t old = context.weights({.rows = 9, .cols = 9}), fresh = context.weights({.rows = 9, .cols = 9});
        queue.submit(label_weights(old, "old"));
        bench.run();
        sidra_hw_weights entry = context.weights_entry(fresh);
        for (int i = 0; i < 70'000; i++) {
            EXPECT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_WEIGHTS, context.index(), fresh), uint32_t{SIDRA_ADMIN_OK});
            entry.uid = bench.fresh_uid();
            context.store_weights_entry(fresh, entry);
            queue.submit(label_weights(fresh, "fresh"));
            bench.run();
        }
        queue.submit(program(old, 0, 9, 0, 9, data, 9));
        queue.submit(program(fresh, 0, 9, 0, 9, data, 9));
        bench.run();
        EXPECT_TRUE(retired(queue));
    }
    EXPECT_EQ(packets_of(path, "PROGRAM").size(), 1u);
    EXPECT_EQ(packets_of(path, "PROGRAM fresh").size(), 1u);
}

TEST_F(TraceChip, ForgetsTheOldestEndsOfAllQueues) {
    {
        BenchOptions large = options();
        large.pages = 32768;
        Bench bench(large);
        Context& context = bench.context();
        Queue &first = context.queue(), &second = context.queue();
        const uint64_t data = context.alloc(1 << 17);
        for (int i = 0; i < 4; i++) first.submit(copy(data + 0x10000, data, 0x8000));
        bench.run();
        // LABELs take no room in the file.
        const std::vector<sidra_cmd> labels(1u << 16, label(""));
        for (int i = 0; i < 4; i++) {
            Queue& queue = context.queue({.log2 = 16, .reports = false});
            queue.submit(labels);
            bench.run();
            EXPECT_TRUE(retired(queue));
        }
        second.submit(first.waited_for(1));
        bench.run();
        EXPECT_TRUE(retired(second));
    }
    const auto waits = packets_of(path, "SEM_WAIT"), copies = packets_of(path, "COPY");
    ASSERT_EQ(waits.size(), 1u);
    ASSERT_EQ(copies.size(), 4u);
    EXPECT_EQ(waits[0].ps("ts"), end_of(copies[1]))
        << "half of them are forgotten: not too early, and no later than must be";
}

TEST_F(TraceChip, SaysInTheRegisterThatThereIsOne) {
    Bench traced(options()), plain;
    EXPECT_NE(traced.read64(SIDRA_REG_FEATURES) & SIDRA_FEATURE_TRACE, 0u);
    EXPECT_EQ(plain.read64(SIDRA_REG_FEATURES) & SIDRA_FEATURE_TRACE, 0u);
}

TEST_F(TraceChip, PowerIsInMicrowattsAndEndsWithTheWork) {
    {
        Bench bench(options());
        Queue& queue = bench.context().queue();
        queue.submit(nop());
        bench.run();
    }
    std::vector<uint64_t> power;
    for (const Event& event : events_of(path))
        if (event.is("C") && event.text("name") == "power") power.push_back(event.number("uW"));
    EXPECT_EQ(power, (std::vector<uint64_t>{5'000, 0})) << "20 pJ in 4 ns";
}

TEST_F(TraceChip, WhatFaultsIsSaidAndAllIsStillJson) {
    {
        Bench bench(options());
        Context& context = bench.context();
        std::minstd_rand random(1);
        for (int round = 0; round < 20; round++) {
            Queue& queue = context.queue();
            for (int i = 0; i < 4; i++) queue.submit(nop());
            sidra_cmd nonsense = blank(static_cast<sidra_cmd_opcode>(random() % 256));
            for (int i = 1; i < 8; i++) nonsense.raw[i] = random() * uint64_t{0x100000001};
            queue.submit(nonsense);
            bench.run();
            if (round % 4 == 0) queue.reset();
            if (round % 8 == 7) break;
        }
    }
    ASSERT_TRUE(is_json(path));
    unsigned faults = 0;
    for (const Event& event : events_of(path)) faults += event.text("name") == "fault";
    EXPECT_GE(faults, 6u);
}

TEST_F(TraceChip, AFileThatCannotBeIsRefused) {
    sidra_chip_config config{};
    config.profile = SIDRA_CHIP_SMALL;
    config.workers = 1;
    const auto refusal = [&](const std::string& file) {
        config.trace_file = file.c_str();
        return try_create(config);
    };
    const std::string cannot = "' cannot be written: ";
    const std::string remedy = ". Give the trace a file of its own that may be written, in a folder that is there";
    EXPECT_EQ(refusal(folder.path("")), "trace file '" + folder.path("") + cannot + "Is a directory" + remedy);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(refusal("/dev/full"), "trace file '/dev/full" + cannot + "not a regular file" + remedy);
    EXPECT_EQ(refusal(folder.path("no/such")),
              "trace file '" + folder.path("no/such") + cannot + "No such file or directory" + remedy);
    Bench bench(options());
    errno = 0;
    EXPECT_EQ(refusal(path), "trace file '" + path + cannot + "another chip writes it" + remedy);
    EXPECT_EQ(errno, EBUSY);
}

TEST_F(TraceChip, AFullDiskEndsItAndNothingElse) {
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const auto handler = signal(SIGXFSZ, SIG_IGN);
    Bench bench(options());
    const rlimit little{100'000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &little);
    Queue& queue = bench.context().queue({.log2 = 10});
    for (int i = 0; i < 1000; i++) queue.submit(nop());
    bench.run();
    EXPECT_TRUE(retired(queue));
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    std::vector<std::string> said = bench.reports();
    ASSERT_EQ(said.size(), 1u);
    EXPECT_EQ(said[0], "trace file '" + path + "' ends here, it cannot be written: File too large");
    for (int i = 0; i < 1000; i++) queue.submit(nop());
    bench.run();
    EXPECT_TRUE(retired(queue));
    sidra_chip_end_trace(bench.chip());
    EXPECT_TRUE(bench.reports().empty()) << "once";
    std::ofstream(path, std::ios::app) << "]";
    EXPECT_TRUE(is_json(path)) << "it ends behind a whole event";
}

}  // namespace
}  // namespace sidra::chip_test
