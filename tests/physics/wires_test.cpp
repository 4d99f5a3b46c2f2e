// SPDX-License-Identifier: MIT
#include "wires.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

namespace sidra::test {
namespace {

using physics::EffectiveConductance;
using physics::InstructionSet;
using physics::Wires;

constexpr InstructionSet kSets[] = {InstructionSet::kScalar, InstructionSet::kAvx2, InstructionSet::kAvx512,
                                    InstructionSet::kNeon};

std::vector<double> effective(const std::vector<double>& g, uint32_t rows, uint32_t columns, const Wires& wires) {
    std::vector<double> found(g.size());
    EffectiveConductance().find(g.data(), rows, columns, wires, found.data());
    return found;
}

// Column currents of three published-by-construction arrays, by a sparse LU solution of all nodes in double
// (scipy SuperLU; agrees with block elimination to 1.3e-12).
struct Golden {
    uint32_t n;
    double g_max, ohm;
    double first, middle, last, sum;  // A
    double g_first, g_last;           // S; 0 if unknown
};
const Golden kGolden[] = {
    {4, 25e-6, 0.35, 2.677349910930e-07, 6.358622728166e-07, 8.199239781231e-07, 2.175320839395e-06, 0, 0},
    {16, 25e-6, 0.35, 9.401042445340e-06, 2.464266070226e-05, 2.216699130589e-05, 3.344416602169e-04, 0, 0},
    {64, 25e-6, 0.35, 6.964219777309e-05, 7.936040222772e-05, 7.993000270723e-05, 4.974284529206e-03, 0, 0},
    {256, 25e-6, 0.35, 3.011296238978e-04, 2.636038117491e-04, 2.650562729427e-04, 6.948117947153e-02,
     2.200156809891e-07, 2.008475554887e-05},
    {256, 100e-6, 1, 7.042084516254e-04, 3.904569774425e-04, 3.339370741722e-04, 1.107556018053e-01, 3.920399050412e-07,
     2.860073382489e-05},
};

TEST(Wires, GoldenVectors) {
    for (const Golden& golden : kGolden) {
        const uint32_t n = golden.n;
        std::vector<double> g(size_t{n} * n);
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; j < n; j++)
                g[size_t{i} * n + j] = golden.g_max * (0.01 + 0.99 * ((7 * i + 13 * j) % 256) / 255);
        const std::vector<double> found = effective(g, n, n, {golden.ohm, golden.ohm, false});
        std::vector<double> current(n);
        double sum = 0;
        for (uint32_t j = 0; j < n; j++) {
            for (uint32_t i = 0; i < n; i++) current[j] += found[size_t{i} * n + j] * 0.2 * ((31 * i) % 256) / 255;
            sum += current[j];
        }
        const auto expect = [&](double value, double expected) { EXPECT_NEAR(value / expected, 1, 1e-11) << n; };
        expect(current[0], golden.first);
        expect(current[n / 2], golden.middle);
        expect(current[n - 1], golden.last);
        expect(sum, golden.sum);
        if (golden.g_first == 0) continue;
        expect(found.front(), golden.g_first);
        expect(found.back(), golden.g_last);
    }
}

// All node voltages, by Gaussian elimination with pivoting in long double.
std::vector<double> by_nodes(const std::vector<double>& g, uint32_t rows, uint32_t columns, const Wires& wires) {
    const size_t n = size_t{2} * rows * columns;
    const auto word = [&](uint32_t i, uint32_t j) { return size_t{i} * columns + j; };
    const auto bit = [&](uint32_t i, uint32_t j) { return size_t{rows} * columns + word(i, j); };
    using Real = long double;
    std::vector<std::vector<Real>> y(n, std::vector<Real>(n + rows, 0));  // with a right-hand side a row
    const auto connect = [&](size_t a, size_t b, Real s) {
        y[a][a] += s;
        y[b][b] += s;
        y[a][b] -= s;
        y[b][a] -= s;
    };
    const Real w = Real{1} / static_cast<Real>(wires.row_ohm), b = Real{1} / static_cast<Real>(wires.column_ohm);
    const auto drive = [&](size_t node, uint32_t row) {
        y[node][node] += w;
        y[node][n + row] += w;
    };
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t j = 0; j < columns; j++) {
            connect(word(i, j), bit(i, j), static_cast<Real>(g[word(i, j)]));
            if (j == 0) drive(word(i, j), i);
            if (j + 1 < columns) connect(word(i, j), word(i, j + 1), w);
            if (j + 1 == columns && wires.both_ends) drive(word(i, j), i);
            if (i + 1 < rows) connect(bit(i, j), bit(i + 1, j), b);
            else y[bit(i, j)][bit(i, j)] += b;
        }
    for (size_t k = 0; k < n; k++) {
        size_t pivot = k;
        for (size_t i = k; i < n; i++)
            if (std::fabs(y[i][k]) > std::fabs(y[pivot][k])) pivot = i;
        std::swap(y[k], y[pivot]);
        for (size_t i = 0; i < n; i++) {
            if (i == k || y[i][k] == 0) continue;
            const Real factor = y[i][k] / y[k][k];
            for (size_t j = k; j < n + rows; j++) y[i][j] -= factor * y[k][j];
        }
    }
    std::vector<double> found(g.size());
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t j = 0; j < columns; j++) {
            const size_t node = bit(rows - 1, j);
            found[word(i, j)] = static_cast<double>(b * y[node][n + i] / y[node][node]);
        }
    return found;
}

TEST(Wires, EveryShapeAgainstAllNodes) {
    std::mt19937 random(3);
    std::uniform_real_distribution<double> conductance(1e-7, 1e-4);
    const std::pair<uint32_t, uint32_t> kShapes[] = {{4, 4}, {8, 8}, {4, 16}, {16, 4}, {8, 16}, {16, 8}, {16, 16}};
    for (const auto& [rows, columns] : kShapes)
        for (const bool both_ends : {false, true}) {
            const Wires wires{both_ends ? 20.0 : 3.0, 7.0, both_ends};
            std::vector<double> g(size_t{rows} * columns);
            for (double& s : g) s = conductance(random);
            const auto expected = by_nodes(g, rows, columns, wires), found = effective(g, rows, columns, wires);
            for (size_t i = 0; i < g.size(); i++)
                ASSERT_NEAR(found[i] / expected[i], 1, 1e-11)
                    << rows << "x" << columns << " both ends " << both_ends << " cell " << i;
        }
}

TEST(Wires, TheSameBitsWithEveryInstructionSetAndAgain) {
    std::mt19937 random(4);
    std::uniform_real_distribution<double> conductance(1e-8, 3e-6);
    int sets = 0;
    for (const uint32_t n : {8u, 64u, 128u}) {
        std::vector<double> g(size_t{n} * n);
        for (double& s : g) s = conductance(random);
        const Wires wires{2.37, 2.37, n == 64};
        std::vector<double> scalar(g.size());
        EffectiveConductance(InstructionSet::kScalar).find(g.data(), n, n, wires, scalar.data());
        for (const InstructionSet set : kSets) {
            try {
                EffectiveConductance finder(set);
                for (int again = 0; again < 2; again++) {
                    std::vector<double> found = g;  // in place
                    finder.find(found.data(), n, n, wires, found.data());
                    ASSERT_EQ(found, scalar) << static_cast<int>(set);
                }
                sets++;
            } catch (const std::invalid_argument&) {  // not on this CPU
            }
        }
    }
    EXPECT_GE(sets, 3);
}

}  // namespace
}  // namespace sidra::test
