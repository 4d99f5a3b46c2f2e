// SPDX-License-Identifier: MIT
// State files that somebody has been at: opened or refused with a reason, and then the chip works and keeps what it is
// told. An input is a byte of switches, and changes of the records of a good file.
#include <cstring>
#include <memory>
#include <string>

#include "check.h"
#include "chip.h"
#include "engine.h"
#include "memory_file.h"
#include "pieces.h"
#include "record.h"

namespace sidra::fuzz {
namespace {

// A chip without a host, and why it could not be made.
struct Powered {
    std::unique_ptr<chip::Chip> chip;
    std::string why;
    explicit Powered(const std::string& path) {
        const sidra_chip_host host = {this,
                                      [](void*, uint64_t, uint64_t*, bool) -> void* { return nullptr; },
                                      [](void*, void*, uint64_t, bool) {},
                                      [](void*, uint64_t, uint64_t*) { return false; },
                                      [](void*, uint64_t, uint64_t) { return false; },
                                      [](void*, unsigned) {},
                                      [](void*) { return uint64_t{1}; },
                                      [](void*) {},
                                      [](void*, const char*) {}};
        chip = std::make_unique<chip::Chip>(chip::kGeometrySmall, engine::make(SIDRA_CHIP_ENGINE_AUTO, 1), 1, true,
                                            nullptr, host);
        try {
            chip->open_state_file(path.c_str());
        } catch (const chip::StateFileError& error) {
            why = error.what();
            if (why.find(path) == std::string::npos) fail("a reason does not name its file: %s", why.c_str());
            chip.reset();
        }
    }
};

// Records as they lie in a file, but for sums and places.
std::vector<Piece> split(const Bytes& file) {
    std::vector<Piece> pieces;
    for (size_t at = sizeof(chip::FileHead); at < file.size();) {
        chip::RecordHead head;
        std::memcpy(&head, &file[at], sizeof head);
        const auto* const data = file.data() + at + sizeof head;
        if (head.tag != chip::kMark) pieces.push_back({head.tag, head.number, {data, data + head.bytes}});
        at += chip::extent(head);
    }
    return pieces;
}

Bytes join(const std::vector<Piece>& pieces, bool together) {
    chip::FileHead head{};
    std::memcpy(head.magic, chip::kFileMagic, sizeof head.magic);
    head.version = chip::kFileVersion;
    head.salt = 0x5a17;
    head.sum = chip::sum_of(head, 0);
    Bytes file(reinterpret_cast<const uint8_t*>(&head), reinterpret_cast<const uint8_t*>(&head + 1));
    for (const Piece& piece : pieces) {
        Bytes filled = piece.bytes;
        filled.resize(chip::filled(filled.size()));
        chip::RecordHead record{};
        record.magic = chip::kRecordMagic;
        record.tag = piece.tag;
        record.number = piece.number;
        record.at = file.size();
        record.bytes = static_cast<uint32_t>(piece.bytes.size());
        record.flags = together && &piece != &pieces.back() ? chip::kTogether : 0;
        record.payload_sum = chip::payload_sum(filled, head.salt);
        record.sum = chip::sum_of(record, head.salt);
        const auto* const bytes = reinterpret_cast<const uint8_t*>(&record);
        file.insert(file.end(), bytes, bytes + sizeof record);
        file.insert(file.end(), filled.begin(), filled.end());
    }
    return file;
}

struct World {
    File file;
    std::vector<Piece> pieces;
    // A file as it is made, and records of kinds that are not in it yet.
    World() {
        if (!Powered(file.path()).chip) fail("a new file is not taken");
        pieces = split(file.get());
        if (pieces.empty()) fail("a new file has no records");
        const auto page = [&](const char(&tag)[5], uint64_t number) {
            Piece piece{0, number, Bytes(8 + 4096, uint8_t{0x33})};
            std::memcpy(&piece.tag, tag, 4);
            std::memcpy(piece.bytes.data(), &number, sizeof number);
            pieces.push_back(std::move(piece));
        };
        page("NVM ", 1);
        page("FLSH", 3);
        Piece crossbar{0, 2, Bytes(64 + size_t{SIDRA_XBAR_ROWS} * SIDRA_XBAR_COLS, uint8_t{0x80})};
        std::memcpy(&crossbar.tag, "XBAR", 4);
        std::fill_n(crossbar.bytes.begin(), 64, uint8_t{0});
        crossbar.bytes[0] = 2;  // struct SavedCrossbar: number, then Array::Image
        crossbar.bytes[8] = 0x77;
        pieces.push_back(std::move(crossbar));
        file.put(join(pieces, false));
        const Powered powered(file.path());
        if (!powered.chip) fail("the file to begin with is refused: %s", powered.why.c_str());
    }
};

void play(Input in) {
    static World& world = *new World;
    enum : uint8_t { kCut = 1, kRaw = 2, kTogether = 4 };
    const uint8_t switches = in.u8();
    Bytes bytes;
    if (switches & kRaw) {
        bytes.assign(in.rest().begin(), in.rest().end());
    } else {
        std::vector<Piece> pieces = world.pieces;
        for (size_t i = 0; i < kEditsMost && !in.empty(); i++) edit(pieces, in.part(kEditSize));
        bytes = join(pieces, switches & kTogether);
        if (switches & kCut) bytes.resize(bytes.size() * (switches >> 3) / 32);
    }
    world.file.put(bytes);
    {
        const Powered powered(world.file.path());
        if (!powered.chip) {
            // It is somebody's: left as it was.
            if (world.file.get() != bytes) fail("a file that is refused has changed");
            return;
        }
        for (int slices = 0; slices < 4 && powered.chip->run({}); slices++) {
        }
        if (!powered.chip->sync()) fail("the file does not take what the chip keeps");
    }
    if (const Powered again(world.file.path()); !again.chip) fail("refused when opened again: %s", again.why.c_str());
}

}  // namespace
}  // namespace sidra::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    sidra::fuzz::play(sidra::fuzz::Input({data, size}));
    return 0;
}
