// SPDX-License-Identifier: MIT
// Packets, rings, tables of queues and weights, page tables and entries of kernel queues of a hostile guest, while
// another guest computes. Neither harms the chip's host, nor keeps the chip for itself, nor changes the other's
// results.
//
// An input is a byte of switches, then records of 32 bytes (hostile.cpp), which a mutator of their own moves about.
#include <algorithm>
#include <cstring>
#include <random>

#include "hostile.h"
#include "victim.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace sidra::fuzz {
namespace {

constexpr size_t kRecordsMost = 24;
constexpr unsigned kSlicesMost = 8;  // at the end of an input: what goes on for longer is reset

struct World {
    Board board;
    Victim victim{board};
    Hostile hostile{board};
    World() { board.memory.table.keep(); }
};

void play(Input in) {
    static World& world = *new World;
    enum : uint8_t { kScattered = 1, kRefuses = 2, kBeside = 4, kS8 = 8 };
    const uint8_t switches = in.u8();
    world.board.memory.begin_input(switches & kScattered, switches & kRefuses);
    world.victim.begin(switches & kS8 ? Victim::Input::kS8 : Victim::Input::kF32);
    // In the middle of its product, or both in turn.
    if (!(switches & kBeside)) world.victim.stop();
    for (size_t i = 0; i < kRecordsMost && !in.empty(); i++) world.hostile.record(in.part(kRecordSize));
    world.hostile.run(kSlicesMost);
    if (!(switches & kBeside)) world.victim.resume();
    world.victim.finish();
    world.board.memory.begin_input(false, false);
    world.hostile.end();
}

}  // namespace
}  // namespace sidra::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    sidra::fuzz::play(sidra::fuzz::Input({data, size}));
    return 0;
}

// Records as a whole, or bytes of one: a byte more or less would make others of all records behind it.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
    using sidra::fuzz::kRecordSize;
    std::minstd_rand random(seed);
    const auto below = [&](size_t n) { return static_cast<size_t>(random()) % n; };
    most = std::min(most, 1 + sidra::fuzz::kRecordsMost * kRecordSize);
    if (most < 1 + kRecordSize) return LLVMFuzzerMutate(data, size, most);
    size_t records = size == 0 ? 0 : (size - 1 + kRecordSize - 1) / kRecordSize;
    if (size == 0) data[0] = 0;
    std::memset(data + size, 0, std::min(1 + records * kRecordSize, most) - size);
    records = std::min(records, (most - 1) / kRecordSize);
    const auto record = [&](size_t i) { return data + 1 + i * kRecordSize; };
    switch (records == 0 ? 0 : below(12)) {
        case 0:
        case 1:  // a new one
            if (records < (most - 1) / kRecordSize) {
                const size_t place = below(records + 1);
                std::memmove(record(place + 1), record(place), (records - place) * kRecordSize);
                for (size_t i = 0; i < kRecordSize; i++) record(place)[i] = static_cast<uint8_t>(random() >> 8);
                records++;
            }
            break;
        case 2: {  // one less
            const size_t place = below(records);
            std::memmove(record(place), record(place + 1), (records - place - 1) * kRecordSize);
            records--;
            break;
        }
        case 3:  // one again
            std::memmove(record(below(records)), record(below(records)), kRecordSize);
            break;
        case 4: {
            const size_t a = below(records), b = below(records);
            std::swap_ranges(record(a), record(a) + kRecordSize, b == a ? record(a) : record(b));
            break;
        }
        case 5:
            data[0] = static_cast<uint8_t>(random() >> 8);
            break;
        case 6:
        case 7:
            record(below(records))[below(kRecordSize)] = static_cast<uint8_t>(random() >> 8);
            break;
        default: {  // as libFuzzer does, inside one
            uint8_t* const place = record(below(records));
            const size_t left = LLVMFuzzerMutate(place, kRecordSize, kRecordSize);
            std::memset(place + left, 0, kRecordSize - left);
            break;
        }
    }
    return 1 + records * kRecordSize;
}
