// SPDX-License-Identifier: MIT
// Compiled models whose file has vectors for the ranges of ADCs, on a chip of level accurate.
#include "model_fixture.h"

namespace sidra::test {
namespace {

class ModelCalibration : public ModelStreams {
   protected:
    static constexpr uint32_t kVectors = 128;

    void SetUp() override {
        choose_test_device();
        if (on_a_node()) GTEST_SKIP() << "its level is given to QEMU";
        open_chip({.level = SIDRA_LEVEL_ACCURATE, .stuck_ppm = SIDRA_STUCK_NONE});
        ASSERT_OK(sidra_stream_create(context, nullptr, &second));
        words = std::make_unique<Buffer>(context, 64);
        network.model.calibrations = {codes(Perceptron::kInputs, 255), codes(Perceptron::kHidden, 255)};
    }

    Bytes codes(uint32_t k, int most) {
        Bytes made(size_t{kVectors} * k);
        randomise(std::span(made), 0, most);
        return made;
    }

    sidra_tile_report report(sidra_model* model, uint32_t matrix, uint32_t tile) {
        auto of = SIDRA_INIT(sidra_model_matrix);
        EXPECT_OK(sidra_model_get_matrix(model, matrix, &of));
        auto made = SIDRA_INIT(sidra_tile_report);
        EXPECT_OK(sidra_weights_report(of.weights, tile, &made));
        return made;
    }

    // The largest sum that the vectors give in a tile of 128 columns, all of whose rows are in one tile.
    double largest_sum(uint32_t matrix, uint32_t tile) const {
        const auto& values = network.model.values[matrix];
        const Bytes& vectors = network.model.calibrations[matrix];
        const size_t k = vectors.size() / kVectors, n = values.size() / k;
        double largest = 0;
        for (size_t v = 0; v < kVectors; ++v)
            for (size_t j = tile * 128; j < std::min<size_t>(n, (tile + 1) * 128); ++j) {
                double sum = 0;
                for (size_t i = 0; i < k; ++i) sum += static_cast<double>(vectors[v * k + i]) * values[i * n + j];
                largest = std::max(largest, std::abs(sum));
            }
        return largest;
    }

    // Both matrices have the ranges of their vectors.
    void expect_ranges(sidra_model* model) {
        for (const auto& [matrix, tile] : {std::pair{0u, 0u}, {0u, 1u}, {1u, 0u}}) {
            const double sum = largest_sum(matrix, tile);
            EXPECT_GT(static_cast<double>(report(model, matrix, tile).adc_range), 1.1 * sum) << matrix << tile;
            EXPECT_LT(static_cast<double>(report(model, matrix, tile).adc_range), 1.4 * sum) << matrix << tile;
        }
    }

    void run(sidra_model* model) {
        const std::vector<uint8_t> input = pixels(2);
        std::vector<float> scores(2 * Perceptron::kOutputs);
        std::vector<int64_t> digits(2);
        const void* const inputs[] = {input.data()};
        void* const outputs[] = {scores.data(), digits.data()};
        ASSERT_OK(sidra_model_run(stream, model, 0, inputs, outputs, soon()));
    }

