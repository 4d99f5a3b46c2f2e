// SPDX-License-Identifier: MIT
// Compiled models on a chip: deployed and run, alone and together.
#include <algorithm>
#include <cstring>
#include <thread>

#include "chip_fixture.h"
#include "model_builder.h"
#include "sidra/model.h"

namespace sidra::test {
namespace {

class ModelRun : public ChipTest {
   protected:
    sidra_model* load(const Bytes& bytes) {
        const TestFile file(bytes);
        sidra_model* model = nullptr;
        EXPECT_OK(sidra_model_load(context, file.path(), &model));
        return model;
    }
    sidra_model* deploy(const Bytes& bytes) {
        const TestFile file(bytes);
        sidra_model* model = nullptr;
        EXPECT_OK(sidra_model_load(context, file.path(), &model));
        EXPECT_OK(sidra_model_deploy_async(stream, model));
        return model;
    }
    std::vector<uint8_t> pixels(uint32_t rows) {
        std::vector<uint8_t> made(size_t{rows} * Perceptron::kInputs);
        randomise(std::span(made), 0, 255);
        return made;
    }
    void expect_answers(const Perceptron& network, sidra_model* model, uint32_t variant,
                        const std::vector<uint8_t>& input) {
        const std::vector<float> expected = network.answers(input);
        const size_t rows = expected.size() / Perceptron::kOutputs;
        std::vector<float> scores(expected.size());
        std::vector<int64_t> digits(rows);
        const void* const inputs[] = {input.data()};
        void* const outputs[] = {scores.data(), digits.data()};
        ASSERT_OK(sidra_model_run(stream, model, variant, inputs, outputs, soon()));
        EXPECT_EQ(expected, scores);
        for (size_t r = 0; r < rows; ++r) {
            const auto begin = expected.begin() + static_cast<ptrdiff_t>(r * Perceptron::kOutputs);
            EXPECT_EQ(std::max_element(begin, begin + Perceptron::kOutputs) - begin, digits[r]);
        }
    }
};

TEST_F(ModelRun, TwoVariantsGiveThePlainAnswers) {
    Perceptron network({1, 33}, 1);
    sidra_model* model = deploy(network.model.file());
    for (int round = 0; round < 3; ++round) {
        expect_answers(network, model, 0, pixels(1));
        expect_answers(network, model, 1, pixels(33));
    }
    auto info = SIDRA_INIT(sidra_model_info);
    ASSERT_OK(sidra_model_get_info(model, &info));
    EXPECT_TRUE(info.deployed);
    EXPECT_OK(sidra_model_destroy(model));
}

}  // namespace
}  // namespace sidra::test
