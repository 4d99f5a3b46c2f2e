// SPDX-License-Identifier: MIT
// A hostile context beside an innocent one: random packets, and rings, packets, indices and page tables rewritten while
// the chip reads them. The chip may fault the hostile queues; it must not crash, touch foreign memory, or change one
// bit of the innocent results.
#include <random>

#include "bench.h"
#include "packets.h"

#if defined(__clang__) || defined(__GNUC__)
#define SIDRA_RACY __attribute__((no_sanitize("thread"), noinline))
#endif

#ifdef SIDRA_TEST_TSAN
extern "C" void AnnotateBenignRaceSized(const char* file, int line, const volatile void* at, uintptr_t bytes,
                                        const char* why);  // of TSan's run time
#endif

namespace sidra::chip_test {
namespace {

// Two queues of the attacker may copy to the same destination at once: each byte comes from one of them, and nothing
// more is guaranteed.
void races_by_intent([[maybe_unused]] const uint8_t* at, [[maybe_unused]] size_t bytes) {
#ifdef SIDRA_TEST_TSAN
    AnnotateBenignRaceSized(__FILE__, __LINE__, at, bytes, "operands of a hostile process");
#endif
}

// The attacker's stores race with the chip's loads on purpose. They are hidden from TSan, so that it still reports the
// chip's own races.
SIDRA_RACY void racy_store(uint8_t* at, uint64_t value) { *reinterpret_cast<volatile uint64_t*>(at) = value; }

// The attacker's weights objects.
const std::vector<Context::WeightsOptions>& objects() {
    static const std::vector<Context::WeightsOptions> all = {
        {.rows = 300, .cols = 200, .crossbars = {0, 1}},
        {.rows = 20, .cols = 130, .encoding = SIDRA_ENCODING_DIFFERENTIAL, .crossbars = {2, 3}},
        {.rows = 64,
         .cols = 1,
         .encoding = SIDRA_ENCODING_DIFFERENTIAL,
         .rights = SIDRA_HW_WEIGHTS_PROGRAM | SIDRA_HW_WEIGHTS_COMPUTE,
         .crossbars = {4}},
        {.rows = 256, .cols = 256, .crossbars = {5}}};
    return all;
}

// Packets that are nearly right: real opcodes, addresses and sizes around the interesting borders.
class PacketFuzz {
   public:
    PacketFuzz(uint64_t seed, std::vector<uint64_t> addresses, uint32_t queues)
        : random_(seed), addresses_(std::move(addresses)), queues_(queues) {}

    uint64_t address() {
        switch (random_() % 24) {
            case 0:
                return random_();
            case 1:
                return (uint64_t{1} << SIDRA_VA_BITS) - random_() % 9000;
            case 2:
                return ~uint64_t{0} - random_() % 9000;
            case 3:
                return random_() % 9000;
            default:
                break;
        }
        const uint64_t offset = random_() % 3 == 0 ? random_() % 20000 : random_() % 2500 * 8;
        return addresses_[random_() % addresses_.size()] + offset;
    }
    uint64_t size() {
        switch (random_() % 12) {
            case 0:
                return random_();
            case 1:
                return random_() & 0xffffffff;
            case 2:
                return 0;
            case 3:
                return uint64_t{1} << random_() % 64;
            case 4:
                return random_() % 100'000;
            default:
                return 1 + random_() % 600;
        }
    }
    uint64_t aligned(uint64_t to) { return random_() % 16 == 0 ? address() : address() & ~(to - 1); }
    uint32_t small(uint32_t n) { return static_cast<uint32_t>(random_() % 16 == 0 ? random_() : random_() % n); }

