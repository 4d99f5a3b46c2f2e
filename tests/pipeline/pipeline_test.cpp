// SPDX-License-Identifier: MIT
// Networks on several embedded chips compute what they do on one, in order, and say which stage has failed.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>

#include "expect.h"
#include "networks.h"
#include "patience.h"
#include "sidra/sidra.hpp"

namespace sidra::test {
namespace {

using Values = std::vector<std::vector<float>>;

struct Chip {
    Chip()
        : device(Device::open(0, {.profile = SIDRA_PROFILE_SMALL, .workers = 1, .private_chip = true})),
          context(device) {}
    Device device;
    Context context;
};

class PipelineTest : public testing::Test {
   protected:
    static void SetUpTestSuite() { setenv("SIDRA_DEVICE", "embedded", 1); }

    Pipeline make(const std::string& file, size_t count) {
        while (chips.size() < count) chips.push_back(std::make_unique<Chip>());
        std::vector<const Context*> contexts;
        for (size_t i = 0; i < count; i++) contexts.push_back(&chips[i]->context);
        return {contexts, file};
    }
    Values random_inputs(const Network& network) {
        std::uniform_real_distribution<float> any(-1, 1);
        Values values;
        for (const size_t size : network.inputs)
            for (float& value : values.emplace_back(size)) value = any(random);
        return values;
    }
    static void submit(Pipeline& pipeline, const Values& inputs) {
        std::vector<const void*> from;
        for (const auto& input : inputs) from.push_back(input.data());
        pipeline.submit(0, from);
    }
    static sidra_status receive(Pipeline& pipeline, const Network& network, Values* values) {
        values->clear();
        for (const size_t size : network.outputs) values->emplace_back(size);
        std::vector<void*> to;
        for (auto& output : *values) to.push_back(output.data());
        return sidra_pipeline_receive(pipeline.get(), to.data(), soon());
    }
    static Values on_one_chip(const Network& network, const Values& inputs) {
        const Chip chip;
        const Model model(chip.context, network.file_for(1));
        Stream stream(chip.context);
        stream.deploy(model);
        Values outputs;
        std::vector<const void*> from;
        std::vector<void*> to;
        for (const auto& input : inputs) from.push_back(input.data());
        for (const size_t size : network.outputs) outputs.emplace_back(size);
        for (auto& output : outputs) to.push_back(output.data());
        stream.run(model, 0, from, to);
        return outputs;
    }
    void expect_same(const Network& network) {
        ASSERT_EQ("", network.compile(1));
        const Values first = random_inputs(network), second = random_inputs(network);
        const Values wanted_first = on_one_chip(network, first), wanted_second = on_one_chip(network, second);
        ASSERT_NE(wanted_first, wanted_second);
        for (const uint32_t stages : {2u, 4u}) {
            ASSERT_EQ("", network.compile(stages));
            Pipeline pipeline = make(network.file_for(stages), stages);
            EXPECT_EQ(stages, pipeline.info().stages);
            pipeline.deploy();
            // Many runs under way, whose results come in order.
            const uint32_t runs = pipeline.info().runs_max;
            for (uint32_t i = 0; i < 3 * runs; i++) {
                submit(pipeline, i % 3 == 0 ? first : second);
                if (i + 1 < runs) continue;
                Values got;
                ASSERT_OK(receive(pipeline, network, &got));
                EXPECT_EQ((i + 1 - runs) % 3 == 0 ? wanted_first : wanted_second, got)
                    << stages << " stages, run " << i + 1 - runs;
            }
            EXPECT_EQ(runs - 1, pipeline.info().runs);
            pipeline.synchronize();
        }
    }
    static void chain(Network& network, int layers, int64_t rows = 4) {
        std::string value = network.input("x", rows);
        for (int i = 0; i < layers; i++) value = network.layer(value);
        network.output(value, rows);
    }

