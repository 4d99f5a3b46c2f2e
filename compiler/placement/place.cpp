// SPDX-License-Identifier: MIT
#include "place.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

namespace sidra::compiler {
namespace {

constexpr uint32_t kFar = 2;
constexpr uint64_t kStepsMax = 6'000'000;  // of the search: a fraction of a second
constexpr int kStartsMax = 64;             // the best end of which counts
constexpr double kLeastGain = 1e-9;        // as a share; less is rounding

struct Partner {
    uint32_t matrix;
    double weight;  // of a unit of distance between two tiles; negative for copies
};

// How many tiles of each matrix lie in each compute unit. The crossbars of a unit are alike.
class Search {
   public:
    Search(const PlacedChip& chip, std::span<const PlacedMatrix> matrices, std::span<const Flow> flows)
        : per_cluster_(chip.cus_per_cluster),
          units_(chip.units()),
          matrices_(matrices),
          partners_(matrices.size()),
          own_(matrices.size()),
          in_unit_(matrices.size() * units_),
          in_cluster_(matrices.size() * chip.clusters),
          clusters_(chip.clusters),
          whole_room_(units_) {
        for (const uint32_t crossbar : chip.usable) whole_room_[crossbar / chip.crossbars_per_cu]++;
        add_weights(flows);
    }

    void run() {
        std::vector<uint32_t> order(matrices_.size());
        std::iota(order.begin(), order.end(), 0);
        // All of a copy first, so that the next one begins where there is nothing of it.
        std::ranges::stable_sort(order, {}, [&](uint32_t m) { return matrices_[m].copy; });
        std::mt19937 random(1);  // the same numbers everywhere
        std::vector<uint32_t> best;
        double best_cost = 0;
        for (int start = 0; start < kStartsMax && (start == 0 || steps_ < kStepsMax); start++) {
            clear();
            for (const uint32_t m : order) begin(m, start == 0 ? 0 : random() % units_, start == 0);
            while (steps_ < kStepsMax && improve()) {
            }
            if (const double cost = total(); best.empty() || cost < best_cost) best = in_unit_, best_cost = cost;
            for (size_t i = order.size(); i > 1; i--) std::swap(order[i - 1], order[random() % i]);
        }
        in_unit_ = best;
    }

    uint32_t in_unit(uint32_t m, uint32_t unit) const { return in_unit_[size_t{m} * units_ + unit]; }

   private:
    void add_weights(std::span<const Flow> flows) {
        std::map<std::pair<uint32_t, uint32_t>, double> weights;
        double total = 1;
        for (const Flow& flow : flows) {
            total += flow.bytes;
            const double pairs = static_cast<double>(matrices_[flow.from].tiles()) * matrices_[flow.to].tiles();
            weights[std::minmax(flow.from, flow.to)] += flow.bytes / pairs;
        }
        std::map<uint32_t, std::vector<uint32_t>> copies;
        for (uint32_t m = 0; m < matrices_.size(); m++) copies[matrices_[m].original].push_back(m);
        // Outweighs all flows, by the least change of closeness that one tile can make.
        for (const auto& [original, all] : copies)
            for (size_t i = 0; i < all.size(); i++)
                for (size_t j = i + 1; j < all.size(); j++) weights[{all[i], all[j]}] -= kFar * total;
        for (const auto& [pair, weight] : weights) {
            if (pair.first == pair.second) {
                own_[pair.first] = weight;
                continue;
            }
            partners_[pair.first].push_back({pair.second, weight});
            partners_[pair.second].push_back({pair.first, weight});
        }
    }

    uint32_t distance(uint32_t a, uint32_t b) const {
        return a == b ? 0 : a / per_cluster_ == b / per_cluster_ ? 1 : kFar;
    }
    // Of a tile in this unit to all tiles of a matrix that have a place.
    double distances(uint32_t m, uint32_t unit) const {
        const uint32_t cluster = unit / per_cluster_;
        return static_cast<double>(kFar) * placed_[m] - in_cluster_[size_t{m} * clusters_ + cluster] - in_unit(m, unit);
    }

    void put(uint32_t m, uint32_t unit, int32_t tiles) {
        in_unit_[size_t{m} * units_ + unit] += static_cast<uint32_t>(tiles);
        in_cluster_[size_t{m} * clusters_ + unit / per_cluster_] += static_cast<uint32_t>(tiles);
        room_[unit] -= static_cast<uint32_t>(tiles);
        placed_[m] += static_cast<uint32_t>(tiles);
    }

