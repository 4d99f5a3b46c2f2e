// SPDX-License-Identifier: MIT
#include "schedule.h"

#include <algorithm>

namespace sidra::chip {
namespace {

__extension__ using Wide = unsigned __int128;

// `whole` * part / parts: what is cut this way adds up again.
uint64_t share_of(uint64_t whole, uint64_t part, uint64_t parts) {
    return parts == 0 ? 0 : static_cast<uint64_t>(Wide{whole} * part / parts);
}

}  // namespace

std::vector<Stretch> schedule_mvm(std::span<const uint32_t> xbars, uint64_t batch, const Cost& work,
                                  uint32_t xbars_per_cu) {
    const uint64_t tiles = xbars.size(), alone_ps = batch * kCosts.mvm_ps;
    const uint64_t needed = (alone_ps * tiles + work.device_ps - 1) / std::max<uint64_t>(work.device_ps, 1);
    const uint64_t groups = tiles / std::clamp<uint64_t>(needed, 1, tiles);
    std::vector<Stretch> stretches;
    std::vector<uint32_t> cus;
    for (uint64_t group = 0, done = 0; group < groups; group++) {
        const uint64_t end = tiles * (group + 1) / groups;
        const uint64_t begin_ps = share_of(work.device_ps, done, tiles), end_ps = share_of(work.device_ps, end, tiles);
        cus.clear();
        for (uint64_t tile = done; tile < end; tile++) cus.push_back(xbars[tile] / xbars_per_cu);
        std::sort(cus.begin(), cus.end());
        for (auto cu = cus.begin(); cu != cus.end();) {
            const auto next = std::upper_bound(cu, cus.end(), *cu);
            const auto count = static_cast<uint32_t>(next - cu);
            const uint64_t energy =
                share_of(work.energy_pj, done + count, tiles) - share_of(work.energy_pj, done, tiles);
            stretches.push_back({*cu, count, begin_ps, end_ps, count * alone_ps, energy});
            done += count;
            cu = next;
        }
    }
    return stretches;
}

std::vector<Stretch> schedule_program(std::span<const TileWork> tiles, const Cost& work, uint32_t xbars_per_cu) {
    uint64_t all = 0, done = 0;
    for (const TileWork& tile : tiles) all += tile.share;
    std::vector<Stretch> stretches;
    for (const TileWork& tile : tiles) {
        const uint64_t end = done + tile.share;
        const uint64_t begin_ps = share_of(work.device_ps, done, all), end_ps = share_of(work.device_ps, end, all);
        stretches.push_back({tile.xbar / xbars_per_cu, 1, begin_ps, end_ps, end_ps - begin_ps,
                             share_of(work.energy_pj, end, all) - share_of(work.energy_pj, done, all)});
        done = end;
    }
    return stretches;
}

}  // namespace sidra::chip
