// SPDX-License-Identifier: MIT
// What comes from another machine with a chip that moves here: taken or refused, the chip stays a chip, and asks its
// host for no more than any other. An input is a byte of switches, and changes of the stream of a chip at work.
#include <cstring>
#include <string>

#include "check.h"
#include "hostile.h"
#include "pieces.h"
#include "sum.h"
#include "victim.h"

namespace sidra::fuzz {
namespace {

using Stream = std::vector<uint8_t>;
constexpr size_t kHead = 8;  // tag and bytes of a chunk

std::vector<Piece> split(const Stream& stream) {
    std::vector<Piece> pieces;
    for (size_t at = 0; at < stream.size();) {
        uint32_t head[2];
        std::memcpy(head, &stream[at], sizeof head);
        const auto* const data = stream.data() + at + kHead;
        pieces.push_back({head[0], 0, {data, data + head[1]}});
        at += kHead + head[1];
    }
    pieces.pop_back();  // the sum
    return pieces;
}

Stream join(const std::vector<Piece>& pieces, uint32_t end) {
    Stream stream;
    chip::Sum sum;
    const auto add = [&](uint32_t tag, const void* data, size_t size) {
        const uint32_t head[2] = {tag, static_cast<uint32_t>(size)};
        const auto append = [&](const void* bytes, size_t count) {
            const auto* const from = static_cast<const uint8_t*>(bytes);
            stream.insert(stream.end(), from, from + count);
        };
        append(head, sizeof head);
        if (size) append(data, size);
        sum.add(head, sizeof head);
        sum.add(data, size);
    };
    for (const Piece& piece : pieces) add(piece.tag, piece.bytes.data(), piece.bytes.size());
    const uint64_t value = sum.value();
    add(end, &value, sizeof value);
    return stream;
}

struct World {
    Board board;
    Victim victim{board};
    Hostile hostile{board};
    std::vector<Piece> pieces, part;
    Stream rest;  // the state behind the part
    uint32_t end = 0;

    // A product half done, a queue that waits inside a CALL, one that was faulted, and one that is armed.
    World() {
        board.memory.table.keep();
        board.memory.victim.keep();
        victim.begin(Victim::Input::kF32);
        victim.stop();
        hostile.be_at_work();
        Stream stream;
        board.save(stream);
        pieces = split(stream);
        std::memcpy(&end, &stream[stream.size() - kHead - sizeof(uint64_t)], sizeof end);
        if (!board.load(join(pieces, end)).empty()) fail("a stream is refused as it was saved");
        stream.clear();
        board.save(stream, rest);
        part = split(stream);
        if (!board.load_part(stream).empty() || !board.load(rest).empty()) fail("a precopy is refused as it was saved");
        victim.resume();
        victim.finish();
    }
};

void play(Input in) {
    static World& world = *new World;
    enum : uint8_t { kCut = 1, kWrongSum = 2, kPrecopy = 4 };  // the last one without a cut
    const uint8_t switches = in.u8();
    const bool precopy = (switches & (kCut | kPrecopy)) == kPrecopy;
    std::vector<Piece> pieces = precopy ? world.part : world.pieces;
    for (size_t i = 0; i < kEditsMost && !in.empty(); i++) edit(pieces, in.part(kEditSize));
    Stream stream = join(pieces, world.end);
    if (switches & kCut) stream.resize(stream.size() * (switches >> 2) / 64);
    else if (switches & kWrongSum) stream.back() ^= 1;
    const std::string refused = precopy ? world.board.load_part(stream) : world.board.load(stream);
    if (refused.empty() && switches & (kCut | kWrongSum)) fail("a stream with a wrong end is taken");
    if (precopy && refused.empty()) world.board.load(world.rest);
    for (int slices = 0; slices < 48 && world.board.run(); slices++) {
    }
    world.board.reset();
    world.board.memory.hostile.restore();
    world.board.memory.victim.restore();
    world.board.memory.table.restore();
}

}  // namespace
}  // namespace sidra::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    sidra::fuzz::play(sidra::fuzz::Input({data, size}));
    return 0;
}
