// SPDX-License-Identifier: MIT
// What the functions of the host compute, against plain definitions, and which calls they refuse.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>
#include <numeric>
#include <random>

#include "check.h"
#include "host.h"

namespace sidra::test {
namespace {

namespace fb = sidra::format;
using fb::HostArray;
using fb::HostCall;

class HostFunctions : public testing::Test {
   protected:
    template <typename T>
    void add(fb::Type type, std::vector<uint64_t> shape, const std::vector<T>& values) {
        call.inputs.push_back({type, std::move(shape)});
        std::vector<std::byte>& bytes = inputs.emplace_back(values.size() * sizeof(T));
        if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
        EXPECT_EQ(bytes.size(), fb::bytes_of(call.inputs.back()));
    }
    // The output, or nothing if the function fails.
    template <typename T>
    std::vector<T> run(std::string_view name, std::string* why = nullptr) {
        const fb::HostFunction* const function = fb::find_host_function(name);
        EXPECT_NE(nullptr, function);
        EXPECT_EQ("", function->check(call));
        std::vector<const std::byte*> from;
        for (const auto& input : inputs) from.push_back(input.data());
        std::vector<std::byte> to(fb::bytes_of(call.output));
        const std::string text = function->run(call, from, to.data());
        if (why != nullptr) *why = text;
        else EXPECT_EQ("", text);
        std::vector<T> output(to.size() / sizeof(T));
        if (!output.empty()) std::memcpy(output.data(), to.data(), to.size());
        return output;
    }
    void refused(std::string_view name, const std::string& text) {
        const std::string said = fb::find_host_function(name)->check(call);
        EXPECT_NE(std::string::npos, said.find(text)) << said;
    }
    std::vector<float> floats(size_t count) {
        std::vector<float> made(count);
        for (float& x : made) x = std::uniform_real_distribution<float>(-2, 2)(random);
        return made;
    }
    void clear() {
        call = {};
        inputs.clear();
    }

