// SPDX-License-Identifier: MIT
// Negative twins: for each packet a valid one that retires, and the same packet with one error. A twin must stop its
// queue with a complete record, change no memory and disturb no other queue.
#include <algorithm>
#include <functional>

#include "bench.h"
#include "packets.h"

namespace sidra::chip_test {
namespace {

constexpr std::initializer_list<sidra_fault_cause> kField = {SIDRA_FAULT_FIELD};
constexpr std::initializer_list<sidra_fault_cause> kAlignment = {SIDRA_FAULT_ALIGNMENT};
constexpr std::initializer_list<sidra_fault_cause> kLimit = {SIDRA_FAULT_LIMIT};
// Zero counts and strides too short: "value not allowed" and "beyond a limit" both describe them.
constexpr std::initializer_list<sidra_fault_cause> kFieldOrLimit = {SIDRA_FAULT_FIELD, SIDRA_FAULT_LIMIT};
constexpr std::initializer_list<sidra_fault_cause> kFieldOrAlignment = {SIDRA_FAULT_FIELD, SIDRA_FAULT_ALIGNMENT};
constexpr std::initializer_list<sidra_fault_cause> kLimitOrTranslation = {SIDRA_FAULT_LIMIT, SIDRA_FAULT_TRANSLATION};
constexpr std::initializer_list<sidra_fault_cause> kTranslation = {SIDRA_FAULT_TRANSLATION};
constexpr std::initializer_list<sidra_fault_cause> kPermission = {SIDRA_FAULT_PERMISSION};
constexpr std::initializer_list<sidra_fault_cause> kBus = {SIDRA_FAULT_BUS};
constexpr std::initializer_list<sidra_fault_cause> kValue = {SIDRA_FAULT_VALUE};

constexpr uint64_t kTop = uint64_t{1} << SIDRA_VA_BITS;

class PacketFault : public ::testing::Test {
   protected:
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    Queue& bystander = context.queue();
    Queue& stranger = bench.context().queue();

    uint64_t in = context.alloc(16 * kPage);
    uint64_t out = context.alloc(16 * kPage);
    uint64_t aux = context.alloc(4 * kPage);
    uint64_t read_only = context.alloc(16 * kPage, kRead);
    uint64_t write_only = context.alloc(16 * kPage, kWrite);
    uint64_t unmapped = context.reserve(16 * kPage);
    uint64_t refused = context.alloc(16 * kPage);
    uint64_t edge = context.alloc(kPage);  // the next page is not mapped

    PacketFault() {
        for (uint64_t at = refused; at < refused + 16 * kPage; at += kPage) {
            bench.bus().set_access(context.space().raw(at).address, kPage, Access::kRefused);
        }
        std::vector<uint8_t> bytes(16 * kPage);
        for (size_t i = 0; i < bytes.size(); ++i) {
            bytes[i] = static_cast<uint8_t>(i * 7 + 3);
        }
        context.write(in, bytes.data(), bytes.size());
    }

    // The twin between two no-ops; `unchanged`: everything that it might have written stays.
    void twin(const char* what, const sidra_cmd& cmd, Cause cause, std::optional<uint64_t> address = std::nullopt,
              bool unchanged = true) {
        SCOPED_TRACE(what);
        queue.reset();
        std::vector<uint8_t> before(16 * kPage, 0xa5);
        context.write(out, before.data(), before.size());
        const auto read_only_before = context.get<uint8_t>(read_only, 16 * kPage);
        queue.push(nop());
        const uint64_t at = queue.push(cmd);
        queue.push(fill(out, 64, 0x11, 1));
        queue.publish();
        queue.doorbell();
        bystander.submit(nop());
        stranger.submit(nop());
        const uint64_t faults = bench.telemetry().faults;
        bench.run();
        EXPECT_TRUE(faulted(queue, at, cmd, cause, address));
        EXPECT_TRUE(retired(bystander));
        EXPECT_TRUE(retired(stranger));
        EXPECT_EQ(bench.telemetry().faults, faults + 1);
        if (unchanged) {
            EXPECT_TRUE(context.get<uint8_t>(out, 16 * kPage) == before) << "the faulty packet wrote";
        }
        EXPECT_TRUE(context.get<uint8_t>(read_only, 16 * kPage) == read_only_before) << "read-only memory was written";
    }

    void twin(const char* what, const sidra_cmd& sound, const std::function<void(sidra_cmd&)>& twist, Cause cause,
              std::optional<uint64_t> address = std::nullopt, bool unchanged = true) {
        sidra_cmd cmd = sound;
        twist(cmd);
        twin(what, cmd, cause, address, unchanged);
    }

    void sound(const sidra_cmd& cmd) {
        queue.reset();
        queue.submit(cmd);
        bench.run();
        ASSERT_TRUE(retired(queue)) << "the sound packet must retire, or its twins prove nothing";
    }

    // Errors that every packet can have.
    void header_twins(const sidra_cmd& cmd, uint8_t flags_allowed = 0) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            if ((flags_allowed >> bit & 1) == 0) {
                twin("unknown flag", cmd, [bit](auto& c) { c.hdr.flags |= static_cast<uint8_t>(1u << bit); }, {kField});
            }
        }
        if (cmd.hdr.opcode != SIDRA_CMD_MVM) {
            twin("header pad", cmd, [](auto& c) { c.hdr.pad = 1; }, {kField});
            twin("header pad, high bit", cmd, [](auto& c) { c.hdr.pad = 0x8000; }, {kField});
        }
    }

