// SPDX-License-Identifier: MIT
#include "placement.h"

#include <fmt/format.h>

#include <algorithm>

#include "geometry.h"
#include "tiles.h"
#include "xbar_allocator.h"

namespace sidra::objdump {
namespace {

using format::Encoding;

constexpr chip::Geometry kChip = chip::kGeometryY1;

sidra_weights_encoding of_library(Encoding encoding) { return static_cast<sidra_weights_encoding>(encoding); }

// The fewest that it needs; AUTO may choose offset.
uint64_t fewest(const format::Matrix& matrix) {
    return crossbars_of(matrix,
                        matrix.encoding() == Encoding::Differential ? Encoding::Differential : Encoding::Offset);
}

}  // namespace

bool Contents::intact() const {
    return constants.intact && std::ranges::all_of(matrices, &SectionState::intact) &&
           std::ranges::all_of(calibrations, &SectionState::intact);
}

Contents read_contents(const ModelFile& file) {
    Contents contents;
    const format::Section* const constants = file.model().constants();
    contents.constants.intact = constants == nullptr || file.read(*constants, {}) == constants->hash();
    for (const format::Matrix* matrix : *file.model().matrices()) {
        SectionState& state = contents.matrices.emplace_back();
        const uint64_t hash = file.read(*matrix->data(), [&](std::span<const std::byte> piece) {
            state.has_least = state.has_least || std::ranges::find(piece, std::byte{0x80}) != piece.end();
        });
        state.intact = hash == matrix->data()->hash();
        const format::Section* const calibration = matrix->calibration();
        contents.calibrations.emplace_back().intact =
            calibration == nullptr || file.read(*calibration, {}) == calibration->hash();
    }
    return contents;
}

uint64_t crossbars_of(const format::Matrix& matrix, Encoding encoding) {
    return tiles_down(matrix.k()) * tiles_across(matrix.n(), of_library(encoding));
}

namespace {

// Where the file has placed a matrix; without crossbars if it has not.
PlacedMatrix of_file(const format::Matrix& matrix) {
    if (matrix.crossbars() == nullptr) return {};
    const bool differential = matrix.encoding() != Encoding::Offset &&
                              matrix.crossbars()->size() == crossbars_of(matrix, Encoding::Differential);
    const Encoding encoding = differential ? Encoding::Differential : Encoding::Offset;
    return {encoding,
            {matrix.crossbars()->begin(), matrix.crossbars()->end()},
            static_cast<uint32_t>(tiles_down(matrix.k())),
            static_cast<uint32_t>(tiles_across(matrix.n(), of_library(encoding)))};
}

}  // namespace

Placement place(const format::Model& model, const Contents& contents) {
    Placement placement;
    uint64_t needed = 0;
    for (const format::Matrix* matrix : *model.matrices()) needed += fewest(*matrix);
    if (needed > kChip.xbars())
        placement.problem =
            fmt::format("its matrices need {} crossbars or more, but a Y1 chip has {}", needed, kChip.xbars());
    embedded::XbarAllocator chip(kChip.xbars(), kChip.xbars_per_cu);
    std::vector<PlacedMatrix> placed_by_file(model.matrices()->size());
    for (uint32_t i = 0; i < model.matrices()->size(); ++i) {
        const format::Matrix& matrix = *model.matrices()->Get(i);
        PlacedMatrix placed = of_file(matrix);
        const uint64_t others = needed - fewest(matrix);
        if (placed.crossbars.empty() || placed.crossbars.size() + others > chip.free_count() ||
            (placed.encoding == Encoding::Differential && contents.matrices[i].has_least) ||
            chip.reserve(placed.crossbars))
            continue;
        needed = others;
        placed_by_file[i] = std::move(placed);
    }
    for (uint32_t i = 0; i < model.matrices()->size(); ++i) {
        const format::Matrix& matrix = *model.matrices()->Get(i);
        if (!placed_by_file[i].crossbars.empty()) {
            placement.taken += placed_by_file[i].crossbars.size();
            placement.by_file++;
            placement.matrices.push_back(std::move(placed_by_file[i]));
            continue;
        }
        needed -= fewest(matrix);
        Encoding encoding = matrix.encoding();
        const bool holds = !contents.matrices[i].has_least;
        if (encoding == Encoding::Auto) {
            const bool room = crossbars_of(matrix, Encoding::Differential) + needed <= chip.free_count();
            encoding = room && holds ? Encoding::Differential : Encoding::Offset;
        } else if (encoding == Encoding::Differential && !holds && placement.problem.empty()) {
            placement.problem =
                format::matrix_name(model, i) + " has the value -128, which its encoding (differential) cannot hold";
        }
        PlacedMatrix placed{encoding, {}, 0, 0};
        if (crossbars_of(matrix, encoding) > chip.free_count()) break;
        placed.tile_rows = static_cast<uint32_t>(tiles_down(matrix.k()));
        placed.tile_columns = static_cast<uint32_t>(tiles_across(matrix.n(), of_library(encoding)));
        placed.crossbars = chip.allocate(placed.tile_rows * placed.tile_columns);
        placement.taken += placed.crossbars.size();
        placement.matrices.push_back(std::move(placed));
    }
    return placement;
}

}  // namespace sidra::objdump
