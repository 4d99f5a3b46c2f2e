// SPDX-License-Identifier: MIT
#include "hostile.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "check.h"
#include "program/program_text.h"
#include "verify.h"

namespace sidra::fuzz {
namespace {

// Pages of its memory.
enum Place : uint64_t {
    kRoot = 0,
    kMiddle = 1,  // of the first GiB
    kLast = 2,    // of the first 2 MiB
    kAlias = 3,   // of others: all entries are one page
    kQueueTable = 4,
    kWeightsTable = 5,  // and lists of crossbars in its second half
    kWords = 6,         // write indices
    kRings = 7,         // a page a queue
    kReports = 11,
    kStates = 15,
    kData = 19,      // 8 pages
    kReadOnly = 27,  // 4 pages
    kWriteOnly = 31,
    kBodies = 35,  // 4 pages: geometries and indices, packets of CALL, operands and instructions of VECTOR
    kAliased = 39,
};
constexpr uint64_t bus(uint64_t place) { return Memory::kHostile + place * kPage; }

// Device addresses, in pages. What is not named is not mapped.
enum Mapped : uint64_t {
    kScattered = 64,  // data, in another order than on the bus
    kInOrder = 80,    // data
    kReadable = 96,
    kWritable = 104,
    kLocal = 112,     // 4 pages of L3
    kTables = 128,    // its own, all of them
    kOwnRings = 144,  // read-only
    kOwnReports = 152,
    kOwnWords = 158,
    kOwnBodies = 160,
};
constexpr uint64_t va(uint64_t page) { return page * kPage; }
constexpr uint64_t kWideVa = SIDRA_HUGE_SIZE;           // 64 MiB that read as zero
constexpr uint64_t kAliasVa = 40ull * SIDRA_HUGE_SIZE;  // 64 MiB that are one page
constexpr uint64_t kAliasSize = 32ull * SIDRA_HUGE_SIZE;
constexpr uint64_t kVaEnd = uint64_t{1} << SIDRA_VA_BITS;

constexpr uint64_t kLeaf = SIDRA_PTE_VALID | SIDRA_PTE_LEAF;
constexpr uint64_t kLocalPages = 4;

struct Object {
    uint32_t rows, cols, encoding, tiles, crossbar;
};
// All but the last one are programmed.
constexpr Object kObjects[] = {{260, 20, SIDRA_ENCODING_OFFSET, 2, 4},
                               {20, 100, SIDRA_ENCODING_DIFFERENTIAL, 1, 6},
                               {16, 256, SIDRA_ENCODING_OFFSET, 1, 7}};
constexpr uint64_t kUid = 0x77'0000;

sidra_cmd blank(uint8_t opcode) {
    sidra_cmd cmd{};
    cmd.hdr.opcode = opcode;
    cmd.hdr.cookie = 0xc00c1e00u | opcode;
    return cmd;
}

// Behind it a queue has those that are a multiple of kQueues away, one after each reset.
uint32_t first_epoch(uint32_t queue) { return 1 + queue % Hostile::kQueues; }

uint32_t size_of(uint32_t type) { return type == SIDRA_TYPE_S32 || type == SIDRA_TYPE_F32 ? 4 : 1; }

// Programs, which records damage, and how many operands each of them has. First those of VECTOR, then those of MATMUL,
// whose operands begin with two factors, and of LAYER. In the latter two o5 means SUMS, o6 CODES, o7 INPUT.
struct Program {
    const char* text;
    uint8_t operands, stored, indexed, gathered;  // the last three as bits
    uint8_t prologue = 0;                         // instructions
};
constexpr uint8_t kMatmulPrograms = 8, kLayerPrograms = 11;  // the first of each
constexpr Program kPrograms[] = {
    {"pass:\nv0 = load o0\nv1 = load o1\nv2 = add v0, v1\nv2 = gelu v2\nstore o2, v2\n", 3, 4, 0, 0},
    {"pass:\nv0 = load o0\ns0 = reduce_max v0\npass:\nv0 = load o0\nv0 = sub v0, s0\nv0 = exp v0\nstore o1, v0\n"
     "s1 = reduce_sum v0\ns1 = div 1.0, s1\npass:\nv0 = load o1\nv0 = mul v0, s1\nstore o1, v0\n",
     2, 2, 0, 0},
    {"pass:\nv0 = load o0\nstore o1, v0\n", 2, 2, 1, 0},
    {"pass:\nv0 = load o0\nv1 = load o1\nv0 = add v0, v1\nstore o1, v0\n", 2, 2, 2, 0},
    {"pass:\nv0 = load_int o0\nv1 = gather o1, v0\nstore o2, v1\n", 3, 4, 0, 2},
    {"pass:\nv0 = load_int o0\nv1 = load o1\nscatter o2, v1, v0\n", 3, 4, 0, 4},
    {"pass:\nv0 = random p0, p1, 3\nv0 = and v0, column\nv1 = scan_int v0\ns0 = reduce_sum_int v1\nstore_int o0, v1\n"
     "store_int o1, s0\n",
     2, 3, 0, 0},
    {"pass:\nv0 = load o0\nv0 = abs v0\ns0 = reduce_max v0\ns1 = div 127.0, s0\nstore o2, s0\npass:\nv0 = load o0\n"
     "v0 = mul v0, s1\nstore o1, v0\n",
     3, 6, 0, 0},
    {"pass:\nv0 = load o5\nstore o2, v0\n", 3, 4, 0, 0},
    {"pass:\nv0 = load o5\ns0 = reduce_max v0\npass:\nv0 = load o5\nv0 = sub v0, s0\nv0 = exp v0\nstore o2, v0\n", 3, 4,
     0, 0},
    {"pass:\nv0 = load o5\nv1 = load o2\nv0 = add v0, v1\nstore o2, v0\n", 3, 4, 4, 0},
    {"pass:\nv0 = load_int o5\nv1 = add_int v0, column\nstore_int o0, v1\n", 1, 1, 0, 0},
    {"pass:\nv0 = load o7\nv1 = abs v0\ns0 = reduce_max v1\ns1 = div 127.0, s0\npass:\nv0 = load o7\nv1 = mul v0, s1\n"
     "store o6, v1\npass:\nv0 = load o5\nv1 = load o1\nv0 = fma v0, s0, v1\nstore o0, v0\n",
     2, 1, 0, 0, 7},
    {"pass:\nv0 = load o7\nv1 = load o1\nv0 = add v0, v1\nstore o6, v0\npass:\nv0 = load o5\ns0 = reduce_sum v0\n"
     "pass:\nv0 = load o5\nv0 = mul v0, s0\nstore o0, v0\n",
     2, 1, 1, 0, 4}};
constexpr uint64_t kProgramBytes = 256;  // of the instructions, and of the operands, of each
constexpr uint64_t kPatterns = 1024;     // of POOL, where they are in the first page of kBodies

}  // namespace

template <typename T>
T& Hostile::at(uint64_t where) {
    memory_.mark(where, sizeof(T));
    return memory_.as<T>(where);
}

Hostile::Hostile(Board& board) : board_(board), memory_(board.memory.hostile) {
    const auto map = [&](uint64_t page, uint64_t place, uint64_t rights) {
        memory_.as<uint64_t>(bus(kLast) + 8 * page) = bus(place) | kLeaf | rights;
    };
    constexpr uint64_t kBoth = SIDRA_PTE_READ | SIDRA_PTE_WRITE;
    memory_.as<uint64_t>(bus(kRoot)) = bus(kMiddle) | SIDRA_PTE_VALID;
    memory_.as<uint64_t>(bus(kMiddle)) = bus(kLast) | SIDRA_PTE_VALID;
    for (uint64_t i = 0; i < Memory::kWideSize / SIDRA_HUGE_SIZE; i++)
        memory_.as<uint64_t>(bus(kMiddle) + 8 * (1 + i)) =
            (Memory::kWide + i * SIDRA_HUGE_SIZE) | kLeaf | SIDRA_PTE_READ;
    for (uint64_t i = 0; i < kAliasSize / SIDRA_HUGE_SIZE; i++)
        memory_.as<uint64_t>(bus(kMiddle) + 8 * (40 + i)) = bus(kAlias) | SIDRA_PTE_VALID;
    for (uint64_t i = 0; i < SIDRA_PT_ENTRIES; i++)
        memory_.as<uint64_t>(bus(kAlias) + 8 * i) = bus(kAliased) | kLeaf | kBoth;
    for (uint64_t i = 0; i < 8; i++) {
        map(kScattered + i, kData + (i * 3 + 1) % 8, kBoth);
        map(kInOrder + i, kData + i, kBoth);
        map(kTables + i, kRoot + i, kBoth);
    }
    for (uint64_t i = 0; i < 4; i++) {
        map(kReadable + i, kReadOnly + i, SIDRA_PTE_READ);
        map(kWritable + i, kWriteOnly + i, SIDRA_PTE_WRITE);
        memory_.as<uint64_t>(bus(kLast) + 8 * (kLocal + i)) = i * kPage | kLeaf | SIDRA_PTE_LOCAL | kBoth;
        map(kOwnRings + i, kRings + i, SIDRA_PTE_READ);
        map(kOwnReports + i, kReports + i, SIDRA_PTE_WRITE);
        map(kOwnBodies + i, kBodies + i, kBoth);
    }
    map(kOwnWords, kWords, SIDRA_PTE_READ);

    for (size_t i = 0; i < std::size(kPrograms); i++) {
        const auto assembly = program::assemble(kPrograms[i].text);
        const auto* const text = std::get_if<program::Code>(&assembly);
        const auto* const code = text ? &text->instructions : nullptr;
        if (!code || code->size() * sizeof code->front() > kProgramBytes) fail("program %zu has no instructions", i);
        for (size_t n = 0; n < code->size(); n++) {
            sidra_vector_instruction instruction = (*code)[n];
            if (instruction.operand >= 5)
                instruction.operand = static_cast<uint8_t>(SIDRA_OPERAND_SUMS + instruction.operand - 5);
            memory_.as<sidra_vector_instruction>(bus(kBodies + 3) + i * kProgramBytes + n * sizeof instruction) =
                instruction;
        }
        program_sizes_[i] = static_cast<uint16_t>(code->size());
    }

    auto& context = board.memory.table.as<sidra_hw_context>(Memory::kTable + kContext * sizeof(sidra_hw_context));
    context = {};
    context.page_table = bus(kRoot);
    context.queue_table = bus(kQueueTable);
    context.queue_count = kQueues;
    context.weights_table = bus(kWeightsTable);
    context.weights_count = 8;
    context.flags = SIDRA_HW_CONTEXT_VALID;
    for (uint32_t i = 0; i < kQueues; i++) {
        auto& queue = memory_.as<sidra_hw_queue>(bus(kQueueTable) + i * sizeof(sidra_hw_queue));
        const bool kernel = i == kQueues - 1;
        queue.ring = kernel ? bus(kRings + i) : va(kOwnRings + i);
        queue.write_index = (kernel ? bus(kWords) : va(kOwnWords)) + 8 * i;
        queue.state = bus(kStates + i);
        queue.report = kernel ? bus(kReports + i) : va(kOwnReports + i);
        queue.ring_log2 = SIDRA_QUEUE_LOG2_MIN;
        queue.priority = static_cast<uint8_t>(i % SIDRA_PRIORITIES);
        queue.vector = static_cast<uint16_t>(2 + i);
        queue.epoch = first_epoch(i);
        queue.flags = SIDRA_HW_QUEUE_VALID | (kernel ? SIDRA_HW_QUEUE_KERNEL : 0);
    }
    for (uint32_t i = 0; i < std::size(kObjects); i++) {
        const Object& object = kObjects[i];
        auto& entry = memory_.as<sidra_hw_weights>(bus(kWeightsTable) + i * sizeof(sidra_hw_weights));
        entry.uid = kUid + i;
        entry.tiles = bus(kWeightsTable) + kPage / 2 + i * 64;
        entry.rows = object.rows;
        entry.cols = object.cols;
        entry.tile_count = object.tiles;
        entry.encoding = object.encoding;
        entry.flags =
            SIDRA_HW_WEIGHTS_VALID | SIDRA_HW_WEIGHTS_COMPUTE | SIDRA_HW_WEIGHTS_PROGRAM | SIDRA_HW_WEIGHTS_READBACK;
        for (uint32_t t = 0; t < object.tiles; t++) memory_.as<uint32_t>(entry.tiles + 4 * t) = object.crossbar + t;
    }
    // Small numbers, which are good indices, and floats.
    for (uint64_t i = 0; i < kPage / 4; i++) {
        memory_.as<uint32_t>(bus(kData) + 4 * i) = static_cast<uint32_t>(i * 7 % 13);
        memory_.as<float>(bus(kReadOnly) + 4 * i) = static_cast<float>(i % 29) - 14;
    }
    memory_.keep();
    program();
}

// Its cells as they were, and nothing of it on the chip. What has not changed since then takes no time.
void Hostile::program() {
    const auto changed = [&](uint32_t crossbar) {
        const sidra_hw_xbar now = board_.crossbar(crossbar);
        return !crossbars_ || std::memcmp(&now, &(*crossbars_)[crossbar - kFirstCrossbar], sizeof now) != 0;
    };
    std::array<bool, std::size(kObjects)> wrong{};
    for (uint32_t i = 0; i < std::size(kObjects); i++) {
        const Object& object = kObjects[i];
        for (uint32_t t = 0; t < object.tiles; t++) wrong[i] |= changed(object.crossbar + t);
        if (wrong[i] && board_.admin(SIDRA_ADMIN_XBAR_ERASE, object.crossbar, object.tiles) != SIDRA_ADMIN_OK)
            fail("crossbars are not erased");
    }
    for (uint32_t i = 0; i + 1 < std::size(kObjects); i++) {
        if (!wrong[i]) continue;
        sidra_cmd cmd = blank(SIDRA_CMD_PROGRAM);
        cmd.weights.weights = i;
        cmd.weights.rows = kObjects[i].rows;
        cmd.weights.cols = cmd.weights.stride = kObjects[i].cols;
        cmd.weights.addr = kWideVa;
        push(0, cmd);
    }
    doorbells();
    while (board_.run()) {
    }
    if (memory_.as<sidra_queue_state>(bus(kStates)).timeline != next_[0]) fail("the hostile guest's own cells fault");
    crossbars_.emplace();
    for (uint32_t i = 0; i < kCrossbars; i++) (*crossbars_)[i] = board_.crossbar(kFirstCrossbar + i);
    cells_ = board_.cells_changes();
    end();
}

// Numbers that are a bit off, or far.
uint64_t Hostile::raw(Input& in) {
    const uint8_t kind = in.u8(), a = in.u8();
    const auto b = in.take<int8_t>();
    uint64_t value;
    switch (kind % 8) {
        case 0:
            value = (uint64_t{1} << a % 64) + static_cast<uint64_t>(int64_t{b});
            break;
        case 1:
            // Before the end of all addresses: in the last page, or anywhere.
            value = uint64_t{0} - (b & 64 ? (1 + a % 64) * 64 : uint64_t{a} << (b & 63));
            break;
        case 2:
            value = uint64_t{a} << 8 | static_cast<uint8_t>(b);
            break;
        case 3:
            value = bus(a % Memory::kHostilePages) + 8 * static_cast<uint64_t>(int64_t{b});
            break;
        case 4:
            value = bus(a % Memory::kHostilePages);
            break;
        case 5:
            value = va(a) + 8 * static_cast<uint8_t>(b);
            break;
        case 6:
            value = (uint64_t{a} << 56) ^ (va(kData) | static_cast<uint8_t>(b));
            break;
        default:
            value = in.u64();
            break;
    }
    return Memory::near_secrets(value) ? value ^ uint64_t { 1 } << 45 : value;
}

uint64_t Hostile::address(Input& in) {
    static constexpr Target kTargets[] = {
        {va(kScattered), 8 * kPage}, {va(kInOrder), 8 * kPage},       {va(kReadable), 4 * kPage},
        {va(kWritable), 4 * kPage},  {va(kLocal), 4 * kPage},         {va(kTables), 8 * kPage},
        {va(kOwnBodies), 4 * kPage}, {kWideVa, Memory::kWideSize},    {kAliasVa, kAliasSize},
        {va(kOwnRings), 32 * kPage}, {kVaEnd - 4 * kPage, 8 * kPage}, {va(kScattered), 8 * kPage},
        {va(kInOrder), 8 * kPage},   {va(kScattered), 8 * kPage},     {va(kInOrder), 8 * kPage}};
    const uint8_t selector = in.u8();
    const uint64_t offset = in.u16();
    if (selector % 16 == 15) return raw(in);
    const Target& target = kTargets[selector % 16];
    switch (selector >> 4) {
        case 0:
        case 1:
        case 2:
            return target.va + (offset & ~uint64_t{63}) % target.bytes;
        case 3:
        case 4:
            return target.va + (offset & ~uint64_t{3}) % target.bytes;
        case 5:
            return target.va + offset % target.bytes;
        case 6:
        case 7:
        case 8:
            return target.va + offset * kPage % target.bytes;
        case 9:
        case 10:  // near its end
            return target.va + target.bytes - (offset & ~uint64_t{3}) % target.bytes;
        case 11:
            return target.va + target.bytes - offset % kPage;
        case 12:  // near the end of a page
            return target.va + kPage - (offset & 0xfc);
        default:
            return target.va;
    }
}

uint32_t Hostile::count(Input& in) {
    const uint8_t kind = in.u8();
    const uint16_t value = in.u16();
    switch (kind % 16) {
        case 0:
        case 1:
        case 2:
            return 1 + value % 8;
        case 3:
        case 4:
            return 1 + value % 64;
        case 5:
            return 1 + value % 1024;
        case 6:
            return value;
        case 7:
            return 1u << value % 32;
        case 8:
            return (1u << value % 32) - 1;
        case 9:
            return kPage * (value % 16);
        case 10:
            return value << 8;
        case 11:
            return 65535 - value % 4;
        case 12:
            return 256 - value % 3;
        case 13:
            return uint32_t{value} << 16 | value;
        default:
            return 1 + value % 16;
    }
}

void Hostile::packet_pool(Input& in, sidra_cmd& cmd) {
    sidra_cmd_pool& c = cmd.pool;
    const uint8_t number = in.u8(), odd = in.u8();
    c.pattern = va(kOwnBodies) + kPatterns + number % 4 * sizeof(sidra_pattern);
    const auto& p = memory_.as<sidra_pattern>(bus(kBodies) + kPatterns + number % 4 * sizeof(sidra_pattern));
    c.op = odd == 0xff ? number : 1 + number / 4 % 4;
    const uint64_t bytes = c.op == SIDRA_POOL_ARGMAX ? 4 : vector::element_size(p.type % SIDRA_TYPE_COUNT);
    c.out = address(in) / bytes * bytes;
    const auto windows = [&](uint32_t size, uint32_t stride) { return stride ? (size + stride - 1) / stride : 1; };
    c.size[0] = 1 + number / 16 % 4;
    c.size[1] = odd & 1 ? count(in) : windows(p.height, p.stride_h);
    c.size[2] = odd & 2 ? count(in) : windows(p.width, p.stride_w);
    c.out_stride[2] = p.channels * bytes + (odd & 4 ? count(in) : 0);
    c.out_stride[1] = c.out_stride[2] * c.size[2];
    c.out_stride[0] = c.out_stride[1] * c.size[1];
    if (odd & 8) std::swap(c.out_stride[in.u8() % 3], c.out_stride[in.u8() % 3]);
    if (odd & 16) c.out_stride[in.u8() % 3] = raw(in);
}

void Hostile::packet_sort(Input& in, sidra_cmd& cmd) {
    sidra_cmd_sort& s = cmd.sort;
    const uint8_t how = in.u8(), odd = in.u8();
    s.flags = how & 1 ? SIDRA_SORT_DESCENDING : 0;
    s.type = how / 8 % SIDRA_TYPE_COUNT;
    const uint32_t bytes = vector::element_size(s.type), index_bytes = how & 2 ? 8 : 4;
    s.rows = count(in);
    s.cols = count(in);
    s.count = odd & 1 ? count(in) : odd & 2 ? s.cols : 1 + s.cols / 32;
    s.in = address(in) / bytes * bytes;
    s.in_stride = s.cols * bytes + (odd & 4 ? count(in) : 0);
    if (!(odd & 8)) {
        s.values = address(in) / bytes * bytes;
        s.values_stride = s.count * bytes + (odd & 16 ? count(in) : 0);
    }
    if (odd & 32) {
        s.index_type = how & 2 ? SIDRA_TYPE_S64 : SIDRA_TYPE_S32;
        s.indices = address(in) / index_bytes * index_bytes;
        s.indices_stride = s.count * index_bytes + (odd & 64 ? count(in) : 0);
    }
}

void Hostile::packet_vector(Input& in, sidra_cmd& cmd) {
    const uint8_t number = in.u8() % kMatmulPrograms, odd = in.u8();
    const Program& program = kPrograms[number];
    sidra_cmd_vector& v = cmd.vector;
    v.program = va(kOwnBodies + 3) + number * kProgramBytes;
    v.operands = va(kOwnBodies + 2) + number * kProgramBytes;
    v.instructions = program_sizes_[number];
    v.operand_count = program.operands;
    v.size[0] = odd & 1 ? 2 : 1;
    v.size[1] = odd & 2 ? 3 : 1;
    v.size[2] = count(in);
    v.size[3] = count(in);
    v.param[0] = in.u8();
    for (uint8_t n = 0; n < program.operands; n++) {
        const uint8_t how = in.u8();
        sidra_operand o{};
        const bool integers = number == 4 || number == 5 || number == 6;
        o.type = how % 9;
        if (integers && n == 0) o.type = SIDRA_TYPE_S32;
        if (number == 6) o.type = n == 0 ? SIDRA_TYPE_S32 : SIDRA_TYPE_S64;
        const uint64_t bytes = vector::element_size(o.type);
        o.addr = address(in) / bytes * bytes;
        o.flags = program.stored >> n & 1 ? SIDRA_OPERAND_WRITE : 0;
        const bool scalar = (number == 6 && n == 1) || (number == 7 && n == 2);
        o.stride[3] = scalar ? 0 : bytes;
        o.stride[2] = scalar ? bytes : bytes * v.size[3];
        o.stride[1] = o.stride[2] * v.size[2];
        o.stride[0] = o.stride[1] * v.size[1];
        if (program.indexed >> n & 1) {
            o.index = va(kOwnBodies);
            o.index_type = how & 16 ? SIDRA_TYPE_S32 : SIDRA_TYPE_S64;
            o.extent = 13;
        }
        if (program.gathered >> n & 1) o.extent = 1 + how / 16;
        if (how >= 240) o.stride[how % 4] = raw(in);
        at<sidra_operand>(bus(kBodies + 2) + number * kProgramBytes + n * sizeof o) = o;
    }
}

// An operand with rows of `cols` elements.
sidra_operand Hostile::rows_of(Input& in, uint8_t type, const uint32_t (&size)[3], uint32_t cols) {
    sidra_operand o{};
    const uint8_t how = in.u8();
    o.type = type;
    const uint64_t bytes = vector::element_size(type);
    o.addr = address(in) / bytes * bytes;
    o.stride[3] = bytes;
    o.stride[2] = bytes * cols;
    o.stride[1] = o.stride[2] * size[2];
    o.stride[0] = o.stride[1] * size[1];
    if (how & 1) std::swap(o.stride[2], o.stride[3]);
    if (how & 2) o.stride[2] = 0;
    if (how & 4) o.stride[1] = 0;
    if (how >= 240) o.stride[how % 4] = raw(in);
    return o;
}

void Hostile::packet_matmul(Input& in, sidra_cmd& cmd) {
    const uint8_t number = kMatmulPrograms + in.u8() % (kLayerPrograms - kMatmulPrograms), types = in.u8();
    sidra_cmd_matmul& m = cmd.matmul;
    m.program = va(kOwnBodies + 3) + number * kProgramBytes;
    m.operands = va(kOwnBodies + 2) + number * kProgramBytes;
    m.instructions = program_sizes_[number];
    m.operand_count = kPrograms[number].operands;
    m.m = count(in), m.n = count(in), m.k = count(in);
    m.batch[0] = 1 + types / 64 % 2;
    m.batch[1] = 1 + types / 128;
    static constexpr uint8_t kFloats[] = {SIDRA_TYPE_F32, SIDRA_TYPE_F16, SIDRA_TYPE_BF16},
                             kBytes[] = {SIDRA_TYPE_U8, SIDRA_TYPE_S8, SIDRA_TYPE_S8};
    const uint8_t* const of = types & 1 ? kFloats : kBytes;
    const uint32_t a[3] = {m.batch[0], m.batch[1], m.m}, b[3] = {m.batch[0], m.batch[1], m.k};
    sidra_operand operands[3] = {rows_of(in, of[types / 2 % 3], a, m.k), rows_of(in, of[types / 8 % 3], b, m.n),
                                 rows_of(in, static_cast<uint8_t>(in.u8() % 9), a, m.n)};
    operands[2].flags = SIDRA_OPERAND_WRITE;
    if (kPrograms[number].indexed) {
        operands[2].index = va(kOwnBodies);
        operands[2].index_type = SIDRA_TYPE_S32;
        operands[2].extent = 13;
    }
    for (uint64_t n = 0; n < 3; n++)
        at<sidra_operand>(bus(kBodies + 2) + number * kProgramBytes + n * sizeof operands[0]) = operands[n];
}

void Hostile::packet_layer(Input& in, sidra_cmd& cmd) {
    const uint8_t number = kLayerPrograms + in.u8() % (std::size(kPrograms) - kLayerPrograms), odd = in.u8();
    const Program& program = kPrograms[number];
    sidra_cmd_layer& l = cmd.layer;
    l.weights = in.u8() % 4;
    const Object& object = kObjects[l.weights % std::size(kObjects)];
    l.program = va(kOwnBodies + 3) + number * kProgramBytes;
    l.operands = va(kOwnBodies + 2) + number * kProgramBytes;
    l.pattern = l.operands + kProgramBytes - sizeof(sidra_pattern);
    l.prologue = program.prologue;
    l.epilogue = static_cast<uint8_t>(program_sizes_[number] - program.prologue);
    l.operand_count = program.operands;
    l.size[0] = 1 + odd % 2;
    l.size[1] = count(in), l.size[2] = count(in);
    sidra_pattern p{};
    p.codes = odd & 2 ? SIDRA_TYPE_S8 : SIDRA_TYPE_U8;
    p.type = program.prologue ? static_cast<uint8_t>(in.u8() % 9) : p.codes;
    const uint64_t bytes = vector::element_size(p.type);
    static constexpr uint16_t kKernels[] = {1, 2, 4, 5};  // which divide the objects' rows
    p.kernel_h = kKernels[odd / 4 % 4];
    p.kernel_w = kKernels[odd / 16 % 2];
    p.channels = object.rows / p.kernel_h / p.kernel_w;
    p.stride_h = p.stride_w = 1;
    p.dilation_h = p.dilation_w = 1;
    if (odd & 32) {
        p.stride_h = 1 + in.u8() % 3, p.stride_w = 1 + in.u8() % 3;
        p.dilation_h = 1 + in.u8() % 3, p.dilation_w = 1 + in.u8() % 3;
        p.pad_h = in.u8() % 4, p.pad_w = in.u8() % 4;
    }
    p.height = odd & 64 ? count(in) : p.kernel_h + 3u;
    p.width = odd & 64 ? count(in) : p.kernel_w + 3u;
    p.addr = address(in) / bytes * bytes;
    p.pixel_stride = odd & 128 ? in.u8() * bytes : p.channels * bytes;
    p.row_stride = p.pixel_stride * p.width;
    p.image_stride = p.row_stride * p.height;
    if (in.u8() >= 240) p.image_stride = raw(in);
    at<sidra_pattern>(bus(kBodies + 2) + (number + 1) * kProgramBytes - sizeof p) = p;
    // The operand of a prologue has as many columns as the object has rows.
    const uint8_t out_type = static_cast<uint8_t>(in.u8() % 9);
    sidra_operand operands[2] = {rows_of(in, out_type, l.size, object.cols),
                                 rows_of(in, SIDRA_TYPE_F32, l.size, program.indexed ? object.rows : object.cols)};
    operands[0].flags = SIDRA_OPERAND_WRITE;
    if (program.indexed)
        operands[0].index = va(kOwnBodies), operands[0].index_type = SIDRA_TYPE_S32, operands[0].extent = 13;
    for (uint64_t n = 0; n < program.operands; n++)
        at<sidra_operand>(bus(kBodies + 2) + number * kProgramBytes + n * sizeof operands[0]) = operands[n];
}

void Hostile::write_program(Input& in) {
    const uint8_t number = in.u8() % std::size(kPrograms), where = in.u8();
    const uint64_t page = bus(where & 1 ? kBodies + 2 : kBodies + 3);
    const uint64_t size = where & 1 ? kPrograms[number].operands * sizeof(sidra_operand)
                                    : program_sizes_[number] * sizeof(sidra_vector_instruction);
    at<uint8_t>(page + number * kProgramBytes + in.u16() % size) = in.u8();
}

sidra_cmd Hostile::packet(Input& in) {
    static constexpr uint8_t kOpcodes[] = {
        SIDRA_CMD_NOP,       SIDRA_CMD_BARRIER,  SIDRA_CMD_SEM_WAIT, SIDRA_CMD_SEM_SIGNAL,
        SIDRA_CMD_TIMESTAMP, SIDRA_CMD_COPY,     SIDRA_CMD_FILL,     SIDRA_CMD_MVM,
        SIDRA_CMD_SORT,      SIDRA_CMD_VECTOR,   SIDRA_CMD_MATMUL,   SIDRA_CMD_LAYER,
        SIDRA_CMD_PROGRAM,   SIDRA_CMD_READBACK, SIDRA_CMD_CALL,     SIDRA_CMD_POOL};
    const uint8_t which = in.u8();
    sidra_cmd cmd = blank(which == 0xff ? uint8_t{SIDRA_CMD_LABEL} : kOpcodes[which % std::size(kOpcodes)]);
    switch (cmd.hdr.opcode) {
        case SIDRA_CMD_SEM_WAIT: {
            const uint8_t how = in.u8();
            if (how & 1) {  // an epoch of a queue, and mostly one that there is
                cmd.hdr.flags = SIDRA_CMD_SEM_QUEUE;
                cmd.sem.queue = how >> 1 & 7;
                cmd.sem.epoch = first_epoch(cmd.sem.queue) + (how >> 4 & 3) * kQueues;
            } else {
                cmd.sem.addr = address(in);
            }
            cmd.sem.value = count(in);
            break;
        }
        case SIDRA_CMD_SEM_SIGNAL:
            cmd.sem.addr = address(in);
            cmd.sem.value = raw(in);
            break;
        case SIDRA_CMD_TIMESTAMP:
            cmd.timestamp.addr = address(in);
            break;
        case SIDRA_CMD_COPY: {
            const uint8_t odd = in.u8();
            cmd.copy.dst = address(in);
            cmd.copy.src = address(in);
            cmd.copy.row_bytes = count(in);
            cmd.copy.rows = odd & 1 ? count(in) : 1;
            if (cmd.copy.rows > 1) {
                cmd.copy.dst_stride = cmd.copy.row_bytes + (odd & 2 ? count(in) : 0);
                cmd.copy.src_stride = cmd.copy.row_bytes + (odd & 4 ? count(in) : 0);
            }
            if (odd & 8) cmd.copy.row_bytes = raw(in);
            break;
        }
        case SIDRA_CMD_FILL:
            cmd.fill.pattern_bytes = 1u << in.u8() % 4;
            cmd.fill.dst = address(in);
            cmd.fill.bytes = uint64_t{count(in)} * cmd.fill.pattern_bytes;
            cmd.fill.pattern = raw(in);
            if (cmd.fill.pattern_bytes < 8) cmd.fill.pattern &= (uint64_t{1} << 8 * cmd.fill.pattern_bytes) - 1;
            break;
        case SIDRA_CMD_MVM: {
            const uint8_t odd = in.u8(), types = in.u8();
            static constexpr uint8_t kIn[] = {SIDRA_TYPE_U8, SIDRA_TYPE_S8, SIDRA_TYPE_F32, SIDRA_TYPE_U8};
            const uint8_t in_type = kIn[types % 4], out_type = types / 4 % 4;
            cmd.mvm.types = SIDRA_MVM_TYPES(in_type, out_type);
            cmd.mvm.weights = in.u8() % 4;
            const Object& object = kObjects[cmd.mvm.weights % std::size(kObjects)];
            cmd.mvm.batch = count(in);
            cmd.mvm.in = address(in);
            cmd.mvm.out = address(in);
            cmd.mvm.in_stride = object.rows * size_of(in_type) + (odd & 1 ? count(in) : 0);
            cmd.mvm.out_stride = object.cols * size_of(out_type) + (odd & 2 ? count(in) : 0);
            if (odd & 4) cmd.mvm.bias = address(in);
            if (odd & 8) cmd.mvm.scale = address(in);
            if (odd & 16) cmd.mvm.in_zero = in.take<int16_t>();
            if (odd & 32) cmd.mvm.in_scale = in.u32();
            if (odd & 64) cmd.mvm.out_factor = in.u32();
            if (odd & 128) cmd.mvm.flags = SIDRA_CMD_MVM_CALIBRATE;
            break;
        }
        case SIDRA_CMD_VECTOR:
            packet_vector(in, cmd);
            break;
        case SIDRA_CMD_MATMUL:
            packet_matmul(in, cmd);
            break;
        case SIDRA_CMD_LAYER:
            packet_layer(in, cmd);
            break;
        case SIDRA_CMD_POOL:
            packet_pool(in, cmd);
            break;
        case SIDRA_CMD_SORT:
            packet_sort(in, cmd);
            break;
        case SIDRA_CMD_PROGRAM:
        case SIDRA_CMD_READBACK: {
            const uint8_t odd = in.u8();
            cmd.weights.weights = in.u8() % 4;
            const Object& object = kObjects[cmd.weights.weights % std::size(kObjects)];
            cmd.weights.rows = odd & 1 ? count(in) : object.rows;
            cmd.weights.cols = odd & 2 ? count(in) : object.cols;
            if (odd & 4) cmd.weights.row0 = count(in);
            if (odd & 8) cmd.weights.col0 = count(in);
            if (odd & 16) {
                cmd.hdr.flags = SIDRA_CMD_PROGRAM_REFRESH;
                cmd.weights.tolerance_ppm = count(in);
            } else {
                cmd.weights.addr = address(in);
                cmd.weights.stride = cmd.weights.cols + (odd & 32 ? count(in) : 0);
            }
            break;
        }
        case SIDRA_CMD_CALL:
            cmd.call.addr = address(in);
            cmd.call.count = count(in);
            break;
        case SIDRA_CMD_LABEL:
            cmd.label.flags = in.u8() % 4;
            cmd.label.weights = in.u8() % 8;
            for (uint8_t i = 0; i < 16; i++) cmd.label.text[in.u8() % SIDRA_CMD_LABEL_TEXT] = in.take<char>();
            break;
        default:
            break;
    }
    // Damage of any kind.
    const uint8_t damage = in.u8();
    if (damage >> 5 == 7) cmd.raw[damage % 8] ^= raw(in);
    return cmd;
}

void Hostile::push(uint32_t queue, const sidra_cmd& cmd) {
    constexpr uint64_t kSlots = kPage / SIDRA_CMD_SIZE;
    at<sidra_cmd>(bus(kRings + queue) + next_[queue]++ % kSlots * SIDRA_CMD_SIZE) = cmd;
    at<uint64_t>(bus(kWords) + 8 * queue) = next_[queue];
}

void Hostile::write_table(Input& in) {
    const uint8_t where = in.u8(), flags = in.u8(), target = in.u8();
    const uint64_t slot = in.u16() % SIDRA_PT_ENTRIES;
    uint64_t entry = (flags & 31) | (target % 4 == 3 ? raw(in) : bus(target / 4 % Memory::kHostilePages));
    if (flags & 64) entry &= SIDRA_PTE_ADDR | 31;
    if (entry & SIDRA_PTE_LOCAL && !(flags & 128)) entry = (entry & ~SIDRA_PTE_ADDR) | target % kLocalPages * kPage;
    whole_l3_ |= (entry & SIDRA_PTE_LOCAL) != 0;
    at<uint64_t>(bus(kRoot + where % 4) + 8 * slot) = entry;
}

void Hostile::write_queue(Input& in) {
    const uint64_t entry = bus(kQueueTable) + in.u8() % kQueues * sizeof(sidra_hw_queue);
    const uint8_t field = in.u8();
    if (field % 8 < 5) at<uint64_t>(entry + field % 8 * 8) = raw(in);  // ring, write index, state, report, start
    else if (field % 8 == 5) at<uint32_t>(entry + offsetof(sidra_hw_queue, flags)) = in.u8();
    else if (field % 8 == 6) at<uint32_t>(entry + offsetof(sidra_hw_queue, ring_log2)) = in.u32();
    else at<uint64_t>(entry + in.u8() % 8 * 8) ^= raw(in);
}

void Hostile::write_context(Input& in) {
    const uint64_t entry = Memory::kTable + kContext * sizeof(sidra_hw_context);
    const uint8_t field = in.u8();
    auto& context = board_.memory.table.as<sidra_hw_context>(entry);
    board_.memory.table.mark(entry, sizeof context);
    switch (field % 8) {
        case 0:
            context.page_table = raw(in);
            break;
        case 1:
            context.weights_table = raw(in);
            break;
        case 2:
            context.queue_table = raw(in);
            break;
        case 3:
            context.weights_count = count(in);
            break;
        case 4:
            context.queue_count = count(in);
            break;
        case 5:
            context.flags = in.u8();
            break;
        default:
            board_.memory.table.as<uint64_t>(entry + in.u8() % 8 * 8) ^= raw(in);
            break;
    }
}

void Hostile::write_weights(Input& in) {
    const uint8_t index = in.u8() % 4, field = in.u8();
    auto& entry = at<sidra_hw_weights>(bus(kWeightsTable) + index * sizeof(sidra_hw_weights));
    switch (field % 8) {
        case 0:
            entry.rows = count(in);
            break;
        case 1:
            entry.cols = count(in);
            break;
        case 2:
            entry.tile_count = count(in);
            break;
        case 3:
            entry.flags = in.u8();
            break;
        case 4:
            entry.encoding = in.u8() % 3;
            break;
        case 5:
            entry.tiles = raw(in);
            break;
        case 6:
            at<uint32_t>(bus(kWeightsTable) + kPage / 2 + index * 64 + in.u8() % 16 * 4) = in.u8() % 16;
            break;
        default:
            entry.uid = raw(in);
            break;
    }
}

void Hostile::write_data(Input& in) {
    const uint8_t where = in.u8(), words = in.u8();
    const uint64_t place = where & 128 ? kBodies + where % 4 : kData + where % 8;
    uint64_t offset = in.u16() & ~7u;
    for (uint8_t i = 0; i < 1 + words % 3; i++, offset += 8) at<uint64_t>(bus(place) + offset % kPage) = raw(in);
}

void Hostile::write_pattern(Input& in) {
    auto& p = at<sidra_pattern>(bus(kBodies) + kPatterns + in.u8() % 4 * sizeof(sidra_pattern));
    const auto dimension = [&] {
        const uint8_t code = in.u8();
        return code < 128 ? uint32_t{code} % 16 + 1 : code < 192 ? 1u << code % 31 : code < 224 ? 65535u : code % 4u;
    };
    p = {};
    const uint8_t odd = in.u8();
    p.type = odd / 16 % SIDRA_TYPE_COUNT;
    const uint64_t bytes = vector::element_size(p.type);
    p.addr = address(in) / bytes * bytes;
    p.height = dimension();
    p.width = dimension();
    p.channels = dimension();
    p.kernel_h = static_cast<uint16_t>(dimension());
    p.kernel_w = static_cast<uint16_t>(dimension());
    p.stride_h = static_cast<uint16_t>(dimension());
    p.stride_w = static_cast<uint16_t>(dimension());
    p.pad_h = static_cast<uint16_t>(in.u8() % 3 ? 0 : dimension());
    p.pad_w = static_cast<uint16_t>(in.u8() % 3 ? 0 : dimension());
    p.dilation_h = static_cast<uint16_t>(odd & 1 ? dimension() : 1);
    p.dilation_w = static_cast<uint16_t>(odd & 2 ? dimension() : 1);
    p.pixel_stride = p.channels * bytes * (odd & 4 ? dimension() : 1);
    p.row_stride = p.width * p.pixel_stride;
    p.image_stride = p.height * p.row_stride;
    if (odd & 8) (odd & 4 ? p.image_stride : p.row_stride) = raw(in);
}

void Hostile::admin(Input& in) {
    const uint8_t op = in.u8(), queue = in.u8();
    uint64_t arg0 = kContext, arg1 = queue % (kQueues + 1), arg2 = 0;
    uint32_t command = op % SIDRA_ADMIN_OP_COUNT;
    switch (command) {
        case SIDRA_ADMIN_QUIESCE_RANGE:
            arg1 = address(in);
            arg2 = raw(in);
            break;
        case SIDRA_ADMIN_TEST_DMA:
        case SIDRA_ADMIN_NVM_READ:
        case SIDRA_ADMIN_NVM_WRITE:
        case SIDRA_ADMIN_XBAR_READ:
        case SIDRA_ADMIN_XBAR_REPORT:
            arg0 = raw(in);
            arg1 = raw(in);
            arg2 = count(in);
            break;
        case SIDRA_ADMIN_RESET_QUEUE:  // an epoch and why it ended
            arg2 = in.u8() % 8u | uint64_t{in.u16()} << 32;
            break;
        case SIDRA_ADMIN_XBAR_ERASE:
        case SIDRA_ADMIN_L3_ZERO:
            arg0 = count(in);
            arg1 = count(in);
            break;
        case SIDRA_ADMIN_QUIESCE_DEVICE:  // stops the victim for good: denial by the kernel, who may
            command = SIDRA_ADMIN_RESUME_DEVICE;
            break;
        default:
            if (queue == 0xff) arg0 = SIDRA_CONTEXTS_MAX + count(in);
            break;
    }
    board_.admin(command, arg0, arg1, arg2);
    commanded_ = true;
}

void Hostile::doorbells() {
    for (uint32_t i = 0; i < kQueues; i++) board_.write32(SIDRA_DOORBELL(kContext, i), 1);
}

void Hostile::run(unsigned slices) {
    doorbells();
    while (slices-- > 0 && board_.run_one_turn()) {
    }
}

void Hostile::record(Input in) {
    const uint8_t kind = in.u8(), queue = in.u8();
    switch (kind % 24) {
        case 10:
            at<sidra_cmd>(bus(kBodies + 1) + queue % 64 * SIDRA_CMD_SIZE) = packet(in);
            break;
        case 11:
            write_table(in);
            break;
        case 12:
        case 13:
            write_queue(in);
            break;
        case 14:
            write_context(in);
            break;
        case 15:
            write_weights(in);
            break;
        case 16:
            write_data(in);
            break;
        case 17:
            write_pattern(in);
            break;
        case 18:
            write_program(in);
            break;
        case 19:
            admin(in);
            break;
        case 20:
            at<uint64_t>(bus(kWords) + 8 * (queue % kQueues)) = raw(in);
            break;
        case 21:
            run(1 + queue % 4);
            break;
        case 22:
            board_.write64(SIDRA_ARM(kContext, queue % kQueues), raw(in));
            break;
        case 23:  // what a driver does after a fault
            at<sidra_hw_queue>(bus(kQueueTable) + queue % kQueues * sizeof(sidra_hw_queue)).epoch += kQueues;
            board_.admin(SIDRA_ADMIN_RESET_QUEUE, kContext, queue % kQueues);
            next_[queue % kQueues] = 0;
            break;
        default:
            push(queue % kQueues, packet(in));
            break;
    }
}

void Hostile::be_at_work() {
    sidra_cmd wait = blank(SIDRA_CMD_SEM_WAIT), call = blank(SIDRA_CMD_CALL), copy = blank(SIDRA_CMD_COPY);
    wait.sem.addr = va(kInOrder);
    wait.sem.value = 1000;
    call.call.addr = va(kOwnBodies);
    call.call.count = 2;
    at<sidra_cmd>(bus(kBodies)) = blank(SIDRA_CMD_NOP);
    at<sidra_cmd>(bus(kBodies) + SIDRA_CMD_SIZE) = wait;
    copy.copy.dst = va(kLocal);
    copy.copy.src = va(kReadable);
    copy.copy.row_bytes = kPage;
    copy.copy.rows = 1;
    push(0, copy);
    push(0, call);
    push(1, blank(SIDRA_CMD_INVALID));
    push(2, blank(SIDRA_CMD_NOP));
    push(kQueues - 1, copy);
    board_.write64(SIDRA_ARM(kContext, 2), 77);
    run(16);
    push(2, blank(SIDRA_CMD_NOP));
    doorbells();
}

void Hostile::end() {
    // The chip forgets the entries that it has read, which may differ from those that are restored, and the epochs that
    // have ended: those of the next input have the same numbers.
    if (board_.admin(SIDRA_ADMIN_RESET_CONTEXT, kContext) != SIDRA_ADMIN_OK) fail("no reset of the hostile context");
    for (uint32_t i = 0; i <= kQueues && commanded_; i++)  // one may have been stopped
        if (board_.admin(SIDRA_ADMIN_RESET_QUEUE, kContext, i) != SIDRA_ADMIN_OK) fail("no reset of a hostile queue");
    commanded_ = false;
    memory_.restore();
    board_.memory.table.restore();
    next_ = {};
    std::memset(board_.l3(), 0, std::exchange(whole_l3_, false) ? board_.l3_size() : kLocalPages * kPage);
    for (uint32_t i = 0; i < kQueues; i++) board_.write64(SIDRA_ARM(kContext, i), 0);
    if (board_.cells_changes() != std::exchange(cells_, board_.cells_changes())) program();
}

}  // namespace sidra::fuzz