    void reserved_words(const sidra_cmd& cmd, unsigned first, unsigned last) {
        for (unsigned word = first; word <= last; ++word) {
            twin("reserved word", cmd, [word](auto& c) { c.raw[word] = uint64_t{1} << 37; }, {kField});
        }
    }

    // Every way in which an operand of `bytes` bytes can be inaccessible. `field` points into the packet.
    template <typename Field>
    void address_twins(const char* what, const sidra_cmd& cmd, Field field, uint64_t bytes, bool write,
                       uint64_t align) {
        SCOPED_TRACE(what);
        const auto at = [&](uint64_t address) { return [=](sidra_cmd& c) { field(c) = address; }; };
        twin("unmapped", cmd, at(unmapped), {kTranslation}, unmapped);
        twin("address 0", cmd, at(align), {kTranslation}, 0, true);
        twin("wrong rights", cmd, at(write ? read_only : write_only), {kPermission}, write ? read_only : write_only);
        twin("refused by the host", cmd, at(refused), {kBus}, refused);
        twin("beyond the address width", cmd, at(kTop), {kLimitOrTranslation});
        twin("far beyond", cmd, at(uint64_t{1} << 52), {kLimitOrTranslation});
        twin("bit 63", cmd, at(in | uint64_t{1} << 63), {kLimitOrTranslation});
        twin("last address of all", cmd, at(~uint64_t{0} & ~(align - 1)), {kLimitOrTranslation});
        if (bytes > align) {
            twin("across the address width", cmd, at((kTop - bytes / 2) & ~(align - 1)), {kLimitOrTranslation});
            twin("wraps", cmd, at((uint64_t{0} - bytes / 2) & ~(align - 1)), {kLimitOrTranslation});
            if (bytes <= kPage) {
                twin("into an unmapped page", cmd, at((edge + kPage - bytes / 2) & ~(align - 1)), {kTranslation},
                     edge + kPage, false);
            }
        }
        for (uint64_t skew = 1; skew < align; skew *= 2) {
            twin("misaligned", cmd, at((write ? out : in) + skew), {kAlignment});
        }
    }
};

#define FIELD_OF(expression) [](sidra_cmd& c) -> uint64_t& { return c.expression; }

TEST_F(PacketFault, Opcodes) {
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
        constexpr unsigned kGone = 9;  // VEC
        if (opcode != 0 && opcode != kGone && opcode < SIDRA_CMD_OPCODE_COUNT) continue;
        twin("unknown opcode", blank(static_cast<sidra_cmd_opcode>(opcode)), {{SIDRA_FAULT_OPCODE}});
    }
}

TEST_F(PacketFault, NopAndBarrier) {
    for (const sidra_cmd& cmd : {nop(), barrier()}) {
        sound(cmd);
        header_twins(cmd);
        reserved_words(cmd, 1, 7);
    }
}

TEST_F(PacketFault, Label) {
    sidra_cmd cmd = blank(SIDRA_CMD_LABEL);
    sound(cmd);
    std::memset(cmd.label.text, 'x', sizeof cmd.label.text);
    sound(cmd);
    twin("flag", cmd, [](auto& c) { c.label.flags = 0x02; }, {kField});
    twin("weights without flag", cmd, [](auto& c) { c.label.weights = 1; }, {kField});
    twin("text goes on behind its end", cmd, [](auto& c) { c.label.text[54] = 0; }, {kField});
    cmd.label.flags = SIDRA_CMD_LABEL_WEIGHTS;
    cmd.label.weights = 0xffff;  // names nothing
    sound(cmd);
}

TEST_F(PacketFault, Semaphores) {
    const sidra_cmd wait = sem_wait(in, 0);
    sound(wait);
    header_twins(wait, SIDRA_CMD_SEM_QUEUE);
    reserved_words(wait, 4, 7);
    twin("epoch without flag", wait, [](auto& c) { c.sem.epoch = 1; }, {kField});
    twin("queue without flag", wait, [](auto& c) { c.sem.queue = 1; }, {kField});
    address_twins("wait", wait, FIELD_OF(sem.addr), 8, false, 8);

    const sidra_cmd wait_queue = bystander.waited_for(0);
    sound(wait_queue);
    header_twins(wait_queue, SIDRA_CMD_SEM_QUEUE);
    reserved_words(wait_queue, 4, 7);
    twin("address with queue", wait_queue, [this](auto& c) { c.sem.addr = in; }, {kField});
    twin("queue without epoch", wait_queue, [](auto& c) { c.sem.epoch = 0; }, {kField});
    twin("epoch that never was", wait_queue, [](auto& c) { c.sem.epoch = ~0u; }, {{SIDRA_FAULT_PEER}});

    const sidra_cmd signal = sem_signal(aux, 1);
    sound(signal);
    header_twins(signal);
    reserved_words(signal, 4, 7);
    twin("queue", signal, [](auto& c) { c.sem.queue = 1; }, {kField});
    twin("epoch", signal, [](auto& c) { c.sem.epoch = 1; }, {kField});
    address_twins("signal", signal, FIELD_OF(sem.addr), 8, true, 8);
}

TEST_F(PacketFault, Timestamp) {
    const sidra_cmd cmd = timestamp(aux);
    sound(cmd);
    header_twins(cmd);
    reserved_words(cmd, 2, 7);
    address_twins("timestamp", cmd, FIELD_OF(timestamp.addr), sizeof(sidra_timestamp), true, 8);
}

