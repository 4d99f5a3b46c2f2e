// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "geometry.h"
#include "names.h"
#include "pictures.h"
#include "svg.h"

namespace sidra::objdump {
namespace {

constexpr chip::Geometry kChip = chip::kGeometryY1;

// Squares of squares: side of the grids of clusters, of compute units in a cluster, and of crossbars in one.
constexpr uint32_t side_of(uint32_t count) {
    uint32_t side = 1;
    while (side * side < count) ++side;
    return side;
}
constexpr uint32_t kClusterSide = side_of(kChip.clusters), kCuSide = side_of(kChip.cus_per_cluster),
                   kXbarSide = side_of(kChip.xbars_per_cu);
constexpr double kXbar = 7, kXbarStep = 8, kCuStep = kXbarSide * kXbarStep + 4, kClusterStep = kCuSide * kCuStep + 14;
constexpr double kLeft = 24, kTop = 104, kMap = kClusterSide * kClusterStep;

struct Point {
    double x, y;
};
Point of_cluster(uint32_t cluster) {
    return {kLeft + (cluster % kClusterSide) * kClusterStep, kTop + (cluster / kClusterSide) * kClusterStep};
}
Point of_cu(uint32_t cu) {
    const Point at = of_cluster(cu / kChip.cus_per_cluster);
    const uint32_t inside = cu % kChip.cus_per_cluster;
    return {at.x + 6 + (inside % kCuSide) * kCuStep, at.y + 6 + (inside / kCuSide) * kCuStep};
}
Point of_xbar(uint32_t xbar) {
    const Point at = of_cu(xbar / kChip.xbars_per_cu);
    const uint32_t inside = xbar % kChip.xbars_per_cu;
    return {at.x + (inside % kXbarSide) * kXbarStep, at.y + (inside / kXbarSide) * kXbarStep};
}

void draw_chip(Svg* svg, uint32_t stage) {
    std::string unit = fmt::format("<defs><g id=\"cu{}\" class=\"free\">", stage);
    for (uint32_t i = 0; i < kChip.xbars_per_cu; ++i)
        unit += fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}"/>)", (i % kXbarSide) * kXbarStep,
                            (i / kXbarSide) * kXbarStep, kXbar, kXbar);
    svg->raw(unit + "</g></defs>\n");
    for (uint32_t cluster = 0; cluster < kChip.clusters; ++cluster) {
        const Point at = of_cluster(cluster);
        svg->rect(at.x, at.y, kClusterStep - 6, kClusterStep - 6, R"(class="cluster" rx="4")",
                  fmt::format("cluster {}", cluster));
        for (uint32_t i = 0; i < kChip.cus_per_cluster; ++i) {
            const Point cu = of_cu(cluster * kChip.cus_per_cluster + i);
            svg->raw(fmt::format("<use href=\"#cu{}\" x=\"{}\" y=\"{}\"/>\n", stage, cu.x, cu.y));
        }
    }
}

void draw_matrices(const format::Model& model, const Placement& placement, Svg* svg) {
    for (uint32_t m = 0; m < placement.matrices.size(); ++m) {
        const PlacedMatrix& placed = placement.matrices[m];
        const std::string paint = fmt::format(R"(fill="{}")", colour(m));
        for (uint32_t tile = 0; tile < placed.crossbars.size(); ++tile) {
            const uint32_t xbar = placed.crossbars[tile], cu = xbar / kChip.xbars_per_cu;
            const Point at = of_xbar(xbar);
            svg->rect(at.x, at.y, kXbar, kXbar, paint,
                      fmt::format("matrix {} {}, tile row {}, tile column {}\ncluster {}, CU {}, crossbar {}", m,
                                  printable(model.matrices()->Get(m)->name()), tile / placed.tile_columns,
                                  tile % placed.tile_columns, cu / kChip.cus_per_cluster, cu % kChip.cus_per_cluster,
                                  xbar % kChip.xbars_per_cu));
        }
    }
}