    sidra_cmd next(bool calls) {
        sidra_cmd cmd = blank(
            static_cast<sidra_cmd_opcode>(random_() % 40 == 0 ? random_() % 256 : 1 + random_() % SIDRA_CMD_LABEL));
        switch (cmd.hdr.opcode) {
            case SIDRA_CMD_SEM_WAIT:
                cmd.sem.value = random_() % 4 != 0 ? 0 : size();
                if (random_() % 2 != 0) {
                    cmd.hdr.flags = SIDRA_CMD_SEM_QUEUE;
                    cmd.sem.queue = small(queues_);
                    cmd.sem.epoch = small(4);
                } else {
                    cmd.sem.addr = aligned(8);
                }
                break;
            case SIDRA_CMD_SEM_SIGNAL:
                cmd.sem.value = size();
                cmd.sem.addr = aligned(8);
                break;
            case SIDRA_CMD_TIMESTAMP:
                cmd.timestamp.addr = aligned(8);
                break;
            case SIDRA_CMD_COPY:
                cmd.copy.dst = address();
                cmd.copy.src = address();
                cmd.copy.row_bytes = size();
                cmd.copy.rows = 1;
                if (random_() % 2 != 0) {
                    cmd.copy.rows = 1 + small(40);
                    cmd.copy.dst_stride = random_() % 3 != 0 ? cmd.copy.row_bytes + random_() % 100 : size();
                    cmd.copy.src_stride = random_() % 3 != 0 ? cmd.copy.row_bytes : size();
                }
                break;
            case SIDRA_CMD_FILL:
                cmd.fill.pattern_bytes = random_() % 8 == 0 ? small(20) : 1u << random_() % 4;
                cmd.fill.dst = address();
                cmd.fill.bytes = size() * (cmd.fill.pattern_bytes > 8 ? 1 : cmd.fill.pattern_bytes);
                cmd.fill.pattern = random_() % 256;
                break;
            case SIDRA_CMD_MVM: {
                const unsigned weights = random_() % objects().size();
                const auto& object = objects()[weights];
                const uint32_t in =
                                   random_() % 3 == 2 ? uint32_t{SIDRA_TYPE_F32} : static_cast<uint32_t>(random_() % 2),
                               out = static_cast<uint32_t>(random_() % 4);
                cmd.mvm.types = random_() % 20 == 0 ? static_cast<uint8_t>(random_()) : SIDRA_MVM_TYPES(in, out);
                cmd.mvm.weights = static_cast<uint16_t>(random_() % 20 == 0 ? random_() : weights);
                cmd.mvm.batch = 1 + small(12);
                cmd.mvm.in = aligned(4);
                cmd.mvm.out = aligned(4);
                cmd.mvm.in_stride = random_() % 20 == 0 ? small(5000) : object.rows * element_size(in);
                cmd.mvm.out_stride = random_() % 20 == 0 ? small(5000) : object.cols * element_size(out);
                cmd.mvm.in_zero = static_cast<int16_t>(random_() % 140);
                if (random_() % 3 == 0) {
                    cmd.mvm.bias = address();
                }
                if (out != SIDRA_TYPE_S32 && random_() % 2 != 0) {
                    cmd.mvm.scale = address();
                    cmd.mvm.out_factor = random_() % 9 == 0 ? static_cast<uint32_t>(random_()) : f32_bits(0.1f);
                }
                break;
            }
            case SIDRA_CMD_SORT:
                sort(&cmd.sort);
                break;
            case SIDRA_CMD_PROGRAM:
            case SIDRA_CMD_READBACK: {
                const size_t index = random_() % objects().size();
                const auto& object = objects()[index];
                cmd.weights.weights = random_() % 16 == 0 ? small(6) : static_cast<uint32_t>(index);
                const bool whole = random_() % 8 == 0;
                cmd.weights.row0 = whole ? 0 : small(object.rows);
                cmd.weights.rows = whole ? object.rows : 1 + small(object.rows);
                cmd.weights.col0 = whole ? 0 : small(object.cols);
                cmd.weights.cols = whole ? object.cols : 1 + small(object.cols);
                cmd.weights.stride = cmd.weights.cols + small(10);
                cmd.weights.addr = address();
                break;
            }
            case SIDRA_CMD_LABEL:
                cmd.label.flags = static_cast<uint8_t>(small(2));
                cmd.label.weights = cmd.label.flags != 0 ? static_cast<uint16_t>(small(6)) : uint16_t{0};
                for (unsigned i = random_() % SIDRA_CMD_LABEL_TEXT; i-- > 0;)
                    cmd.label.text[i] = static_cast<char>(1 + random_() % 255);
                break;
            case SIDRA_CMD_CALL:
                cmd.call.addr = random_() % 4 == 0 ? address() : address() & ~uint64_t{63};
                cmd.call.count = calls ? small(20) : 0;
                break;
            default:
                break;
        }
        for (; random_() % 12 == 0;) {  // and damage of any kind
            reinterpret_cast<uint8_t*>(&cmd)[random_() % 64] ^= static_cast<uint8_t>(1u << random_() % 8);
        }
        return cmd;
    }

