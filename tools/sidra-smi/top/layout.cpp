// SPDX-License-Identifier: MIT
#include "layout.h"

#include <algorithm>

namespace sidra::top {
namespace {

constexpr int kPanelsAcross = 4, kPanelsDown = 2;
constexpr int kLeastWidth = 76;   // four panels with titles and figures
constexpr int kLeastHeight = 15;  // two lines of panels and some processes
constexpr int kLeastHeat = 4;     // a title, two rows of the map, a legend
constexpr int kSideBySide = 130;  // from this width on, the map is beside the processes
constexpr int kClusters = 16;     // a map rarely needs more rows

// The order of lines on a small screen, most important first.
constexpr Series kOrder[] = {Series::kMvm,  Series::kPower,   Series::kTemperature, Series::kDma,
                             Series::kCopy, Series::kProgram, Series::kVec,         Series::kCells};

void lay_out_lines(Layout& layout, int width, int from, int to) {
    // Two columns if each has space for a figure and its limit.
    constexpr int kLine = 28;
    const int across = width >= 2 * kLine + 2 ? 2 : 1;
    const int each = (width - 2 * (across - 1)) / across;
    int number = 0;
    for (const Series series : kOrder) {
        const int row = from + number / across;
        if (row >= to) return;
        layout.lines[static_cast<size_t>(series)] = {number % across * (each + 2), row, each, 1};
        ++number;
    }
    const int next = from + (number + across - 1) / across;
    if (to - next >= 3) layout.processes = {0, next, width, to - next};
}

void lay_out_panels(Layout& layout, int width, int from, int to) {
    const int room = to - from;
    // At least a third of the screen for graphs: three rows each with 24 rows, eight with 50.
    const int graph = std::clamp((room - 7) / 5, 1, 10);
    const int high = 1 + graph;
    for (int i = 0; i < kPanelsAcross * kPanelsDown; ++i) {
        const int column = i % kPanelsAcross;
        const int left = column * (width + 2) / kPanelsAcross, right = (column + 1) * (width + 2) / kPanelsAcross - 2;
        layout.panels[static_cast<size_t>(i)] = {left, from + i / kPanelsAcross * high, right - left, high};
    }
    const int below = from + kPanelsDown * high;
    const int rest = to - below;
    if (width >= kSideBySide) {
        const int map = width / 2 - 1;
        layout.heat = {0, below, map, std::min(rest, 2 + kClusters)};
        layout.processes = {map + 2, below, width - map - 2, rest};
        return;
    }
    int map = std::min(2 + kClusters, std::max(kLeastHeat, rest / 2));
    if (rest < kLeastHeat + 3) map = 0;
    layout.heat = {0, below, width, map};
    layout.processes = {0, below + map, width, rest - map};
}

}  // namespace

Layout lay_out(int width, int height, size_t chips, bool all) {
    Layout layout;
    if (width <= 0 || height <= 0) return layout;
    layout.header = {0, 0, width, 1};
    const int footer = height >= 2 ? height - 1 : height;
    if (footer < height) layout.footer = {0, footer, width, 1};
    if (all) {
        layout.overview = {0, 1, width, std::max(footer - 1, 0)};
        return layout;
    }
    if (width < kLeastWidth || height < kLeastHeight) {
        lay_out_lines(layout, width, 1, footer);
        return layout;
    }
    // One chip needs no table. Several get at most a third of the space that the panels leave.
    int row = 1;
    const int spare = height - kLeastHeight;
    if (chips > 1 && spare >= 3) {
        layout.overview = {0, row, width,
                           static_cast<int>(std::min<size_t>(chips + 1, static_cast<size_t>(std::max(3, height / 4))))};
        row += layout.overview.height;
    }
    if (spare >= 1) layout.info = {0, row++, width, 1};
    lay_out_panels(layout, width, row, footer);
    return layout;
}

}  // namespace sidra::top
