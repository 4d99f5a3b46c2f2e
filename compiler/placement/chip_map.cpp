// SPDX-License-Identifier: MIT
#include "chip_map.h"

#include <fmt/format.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/MemoryBuffer.h>

#include "sidra_hw.h"

namespace sidra::compiler {
namespace {

constexpr int64_t kCrossbarsMax = int64_t{1} << 20;
constexpr int64_t kCells = int64_t{SIDRA_XBAR_ROWS} * SIDRA_XBAR_COLS;

int64_t number(const llvm::json::Object& object, llvm::StringRef name, int64_t least, int64_t most) {
    const llvm::json::Value* const value = object.get(name);
    if (value == nullptr) throw ChipMapError(fmt::format("'{}' is missing", name.str()));
    const std::optional<int64_t> number = value->getAsInteger();
    if (!number || *number < least || *number > most)
        throw ChipMapError(fmt::format("'{}' is no integer from {} to {}", name.str(), least, most));
    return *number;
}

const llvm::json::Array& list(const llvm::json::Object& object, llvm::StringRef name) {
    const llvm::json::Array* const found = object.getArray(name);
    if (found == nullptr) throw ChipMapError(fmt::format("'{}' is missing, or no list", name.str()));
    return *found;
}

uint32_t crossbar(const llvm::json::Value& value, const ChipMap& map, llvm::StringRef name, size_t index) {
    const std::optional<int64_t> number = value.getAsInteger();
    if (!number || *number < 0 || *number >= map.crossbars())
        throw ChipMapError(fmt::format("{}[{}] is no crossbar: the chip has numbers from 0 to {}", name.str(), index,
                                       map.crossbars() - 1));
    return static_cast<uint32_t>(*number);
}

ChipMap of_chip(const llvm::json::Object& chip) {
    ChipMap map;
    map.clusters = static_cast<uint32_t>(number(chip, "clusters", 1, kCrossbarsMax));
    map.cus_per_cluster = static_cast<uint32_t>(number(chip, "cus_per_cluster", 1, kCrossbarsMax / map.clusters));
    const int64_t units = int64_t{map.clusters} * map.cus_per_cluster;
    map.crossbars_per_cu = static_cast<uint32_t>(number(chip, "crossbars_per_cu", 1, kCrossbarsMax / units));
    map.bad_cells.resize(map.crossbars());
    map.in_use.resize(map.crossbars());
    const llvm::json::Array& bad = list(chip, "bad");
    for (size_t i = 0; i < bad.size(); i++) {
        const llvm::json::Object* const entry = bad[i].getAsObject();
        if (entry == nullptr || entry->get("crossbar") == nullptr)
            throw ChipMapError(fmt::format("bad[{}] has no 'crossbar'", i));
        map.bad_cells[crossbar(*entry->get("crossbar"), map, "bad", i)] =
            static_cast<uint32_t>(number(*entry, "cells", 0, kCells));
    }
    const llvm::json::Array& in_use = list(chip, "in_use");
    for (size_t i = 0; i < in_use.size(); i++) map.in_use[crossbar(in_use[i], map, "in_use", i)] = true;
    return map;
}

}  // namespace

ChipMap parse_chip_map(std::string_view text) {
    llvm::Expected<llvm::json::Value> parsed = llvm::json::parse({text.data(), text.size()});
    if (!parsed) throw ChipMapError(fmt::format("it is no JSON: {}", llvm::toString(parsed.takeError())));
    const llvm::json::Object* const whole = parsed->getAsObject();
    if (whole == nullptr || whole->getString("command") != "map" || whole->getString("schema") != "sidra-smi/1")
        throw ChipMapError("it is no map of a chip; 'sidra-smi map' writes one");
    const llvm::json::Array& chips = list(*whole, "chips");
    if (chips.size() != 1 || chips[0].getAsObject() == nullptr)
        throw ChipMapError(
            fmt::format("it has the maps of {} chips, and a network is placed on one; choose it with "
                        "'sidra-smi map --chip'",
                        chips.size()));
    return of_chip(*chips[0].getAsObject());
}

ChipMap read_chip_map(const std::string& path) {
    const llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> file = llvm::MemoryBuffer::getFile(path);
    if (!file) throw ChipMapError(fmt::format("{}: {}", path, file.getError().message()));
    try {
        const llvm::StringRef text = (*file)->getBuffer();
        return parse_chip_map({text.data(), text.size()});
    } catch (const ChipMapError& error) {
        throw ChipMapError(fmt::format("{}: {}", path, error.what()));
    }
}

}  // namespace sidra::compiler