TEST_F(PacketFault, Copy) {
    const sidra_cmd cmd = copy(out, in, 3000);
    sound(cmd);
    header_twins(cmd);
    reserved_words(cmd, 7, 7);
    twin("pad", cmd, [](auto& c) { c.copy.pad = 1; }, {kField});
    twin("no bytes", cmd, [](auto& c) { c.copy.row_bytes = 0; }, {kFieldOrLimit});
    twin("no rows", cmd, [](auto& c) { c.copy.rows = 0; }, {kFieldOrLimit});
    twin("too long", cmd, [](auto& c) { c.copy.row_bytes = SIDRA_CMD_COPY_MAX + 1; }, {kLimit});
    twin("absurdly long", cmd, [](auto& c) { c.copy.row_bytes = ~uint64_t{0}; }, {kLimit});
    address_twins("source", cmd, FIELD_OF(copy.src), 3000, false, 1);
    address_twins("destination", cmd, FIELD_OF(copy.dst), 3000, true, 1);

    const sidra_cmd rows = copy_2d(out, 512, in, 600, 500, 4);
    sound(rows);
    twin("destination stride too short", rows, [](auto& c) { c.copy.dst_stride = 499; }, {kFieldOrLimit});
    twin("source stride too short", rows, [](auto& c) { c.copy.src_stride = 0; }, {kFieldOrLimit});
    twin("destination stride wraps", rows, [](auto& c) { c.copy.dst_stride = ~uint64_t{0}; }, {kLimitOrTranslation});
    twin("source stride wraps", rows, [](auto& c) { c.copy.src_stride = uint64_t{1} << 62; }, {kLimitOrTranslation});
    twin("source stride of exactly 2^64 / 3", rows, [](auto& c) { c.copy.src_stride = 0x5555555555555556ull; },
         {kLimitOrTranslation});
    twin("rows x bytes too long", rows,
         [](auto& c) {
             c.copy.rows = 0xffffffffu;
             c.copy.row_bytes = c.copy.dst_stride = c.copy.src_stride = 0x1'0000'0001ull;
         },
         {kLimit});
    twin("rows x bytes wraps to small", rows,
         [](auto& c) {
             c.copy.rows = 1u << 31;
             c.copy.row_bytes = c.copy.dst_stride = c.copy.src_stride = (uint64_t{1} << 33) + 1;
         },
         {kLimit});
    twin(
        "a later row unmapped", rows,
        [this](auto& c) {
            c.copy.dst = edge;
            c.copy.dst_stride = 2000;
        },
        {kTranslation}, edge + kPage, false);
}

TEST_F(PacketFault, Fill) {
    const sidra_cmd cmd = fill(out, 2048, 0x1122334455667788ull, 8);
    sound(cmd);
    header_twins(cmd);
    reserved_words(cmd, 5, 7);
    twin("pad", cmd, [](auto& c) { c.fill.pad = 1; }, {kField});
    for (const uint32_t bytes : {0u, 3u, 5u, 6u, 7u, 9u, 16u, 0x80000000u}) {
        twin("pattern size", cmd,
             [bytes](auto& c) {
                 c.fill.pattern_bytes = bytes;
                 c.fill.pattern = 0;
             },
             {kField});
    }
    for (const uint32_t bytes : {1u, 2u, 4u}) {
        twin("unused pattern bytes", cmd,
             [bytes](auto& c) {
                 c.fill.pattern_bytes = bytes;
                 c.fill.pattern = uint64_t{1} << (bytes * 8);
             },
             {kField});
    }
    twin("ragged size", cmd, [](auto& c) { c.fill.bytes = 2044; }, {kFieldOrAlignment});
    twin("too long", cmd, [](auto& c) { c.fill.bytes = SIDRA_CMD_COPY_MAX + 8; }, {kLimit});
    twin("absurdly long", cmd, [](auto& c) { c.fill.bytes = ~uint64_t{7}; }, {kLimit});
    address_twins("destination", cmd, FIELD_OF(fill.dst), 2048, true, 8);
}

TEST_F(PacketFault, Call) {
    const std::vector<sidra_cmd> body(4, nop());
    context.write(aux, body.data(), 4 * sizeof(sidra_cmd));
    const sidra_cmd cmd = call(aux, 4);
    sound(cmd);
    header_twins(cmd);
    reserved_words(cmd, 3, 7);
    twin("pad", cmd, [](auto& c) { c.call.pad = 1; }, {kField});
    twin("too long", cmd, [](auto& c) { c.call.count = SIDRA_CMD_CALL_MAX + 1; }, {kLimit});
    twin("absurdly long", cmd, [](auto& c) { c.call.count = 0xffffffffu; }, {kLimit});
    for (const uint64_t skew : {1u, 8u, 32u}) {
        twin("misaligned", cmd, [=, this](auto& c) { c.call.addr = aux + skew; }, {kAlignment});
    }
}

class MvmFault : public PacketFault {
   protected:
    static constexpr uint32_t kRows = 300, kCols = 200;
    uint16_t weights = static_cast<uint16_t>(context.weights({.rows = kRows, .cols = kCols}));

    MvmFault() {
        queue.submit(program(weights, 0, kRows, 0, kCols, in, kCols));
        bench.run();
        EXPECT_TRUE(retired(queue));
    }
    sidra_cmd base(uint32_t in_type, uint32_t out_type) const {
        return mvm(weights, in_type, out_type, 3, in, kRows * element_size(in_type), out,
                   kCols * element_size(out_type));
    }
};