   private:
    void sort(sidra_cmd_sort* sort) {
        sort->flags = static_cast<uint8_t>(random_() % 2);
        sort->type = static_cast<uint8_t>(random_() % 30 == 0 ? random_() : random_() % SIDRA_TYPE_COUNT);
        const uint32_t bytes = element_size(sort->type);
        sort->rows = 1 + small(30);
        sort->cols = 1 + small(100);
        sort->count = random_() % 8 == 0 ? small(200) : 1 + small(sort->cols);
        const auto stride = [&](uint32_t elements, uint32_t size) {
            return random_() % 8 == 0 ? small(1000) : elements * size;
        };
        sort->in = aligned(8);
        sort->in_stride = stride(sort->cols, bytes);
        if (random_() % 4 != 0) {
            sort->values = aligned(8);
            sort->values_stride = stride(sort->count, bytes);
        }
        if (random_() % 2 != 0) {
            sort->index_type = random_() % 2 != 0 ? uint8_t{SIDRA_TYPE_S32} : uint8_t{SIDRA_TYPE_S64};
            sort->indices = aligned(8);
            sort->indices_stride = stride(sort->count, element_size(sort->index_type));
        }
    }

    std::mt19937_64 random_;
    std::vector<uint64_t> addresses_;
    uint32_t queues_;
};

struct Attacker {
    explicit Attacker(Bench& bench) : context(bench.context()) {
        data = context.alloc(16 * kPage);
        read_only = context.alloc(8 * kPage, kRead);
        write_only = context.alloc(8 * kPage, kWrite);
        local = context.reserve(8 * kPage);
        for (unsigned i = 0; i < 8; ++i) {
            context.map(local + i * kPage, i * kPage, kReadWrite, SIDRA_PTE_LOCAL);
        }
        edge = context.alloc(kPage);
        for (const auto& object : objects()) context.weights(object);
    }
    struct Range {
        uint64_t va, pages;
    };
    std::vector<Range> ranges() const { return {{data, 16}, {read_only, 8}, {write_only, 8}, {local, 8}, {edge, 1}}; }
    std::vector<uint64_t> addresses() const { return {data, data, data, data, read_only, write_only, local, edge}; }
    Context& context;
    uint64_t data, read_only, write_only, local, edge;
};

// A well-behaved context on crossbars 6 and 7 that checks each result against its own sums.
struct Innocent {
    explicit Innocent(Bench& bench, uint32_t its_level = SIDRA_CHIP_FAST)
        : level(its_level),
          context(bench.context()),
          queue(context.queue({.log2 = 8})),
          weights(context.weights({.rows = 260, .cols = 33, .crossbars = {6, 7}})) {
        std::mt19937_64 random(4);
        w.resize(260 * 33);
        x.resize(260 * 4);
        for (int8_t& value : w) {
            value = static_cast<int8_t>(random());
        }
        for (int8_t& value : x) {
            value = static_cast<int8_t>(random());
        }
        in = context.put(x);
        out = context.alloc(4 * 33 * 4);
        queue.submit(program(weights, 0, 260, 0, 33, context.put(w), 33));
        for (unsigned b = 0; b < 4; ++b) {
            for (unsigned n = 0; n < 33; ++n) {
                int32_t sum = 0;
                for (unsigned k = 0; k < 260; ++k) {
                    sum += x[b * 260 + k] * w[k * 33 + n];
                }
                want.push_back(sum);
            }
        }
    }
    void submit() {
        queue.push(fill(out, 4 * 33 * 4, 0xdd, 1));
        queue.push(mvm(static_cast<uint16_t>(weights), SIDRA_TYPE_S8, SIDRA_TYPE_S32, 4, in, 260, out, 33 * 4));
        queue.publish();
        queue.doorbell();
    }
    void check() {
        const auto got = context.get<int32_t>(out, want.size());
        if (level == SIDRA_CHIP_FAST) {
            ASSERT_TRUE(got == want) << "a hostile neighbour changed an innocent result";
            return;
        }
        double wrong = 0, all = 0;  // level `accurate` has errors of a few percent
        for (size_t i = 0; i < want.size(); i++) {
            wrong += 1.0 * (got[i] - want[i]) * (got[i] - want[i]);
            all += 1.0 * want[i] * want[i];
        }
        ASSERT_LT(wrong, 0.3 * 0.3 * all) << "a hostile neighbour changed an innocent result";
    }

