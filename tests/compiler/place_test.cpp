// SPDX-License-Identifier: MIT
// Placement: what holds for any chip and network, the best of all placements on small ones, and maps of chips.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <random>
#include <set>

#include "placement/chip_map.h"
#include "placement/place.h"

namespace sidra::compiler {
namespace {

PlacedChip whole(uint32_t clusters, uint32_t cus, uint32_t crossbars) {
    PlacedChip chip{clusters, cus, crossbars, std::vector<uint32_t>(size_t{clusters} * cus * crossbars)};
    std::iota(chip.usable.begin(), chip.usable.end(), 0);
    return chip;
}

struct Case {
    PlacedChip chip;
    std::vector<PlacedMatrix> matrices;
    std::vector<Flow> flows;

    uint32_t tiles() const {
        uint32_t sum = 0;
        for (const PlacedMatrix& matrix : matrices) sum += matrix.tiles();
        return sum;
    }
};

// A chain of matrices, with branches, copies, and crossbars that are missing.
Case any_case(std::mt19937& random, uint32_t clusters, uint32_t cus, uint32_t crossbars, uint32_t most_matrices,
              uint32_t most_rows) {
    const auto below = [&](uint32_t end) { return static_cast<uint32_t>(random() % end); };
    Case made{whole(clusters, cus, crossbars), {}, {}};
    std::erase_if(made.chip.usable, [&](uint32_t) { return below(6) == 0; });
    for (uint32_t m = 0, count = 1 + below(most_matrices); m < count; m++) {
        PlacedMatrix matrix{1 + below(most_rows), 1 + below(2), m, 0};
        if (m > 0 && below(4) == 0) {  // a copy of the one before
            matrix = made.matrices.back();
            matrix.copy++;
        }
        if (made.tiles() + matrix.tiles() > made.chip.usable.size()) break;
        made.matrices.push_back(matrix);
        if (m > 0) made.flows.push_back({m - 1, m, 1.0 + below(1000)});
        if (m > 1 && below(3) == 0) made.flows.push_back({below(m - 1), m, 1.0 + below(1000)});
        if (below(2) == 0) made.flows.push_back({m, m, 1.0 + below(1000)});
    }
    return made;
}

TEST(Place, PutsEachTileOnAUsableCrossbarOfItsOwn) {
    std::mt19937 random(1);
    for (int round = 0; round < 300; round++) {
        const Case it = any_case(random, 1 + round % 4, 1 + round % 5, 1 + round % 7, 12, 5);
        const std::set<uint32_t> usable(it.chip.usable.begin(), it.chip.usable.end());
        const Placement placement = place(it.chip, it.matrices, it.flows);
        ASSERT_EQ(placement.size(), it.matrices.size());
        std::set<uint32_t> taken;
        for (size_t m = 0; m < placement.size(); m++) {
            ASSERT_EQ(placement[m].size(), it.matrices[m].tiles());
            for (const uint32_t crossbar : placement[m]) {
                EXPECT_TRUE(usable.contains(crossbar)) << crossbar;
                EXPECT_TRUE(taken.insert(crossbar).second) << crossbar << " twice";
            }
        }
        EXPECT_EQ(placement, place(it.chip, it.matrices, it.flows)) << "another time";
    }
}

TEST(Place, NeedsAsManyCrossbarsAsThereAreTiles) {
    PlacedChip chip = whole(1, 2, 2);
    const std::vector<PlacedMatrix> matrices{{2, 2}};
    EXPECT_EQ(place(chip, matrices, {}).size(), 1u);
    chip.usable.pop_back();
    EXPECT_TRUE(place(chip, matrices, {}).empty());
    EXPECT_TRUE(place(chip, {}, {}).empty());
}

// All ways to put tiles into units: a unit for each tile, tiles of a matrix in ascending order.
PlacementCost best_of_all(const Case& it) {
    std::vector<std::vector<uint32_t>> free(it.chip.units());
    for (const uint32_t crossbar : it.chip.usable) free[crossbar / it.chip.crossbars_per_cu].push_back(crossbar);
    std::vector<uint32_t> used(it.chip.units());
    Placement placement(it.matrices.size());
    PlacementCost best{1e300, 1e300};
    const std::function<void(uint32_t, uint32_t)> put = [&](uint32_t m, uint32_t least) {
        if (m == it.matrices.size()) {
            const PlacementCost cost = cost_of(it.chip, it.matrices, it.flows, placement);
            const double gain = best.closeness - cost.closeness;
            if (gain > 1e-9 || (gain > -1e-9 && cost.flows < best.flows)) best = cost;
            return;
        }
        if (placement[m].size() == it.matrices[m].tiles()) return put(m + 1, 0);
        for (uint32_t unit = least; unit < it.chip.units(); unit++) {
            if (used[unit] == free[unit].size()) continue;
            placement[m].push_back(free[unit][used[unit]++]);
            put(m, unit);
            placement[m].pop_back();
            used[unit]--;
        }
    };
    put(0, 0);
    return best;
}

TEST(Place, IsTheBestOfAllPlacementsOnSmallChips) {
    std::mt19937 random(2);
    int cases = 0, best = 0;
    for (int round = 0; round < 200; round++) {
        const Case it = any_case(random, 2, 2, 2 + round % 2, 4, 2);
        if (it.matrices.size() < 2 || it.tiles() > 9) continue;
        const PlacementCost least = best_of_all(it);
        const PlacementCost found = cost_of(it.chip, it.matrices, it.flows, place(it.chip, it.matrices, it.flows));
        EXPECT_NEAR(found.closeness, least.closeness, 1e-9) << "copies could be further apart, round " << round;
        EXPECT_GT(found.flows, least.flows - 1e-6) << "nothing is better than the best, round " << round;
        cases++, best += found.flows < least.flows + 1e-6;
    }
    EXPECT_GT(cases, 100);
    EXPECT_EQ(best, cases);
}

// A chain that fits a unit in pairs: each pair shares one.
TEST(Place, NeighboursInAChainShareUnits) {
    const PlacedChip chip = whole(2, 4, 4);
    std::vector<PlacedMatrix> matrices;
    std::vector<Flow> flows;
    for (uint32_t m = 0; m < 8; m++) {
        matrices.push_back({2, 1, m, 0});
        if (m > 0) flows.push_back({m - 1, m, m % 2 == 1 ? 1000.0 : 10.0});
    }
    const Placement placement = place(chip, matrices, flows);
    for (uint32_t m = 0; m < 8; m += 2) {
        std::set<uint32_t> units;
        for (const uint32_t tile : {placement[m][0], placement[m][1], placement[m + 1][0], placement[m + 1][1]})
            units.insert(tile / 4);
        EXPECT_EQ(units.size(), 1u) << m;
    }
    EXPECT_EQ(cost_of(chip, matrices, flows, placement).flows, 30.0) << "all of it fits one cluster";
}

TEST(Place, CopiesAreInDifferentClusters) {
    const PlacedChip chip = whole(4, 5, 4);
    std::vector<PlacedMatrix> matrices;
    std::vector<Flow> flows;
    for (uint32_t copy = 0; copy < 4; copy++)
        for (uint32_t layer = 0; layer < 2; layer++) matrices.push_back({3, 1, layer, copy});
    for (uint32_t from = 0; from < 8; from += 2)
        for (uint32_t to = 1; to < 8; to += 2) flows.push_back({from, to, 1e6});
    const Placement placement = place(chip, matrices, flows);
    for (uint32_t layer = 0; layer < 2; layer++) {
        std::set<uint32_t> clusters;
        for (uint32_t copy = 0; copy < 4; copy++)
            for (const uint32_t crossbar : placement[2 * copy + layer]) clusters.insert(copy << 8 | crossbar / 20);
        EXPECT_EQ(clusters.size(), 4u) << "each copy is in one cluster";
    }
    EXPECT_EQ(cost_of(chip, matrices, flows, placement).closeness, 0);
}

// All crossbars of a Y1 chip, in one and in many matrices.
TEST(Place, AFullChipIsPlaced) {
    for (const uint32_t tiles : {1u, 4u, 64u, 6400u}) {
        const PlacedChip chip = whole(16, 25, 16);
        std::vector<PlacedMatrix> matrices;
        std::vector<Flow> flows;
        for (uint32_t m = 0; m < 6400 / tiles; m++) {
            matrices.push_back({tiles, 1, m, 0});
            if (m > 0) flows.push_back({m - 1, m, 1000});
            flows.push_back({m, m, 100});
        }
        const Placement placement = place(chip, matrices, flows);
        ASSERT_EQ(placement.size(), matrices.size());
        std::set<uint32_t> taken;
        for (const std::vector<uint32_t>& crossbars : placement) taken.insert(crossbars.begin(), crossbars.end());
        EXPECT_EQ(taken.size(), 6400u);
        if (tiles != 4) continue;
        for (const std::vector<uint32_t>& crossbars : placement)
            EXPECT_EQ(crossbars.front() / 16, crossbars.back() / 16) << "four of them fill a unit";
    }
}

// ---- Maps -----------------------------------------------------------------------------------------------------------

std::string map_text(const std::string& chip) {
    return R"({"schema": "sidra-smi/1", "command": "map", "chips": [)" + chip + "]}";
}
const std::string kSmall =
    R"({"name": "x", "clusters": 1, "cus_per_cluster": 2, "crossbars_per_cu": 4,
        "bad": [{"crossbar": 7, "cells": 65536}], "in_use": [0, 2]})";