TEST_F(MvmFault, Fields) {
    const sidra_cmd s32 = base(SIDRA_TYPE_S8, SIDRA_TYPE_S32);
    sound(s32);
    header_twins(s32, SIDRA_CMD_MVM_CALIBRATE);
    for (const unsigned type : {2u, 4u, 5u, 8u, 15u}) {
        twin("input type", s32, [type](auto& c) { c.mvm.types = SIDRA_MVM_TYPES(type, SIDRA_TYPE_S32); }, {kField});
    }
    for (const unsigned type : {4u, 5u, 8u, 15u}) {
        twin("output type", s32, [type](auto& c) { c.mvm.types = SIDRA_MVM_TYPES(SIDRA_TYPE_S8, type); }, {kField});
    }
    twin("batch 0", s32, [](auto& c) { c.mvm.batch = 0; }, {kFieldOrLimit});
    twin("batch too large", s32, [](auto& c) { c.mvm.batch = SIDRA_CMD_BATCH_MAX + 1; }, {kLimit});
    twin("batch absurd", s32, [](auto& c) { c.mvm.batch = 0xffffffffu; }, {kLimit});
    twin("zero point of an S32 output", s32, [](auto& c) { c.mvm.out_zero = 1; }, {kField});
    twin("scale of an S32 output", s32, [this](auto& c) { c.mvm.scale = aux; }, {kField});
    twin("factor of an S32 output", s32, [](auto& c) { c.mvm.out_factor = f32_bits(1.0f); }, {kField});
    twin("input scale of S8 to S32", s32, [](auto& c) { c.mvm.in_scale = f32_bits(1.0f); }, {kField});
    twin("S8 input zero too large", s32, [](auto& c) { c.mvm.in_zero = 128; }, {kFieldOrLimit});
    twin("S8 input zero too small", s32, [](auto& c) { c.mvm.in_zero = -129; }, {kFieldOrLimit});
    twin("input stride too short", s32, [](auto& c) { c.mvm.in_stride = kRows - 1; }, {kFieldOrLimit});
    twin("output stride too short", s32, [](auto& c) { c.mvm.out_stride = kCols * 4 - 4; }, {kFieldOrLimit});
    twin("input stride 0", s32, [](auto& c) { c.mvm.in_stride = 0; }, {kFieldOrLimit});
    twin("output stride misaligned", s32, [](auto& c) { c.mvm.out_stride = kCols * 4 + 2; }, {kAlignment});

    const sidra_cmd u8 = base(SIDRA_TYPE_U8, SIDRA_TYPE_U8);
    sound(u8);
    twin("U8 input zero too large", u8, [](auto& c) { c.mvm.in_zero = 256; }, {kFieldOrLimit});
    twin("U8 input zero negative", u8, [](auto& c) { c.mvm.in_zero = -1; }, {kFieldOrLimit});

    const sidra_cmd f32 = base(SIDRA_TYPE_F32, SIDRA_TYPE_F32);
    sound(f32);
    twin("zero point of an F32 output", f32, [](auto& c) { c.mvm.out_zero = 1; }, {kField});
    twin("F32 input zero negative", f32, [](auto& c) { c.mvm.in_zero = -1; }, {kFieldOrLimit});
    twin("input stride misaligned", f32, [](auto& c) { c.mvm.in_stride = kRows * 4 + 1; }, {kAlignment});
    for (const uint32_t bits : {0x7f800000u, 0xff800000u, 0x7fc00000u, 0xbf800000u, 0x80000000u, 0xffffffffu}) {
        twin("input scale", f32, [bits](auto& c) { c.mvm.in_scale = bits; }, {kField});
        twin("output factor", f32, [bits](auto& c) { c.mvm.out_factor = bits; }, {kField});
    }
}

TEST_F(MvmFault, Addresses) {
    const sidra_cmd s8 = base(SIDRA_TYPE_S8, SIDRA_TYPE_S8);
    address_twins("input", s8, FIELD_OF(mvm.in), 3 * kRows, false, 1);
    address_twins("output", s8, FIELD_OF(mvm.out), 3 * kCols, true, 1);
    sidra_cmd f32 = base(SIDRA_TYPE_F32, SIDRA_TYPE_F32);
    address_twins("float input", f32, FIELD_OF(mvm.in), 3 * kRows * 4, false, 4);
    address_twins("float output", f32, FIELD_OF(mvm.out), 3 * kCols * 4, true, 4);
    f32.mvm.scale = aux;
    f32.mvm.bias = aux;
    sound(f32);
    address_twins("scale", f32, FIELD_OF(mvm.scale), kCols * 4, false, 4);
    address_twins("bias", f32, FIELD_OF(mvm.bias), kCols * 4, false, 4);
    const sidra_cmd s32 = base(SIDRA_TYPE_U8, SIDRA_TYPE_S32);
    twin(
        "input stride far out", s32, [](auto& c) { c.mvm.in_stride = 0xffffffffu; }, {kLimitOrTranslation},
        std::nullopt, false);
    twin(
        "output stride far out", s32, [](auto& c) { c.mvm.out_stride = 0xfffffffcu; }, {kLimitOrTranslation},
        std::nullopt, false);
}