    std::mt19937 random{1};
    HostCall call;
    std::vector<std::vector<std::byte>> inputs;
};

TEST_F(HostFunctions, HaveNames) {
    EXPECT_EQ(nullptr, fb::find_host_function("nonsense"));
    EXPECT_EQ("scatter", fb::find_host_function("scatter")->name);
}

// ---- determinant

// The sum over all permutations.
double determinant(const float* matrix, size_t n) {
    std::vector<size_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    double sum = 0;
    do {
        double product = 1;
        for (size_t i = 0; i < n; ++i) {
            product *= static_cast<double>(matrix[i * n + order[i]]);
            for (size_t j = 0; j < i; ++j)
                if (order[j] > order[i]) product = -product;
        }
        sum += product;
    } while (std::next_permutation(order.begin(), order.end()));
    return sum;
}

TEST_F(HostFunctions, Determinants) {
    for (size_t n = 0; n <= 6; ++n) {
        clear();
        std::vector<float> matrices = floats(3 * n * n);
        if (n > 1) std::copy_n(matrices.begin(), n, matrices.begin() + static_cast<ptrdiff_t>(n));  // singular
        if (n > 0) matrices[n * n] = 0;                                                             // needs a pivot
        add(fb::Type::F32, {3, n, n}, matrices);
        call.output = {fb::Type::F32, {3}};
        const std::vector<float> got = run<float>("determinant");
        for (size_t i = 0; i < 3; ++i)
            EXPECT_NEAR(determinant(matrices.data() + i * n * n, n), static_cast<double>(got[i]), 1e-5) << n;
    }
    call.output.shape = {4};
    refused("determinant", "the output of matrices");
    call.output = {fb::Type::S32, {3}};
    refused("determinant", "must be of type f32");
    call.inputs[0].shape[2]--;
    refused("determinant", "with as many rows as columns");
    call.parameters.push_back(1);
    refused("determinant", "it has 1 parameters, must have 0");
}

// ---- fourier

TEST_F(HostFunctions, FourierTransforms) {
    for (const size_t n : {0, 1, 2, 3, 7, 12, 30, 64, 97, 200, 257, 514, 1031})  // the last ones have large factors
        for (const bool inverse : {false, true}) {
            clear();
            constexpr size_t kRows = 2;
            const std::vector<float> from = floats(kRows * n * 2);
            add(fb::Type::F32, {kRows, n, 2}, from);
            call.output = call.inputs[0];
            call.parameters = {inverse ? 1 : 0};
            const std::vector<float> got = run<float>("fourier");
            for (size_t row = 0; row < kRows; ++row)
                for (size_t k = 0; k < n; ++k) {
                    std::complex<double> sum;
                    for (size_t i = 0; i < n; ++i) {
                        const float* const x = &from[(row * n + i) * 2];
                        const double angle = (inverse ? 2 : -2) * std::numbers::pi * static_cast<double>(i * k % n) /
                                             static_cast<double>(n);
                        sum += std::complex<double>(static_cast<double>(x[0]), static_cast<double>(x[1])) *
                               std::complex<double>(std::cos(angle), std::sin(angle));
                    }
                    if (inverse) sum /= static_cast<double>(n);
                    EXPECT_NEAR(sum.real(), static_cast<double>(got[(row * n + k) * 2]), 1e-4) << n;
                    EXPECT_NEAR(sum.imag(), static_cast<double>(got[(row * n + k) * 2 + 1]), 1e-4) << n;
                }
        }
    call.parameters = {2};
    refused("fourier", "the direction is 2");
    call.output.type = fb::Type::F16;
    refused("fourier", "must be of type f32");
    call.inputs[0].shape[2] = 3;
    refused("fourier", "real and imaginary parts");
    call.inputs.clear();
    refused("fourier", "it has 0 inputs, must have 1");
}

// Of one number that is not 0, whose transform is known. In a time that grows with the square it would take minutes.
TEST_F(HostFunctions, FourierTransformsOfALargePrime) {
    constexpr size_t kSize = 65'521, kAt = 12'345;
    for (const bool inverse : {false, true}) {
        clear();
        std::vector<float> from(kSize * 2);
        from[kAt * 2] = 1;
        add(fb::Type::F32, {1, kSize, 2}, from);
        call.output = call.inputs[0];
        call.parameters = {inverse ? 1 : 0};
        const std::vector<float> got = run<float>("fourier");
        const double scale = inverse ? 1.0 / kSize : 1.0;
        double worst = 0;
        for (size_t k = 0; k < kSize; ++k) {
            const double angle =
                (inverse ? 2 : -2) * std::numbers::pi * static_cast<double>(kAt * k % kSize) / double{kSize};
            worst = std::max({worst, std::abs(std::cos(angle) * scale - static_cast<double>(got[k * 2])),
                              std::abs(std::sin(angle) * scale - static_cast<double>(got[k * 2 + 1]))});
        }
        EXPECT_LT(worst, 1e-6 * scale);
    }
}

// ---- power

TEST_F(HostFunctions, PowersOfIntegers) {
    add<int32_t>(fb::Type::S32, {9}, {2, -2, 3, 0, 0, 1, -1, -1, 2});
    add<int64_t>(fb::Type::S64, {9}, {31, 3, 4, 0, 5, -7, -7, -8, -1});
    call.output = call.inputs[0];
    EXPECT_EQ((std::vector<int32_t>{INT32_MIN, -8, 81, 1, 0, 1, -1, 1, 0}), run<int32_t>("power"))
        << "products wrap; what is not whole is rounded towards zero";
    clear();
    add<int64_t>(fb::Type::S64, {5}, {3, 10, 4, -2, 0});
    add<float>(fb::Type::F32, {5}, {2.5f, 30, 0.5f, 0.5f, -1});
    call.output = call.inputs[0];
    EXPECT_EQ((std::vector<int64_t>{15, INT64_MAX, 2, 0, INT64_MAX}), run<int64_t>("power"))
        << "powers of real numbers saturate";
    clear();
    add<uint8_t>(fb::Type::U8, {3}, {3, 16, 255});
    add<int16_t>(fb::Type::S16, {3}, {5, 2, -1});
    call.output = call.inputs[0];
    EXPECT_EQ((std::vector<uint8_t>{243, 0, 0}), run<uint8_t>("power"));
    call.output.shape = {2};
    refused("power", "must have one shape");
    call.inputs[1].type = fb::Type::Bool;
    refused("power", "the exponent");
    call.output.type = fb::Type::S8;
    refused("power", "integers of one type");
    call.inputs[0].type = call.output.type = fb::Type::F32;
    refused("power", "integers of one type");
}

// ---- product

TEST_F(HostFunctions, ProductsOfIntegers) {
    constexpr size_t kMatrices = 2, kM = 3, kK = 4, kN = 5;
    std::vector<int32_t> lhs(kMatrices * kM * kK), rhs(kMatrices * kK * kN);
    for (auto* const numbers : {&lhs, &rhs})
        for (int32_t& x : *numbers) x = static_cast<int32_t>(random());
    add(fb::Type::S32, {kMatrices, kM, kK}, lhs);
    add(fb::Type::S32, {kMatrices, kK, kN}, rhs);
    call.output = {fb::Type::S32, {kMatrices, kM, kN}};
    const std::vector<int32_t> got = run<int32_t>("product");
    for (size_t p = 0; p < kMatrices; ++p)
        for (size_t i = 0; i < kM; ++i)
            for (size_t j = 0; j < kN; ++j) {
                uint64_t sum = 0;
                for (size_t k = 0; k < kK; ++k)
                    sum += static_cast<uint64_t>(int64_t{lhs[(p * kM + i) * kK + k]} * rhs[(p * kK + k) * kN + j]);
                EXPECT_EQ(static_cast<int32_t>(sum), got[(p * kM + i) * kN + j]);
            }
    call.output.type = fb::Type::S64;
    refused("product", "integers of one type");
    call.inputs[0].shape[2]++;
    refused("product", "matrices x m x k");
    call.inputs.pop_back();
    refused("product", "it has 1 inputs, must have 2");
}

// ---- scatter

TEST_F(HostFunctions, Scatters) {
    constexpr size_t kRows = 5, kColumns = 3, kUpdates = 8;
    for (int64_t reduction = 0; reduction < 5; ++reduction) {
        clear();
        const std::vector<float> data = floats(kRows * kColumns), updates = floats(kUpdates * kColumns);
        std::vector<int64_t> indices;
        for (size_t i = 0; i < kUpdates; ++i) indices.push_back(static_cast<int64_t>(random() % 10) - 5);
        add(fb::Type::F32, {kRows, kColumns}, data);
        add(fb::Type::S64, {kUpdates}, indices);
        add(fb::Type::F32, {kUpdates, kColumns}, updates);
        call.output = call.inputs[0];
        call.parameters = {reduction};
        std::vector<float> wanted = data;
        for (size_t i = 0; i < kUpdates; ++i)
            for (size_t c = 0; c < kColumns; ++c) {
                float& at = wanted[static_cast<size_t>((indices[i] + 5) % 5) * kColumns + c];
                const float with = updates[i * kColumns + c];
                const float results[] = {with, at + with, at * with, std::fmax(at, with), std::fmin(at, with)};
                at = results[reduction];
            }
        EXPECT_EQ(wanted, run<float>("scatter")) << reduction;
    }
}

TEST_F(HostFunctions, ScattersOfOtherTypes) {
    add<uint16_t>(fb::Type::F16, {3, 1}, {1, 2, 3});
    add<int32_t>(fb::Type::S32, {1}, {-1});
    add<uint16_t>(fb::Type::F16, {1, 1}, {9});
    call.output = call.inputs[0];
    call.parameters = {0};
    EXPECT_EQ((std::vector<uint16_t>{1, 2, 9}), run<uint16_t>("scatter"));
    call.parameters = {1};
    refused("scatter", "cannot be combined");
    clear();
    add<int8_t>(fb::Type::S8, {2, 1}, {127, -3});
    add<int32_t>(fb::Type::S32, {2}, {0, 1});
    add<int8_t>(fb::Type::S8, {2, 1}, {2, -100});
    call.output = call.inputs[0];
    call.parameters = {1};
    EXPECT_EQ((std::vector<int8_t>{-127, -103}), run<int8_t>("scatter"));
    call.parameters = {2};
    EXPECT_EQ((std::vector<int8_t>{-2, 44}), run<int8_t>("scatter"));
    clear();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    add<float>(fb::Type::F32, {2, 1}, {nan, 1});
    add<int32_t>(fb::Type::S32, {2}, {0, 1});
    add<float>(fb::Type::F32, {2, 1}, {1, nan});
    call.output = call.inputs[0];
    call.parameters = {3};
    for (const float x : run<float>("scatter")) EXPECT_TRUE(std::isnan(x));
}

TEST_F(HostFunctions, ScatterRefusals) {
    add<float>(fb::Type::F32, {2, 3}, {1, 2, 3, 4, 5, 6});
    add<int64_t>(fb::Type::S64, {2}, {1, 2});
    add<float>(fb::Type::F32, {2, 3}, {0, 0, 0, 0, 0, 0});
    call.output = call.inputs[0];
    call.parameters = {0};
    std::string why;
    run<float>("scatter", &why);
    EXPECT_EQ("index 1 is 2, but there are 2 rows", why);
    const int64_t least = INT64_MIN;
    std::memcpy(inputs[1].data(), &least, sizeof least);
    run<float>("scatter", &why);
    EXPECT_EQ("index 0 is -9223372036854775808, but there are 2 rows", why);
    call.parameters = {5};
    refused("scatter", "the reduction is 5");
    call.parameters = {-1};
    refused("scatter", "the reduction is -1");
    call.inputs[1].type = fb::Type::F32;
    refused("scatter", "the indices must be");
    call.inputs[2].type = fb::Type::S32;
    refused("scatter", "of one type");
    call.inputs[2].shape[1] = 2;
    refused("scatter", "rows x columns");
    call.inputs.pop_back();
    refused("scatter", "it has 2 inputs, must have 3");
}

// ---- ngrams

TEST_F(HostFunctions, CountsNgrams) {
    constexpr size_t kSize = 12, kWidth = 9;
    const std::vector<int32_t> pool = {1, 2, 3, /* pairs */ 1, 2, 2, 2, 3, 1, /* triples */ 1, 2, 3, 2, 2, 2};
    const std::vector<int64_t> columns = {4, 1, 0, 2, 3, 8, 5, 6};
    const std::vector<std::vector<int32_t>> sequences = {{1}, {2}, {3}, {1, 2}, {2, 2}, {3, 1}, {1, 2, 3}, {2, 2, 2}};
    for (const auto& [shortest, longest, skip] :
         {std::tuple{1, 1, 0}, {1, 3, 0}, {2, 2, 5}, {2, 3, 2}, {3, 3, 100}, {1, 3, 4}}) {
        clear();
        std::vector<int32_t> rows(2 * kSize);
        for (int32_t& x : rows) x = static_cast<int32_t>(random() % 3) + 1;
        add(fb::Type::S32, {2, kSize}, rows);
        add(fb::Type::S32, {pool.size()}, pool);
        add(fb::Type::S64, {columns.size()}, columns);
        call.output = {fb::Type::F32, {2, kWidth}};
        call.parameters = {shortest, longest, skip, 0, 3, 9};
        std::vector<float> wanted(2 * kWidth);
        for (size_t row = 0; row < 2; ++row)
            for (size_t s = 0; s < sequences.size(); ++s) {
                const auto length = static_cast<int>(sequences[s].size());
                if (length < shortest || length > longest) continue;
                for (int apart = 1; apart <= (length == 1 ? 1 : skip + 1); ++apart)
                    for (int first = 0; first < static_cast<int>(kSize); ++first) {
                        bool same = true;
                        for (int i = 0; i < length && same; ++i) {
                            const int at = first + i * apart;
                            same = at < static_cast<int>(kSize) &&
                                   rows[row * kSize + static_cast<size_t>(at)] == sequences[s][static_cast<size_t>(i)];
                        }
                        if (same) wanted[row * kWidth + static_cast<size_t>(columns[s])]++;
                    }
            }
        EXPECT_EQ(wanted, run<float>("ngrams")) << shortest << ' ' << longest << ' ' << skip;
    }
    call.output.shape[1] = 8;
    std::string why;
    run<float>("ngrams", &why);
    EXPECT_EQ("column 5 is 8, but the output has 8", why);
    call.parameters = {1, 4, 0, 0, 3, 9};
    refused("ngrams", "its lengths are from 1 to 4, of 3 that the pool has");
    call.parameters = {0, 1, 0, 0};
    refused("ngrams", "its lengths are from 0");
    call.parameters = {1, 1, -1, 0};
    refused("ngrams", "its lengths are");
    call.parameters = {1, 2, 0, 0, 4};
    refused("ngrams", "no sequences of 2 from 4 to 15");
    call.parameters = {1, 1, 0, 0};
    refused("ngrams", "the pool has 15 sequences, but there are 8 columns");
    call.parameters = {1, 1, 0};
    refused("ngrams", "it has 3 parameters, must have at least 4");
    call.parameters = {1, 3, 0, 0, 3, 9};
    call.inputs[1].type = fb::Type::S64;
    refused("ngrams", "as those of the pool");
    call.inputs[0].shape.pop_back();
    refused("ngrams", "rows x numbers");
}

}  // namespace
}  // namespace sidra::test