TEST(ChipMap, IsRead) {
    const ChipMap map = parse_chip_map(map_text(kSmall));
    EXPECT_EQ(map.crossbars(), 8u);
    EXPECT_EQ(map.clusters, 1u);
    EXPECT_EQ(map.cus_per_cluster, 2u);
    EXPECT_EQ(map.crossbars_per_cu, 4u);
    EXPECT_EQ(map.bad_cells, (std::vector<uint32_t>{0, 0, 0, 0, 0, 0, 0, 65536}));
    EXPECT_EQ(map.in_use, (std::vector<bool>{true, false, true, false, false, false, false, false}));
}

TEST(ChipMap, SaysWhatIsWrong) {
    const auto refused = [](const std::string& text, const std::string& why) {
        try {
            parse_chip_map(text);
            FAIL() << text;
        } catch (const ChipMapError& error) {
            EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what() << "\n" << why;
        }
    };
    const auto changed = [](const std::string& from, const std::string& to) {
        std::string chip = kSmall;
        chip.replace(chip.find(from), from.size(), to);
        return map_text(chip);
    };
    refused("", "it is no JSON");
    refused("{", "it is no JSON");
    refused("[]", "'sidra-smi map' writes one");
    refused(R"({"schema": "sidra-smi/1", "command": "health", "chips": []})", "it is no map of a chip");
    refused(R"({"schema": "sidra-smi/2", "command": "map", "chips": []})", "it is no map of a chip");
    refused(R"({"schema": "sidra-smi/1", "command": "map"})", "'chips' is missing, or no list");
    refused(map_text(""), "the maps of 0 chips");
    refused(map_text("1"), "the maps of 1 chips");
    refused(map_text(kSmall + "," + kSmall), "the maps of 2 chips");
    refused(changed("\"clusters\": 1", "\"clusters\": 0"), "'clusters' is no integer from 1 to 1048576");
    refused(changed("\"clusters\": 1", "\"clusters\": 1.5"), "'clusters' is no integer");
    refused(changed("\"clusters\": 1,", ""), "'clusters' is missing");
    refused(changed("\"crossbars_per_cu\": 4", "\"crossbars_per_cu\": 1048577"), "from 1 to 524288");
    refused(changed("\"crossbar\": 7", "\"crossbar\": 8"), "bad[0] is no crossbar: the chip has numbers from 0 to 7");
    refused(changed("\"crossbar\": 7", "\"crossbar\": -1"), "bad[0] is no crossbar");
    refused(changed("\"crossbar\": 7, ", ""), "bad[0] has no 'crossbar'");
    refused(changed("65536", "65537"), "'cells' is no integer from 0 to 65536");
    refused(changed("[0, 2]", "[0, \"2\"]"), "in_use[1] is no crossbar");
    refused(changed("[0, 2]", "2"), "'in_use' is missing, or no list");
    EXPECT_THROW(read_chip_map("/nowhere/map.json"), ChipMapError);
}

}  // namespace
}  // namespace sidra::compiler