TEST_F(MvmFault, Weights) {
    const sidra_cmd cmd = base(SIDRA_TYPE_S8, SIDRA_TYPE_S32);
    sound(cmd);
    for (const uint16_t index : {uint16_t{100}, uint16_t{127}, uint16_t{128}, uint16_t{4096}, uint16_t{65535}}) {
        twin("no such object", cmd, [index](auto& c) { c.mvm.weights = index; }, {{SIDRA_FAULT_WEIGHTS}});
    }
    const auto fresh = static_cast<uint16_t>(context.weights({.rows = 256, .cols = 256}));
    twin("unprogrammed", cmd,
         [&](auto& c) {
             c.mvm.weights = fresh;
             c.mvm.out_stride = 1024;
         },
         {{SIDRA_FAULT_UNPROGRAMMED}});
    const auto mute =
        static_cast<uint16_t>(context.weights({.rows = kRows,
                                               .cols = kCols,
                                               .rights = SIDRA_HW_WEIGHTS_PROGRAM | SIDRA_HW_WEIGHTS_READBACK,
                                               .uid = context.weights_entry(weights).uid,
                                               .crossbars = {1, 0}}));
    const auto fixed =
        static_cast<uint16_t>(context.weights({.rows = kRows,
                                               .cols = kCols,
                                               .rights = SIDRA_HW_WEIGHTS_COMPUTE | SIDRA_HW_WEIGHTS_READBACK,
                                               .uid = context.weights_entry(weights).uid,
                                               .crossbars = {1, 0}}));
    twin("no right to set ranges", cmd,
         [&](auto& c) {
             c.mvm.weights = fixed;
             c.mvm.flags = SIDRA_CMD_MVM_CALIBRATE;
         },
         {{SIDRA_FAULT_WEIGHTS_RIGHTS}});
    twin("no right to compute", cmd, [&](auto& c) { c.mvm.weights = mute; }, {{SIDRA_FAULT_WEIGHTS_RIGHTS}});
}

TEST_F(MvmFault, MalformedWeightsEntries) {
    const sidra_hw_weights good = context.weights_entry(weights);
    const uint64_t list = bench.bus().alloc(kPage);
    const std::vector<std::pair<const char*, std::function<void(sidra_hw_weights&)>>> twists = {
        {"uid 0", [](auto& e) { e.uid = 0; }},
        {"no rows", [](auto& e) { e.rows = 0; }},
        {"no columns", [](auto& e) { e.cols = 0; }},
        {"tile count too small", [](auto& e) { e.tile_count -= 1; }},
        {"tile count too large", [](auto& e) { e.tile_count += 1; }},
        {"tile count that does not fit the shape",
         [](auto& e) {
             e.rows = 0xffffffffu;
             e.cols = 0xffffffffu;
         }},
        {"encoding", [](auto& e) { e.encoding = 2; }},
        {"unknown flag", [](auto& e) { e.flags |= 16; }},
        {"reserved0", [](auto& e) { e.reserved0 = 1; }},
        {"reserved1", [](auto& e) { e.reserved1[2] = 1; }},
        {"tile list misaligned", [](auto& e) { e.tiles += 2; }},
        {"crossbar that does not exist",
         [&](auto& e) {
             const uint32_t xbars[2] = {0, bench.crossbars_total()};
             bench.bus().write(list, xbars, sizeof xbars);
             e.tiles = list;
         }},
    };
    for (const auto& [name, twist] : twists) {
        SCOPED_TRACE(name);
        sidra_hw_weights entry = good;
        entry.flags = 0;
        context.store_weights_entry(weights, entry);
        EXPECT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_WEIGHTS, context.index(), weights), uint32_t{SIDRA_ADMIN_OK});
        entry = good;
        twist(entry);
        context.store_weights_entry(weights, entry);
        twin(name, base(SIDRA_TYPE_S8, SIDRA_TYPE_S32), {{SIDRA_FAULT_WEIGHTS}});
        twin(name, readback(weights, 0, 1, 0, 1, out, 1), {{SIDRA_FAULT_WEIGHTS}});
    }
    sidra_hw_weights entry = good;
    entry.flags = 0;
    context.store_weights_entry(weights, entry);
    bench.admin(SIDRA_ADMIN_QUIESCE_WEIGHTS, context.index(), weights);
    bench.bus().set_access(list, kPage, Access::kRefused);
    entry = good;
    entry.tiles = list;
    context.store_weights_entry(weights, entry);
    twin("tile list refused", base(SIDRA_TYPE_S8, SIDRA_TYPE_S32), {{SIDRA_FAULT_BUS, SIDRA_FAULT_WEIGHTS}});
    entry.flags = 0;
    context.store_weights_entry(weights, entry);
    bench.admin(SIDRA_ADMIN_QUIESCE_WEIGHTS, context.index(), weights);
    context.store_weights_entry(weights, good);
    sound(base(SIDRA_TYPE_S8, SIDRA_TYPE_S32));
}