    // What the tiles of a matrix cost in these units, with what has a place already.
    double cost(uint32_t m, std::span<const std::pair<uint32_t, uint32_t>> units) const {
        double sum = 0, all = 0, near = 0, in_cluster = 0;
        uint32_t cluster = 0;
        for (const auto& [unit, tiles] : units) {
            for (const Partner& partner : partners_[m]) sum += partner.weight * tiles * distances(partner.matrix, unit);
            // Those of a cluster follow each other, but for one that the run begins in and comes back to.
            if (unit / per_cluster_ != cluster) in_cluster = 0, cluster = unit / per_cluster_;
            near += tiles * (2 * in_cluster + tiles) + tiles * tiles;
            in_cluster += tiles, all += tiles;
        }
        return sum + own_[m] * (kFar * all * all - near);
    }

    void clear() {
        std::ranges::fill(in_unit_, 0);
        std::ranges::fill(in_cluster_, 0);
        placed_.assign(matrices_.size(), 0);
        room_ = whole_room_;
    }

    // Of all that has a place.
    double total() const {
        double sum = 0;
        for (uint32_t m = 0; m < matrices_.size(); m++)
            for (uint32_t unit = 0; unit < units_; unit++) {
                if (in_unit(m, unit) == 0) continue;
                double of_tile = own_[m] * distances(m, unit);
                for (const Partner& partner : partners_[m])
                    of_tile += partner.weight / 2 * distances(partner.matrix, unit);
                sum += in_unit(m, unit) * of_tile;
            }
        return sum;
    }

    // The first place of a matrix: the best run of units that have room. Of those that cost the same it is the fullest,
    // or else the first from an offset on.
    void begin(uint32_t m, uint32_t offset, bool fullest) {
        std::vector<std::pair<uint32_t, uint32_t>> best, run;
        double best_cost = 0;
        uint32_t best_rest = 0;
        for (uint32_t at = 0; at < units_; at++) {
            const uint32_t first = (at + offset) % units_;
            if (room_[first] == 0) continue;
            run.clear();
            uint32_t left = matrices_[m].tiles(), rest = 0;
            for (uint32_t i = 0; i < units_ && left != 0; i++) {
                const uint32_t unit = (first + i) % units_, taken = std::min(left, room_[unit]);
                if (taken != 0) run.emplace_back(unit, taken);
                left -= taken;
                rest = room_[unit] - taken;
            }
            steps_ += run.size() * (1 + partners_[m].size());
            const double found = cost(m, run);
            if (!best.empty() && (found > best_cost || (found == best_cost && !(fullest && rest < best_rest))))
                continue;
            best = run, best_cost = found, best_rest = rest;
        }
        for (const auto& [unit, tiles] : best) put(m, unit, static_cast<int32_t>(tiles));
    }

    // What changes if one tile of a matrix goes to another unit.
    double change(uint32_t m, uint32_t from, uint32_t to) const {
        double sum = 0;
        for (const Partner& partner : partners_[m])
            sum += partner.weight * (distances(partner.matrix, to) - distances(partner.matrix, from));
        return sum + 2 * own_[m] * (distances(m, to) - distance(from, to) - distances(m, from));
    }
    double weight_between(uint32_t m, uint32_t n) const {
        for (const Partner& partner : partners_[m])
            if (partner.matrix == n) return partner.weight;
        return 0;
    }

    // Moves tiles to where there is room, or exchanges two, while that makes it better. False: nothing did.
    bool improve() {
        bool better = false;
        std::vector<std::vector<uint32_t>> of_unit(units_);  // matrices that have tiles there
        for (uint32_t m = 0; m < matrices_.size(); m++)
            for (uint32_t unit = 0; unit < units_; unit++)
                if (in_unit(m, unit) != 0) of_unit[unit].push_back(m);
        for (uint32_t from = 0; from < units_; from++)
            for (size_t i = 0; i < of_unit[from].size(); i++)
                for (uint32_t to = 0; to < units_ && steps_ < kStepsMax; to++)
                    if (to != from && in_unit(of_unit[from][i], from) != 0)
                        better |= improve(of_unit[from][i], from, to, of_unit);
        return better;
    }