    const uint32_t level;
    Context& context;
    Queue& queue;
    uint32_t weights;
    std::vector<int8_t> w, x;
    std::vector<int32_t> want;
    uint64_t in, out;
};

void fuzz(uint64_t seed, unsigned packets, uint32_t engine, uint32_t level = SIDRA_CHIP_FAST) {
    Bench bench({.engine = engine, .pages = 16384, .seed = seed, .level = level});
    bench.bus().set_outside_refused(false);
    Attacker attacker(bench);
    Innocent innocent(bench, level);
    std::vector<Queue*> queues;
    for (unsigned i = 0; i < 4; ++i) {
        queues.push_back(&attacker.context.queue(
            {.log2 = 8, .priority = static_cast<uint8_t>(i % 3), .kernel = i == 3, .reports = i != 1}));
    }
    for (uint32_t i = 0; i < objects().size(); i++) {
        const auto& object = objects()[i];
        queues[0]->submit(program(i, 0, object.rows, 0, object.cols, attacker.data, object.cols));
    }
    bench.run();
    ASSERT_TRUE(retired(*queues[0]));
    PacketFuzz generator(seed, attacker.addresses(), 8);
    std::mt19937_64 random(seed + 1);
    uint64_t sent = 0, faults = 0, parked = 0;
    while (sent < packets) {
        for (Queue* queue : queues) {
            const sidra_queue_state state = queue->state();
            if (state.run_state == SIDRA_QUEUE_FAULTED) {
                ASSERT_GT(state.fault.cause, uint32_t{SIDRA_FAULT_NONE});
                ASSERT_LT(state.fault.cause, uint32_t{SIDRA_FAULT_COUNT});
                ASSERT_EQ(state.fault.sequence, state.timeline);
                ++faults;
                queue->reset();
            } else if (state.parked != 0) {
                ++parked;
                queue->reset();
            } else {
                ASSERT_EQ(state.timeline, queue->next());
            }
            for (unsigned i = 0; i < 8; ++i, ++sent) {
                queue->push(generator.next(true));
            }
            queue->publish();
            queue->doorbell();
        }
        // Bodies for CALL are at the start of `data`; they are rewritten now and then, as the fuzzed packets overwrite
        // them.
        if (random() % 4 == 0) {
            for (unsigned i = 0; i < 64; ++i) {
                const sidra_cmd cmd = generator.next(false);
                attacker.context.write(attacker.data + i * 64, &cmd, sizeof cmd);
            }
        }
        if (random() % 8 == 0) {
            innocent.submit();
            bench.run();
            ASSERT_TRUE(retired(innocent.queue));
            innocent.check();
        }
        bench.run();
    }
    EXPECT_GT(faults, packets / 400);
    EXPECT_GT(bench.telemetry().packets, packets / 20) << "the fuzz is biased to packets that run";
    (void)parked;
}

constexpr unsigned kFuzzPackets = rounds(200'000);

TEST(Fuzz, RandomPackets) { fuzz(1, kFuzzPackets, SIDRA_CHIP_ENGINE_AUTO); }
TEST(Fuzz, RandomPacketsOnTheReference) { fuzz(2, kFuzzPackets / 4, SIDRA_CHIP_ENGINE_SCALAR); }

TEST(Fuzz, RandomPacketsAtLevelAccurate) { fuzz(3, kFuzzPackets / 20, SIDRA_CHIP_ENGINE_AUTO, SIDRA_CHIP_ACCURATE); }

TEST(Fuzz, RandomMmio) {
    Bench bench;
    bench.bus().set_outside_refused(true);
    Context& context = bench.context();
    Queue& queue = context.queue();
    std::mt19937_64 random(5);
    const auto total = bench.l3_size();
    for (unsigned i = 0; i < rounds(100'000); ++i) {
        uint64_t offset = random() % 3 == 0 ? random() % 0x400 : random() % SIDRA_BAR_REGS_SIZE;
        if (random() % 4 != 0) {
            offset &= ~uint64_t{7};
        }
        // Clock and scratch registers may have any value; a context table at a random address is refused by the host.
        if (random() % 2 != 0) {
            sidra_chip_mmio_read(bench.chip(), offset, random() % 9);
        } else {
            sidra_chip_mmio_write(bench.chip(), offset, random() % 3 == 0 ? random() : random() % 300, random() % 9);
        }
        if (random() % 16 == 0) {
            for (unsigned n = 0; n < 20 && bench.run_once(); ++n) {
            }
        }
    }
    bench.run();
    sidra_chip_reset(bench.chip());
    bench.run();
    bench.enable();
    queue.submit(nop());
    bench.run();
    EXPECT_TRUE(retired(queue));
    EXPECT_EQ(bench.l3_size(), total);
}

TEST(Fuzz, RandomTables) {
    // Context, queue and weights entries of random bits beside a sound context. The driver would never write them; the
    // chip survives.
    Bench bench;
    bench.bus().set_outside_refused(true);
    Context& victim = bench.context();
    Queue& good = victim.queue();
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint32_t weights = context.weights({.rows = 10, .cols = 10});
    const sidra_hw_context sound_context = context.entry();
    const sidra_hw_queue sound_queue = queue.entry();
    const sidra_hw_weights sound_weights = context.weights_entry(weights);
    const uint64_t data = context.alloc(kPage);
    std::mt19937_64 random(6);
    const auto damage = [&](auto entry) {
        for (unsigned n = 1 + static_cast<unsigned>(random() % 2); n > 0; --n) {
            reinterpret_cast<uint8_t*>(&entry)[random() % sizeof entry] ^= static_cast<uint8_t>(1u << random() % 8);
        }
        return entry;
    };
    for (unsigned i = 0; i < rounds(3000); ++i) {
        context.entry() = sound_context;
        queue.entry() = sound_queue;
        context.store_entry();
        queue.store_entry();
        context.store_weights_entry(weights, sound_weights);
        queue.set_next(0);
        queue.push(program(weights, 0, 10, 0, 10, data, 10));
        queue.push(nop());
        queue.publish();
        switch (random() % 3) {
            case 0:
                context.entry() = damage(sound_context);
                context.store_entry();
                break;
            case 1:
                queue.entry() = damage(sound_queue);
                queue.store_entry();
                break;
            default:
                context.store_weights_entry(weights, damage(sound_weights));
                break;
        }
        queue.doorbell();
        good.submit(nop());
        bench.run();
        ASSERT_TRUE(retired(good)) << i;
        // Properly revoked: cleared and reset.
        queue.entry() = sound_queue;
        queue.entry().flags = 0;
        context.entry() = sound_context;
        context.entry().flags = 0;
        context.store_entry();
        ASSERT_EQ(bench.admin(SIDRA_ADMIN_RESET_CONTEXT, context.index()), uint32_t{SIDRA_ADMIN_OK});
    }
    bench.drop_violation_checks();  // a damaged table may name bus addresses that were never granted
}

// Everything that a hostile process can write by itself is rewritten while the chip reads it.
void race(uint64_t seed, bool tables) {
    Bench bench({.pages = 16384, .seed = seed});
    Attacker attacker(bench);
    Innocent innocent(bench);
    std::vector<Queue*> queues;
    for (unsigned i = 0; i < 3; ++i) {
        queues.push_back(&attacker.context.queue({.log2 = 6, .reports = i == 0}));
    }
    for (uint32_t i = 0; i < objects().size(); i++) {
        const auto& object = objects()[i];
        queues[0]->submit(program(i, 0, object.rows, 0, object.cols, attacker.data, object.cols));
    }
    bench.run();
    ASSERT_TRUE(retired(*queues[0]));
    PacketFuzz generator(seed, attacker.addresses(), 8);
    // The attacker's pages, as the process sees them.
    std::vector<uint8_t*> rings, words, ptes;
    for (Queue* queue : queues) {
        rings.push_back(bench.bus().storage(attacker.context.space().raw(queue->entry().ring).address));
        words.push_back(bench.bus().storage(attacker.context.space().raw(queue->entry().write_index).address));
    }
    rings.push_back(bench.bus().storage(attacker.context.space().raw(attacker.data).address));
    std::vector<uint64_t> good_ptes;
    for (unsigned i = 0; i < 16; ++i) {
        const uint64_t at = attacker.context.space().entry(attacker.data + i * kPage, 0);
        ptes.push_back(bench.bus().storage(at));
        good_ptes.push_back(bench.bus().load64(at));
    }
    for (const auto& [va, pages] : attacker.ranges()) {
        for (uint64_t page = 0; page < pages; ++page) {
            const Translation at = attacker.context.space().raw(va + page * kPage);
            races_by_intent(at.local ? bench.l3() + at.address : bench.bus().storage(at.address), kPage);
        }
    }
    bench.start_threads(2);
    std::atomic<bool> stop{false};
    std::thread writer([&] {
        std::mt19937_64 random(seed + 9);
        while (!stop.load(std::memory_order_relaxed)) {
            const sidra_cmd cmd = generator.next(random() % 2 != 0);
            uint8_t* slot = rings[random() % rings.size()] + random() % 64 * 64;
            for (unsigned i = 0; i < 8; ++i) {
                racy_store(slot + i * 8, cmd.raw[i]);
            }
            if (random() % 4 == 0) {
                racy_store(words[random() % words.size()], random() % 8 == 0 ? random() : random() % 80);
            }
            if (tables && random() % 3 == 0) {
                const auto page = static_cast<unsigned>(random() % 16);
                // Other pages of its own, other rights, no page, or invalid low bits.
                const uint64_t other = good_ptes[random() % 16];
                racy_store(ptes[page], random() % 5 == 0 ? 0 : random() % 5 == 0 ? other ^ (random() % 32) : other);
            }
            const Queue& queue = *queues[random() % queues.size()];
            sidra_chip_mmio_write(bench.chip(), SIDRA_DOORBELL(attacker.context.index(), queue.index()), 0, 4);
        }
    });
    ASSERT_TRUE(bench.wait(innocent.queue, 0));
    // Repeat until the attack had an effect: on a busy machine the writer thread may run late.
    for (unsigned round = 0; round < 150 || (bench.telemetry().faults <= 20 && round < 100'000); ++round) {
        innocent.submit();
        const bool done = bench.wait(innocent.queue, innocent.queue.next());
        EXPECT_TRUE(done) << "an innocent queue starves or faulted";
        if (!done) {
            break;
        }
        innocent.check();
        if (round % 4 == 0) {
            // The driver's part: hostile queues are reset again and again.
            for (Queue* queue : queues) {
                EXPECT_EQ(bench.admin(SIDRA_ADMIN_RESET_QUEUE, attacker.context.index(), queue->index()),
                          uint32_t{SIDRA_ADMIN_OK});
            }
        }
        if (tables && round % 16 == 7) {
            EXPECT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_RANGE, attacker.context.index(), attacker.data, 16 * kPage),
                      uint32_t{SIDRA_ADMIN_OK});
        }
    }
    stop.store(true);
    writer.join();
    EXPECT_GT(bench.telemetry().faults, 20u) << "the attack is one";
    ASSERT_EQ(bench.admin(SIDRA_ADMIN_RESET_CONTEXT, attacker.context.index()), uint32_t{SIDRA_ADMIN_OK});
    EXPECT_EQ(bench.run_once(), false) << "nothing of the hostile context is left";
    bench.stop_threads();
    innocent.submit();
    bench.run();
    ASSERT_TRUE(retired(innocent.queue));
    innocent.check();
}

TEST(Hostile, RewritesRingsAndPacketsWhileTheyAreRead) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
        race(seed, false);
    }
}

TEST(Hostile, PageTablesChangeUnderLoad) {
    for (uint64_t seed = 11; seed <= 13; ++seed) {
        race(seed, true);
    }
}

// ---- Threads
// -------------------------------------------------------------------------------------------------------------

TEST(Threads, ManySubmittersOneDevice) {
    Bench bench({.pages = 16384});
    struct Client {
        Context* context;
        Queue* queue;
        uint64_t src, dst;
    };
    std::vector<Client> clients;
    for (unsigned i = 0; i < 8; ++i) {
        Context& context = bench.context();
        const uint64_t src = context.alloc(8 * kPage), dst = context.alloc(8 * kPage);
        clients.push_back({&context, &context.queue({.log2 = 6, .vector = static_cast<uint16_t>(1 + i)}), src, dst});
    }
    bench.start_threads(2);
    std::vector<std::thread> threads;
    std::atomic<unsigned> wrong{0};
    for (unsigned i = 0; i < clients.size(); ++i) {
        threads.emplace_back([&, i] {
            Client& c = clients[i];
            std::mt19937_64 random(i);
            for (unsigned round = 0; round < 60; ++round) {
                const uint64_t n = 8 * (1 + random() % 4000);
                const uint64_t pattern = random();
                c.queue->push(fill(c.src, n, pattern, 8));
                c.queue->push(copy(c.dst, c.src, n));
                c.queue->arm(c.queue->next());
                c.queue->publish();
                c.queue->doorbell();
                if (!bench.wait(*c.queue, c.queue->next()) || c.context->load64(c.dst) != pattern ||
                    c.context->load64(c.dst + n - 8) != pattern) {
                    wrong.fetch_add(1);
                    return;
                }
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    bench.stop_threads();
    bench.run();
    EXPECT_EQ(wrong.load(), 0u);
    for (const Client& c : clients) {
        EXPECT_TRUE(retired(*c.queue));
        EXPECT_GE(bench.interrupts(c.queue->vector()), 1u);
    }
    EXPECT_EQ(bench.telemetry().packets, 8u * 120);
}

TEST(Threads, CallbacksMayComeBackIntoTheChip) {
    // "No lock of the chip is held across a host callback": each callback uses the MMIO functions.
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint64_t a = context.alloc(8 * kPage), b = context.alloc(8 * kPage);
    static thread_local bool inside = false;
    const auto poke = [&] {
        if (inside) {
            return;
        }
        inside = true;
        sidra_chip_mmio_read(bench.chip(), SIDRA_REG_CLOCK, 8);
        sidra_chip_mmio_read(bench.chip(), SIDRA_BAR_TELEMETRY + 24, 8);
        sidra_chip_mmio_write(bench.chip(), SIDRA_REG_SCRATCH, 1, 4);
        sidra_chip_mmio_write(bench.chip(), SIDRA_DOORBELL(context.index(), queue.index()), 1, 4);
        sidra_chip_mmio_write(bench.chip(), SIDRA_ARM(context.index(), queue.index()), ~uint64_t{0}, 8);
        sidra_chip_mmio_write(bench.chip(), SIDRA_REG_INT_STATUS, ~uint64_t{0}, 4);
        sidra_chip_pending(bench.chip());
        inside = false;
    };
    bench.set_dma_hook([&](uint64_t) { poke(); });
    bench.set_msix_hook([&](unsigned) { poke(); });
    bench.set_kick_hook([&] { poke(); });
    bench.drop_violation_checks();  // MMIO inside callbacks is not distinguishable from DMA inside MMIO
    bench.write32(SIDRA_REG_INT_ENABLE, 0x3f);
    for (unsigned i = 0; i < 20; ++i) {
        queue.push(copy(b, a, 8 * kPage));
    }
    queue.push(blank(SIDRA_CMD_INVALID));
    queue.publish();
    queue.doorbell();
    bench.run();
    bench.admin(SIDRA_ADMIN_QUIESCE_DEVICE);
    bench.write32(SIDRA_REG_TEST_IRQ, 0);
    bench.set_dma_hook(nullptr);
    bench.set_msix_hook(nullptr);
    bench.set_kick_hook(nullptr);
    EXPECT_EQ(queue.timeline(), 20u);
    EXPECT_EQ(queue.run_state(), uint32_t{SIDRA_QUEUE_FAULTED});
}

}  // namespace
}  // namespace sidra::chip_test