TEST_F(MvmFault, ProgramAndReadback) {
    for (const bool reading : {false, true}) {
        const auto make = reading ? readback : program;
        const uint64_t data = reading ? out : in;
        const sidra_cmd cmd = make(weights, 2, 10, 3, 20, data, 32);
        sound(cmd);
        header_twins(cmd);
        reserved_words(cmd, 6, 7);
        twin("pad", cmd, [](auto& c) { c.weights.pad = 1; }, {kField});
        twin("tolerance", cmd, [](auto& c) { c.weights.tolerance_ppm = 1; }, {kField});
        twin("refresh with data", cmd, [](auto& c) { c.hdr.flags = SIDRA_CMD_PROGRAM_REFRESH; }, {kField});
        twin("no rows", cmd, [](auto& c) { c.weights.rows = 0; }, {kFieldOrLimit});
        twin("no columns", cmd, [](auto& c) { c.weights.cols = 0; }, {kFieldOrLimit});
        twin("rows beyond", cmd, [](auto& c) { c.weights.row0 = kRows - 9; }, {kLimit});
        twin("columns beyond", cmd, [](auto& c) { c.weights.col0 = kCols - 19; }, {kLimit});
        twin("row range wraps", cmd, [](auto& c) { c.weights.row0 = 0xfffffffeu; }, {kLimit});
        twin("column range wraps", cmd,
             [](auto& c) {
                 c.weights.col0 = 0xfffffff0u;
                 c.weights.cols = 0x11;
             },
             {kLimit});
        twin("far too many rows", cmd, [](auto& c) { c.weights.rows = 0xffffffffu; }, {kLimit});
        twin("stride too short", cmd, [](auto& c) { c.weights.stride = 19; }, {kFieldOrLimit});
        for (const uint32_t index : {100u, 128u, 4096u, 65536u + weights, 0xffffffffu}) {
            twin("no such object", cmd, [index](auto& c) { c.weights.weights = index; }, {{SIDRA_FAULT_WEIGHTS}});
        }
        address_twins("data", cmd, FIELD_OF(weights.addr), 9 * 32 + 20, reading, 1);
    }
    const uint64_t uid = context.weights_entry(weights).uid;
    const uint32_t fixed = context.weights(
        {.rows = kRows, .cols = kCols, .rights = SIDRA_HW_WEIGHTS_COMPUTE, .uid = uid, .crossbars = {1, 0}});
    twin("no right to program", program(fixed, 0, kRows, 0, kCols, in, kCols), {{SIDRA_FAULT_WEIGHTS_RIGHTS}});
    twin("no right to read", readback(fixed, 0, 1, 0, 1, out, 1), {{SIDRA_FAULT_WEIGHTS_RIGHTS}});
    const uint32_t fresh = context.weights({.rows = 20, .cols = 20, .crossbars = {7}});
    twin("unprogrammed", readback(fresh, 0, 1, 0, 1, out, 1), {{SIDRA_FAULT_UNPROGRAMMED}});
}

TEST_F(MvmFault, Refresh) {
    const sidra_cmd cmd = refresh(weights, 2, 10, 3, 20, 1'000'000);
    sound(cmd);
    reserved_words(cmd, 6, 7);
    twin("other flags", cmd, [](auto& c) { c.hdr.flags |= 2; }, {kField});
    twin("of a read", cmd, [](auto& c) { c.hdr.opcode = SIDRA_CMD_READBACK; }, {kField});
    twin("header's pad", cmd, [](auto& c) { c.hdr.pad = 1; }, {kField});
    twin("pad", cmd, [](auto& c) { c.weights.pad = 1; }, {kField});
    twin("address", cmd, [this](auto& c) { c.weights.addr = in; }, {kField});
    twin("stride", cmd, [](auto& c) { c.weights.stride = 20; }, {kField});
    twin("tolerance of more than all", cmd, [](auto& c) { c.weights.tolerance_ppm = 1'000'001; }, {kLimit});
    twin("no rows", cmd, [](auto& c) { c.weights.rows = 0; }, {kFieldOrLimit});
    twin("rows beyond", cmd, [](auto& c) { c.weights.row0 = kRows - 9; }, {kLimit});
    twin("columns beyond", cmd, [](auto& c) { c.weights.col0 = kCols - 19; }, {kLimit});
    twin("no such object", cmd, [](auto& c) { c.weights.weights = 100; }, {{SIDRA_FAULT_WEIGHTS}});
    const uint32_t fixed = context.weights({.rows = kRows,
                                            .cols = kCols,
                                            .rights = SIDRA_HW_WEIGHTS_COMPUTE | SIDRA_HW_WEIGHTS_READBACK,
                                            .uid = context.weights_entry(weights).uid,
                                            .crossbars = {1, 0}});
    twin("no right to program", refresh(fixed, 0, kRows, 0, kCols), {{SIDRA_FAULT_WEIGHTS_RIGHTS}});
    const uint32_t fresh = context.weights({.rows = 20, .cols = 20, .crossbars = {7}});
    twin("unprogrammed", refresh(fresh, 0, 1, 0, 1), {{SIDRA_FAULT_UNPROGRAMMED}});
}

class SortFault : public PacketFault {};