    std::vector<std::unique_ptr<Chip>> chips;
    std::mt19937 random{3};
};

TEST_F(PipelineTest, Chain) {
    Network network("chain");
    chain(network, 6);
    expect_same(network);
}

// A value of the first stage is wanted in the last one, and is an output, too.
TEST_F(PipelineTest, ValuesThatSkipStages) {
    Network network("residual");
    const std::string early = network.layer(network.input("x", 4));
    std::string value = early;
    for (int i = 0; i < 6; i++) value = network.layer(value);
    network.output(network.node("Add", {value, early}), 4);
    network.output(early, 4);
    expect_same(network);
}

TEST_F(PipelineTest, TwoInputs) {
    Network network("inputs");
    std::string value = network.layer(network.input("a", 4));
    const std::string other = network.input("b", 4);
    for (int i = 0; i < 4; i++) value = network.layer(value);
    network.output(network.layer(network.node("Mul", {value, other})), 4);
    expect_same(network);
}

TEST_F(PipelineTest, FunctionsOfTheHost) {
    Network network("host");
    std::string value = network.layer(network.input("x", kWidth));
    const std::string determinant = network.node("Det", {value});
    for (int i = 0; i < 3; i++) value = network.layer(value);
    network.output(network.node("Add", {value, determinant}), kWidth);
    expect_same(network);
}

TEST_F(PipelineTest, OneFileForOneChip) {
    Network network("single");
    chain(network, 2);
    ASSERT_EQ("", network.compile(1));
    const Values inputs = random_inputs(network);
    Pipeline pipeline = make(network.file_for(1), 1);
    pipeline.deploy();
    submit(pipeline, inputs);
    Values got;
    ASSERT_OK(receive(pipeline, network, &got));
    EXPECT_EQ(on_one_chip(network, inputs), got);
    ASSERT_EQ("", network.compile(SIDRA_CHIPS_AUTO));  // one is enough
    EXPECT_NO_THROW(make(network.file_for(SIDRA_CHIPS_AUTO), 1));
}

// In device time, which does not depend on this machine, four chips do nearly four times as much as one.
TEST_F(PipelineTest, DeviceTimeIsShared) {
    Network network("balanced");
    chain(network, 8, 64);
    ASSERT_EQ("", network.compile(1));
    ASSERT_EQ("", network.compile(4));
    constexpr int kRuns = 4;
    const auto slowest = [&](uint32_t stages) {
        Pipeline pipeline = make(network.file_for(stages), stages);
        pipeline.deploy();
        pipeline.synchronize();
        std::vector<uint64_t> before;
        for (uint32_t s = 0; s < stages; s++) before.push_back(pipeline.device_time(s).picoseconds);
        for (int i = 0; i < kRuns; i++) submit(pipeline, random_inputs(network));
        Values got;
        for (int i = 0; i < kRuns; i++) EXPECT_OK(receive(pipeline, network, &got));
        uint64_t most = 0;
        for (uint32_t s = 0; s < stages; s++) most = std::max(most, pipeline.device_time(s).picoseconds - before[s]);
        return static_cast<double>(most);
    };
    const double efficiency = slowest(1) / (4 * slowest(4));
    EXPECT_GE(efficiency, 0.85);
    EXPECT_LE(efficiency, 1.0);
}

TEST_F(PipelineTest, ALostChipIsNamed) {
    Network network("lost");
    chain(network, 8);
    ASSERT_EQ("", network.compile(1));
    ASSERT_EQ("", network.compile(4));
    const Values inputs = random_inputs(network);
    const Values wanted = on_one_chip(network, inputs);
    Pipeline pipeline = make(network.file_for(4), 4);
    pipeline.deploy();
    submit(pipeline, inputs);
    Values got;
    ASSERT_OK(receive(pipeline, network, &got));
    ASSERT_OK(sidra_device_reset(chips[2]->device.get()));
    std::string text;
    try {
        submit(pipeline, inputs);
        EXPECT_NE(SIDRA_OK, receive(pipeline, network, &got));
        text = sidra_last_error();
    } catch (const Error& error) {
        text = error.what();
    }
    EXPECT_NE(std::string::npos, text.find("stage 2 of 4 on ")) << text;
    EXPECT_NE(std::string::npos, text.find("lost4.sidra")) << text;
    std::vector<const void*> from{inputs[0].data()};
    EXPECT_EQ(SIDRA_ERROR_FAULT, sidra_pipeline_submit(pipeline.get(), 0, from.data()));
    pipeline.reset();
    EXPECT_EQ(0u, pipeline.info().runs);
    for (int i = 0; i < 5; i++) submit(pipeline, inputs);
    for (int i = 0; i < 5; i++) {
        ASSERT_OK(receive(pipeline, network, &got));
        EXPECT_EQ(wanted, got);
    }
}

// A chip is lost while runs are in all stages; nothing hangs, and a pipeline with runs can be destroyed.
TEST_F(PipelineTest, ALostChipUnderLoad) {
    Network network("load");
    chain(network, 8, 64);
    ASSERT_EQ("", network.compile(4));
    const Values inputs = random_inputs(network);
    for (size_t lost = 0; lost < 4; lost++) {
        Pipeline pipeline = make(network.file_for(4), 4);
        pipeline.deploy();
        const uint32_t runs = pipeline.info().runs_max;
        for (uint32_t i = 0; i < runs; i++) submit(pipeline, inputs);
        std::vector<const void*> from{inputs[0].data()};
        EXPECT_EQ(SIDRA_ERROR_BUSY, sidra_pipeline_submit(pipeline.get(), 0, from.data()));
        ASSERT_OK(sidra_device_reset(chips[lost]->device.get()));
        Values got;
        sidra_status status = SIDRA_OK;
        for (uint32_t i = 0; i < runs && status == SIDRA_OK; i++) status = receive(pipeline, network, &got);
        EXPECT_NE(SIDRA_ERROR_TIMEOUT, status);
        if (status != SIDRA_OK)
            EXPECT_NE(std::string::npos,
                      std::string(sidra_last_error()).find("stage " + std::to_string(lost) + " of 4"))
                << sidra_last_error();
        pipeline.close();
        for (const auto& chip : chips) ASSERT_OK(sidra_context_recover(chip->context.get()));
    }
}

TEST_F(PipelineTest, DestroyedWithRuns) {
    Network network("destroyed");
    chain(network, 4);
    ASSERT_EQ("", network.compile(2));
    for (int i = 0; i < 4; i++) {
        Pipeline pipeline = make(network.file_for(2), 2);
        pipeline.deploy();
        for (int run = 0; run < i; run++) submit(pipeline, random_inputs(network));
    }
}

TEST_F(PipelineTest, WhatIsRefused) {
    Network network("refused");
    chain(network, 1);
    EXPECT_NE(std::string::npos, network.compile(16).find("too few for 16 chips"));
    EXPECT_EQ("there are at most 16 chips", network.compile(17));

    Network longer("longer");
    chain(longer, 4);
    ASSERT_EQ("", longer.compile(2));
    chips.push_back(std::make_unique<Chip>());
    chips.push_back(std::make_unique<Chip>());
    sidra_context* contexts[] = {chips[0]->context.get(), chips[1]->context.get(), chips[0]->context.get()};
    const std::string file = longer.file_for(2);
    sidra_pipeline* made = nullptr;
    const auto expect_refused = [&](uint32_t count, const std::string& path, const std::string& why) {
        EXPECT_NE(SIDRA_OK, sidra_pipeline_create(contexts, count, path.c_str(), &made));
        EXPECT_NE(std::string::npos, std::string(sidra_last_error()).find(why)) << sidra_last_error();
    };
    expect_refused(0, file, "`count` is 0");
    expect_refused(1, file, "has 2 stages, but `count` is 1");
    expect_refused(3, file, "contexts[0] and contexts[2] are the same");
    expect_refused(2, "missing.sidra", "missing.sidra cannot be opened");
    sidra_model* model = nullptr;
    EXPECT_EQ(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_load(contexts[0], file.c_str(), &model));
    EXPECT_NE(std::string::npos, std::string(sidra_last_error()).find("sidra_pipeline_create()")) << sidra_last_error();

    Pipeline pipeline = make(file, 2);
    const Values inputs = random_inputs(longer);
    std::vector<const void*> from{inputs[0].data()};
    EXPECT_EQ(SIDRA_ERROR_UNPROGRAMMED, sidra_pipeline_submit(pipeline.get(), 0, from.data()));
    EXPECT_EQ(SIDRA_ERROR_NOT_FOUND, sidra_pipeline_receive(pipeline.get(), nullptr, soon()));
    EXPECT_EQ(SIDRA_ERROR_INVALID_ARGUMENT, sidra_pipeline_submit(pipeline.get(), 1, from.data()));
    EXPECT_EQ(SIDRA_ERROR_INVALID_ARGUMENT, sidra_pipeline_submit(pipeline.get(), 0, nullptr));
    EXPECT_EQ(SIDRA_ERROR_INVALID_ARGUMENT, sidra_pipeline_get_stage(pipeline.get(), 2, &model));
    pipeline.deploy();
    submit(pipeline, inputs);
    Values got;
    EXPECT_OK(receive(pipeline, longer, &got));
}

// A byte that is wrong in the middle of a stage's part of the file is found.
TEST_F(PipelineTest, DamagedStages) {
    Network network("damaged");
    chain(network, 4);
    ASSERT_EQ("", network.compile(2));
    std::ifstream in(network.file_for(2), std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(in), {}};
    chips.push_back(std::make_unique<Chip>());
    chips.push_back(std::make_unique<Chip>());
    size_t found = 0;
    for (size_t at = 0; at < whole.size(); at += 509) {
        std::string bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ 0x40);
        std::ofstream(network.file_for(2), std::ios::binary | std::ios::trunc) << bytes;
        try {
            const Pipeline pipeline = make(network.file_for(2), 2);
        } catch (const Error& error) {
            EXPECT_NE(std::string::npos, std::string(error.what()).find("damaged")) << error.what();
            found++;
        }
    }
    EXPECT_GT(found, 4u);
}

}  // namespace
}  // namespace sidra::test
