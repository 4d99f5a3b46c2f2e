// SPDX-License-Identifier: MIT
// Compiled models on a small chip, destroyed with the test.
#ifndef SIDRA_TESTS_MODEL_FIXTURE_H
#define SIDRA_TESTS_MODEL_FIXTURE_H

#include <algorithm>
#include <memory>
#include <string>

#include "chip_fixture.h"
#include "model_builder.h"
#include "sidra/model.h"

namespace sidra::test {

class ModelTest : public ChipTest {
   protected:
    void TearDown() override {
        for (sidra_model* model : models) EXPECT_OK(sidra_model_destroy(model));
        ChipTest::TearDown();
    }

    sidra_model* load(const Bytes& bytes) {
        const TestFile file(bytes);
        return load(file);
    }
    sidra_model* load(const TestFile& file) {
        sidra_model* model = nullptr;
        EXPECT_OK(sidra_model_load(context, file.path(), &model));
        if (model != nullptr) models.push_back(model);
        return model;
    }
    // The file is gone when the model runs.
    sidra_model* deploy(const Bytes& bytes) {
        const TestFile file(bytes);
        sidra_model* model = load(file);
        EXPECT_OK(sidra_model_deploy_async(stream, model));
        return model;
    }
    void destroy(sidra_model* model) {
        EXPECT_OK(sidra_model_destroy(model));
        std::erase(models, model);
    }

    // The last error has this text.
    static void expect_said(const std::string& text) {
        EXPECT_NE(std::string::npos, std::string(sidra_last_error()).find(text))
            << sidra_last_error() << "\ndoes not say: " << text;
    }

    template <typename T>
    std::span<T> memory(sidra_model* model, uint32_t variant, size_t offset, size_t count) {
        sidra_buffer* buffer = nullptr;
        void* address = nullptr;
        EXPECT_OK(sidra_model_get_buffer(model, variant, &buffer));
        EXPECT_OK(sidra_buffer_map(buffer, &address));
        return {reinterpret_cast<T*>(static_cast<std::byte*>(address) + offset), count};
    }

    std::vector<uint8_t> pixels(uint32_t rows) {
        std::vector<uint8_t> made(size_t{rows} * Perceptron::kInputs);
        randomise(std::span(made), 0, 255);
        return made;
    }
    void expect_answers(const Perceptron& network, sidra_model* model, uint32_t variant,
                        const std::vector<uint8_t>& input, sidra_stream* on = nullptr) {
        const std::vector<float> expected = network.answers(input);
        const size_t rows = expected.size() / Perceptron::kOutputs;
        std::vector<float> scores(expected.size());
        std::vector<int64_t> digits(rows);
        const void* const inputs[] = {input.data()};
        void* const outputs[] = {scores.data(), digits.data()};
        ASSERT_OK(sidra_model_run(on != nullptr ? on : stream, model, variant, inputs, outputs, soon()));
        EXPECT_EQ(expected, scores);
        for (size_t r = 0; r < rows; ++r) {
            const auto begin = expected.begin() + static_cast<ptrdiff_t>(r * Perceptron::kOutputs);
            EXPECT_EQ(std::max_element(begin, begin + Perceptron::kOutputs) - begin, digits[r]);
        }
    }
    uint32_t free_crossbars() {
        auto info = SIDRA_INIT(sidra_device_info);
        EXPECT_OK(sidra_device_get_info(device, &info));
        return info.crossbars_free;
    }

    std::vector<sidra_model*> models;
};

// With a second stream, and a word for which streams can be made to wait.
class ModelStreams : public ModelTest {
   protected:
    void SetUp() override {
        ModelTest::SetUp();
        ASSERT_OK(sidra_stream_create(context, nullptr, &second));
        words = std::make_unique<Buffer>(context, 64);
    }
    void TearDown() override {
        EXPECT_OK(sidra_stream_destroy(second));
        words.reset();
        ModelTest::TearDown();
    }
    void block(sidra_stream* which) { ASSERT_OK(sidra_semaphore_wait_async(which, words->at(), 1)); }
    void unblock() { ASSERT_OK(sidra_semaphore_signal(context, words->at(), 1)); }

    sidra_stream* second = nullptr;
    std::unique_ptr<Buffer> words;
};

}  // namespace sidra::test

#endif