    Perceptron network{{2}, 1};
};

TEST_F(ModelCalibration, SetsTheRangesOfAdcs) {
    sidra_model* const model = deploy(network.model.file());
    run(model);
    expect_ranges(model);
    for (const uint32_t tile : {0u, 1u}) EXPECT_EQ(0u, report(model, 0, tile).clipped);
    destroy(model);
    network.model.calibrations.clear();
    network.model.manifest.matrices[0]->calibration.reset();
    network.model.manifest.matrices[1]->calibration.reset();
    sidra_model* const without = deploy(network.model.file());
    run(without);
    EXPECT_EQ(0u, report(without, 0, 0).adc_range);
}

// One matrix only, with inputs that are much smaller than those to come.
TEST_F(ModelCalibration, CountsWhatItsRangesClip) {
    network.model.calibrations = {codes(Perceptron::kInputs, 3)};
    sidra_model* const model = deploy(network.model.file());
    run(model);
    EXPECT_GT(report(model, 0, 0).clipped, 0u);
    EXPECT_EQ(0u, report(model, 1, 0).adc_range);
    EXPECT_EQ(0u, report(model, 1, 0).clipped);
}

TEST_F(ModelCalibration, AgainDoesNothing) {
    sidra_model* const model = deploy(network.model.file());
    uint64_t before = 0, after = 0;
    ASSERT_OK(sidra_stream_timeline(stream, &before, nullptr));
    EXPECT_OK(sidra_model_deploy_async(stream, model));
    synchronize();
    run(model);
    uint64_t ran = 0;
    ASSERT_OK(sidra_stream_timeline(stream, &ran, nullptr));
    EXPECT_OK(sidra_model_deploy_async(stream, model));
    ASSERT_OK(sidra_stream_timeline(stream, &after, nullptr));
    EXPECT_EQ(ran, after);
    expect_ranges(model);
}

// A reset drops all of it, and the application programs one matrix by itself, in another stream.
TEST_F(ModelCalibration, GoesOnAfterAReset) {
    const TestFile file(network.model.file());
    sidra_model* const model = load(file);
    block(stream);
    ASSERT_OK(sidra_model_deploy_async(stream, model));
    ASSERT_OK(sidra_stream_reset(stream));
    block(second);
    auto matrix = SIDRA_INIT(sidra_model_matrix);
    ASSERT_OK(sidra_model_get_matrix(model, 0, &matrix));
    ASSERT_OK(sidra_weights_program_async(second, matrix.weights));
    EXPECT_FAILS(SIDRA_ERROR_UNPROGRAMMED, sidra_model_run_async(stream, model, 0));
    expect_said("matrix 0 'fc1.weight' of model");
    expect_said("its calibration was dropped; queue sidra_model_deploy_async() again");
    ASSERT_OK(sidra_model_deploy_async(stream, model));
    unblock();
    run(model);
    expect_ranges(model);
}

TEST_F(ModelCalibration, OfADamagedFileLeavesNoCrossbarTaken) {
    const Bytes good = network.model.file();
    Bytes bad = good;
    bad.back() ^= 1;  // of the second matrix
    const TestFile file(bad);
    sidra_model* const model = load(file);
    const uint32_t free = free_crossbars();
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_deploy_async(stream, model));
    expect_said("the calibration of matrix 1 'fc2.weight': the hash of its 25600 bytes is wrong");
    EXPECT_EQ(free, free_crossbars());
    file.write(good);
    ASSERT_OK(sidra_model_deploy_async(stream, model));
    run(model);
    expect_ranges(model);
}

TEST_F(ModelCalibration, IsChecked) {
    const auto refused = [&](const std::function<void(fb::Section*)>& change, const std::string& why) {
        const TestFile file(network.model.file([&](fb::ModelT& m) { change(m.matrices[0]->calibration.get()); }));
        sidra_model* model = nullptr;
        EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_load(context, file.path(), &model));
        expect_said(why);
    };
    const auto sized = [](uint64_t size) { return [=](fb::Section* s) { *s = {s->offset(), size, s->hash()}; }; };
    refused(sized(0), "matrix 0 'fc1.weight': calibration has 0 bytes, but must have 1 to 1024 vectors of 64");
    refused(sized(8191), "calibration has 8191 bytes");
    refused(sized(1025 * 64), "calibration has 65600 bytes");
    refused(sized(256 * 64), "overlap in the file");
    refused(
        [](fb::Section* s) {
            *s = {s->offset() + 64, s->size(), s->hash()};
        },
        "the calibration of matrix 0 'fc1.weight': offset");
    refused([](fb::Section* s) { *s = {uint64_t{1} << 40, s->size(), s->hash()}; }, "are not in the file");
}

}  // namespace
}  // namespace sidra::test