// The cells that hold weights, as a share of those of the crossbars that are taken.
double cells_in_use(const format::Model& model, const Placement& placement) {
    double cells = 0;
    for (uint32_t i = 0; i < placement.matrices.size(); ++i) {
        const format::Matrix& matrix = *model.matrices()->Get(i);
        cells += static_cast<double>(matrix.k()) * matrix.n() *
                 (placement.matrices[i].encoding == format::Encoding::Differential ? 2 : 1);
    }
    return placement.taken == 0 ? 0 : cells / (static_cast<double>(placement.taken) * chip::kXbarCells);
}

}  // namespace

std::string chip_picture(const format::Model& model, const Placement& placement, uint32_t stage) {
    constexpr size_t kLegendRows = 40, kLegendMax = 200;
    constexpr double kLegendStep = 17, kLegendWidth = 300;
    if (!placement.problem.empty()) throw std::runtime_error("there is no picture of the chip: " + placement.problem);
    const std::string title =
        fmt::format("{} on a Y1 chip: {} of {} crossbars ({:.1f} %)", printable(model.name()), placement.taken,
                    kChip.xbars(), 100.0 * static_cast<double>(placement.taken) / kChip.xbars());
    const size_t entries = std::min<size_t>(placement.matrices.size(), kLegendMax);
    const size_t columns = std::max<size_t>((entries + kLegendRows - 1) / kLegendRows, 1);
    const double width = kLeft + kMap + 20 + static_cast<double>(columns) * kLegendWidth;
    Svg svg(title);
    svg.text(kLeft, 28, fitting(title, Svg::kTitleSize, width - 2 * kLeft), R"(class="ink" font-weight="bold")",
             Anchor::kStart, Svg::kTitleSize);
    svg.text(
        kLeft, 50,
        fmt::format("{} clusters of {} compute units of {} crossbars. Weights fill {:.1f} % of the cells of the "
                    "crossbars in use.",
                    kChip.clusters, kChip.cus_per_cluster, kChip.xbars_per_cu, 100 * cells_in_use(model, placement)));
    svg.text(kLeft, 68,
             placement.by_file == 0
                 ? std::string("The file has no placement: these are the crossbars that the driver chooses on an empty "
                               "chip.")
                 : fmt::format("On an empty chip, {} of {} matrices are where the file has placed them, and the driver "
                               "chooses the others.",
                               placement.by_file, placement.matrices.size()),
             R"(class="soft")");
    draw_chip(&svg, stage);
    draw_matrices(model, placement, &svg);
    svg.rect(kLeft, 80, 12, 12, R"(class="free")");
    svg.text(kLeft + 18, 90, "free", R"(class="soft")");
    for (size_t i = 0; i < entries; ++i) {
        const format::Matrix& matrix = *model.matrices()->Get(static_cast<uint32_t>(i));
        const double x = kLeft + kMap + 14 + static_cast<double>(i / kLegendRows) * kLegendWidth;
        const double y = kTop + static_cast<double>(i % kLegendRows) * kLegendStep;
        const PlacedMatrix& placed = placement.matrices[i];
        const std::string numbers = fmt::format("{} x {}, {}", matrix.k(), matrix.n(), placed.crossbars.size());
        constexpr double kSmall = 11;
        svg.rect(x, y, 12, 12, fmt::format(R"(fill="{}")", colour(i)));
        svg.text(x + 18, y + 10,
                 fitting(fmt::format("{} {}", i, printable(matrix.name())), kSmall,
                         kLegendWidth - 50 - width_of(numbers, kSmall)),
                 R"(class="ink")", Anchor::kStart, kSmall);
        svg.text(x + kLegendWidth - 24, y + 10, numbers, R"(class="soft")", Anchor::kEnd, kSmall);
    }
    svg.text(kLeft + kMap + 14, kTop - 14, "matrix: inputs x outputs, crossbars", R"(class="soft")");
    double height = kTop + kMap + 20;
    height = std::max(height, kTop + static_cast<double>(std::min(entries, kLegendRows)) * kLegendStep + 20);
    if (placement.matrices.size() > entries)
        svg.text(width - kLeft, height - 8, fmt::format("and {} more", placement.matrices.size() - entries),
                 R"(class="soft")", Anchor::kEnd);
    return svg.file(width, height);
}

}  // namespace sidra::objdump