TEST_F(SortFault, EveryRefusal) {
    sidra_cmd cmd = blank(SIDRA_CMD_SORT);
    sidra_cmd_sort& s = cmd.sort;
    s.type = SIDRA_TYPE_F32, s.index_type = SIDRA_TYPE_S64;
    s.in = in, s.values = out, s.indices = out + 4 * kPage;
    s.in_stride = 400, s.values_stride = 40, s.indices_stride = 80;
    s.rows = 4, s.cols = 100, s.count = 10;
    sound(cmd);
    const auto field = [&](const char* what, const std::function<void(sidra_cmd_sort&)>& twist, Cause cause,
                           uint64_t address) {
        twin(
            what, cmd, [&](sidra_cmd& c) { twist(c.sort); }, cause, address);
    };
    for (unsigned bit = 1; bit < 8; ++bit)
        field(
            "flag", [bit](auto& t) { t.flags |= 1u << bit; }, {kField}, uint64_t{1} << bit);
    field(
        "reserved", [](auto& t) { t.reserved = 1; }, {kField}, 1);
    field(
        "type", [](auto& t) { t.type = SIDRA_TYPE_COUNT; }, {kField}, SIDRA_TYPE_COUNT);
    field(
        "type 255", [](auto& t) { t.type = 255; }, {kField}, 255);
    for (uint32_t type = 0; type < SIDRA_TYPE_COUNT; ++type)
        if (type != SIDRA_TYPE_S32 && type != SIDRA_TYPE_S64)
            field(
                "type of indices", [=](auto& t) { t.index_type = static_cast<uint8_t>(type); }, {kField}, type);
    field(
        "type of no indices", [](auto& t) { t.indices = t.indices_stride = 0; }, {kField}, SIDRA_TYPE_S64);
    field(
        "stride of no indices", [](auto& t) { t.indices = t.index_type = 0; }, {kField}, 80);
    field(
        "stride of no values", [](auto& t) { t.values = 0; }, {kField}, 40);
    field(
        "neither values nor indices",
        [](auto& t) { t.values = t.values_stride = t.indices = t.indices_stride = t.index_type = 0; }, {kField}, 0);
    field(
        "no rows", [](auto& t) { t.rows = 0; }, {kField}, 0);
    field(
        "no columns", [](auto& t) { t.cols = 0; }, {kField}, 0);
    field(
        "nothing wanted", [](auto& t) { t.count = 0; }, {kField}, 0);
    field(
        "too many rows", [](auto& t) { t.rows = SIDRA_SORT_ROWS_MAX + 1; }, {kLimit}, SIDRA_SORT_ROWS_MAX + 1);
    field(
        "too many columns", [](auto& t) { t.cols = SIDRA_SORT_COLS_MAX + 1; }, {kLimit}, SIDRA_SORT_COLS_MAX + 1);
    field(
        "more than all wanted", [](auto& t) { t.count = 101; }, {kLimit}, 101);
    field(
        "stride of less than a row", [](auto& t) { t.in_stride = 396; }, {kField}, 396);
    field(
        "the same of a single row", [](auto& t) { t.rows = 1, t.in_stride = 396; }, {kField}, 396);
    field(
        "stride of values", [](auto& t) { t.values_stride = 36; }, {kField}, 36);
    field(
        "stride of indices", [](auto& t) { t.indices_stride = 72; }, {kField}, 72);
    field(
        "misaligned stride", [](auto& t) { t.in_stride = 402; }, {kAlignment}, 402);
    field(
        "misaligned stride of values", [](auto& t) { t.values_stride = 42; }, {kAlignment}, 42);
    field(
        "misaligned stride of indices", [](auto& t) { t.indices_stride = 84; }, {kAlignment}, 84);
    field(
        "values on the last element of the input", [&](auto& t) { t.values = in + 3 * 400 + 396; }, {kField},
        in + 3 * 400 + 396);
    field(
        "indices on values", [&](auto& t) { t.indices = out + 3 * 40; }, {kField}, out + 3 * 40);
    field(
        "indices between rows of the input", [&](auto& t) { t.in_stride = kPage, t.indices = in + 3000; }, {kField},
        in + 3000);
    address_twins("input", cmd, FIELD_OF(sort.in), 1600, false, 4);
    address_twins("values", cmd, FIELD_OF(sort.values), 160, true, 4);
    address_twins("indices", cmd, FIELD_OF(sort.indices), 320, true, 8);
}

class PoolFault : public PacketFault {
   protected:
    PoolFault() {
        good.addr = in;
        good.type = SIDRA_TYPE_S16;
        good.height = good.width = 6, good.channels = 4;
        good.kernel_h = good.kernel_w = good.stride_h = good.stride_w = 2, good.dilation_h = good.dilation_w = 1;
        good.pixel_stride = 8, good.row_stride = 48, good.image_stride = 288;
        cmd.pool.op = SIDRA_POOL_MAX;
        cmd.pool.pattern = aux;
        cmd.pool.out = out;
        cmd.pool.size[0] = 2, cmd.pool.size[1] = cmd.pool.size[2] = 3;
        cmd.pool.out_stride[0] = 72, cmd.pool.out_stride[1] = 24, cmd.pool.out_stride[2] = 8;
        context.write(aux, &good, sizeof good);
    }
    void pattern(const char* what, const std::function<void(sidra_pattern&)>& twist, Cause cause, uint64_t address) {
        sidra_pattern p = good;
        twist(p);
        context.write(aux, &p, sizeof p);
        twin(what, cmd, cause, address);
        context.write(aux, &good, sizeof good);
    }

    sidra_pattern good{};
    sidra_cmd cmd = blank(SIDRA_CMD_POOL);
};