    bool improve(uint32_t m, uint32_t from, uint32_t to, std::vector<std::vector<uint32_t>>& of_unit) {
        steps_ += 1 + partners_[m].size();
        const double there = change(m, from, to);
        const double least = -kLeastGain * scale(m);
        if (room_[to] != 0 && there < least) {
            move(m, from, to, of_unit);
            return true;
        }
        for (const uint32_t n : of_unit[to]) {
            if (n == m || in_unit(n, to) == 0) continue;
            steps_ += 1 + partners_[n].size();
            const double both = there + change(n, to, from) + 2 * weight_between(m, n) * distance(from, to);
            if (both >= least - kLeastGain * scale(n)) continue;
            move(n, to, from, of_unit);
            move(m, from, to, of_unit);
            return true;
        }
        return false;
    }

    // The magnitude of what is added up for a tile of a matrix.
    double scale(uint32_t m) const {
        double sum = own_[m] * matrices_[m].tiles();
        for (const Partner& partner : partners_[m]) sum += std::abs(partner.weight) * matrices_[partner.matrix].tiles();
        return sum;
    }

    void move(uint32_t m, uint32_t from, uint32_t to, std::vector<std::vector<uint32_t>>& of_unit) {
        put(m, from, -1);
        put(m, to, 1);
        if (std::ranges::find(of_unit[to], m) == of_unit[to].end()) of_unit[to].push_back(m);
    }

    const uint32_t per_cluster_, units_;
    const std::span<const PlacedMatrix> matrices_;
    std::vector<std::vector<Partner>> partners_;
    std::vector<double> own_;  // weights between the tiles of one matrix
    std::vector<uint32_t> in_unit_, in_cluster_;
    const uint32_t clusters_;
    std::vector<uint32_t> whole_room_, room_;  // usable crossbars of each unit, and those that are free
    std::vector<uint32_t> placed_;             // tiles of each matrix that have a place
    uint64_t steps_ = 0;
};

}  // namespace

Placement place(const PlacedChip& chip, std::span<const PlacedMatrix> matrices, std::span<const Flow> flows) {
    uint64_t needed = 0;
    for (const PlacedMatrix& matrix : matrices) needed += matrix.tiles();
    if (needed > chip.usable.size()) return {};
    Search search(chip, matrices, flows);
    search.run();

    std::vector<std::vector<uint32_t>> free(chip.units());  // the next one is the last
    for (const uint32_t crossbar : chip.usable) free[crossbar / chip.crossbars_per_cu].push_back(crossbar);
    for (std::vector<uint32_t>& list : free) std::ranges::reverse(list);
    Placement placement;
    for (uint32_t m = 0; m < matrices.size(); m++) {
        const PlacedMatrix& matrix = matrices[m];
        std::vector<uint32_t>& crossbars = placement.emplace_back(matrix.tiles());
        uint32_t at = 0;
        for (uint32_t unit = 0; unit < chip.units(); unit++)
            for (uint32_t i = 0; i < search.in_unit(m, unit); i++, at++) {
                // The tiles of a column, whose sums are added up, are neighbours.
                const uint32_t row = at % matrix.tile_rows, column = at / matrix.tile_rows;
                crossbars[size_t{row} * matrix.tile_columns + column] = free[unit].back();
                free[unit].pop_back();
            }
    }
    return placement;
}

PlacementCost cost_of(const PlacedChip& chip, std::span<const PlacedMatrix> matrices, std::span<const Flow> flows,
                      const Placement& placement) {
    const auto mean_distance = [&](uint32_t a, uint32_t b) {
        double sum = 0;
        for (const uint32_t x : placement[a])
            for (const uint32_t y : placement[b]) {
                const uint32_t unit_x = x / chip.crossbars_per_cu, unit_y = y / chip.crossbars_per_cu;
                sum += unit_x == unit_y ? 0 : unit_x / chip.cus_per_cluster == unit_y / chip.cus_per_cluster ? 1 : kFar;
            }
        return sum / (static_cast<double>(placement[a].size()) * static_cast<double>(placement[b].size()));
    };
    PlacementCost cost;
    for (const Flow& flow : flows) cost.flows += flow.bytes * mean_distance(flow.from, flow.to);
    for (uint32_t a = 0; a < matrices.size(); a++)
        for (uint32_t b = a + 1; b < matrices.size(); b++)
            if (matrices[a].original == matrices[b].original) cost.closeness += kFar - mean_distance(a, b);
    return cost;
}

}  // namespace sidra::compiler
