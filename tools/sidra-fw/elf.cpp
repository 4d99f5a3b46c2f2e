// SPDX-License-Identifier: MIT
// By the numbers of the ELF specification and of "RISC-V ELF psABI" (see tools/common/elf32.cpp).
#include "elf.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/elf32.h"
#include "error.h"
#include "image/image.h"

namespace sidra::fw {
namespace {

using tools::Elf32;
using tools::ElfError;

constexpr size_t kSegmentSize = 32, kSegmentsMax = 64;
constexpr uint16_t kExecutable = 2;
constexpr uint32_t kCompressed = 1, kFloatAbi = 6, kEmbeddedAbi = 8;  // e_flags
constexpr uint32_t kLoad = 1, kDynamic = 2, kInterpreter = 3;         // p_type
constexpr uint32_t kExecute = 1;                                      // p_flags
constexpr uint64_t kSpace = 1ull << 32;

struct Segment {
    uint32_t type, offset, virtual_address, physical_address, file_size, memory_size, flags;
    uint64_t file_end() const { return uint64_t{virtual_address} + file_size; }
    uint64_t memory_end() const { return uint64_t{virtual_address} + memory_size; }
};

void check_header(const Elf32& in) {
    if (in.get16(16) != kExecutable)
        throw ElfError(
            fmt::format("its ELF type is {} instead of 2 (executable); link it, and without -pie", in.get16(16)));
    const uint32_t flags = in.get32(36);
    if (flags & kCompressed)
        throw ElfError("it has compressed instructions, which the core does not support; build with -march=rv32im");
    if (flags & kFloatAbi)
        throw ElfError("it passes floats in registers, which the core does not have; build with -mabi=ilp32");
    if (flags & kEmbeddedAbi) throw ElfError("it is for RV32E; build with -march=rv32im -mabi=ilp32");
}

Segment read_segment(const Elf32& in, uint64_t at) {
    return {.type = in.get32(at),
            .offset = in.get32(at + 4),
            .virtual_address = in.get32(at + 8),
            .physical_address = in.get32(at + 12),
            .file_size = in.get32(at + 16),
            .memory_size = in.get32(at + 20),
            .flags = in.get32(at + 24)};
}

// Those that are loaded, by address; each inside of the file and of the address space, none over another.
std::vector<Segment> read_segments(const Elf32& in) {
    const uint64_t table = in.get32(28);
    const size_t count = in.get16(44);
    if (count == 0 || in.get16(42) != kSegmentSize) throw ElfError("it has no program headers; link it");
    if (count > kSegmentsMax)
        throw ElfError(fmt::format("it has {} program headers, but at most {} are allowed", count, kSegmentsMax));
    if (table + count * kSegmentSize > in.file().size()) throw ElfError("it ends inside its program headers");
    std::vector<Segment> segments;
    for (size_t i = 0; i < count; ++i) {
        const Segment one = read_segment(in, table + i * kSegmentSize);
        if (one.type == kDynamic || one.type == kInterpreter)
            throw ElfError("it needs a dynamic linker, which the core does not have; link with -static");
        if (one.type != kLoad || one.memory_size == 0) continue;
        const auto bad = [&](std::string_view why) {
            throw ElfError(fmt::format("its segment {} (at {:#x}) {}", i, one.virtual_address, why));
        };
        if (one.file_size > one.memory_size) bad("has more bytes in the file than in memory");
        if (uint64_t{one.offset} + one.file_size > in.file().size())
            bad("extends beyond the end of the file; the file was truncated");
        if (one.memory_end() > kSpace) bad("extends beyond the end of the address space");
        if (one.physical_address != one.virtual_address)
            bad(fmt::format("has the load address {:#x}, which is not where it runs; link it to where it runs",
                            one.physical_address));
        segments.push_back(one);
    }
    std::ranges::sort(segments, {}, &Segment::virtual_address);
    for (size_t i = 1; i < segments.size(); ++i)
        if (segments[i - 1].memory_end() > segments[i].virtual_address)
            throw ElfError(fmt::format("its segments at {:#x} and {:#x} overlap", segments[i - 1].virtual_address,
                                       segments[i].virtual_address));
    if (std::ranges::all_of(segments, [](const Segment& one) { return one.file_size == 0; }))
        throw ElfError("it has nothing to load");
    return segments;
}

}  // namespace

uint64_t aligned(uint64_t size) {
    return (size + SIDRA_IMAGE_ALIGNMENT - 1) / SIDRA_IMAGE_ALIGNMENT * SIDRA_IMAGE_ALIGNMENT;
}

bool is_elf(std::span<const uint8_t> file) { return Elf32::is_elf(file); }

namespace {

Program load(std::span<const uint8_t> file) {
    const Elf32 in(file);
    check_header(in);
    const std::vector<Segment> segments = read_segments(in);

    Program program;
    program.entry = in.get32(24);
    program.load_address = segments.front().virtual_address;
    uint64_t file_end = 0;
    for (const Segment& one : segments)
        if (one.file_size != 0) file_end = one.file_end();
    const uint64_t memory_end = segments.back().memory_end();

    if (program.load_address % SIDRA_IMAGE_ALIGNMENT != 0)
        throw ElfError(fmt::format("it begins at {:#x}, which is not a multiple of {}", program.load_address,
                                   SIDRA_IMAGE_ALIGNMENT));
    const uint64_t size = aligned(file_end - program.load_address);
    if (size > kProgramLimit)
        throw ElfError(
            fmt::format("it spans {} bytes, but at most {} are allowed; check for a hole between its segments", size,
                        kProgramLimit));
    const uint64_t ram_size = std::max(size, aligned(memory_end - program.load_address));
    if (ram_size >= kSpace) throw ElfError("it fills the whole address space");
    const bool entered = std::ranges::any_of(segments, [&](const Segment& one) {
        return (one.flags & kExecute) != 0 && program.entry >= one.virtual_address && program.entry < one.file_end();
    });
    if (!entered || program.entry % SIDRA_IMAGE_ENTRY_ALIGNMENT != 0)
        throw ElfError(fmt::format("its entry {:#x} is not inside an executable segment, or not a multiple of {}",
                                   program.entry, SIDRA_IMAGE_ENTRY_ALIGNMENT));

    program.ram_size = static_cast<uint32_t>(ram_size);
    program.payload.resize(size);
    for (const Segment& one : segments)
        std::copy_n(file.begin() + one.offset, one.file_size,
                    program.payload.begin() + (one.virtual_address - program.load_address));
    return program;
}

}  // namespace

Program load_elf(const std::string& path, std::span<const uint8_t> file) {
    try {
        return load(file);
    } catch (const ElfError& e) {
        throw Error(fmt::format("{} is not a program for the management core: {}", path, e.what()));
    }
}

}  // namespace sidra::fw