TEST_F(PoolFault, Fields) {
    sound(cmd);
    header_twins(cmd);
    for (unsigned i = 0; i < 3; ++i) twin("pad", cmd, [i](auto& c) { c.pool.pad[i] = 1; }, {kField});
    for (const uint8_t op : {0, 5, 255})
        twin(
            "operation", cmd, [op](auto& c) { c.pool.op = op; }, {kField}, op);
    for (unsigned d = 0; d < 3; ++d)
        twin(
            "no windows", cmd, [d](auto& c) { c.pool.size[d] = 0; }, {kField}, 0);
    const auto sizes = [](uint32_t a, uint32_t b, uint32_t c) {
        return [=](sidra_cmd& t) { t.pool.size[0] = a, t.pool.size[1] = b, t.pool.size[2] = c; };
    };
    twin("too many images", cmd, sizes(SIDRA_LAYER_ROWS_MAX + 1, 1, 1), {kLimit}, SIDRA_LAYER_ROWS_MAX + 1);
    twin("too many windows", cmd, sizes(1, 4096, 4097), {kLimit}, 4096 * 4097);
    twin("far too many", cmd, sizes(~0u, ~0u, ~0u), {kLimit}, ~0u);
    twin(
        "windows on each other", cmd, [](auto& c) { c.pool.out_stride[2] = 6; }, {kField}, 6);
    twin(
        "rows on each other", cmd, [](auto& c) { c.pool.out_stride[1] = 22; }, {kField}, 22);
    twin(
        "images on each other", cmd, [](auto& c) { c.pool.out_stride[0] = 70; }, {kField}, 70);
    twin(
        "a stride of 0", cmd, [](auto& c) { c.pool.out_stride[0] = 0; }, {kField}, 0);
    twin(
        "a misaligned stride", cmd, [](auto& c) { c.pool.out_stride[1] = 25; }, {kAlignment}, 25);
    twin(
        "an output that wraps", cmd, [](auto& c) { c.pool.out_stride[0] = ~uint64_t{1}; }, {kLimit}, out);
    twin(
        "an output without end", cmd, [](auto& c) { c.pool.out_stride[0] = kTop; }, {kLimit}, out);
    twin(
        "output on the last pixel", cmd, [this](auto& c) { c.pool.out = in + 574; }, {kField}, in + 574);
    twin(
        "output before the first", cmd, [this](auto& c) { c.pool.out = in - 142; }, {kField}, in - 142);
    sound([&] {
        sidra_cmd behind = cmd;
        behind.pool.out = in + 576;
        return behind;
    }());
    address_twins("pattern", cmd, FIELD_OF(pool.pattern), 64, false, 8);
    address_twins("output", cmd, FIELD_OF(pool.out), 144, true, 2);
}

TEST_F(PoolFault, Patterns) {
    pattern(
        "codes", [](auto& p) { p.codes = SIDRA_TYPE_S8; }, {kField}, aux);
    pattern(
        "zero", [](auto& p) { p.zero = 1; }, {kField}, aux);
    pattern(
        "type", [](auto& p) { p.type = SIDRA_TYPE_COUNT; }, {kField}, SIDRA_TYPE_COUNT);
    pattern(
        "s64", [](auto& p) { p.type = SIDRA_TYPE_S64; }, {kField}, SIDRA_TYPE_S64);
    pattern(
        "bool", [](auto& p) { p.type = SIDRA_TYPE_BOOL; }, {kField}, SIDRA_TYPE_BOOL);
    for (const uint8_t op : {SIDRA_POOL_AVERAGE, SIDRA_POOL_AVERAGE_ALL}) {
        cmd.pool.op = op;
        for (const uint8_t type : {SIDRA_TYPE_U8, SIDRA_TYPE_S8, SIDRA_TYPE_S16, SIDRA_TYPE_BOOL})
            pattern(
                "average", [type](auto& p) { p.type = type; }, {kField}, type);
    }
    cmd.pool.op = SIDRA_POOL_MAX;
    const std::function<void(sidra_pattern&)> zeroes[] = {
        [](auto& p) { p.height = 0; },   [](auto& p) { p.width = 0; },      [](auto& p) { p.channels = 0; },
        [](auto& p) { p.kernel_h = 0; }, [](auto& p) { p.kernel_w = 0; },   [](auto& p) { p.stride_h = 0; },
        [](auto& p) { p.stride_w = 0; }, [](auto& p) { p.dilation_h = 0; }, [](auto& p) { p.dilation_w = 0; }};
    for (const auto& zero : zeroes) pattern("a zero", zero, {kField}, 0);
    pattern(
        "kernel", [](auto& p) { p.kernel_h = 257; }, {kLimit}, 257);
    pattern(
        "address", [](auto& p) { p.addr += 1; }, {kAlignment}, in + 1);
    pattern(
        "stride", [](auto& p) { p.pixel_stride = 7; }, {kAlignment}, 7);
    pattern(
        "window", [](auto& p) { p.channels = (SIDRA_CMD_POOL_WINDOW_MAX / 4) + 1; }, {kLimit},
        SIDRA_CMD_POOL_WINDOW_MAX + 4);
    pattern(
        "images without end", [](auto& p) { p.image_stride = kTop; }, {kLimit}, in);
    cmd.pool.op = SIDRA_POOL_ARGMAX;
    cmd.pool.out_stride[2] = 16, cmd.pool.out_stride[1] = 48, cmd.pool.out_stride[0] = 144;
    pattern(
        "number of a pixel", [](auto& p) { p.row_stride = 0, p.height = 1u << 30; }, {kLimit}, 6ull << 30);
}

// Windows without a pixel: before, behind, and between what is dilated.
TEST_F(PoolFault, WindowsOutsideTheImage) {
    pattern(
        "rows behind", [](auto& p) { p.stride_h = 3; }, {kValue}, aux);
    pattern(
        "columns behind", [](auto& p) { p.stride_w = 65535; }, {kValue}, aux);
    pattern(
        "rows before", [](auto& p) { p.pad_h = 2; }, {kValue}, aux);
    pattern(
        "columns before", [](auto& p) { p.pad_w = 65535; }, {kValue}, aux);
    pattern(
        "the image between two pixels", [](auto& p) { p.pad_w = 1, p.dilation_w = 7; }, {kValue}, aux);
    pattern(
        "the same in the second row", [](auto& p) { p.pad_h = 8, p.stride_h = 6, p.dilation_h = 8; }, {kValue}, aux);
    sidra_pattern inside = good;
    inside.pad_w = 1, inside.dilation_w = 6;
    context.write(aux, &inside, sizeof inside);
    sound(cmd);
}

}  // namespace
}  // namespace sidra::chip_test
