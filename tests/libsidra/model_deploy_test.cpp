// SPDX-License-Identifier: MIT
// Compiled models: from the file to crossbars, with what may go wrong on the way.
#include <cstring>
#include <thread>

#include "../chip/failing_new.h"
#include "model_fixture.h"
#include "says_nothing.h"

namespace sidra::test {
namespace {

using ModelDeploy = ModelTest;

std::vector<int8_t> ones(uint32_t k, uint32_t n) { return std::vector<int8_t>(size_t{k} * n, 1); }

TEST_F(ModelDeploy, AModelThatIsNotDeployedDoesNotRun) {
    Perceptron network({2}, 1);
    const TestFile file(network.model.file());
    sidra_model* model = load(file);
    EXPECT_FAILS(SIDRA_ERROR_UNPROGRAMMED, sidra_model_run_async(stream, model, 0));
    expect_said("sidra_model_deploy_async()");
    EXPECT_FAILS(SIDRA_ERROR_UNPROGRAMMED, sidra_model_run(stream, model, 0, nullptr, nullptr, soon()));
    ASSERT_OK(sidra_model_deploy_async(stream, model));
    expect_answers(network, model, 0, pixels(2));
}

TEST_F(ModelDeploy, Progress) {
    Perceptron network({2}, 1);
    const Buffer words(context, 64);
    const TestFile file(network.model.file());
    sidra_model* model = load(file);
    const uint64_t weights = 64 * 200 + 200 * 10;
    uint64_t done = 1, total = 0;
    ASSERT_OK(sidra_model_progress(model, &done, &total));
    EXPECT_EQ(0u, done);
    EXPECT_EQ(weights, total);
    ASSERT_OK(sidra_semaphore_wait_async(stream, words.at(), 1));
    ASSERT_OK(sidra_model_deploy_async(stream, model));
    ASSERT_OK(sidra_model_progress(model, &done, nullptr));
    EXPECT_EQ(0u, done);
    ASSERT_OK(sidra_semaphore_signal(context, words.at(), 1));
    synchronize();
    ASSERT_OK(sidra_model_progress(model, &done, &total));
    EXPECT_EQ(weights, done);
    EXPECT_EQ(weights, total);
    auto info = SIDRA_INIT(sidra_model_info);
    ASSERT_OK(sidra_model_get_info(model, &info));
    EXPECT_TRUE(info.deployed);
}

TEST_F(ModelDeploy, AgainDoesNothing) {
    Perceptron network({2}, 1);
    sidra_model* model = deploy(network.model.file());
    uint64_t before = 0, after = 0;
    ASSERT_OK(sidra_stream_timeline(stream, &before, nullptr));
    EXPECT_OK(sidra_model_deploy_async(stream, model));
    ASSERT_OK(sidra_stream_timeline(stream, &after, nullptr));
    EXPECT_EQ(before, after) << "also while it is only queued";
    synchronize();
    EXPECT_OK(sidra_model_deploy_async(stream, model));
    ASSERT_OK(sidra_stream_timeline(stream, &after, nullptr));
    EXPECT_EQ(before, after);
}

// A reset drops all of it, and the application programs one matrix by itself: only the other one is left.
TEST_F(ModelDeploy, GoesOnAfterAReset) {
    Perceptron network({2}, 1);
    const Buffer words(context, 64);
    const TestFile file(network.model.file());
    sidra_model* model = load(file);
    ASSERT_OK(sidra_semaphore_wait_async(stream, words.at(), 1));
    ASSERT_OK(sidra_model_deploy_async(stream, model));
    ASSERT_OK(sidra_stream_reset(stream));
    EXPECT_FAILS(SIDRA_ERROR_UNPROGRAMMED, sidra_model_run_async(stream, model, 0));
    expect_said("matrix 0 'fc1.weight'");
    auto matrix = SIDRA_INIT(sidra_model_matrix);
    ASSERT_OK(sidra_model_get_matrix(model, 0, &matrix));
    ASSERT_OK(sidra_weights_program_async(stream, matrix.weights));
    synchronize();
    EXPECT_FAILS(SIDRA_ERROR_UNPROGRAMMED, sidra_model_run_async(stream, model, 0));
    expect_said("matrix 1 'fc2.weight'");
    uint64_t before = 0, after = 0;
    ASSERT_OK(sidra_stream_timeline(stream, &before, nullptr));
    ASSERT_OK(sidra_model_deploy_async(stream, model));
    ASSERT_OK(sidra_stream_timeline(stream, &after, nullptr));
    EXPECT_EQ(1u, after - before) << "only the second matrix";
    expect_answers(network, model, 0, pixels(2));
}

TEST_F(ModelDeploy, AStoppedStreamChangesNothing) {
    Perceptron network({2}, 1);
    const TestFile file(network.model.file());
    sidra_model* model = load(file);
    const uint32_t free = free_crossbars();
    sidra_buffer* gone = nullptr;
    ASSERT_OK(sidra_buffer_create(context, 64, 0, &gone));
    const Buffer words(context, 64);
    ASSERT_OK(sidra_semaphore_wait_async(stream, words.at(), 1));
    ASSERT_OK(sidra_fill_async(stream, {gone, 0}, 0, 1, 64));
    ASSERT_OK(sidra_buffer_destroy(gone));
    ASSERT_OK(sidra_semaphore_signal(context, words.at(), 1));
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_synchronize(stream, soon()));
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_model_deploy_async(stream, model));
    EXPECT_EQ(free, free_crossbars());
    ASSERT_OK(sidra_stream_reset(stream));
    ASSERT_OK(sidra_model_deploy_async(stream, model));
    expect_answers(network, model, 0, pixels(2));
}

using ModelDeployment = ModelStreams;

// If nothing can be queued, the weights are destroyed again: until then no other thread may see them.
TEST_F(ModelDeployment, IsNotSeenBeforeItsProgrammingIsQueued) {
    Perceptron network({2}, 1);
    const TestFile file(network.model.file());
    sidra_model* model = load(file);
    auto options = SIDRA_INIT(sidra_stream_options);
    options.ring_packets = 64;
    sidra_stream* full = nullptr;
    sidra_buffer* word = nullptr;
    ASSERT_OK(sidra_stream_create(context, &options, &full));
    ASSERT_OK(sidra_buffer_create(context, 64, 0, &word));
    ASSERT_OK(sidra_semaphore_wait_async(full, {word, 0}, 1));
    for (uint32_t i = 1; i < options.ring_packets; ++i) ASSERT_OK(sidra_nop_async(full));
    const uint32_t free = free_crossbars();
    sidra_status deployed = SIDRA_OK;
    std::thread deploying([&] { deployed = sidra_model_deploy_async(full, model); });
    EXPECT_TRUE(eventually([&] { return free - free_crossbars() == 3; })) << "all of its weights";
    auto matrix = SIDRA_INIT(sidra_model_matrix);
    EXPECT_OK(sidra_model_get_matrix(model, 0, &matrix));
    EXPECT_EQ(nullptr, matrix.weights);
    uint64_t done = 1;
    EXPECT_OK(sidra_model_progress(model, &done, nullptr));
    EXPECT_EQ(0u, done);
    EXPECT_FAILS(SIDRA_ERROR_UNPROGRAMMED, sidra_model_run_async(second, model, 0));
    EXPECT_OK(sidra_buffer_destroy(word));  // stops the stream
    deploying.join();
    EXPECT_EQ(SIDRA_ERROR_FAULT, deployed);
    EXPECT_EQ(free, free_crossbars());
    EXPECT_OK(sidra_stream_destroy(full));
    ASSERT_OK(sidra_model_deploy_async(stream, model));
    expect_answers(network, model, 0, pixels(2));
}

using ModelSharing = ModelStreams;

TEST_F(ModelSharing, MatricesOfOtherShapesNeedNoCrossbars) {
    Perceptron two({2}, 1), five({5}, 1);
    const uint32_t before = free_crossbars();
    sidra_model* const first = deploy(two.model.file());
    const uint32_t free = free_crossbars();
    EXPECT_LT(free, before);
    const TestFile file(five.model.file());
    sidra_model* const second = load(file);
    uint32_t shared = 0;
    ASSERT_OK(sidra_model_share_matrices(second, first, &shared));
    EXPECT_EQ(2u, shared);
    ASSERT_OK(sidra_model_share_matrices(second, first, &shared));
    EXPECT_EQ(0u, shared) << "it has all of them";
    ASSERT_OK(sidra_model_deploy_async(stream, second));
    EXPECT_EQ(free, free_crossbars());
    expect_answers(two, first, 0, pixels(2));
    expect_answers(five, second, 0, pixels(5));
    destroy(first);
    EXPECT_EQ(free, free_crossbars()) << "the second one has them still";
    expect_answers(five, second, 0, pixels(5));
    destroy(second);
    EXPECT_EQ(before, free_crossbars());
}

TEST_F(ModelSharing, OneThatSharesWaitsForTheProgrammingInAnotherStream) {
    Perceptron two({2}, 1), five({5}, 1);
    const TestFile file(two.model.file()), other(five.model.file());
    sidra_model* const first = load(file);
    block(stream);
    ASSERT_OK(sidra_model_deploy_async(stream, first));
    sidra_model* const later = load(other);
    ASSERT_OK(sidra_model_share_matrices(later, first, nullptr));
    ASSERT_OK(sidra_model_deploy_async(second, later));
    ASSERT_OK(sidra_model_run_async(second, later, 0));
    EXPECT_FAILS(SIDRA_ERROR_TIMEOUT, sidra_stream_synchronize(second, sidra_deadline_after_ns(20'000'000)));
    unblock();
    expect_answers(five, later, 0, pixels(5), second);
}

TEST_F(ModelSharing, OneThatWaitsForRoomBlocksNoQuery) {
    Perceptron two({2}, 1), five({5}, 1);
    const TestFile file(two.model.file()), other(five.model.file());
    sidra_model* const first = load(file);
    auto options = SIDRA_INIT(sidra_stream_options);
    options.ring_packets = 64;
    sidra_stream* full = nullptr;
    ASSERT_OK(sidra_stream_create(context, &options, &full));
    for (sidra_stream* each : {stream, full}) block(each);
    for (uint32_t i = 1; i < options.ring_packets; ++i) ASSERT_OK(sidra_nop_async(full));
    ASSERT_OK(sidra_model_deploy_async(stream, first));
    sidra_model* const later = load(other);
    ASSERT_OK(sidra_model_share_matrices(later, first, nullptr));
    std::thread deploying([&] { EXPECT_OK(sidra_model_deploy_async(full, later)); });
    for (int i = 0; i < 10'000; ++i) {  // at last the thread waits
        EXPECT_OK(sidra_model_progress(first, nullptr, nullptr));
        std::this_thread::yield();
    }
    unblock();
    deploying.join();
    expect_answers(five, later, 0, pixels(5), full);
    EXPECT_OK(sidra_stream_destroy(full));
}

TEST_F(ModelSharing, WhoSharesProgramsWhatAResetHasDropped) {
    Perceptron two({2}, 1), five({5}, 1);
    const TestFile file(two.model.file()), other(five.model.file());
    sidra_model* const first = load(file);
    block(stream);
    ASSERT_OK(sidra_model_deploy_async(stream, first));
    ASSERT_OK(sidra_stream_reset(stream));
    sidra_model* const later = load(other);
    ASSERT_OK(sidra_model_share_matrices(later, first, nullptr));
    ASSERT_OK(sidra_model_deploy_async(second, later));
    expect_answers(five, later, 0, pixels(5), second);
    expect_answers(two, first, 0, pixels(2), second);
}

TEST_F(ModelSharing, OnlyWhatIsTheSameIsShared) {
    Perceptron network({2}, 1), another({2}, 2);
    sidra_model* const first = deploy(network.model.file());
    const auto shared_with = [&](const Bytes& bytes) {
        uint32_t shared = 9;
        EXPECT_OK(sidra_model_share_matrices(load(bytes), first, &shared));
        return shared;
    };
    EXPECT_EQ(0u, shared_with(another.model.file()));
    EXPECT_EQ(1u, shared_with(network.model.file(
                      [](fb::ModelT& manifest) { manifest.matrices[0]->encoding = fb::Encoding::Offset; })));
    const uint32_t inputs = network.model.manifest.matrices[0]->k;
    network.model.calibrations = {Bytes(inputs)};
    EXPECT_EQ(1u, shared_with(network.model.file())) << "one has ranges of its own";
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_share_matrices(first, first, nullptr));
    expect_said("another one's matrices are needed");
    sidra_context* foreign = nullptr;
    ASSERT_OK(sidra_context_create(device, &foreign));
    const TestFile file(network.model.file());
    sidra_model* model = nullptr;
    ASSERT_OK(sidra_model_load(foreign, file.path(), &model));
    EXPECT_FAILS(SIDRA_ERROR_WRONG_CONTEXT, sidra_model_share_matrices(model, first, nullptr));
    EXPECT_OK(sidra_model_destroy(model));
    EXPECT_OK(sidra_context_destroy(foreign));
}

class ModelPlacement : public ModelTest {
   protected:
    // The first matrix has two tiles, or one with the offset encoding; the second one has one.
    Bytes placed(const std::vector<uint32_t>& first, const std::vector<uint32_t>& second,
                 uint32_t bad_cells = UINT32_MAX) {
        return network.model.file([&](fb::ModelT& manifest) {
            manifest.matrices[0]->crossbars = first;
            manifest.matrices[1]->crossbars = second;
            manifest.bad_cells = bad_cells;
        });
    }
    std::vector<uint32_t> crossbars(sidra_model* model, uint32_t index) {
        auto matrix = SIDRA_INIT(sidra_model_matrix);
        EXPECT_OK(sidra_model_get_matrix(model, index, &matrix));
        uint32_t count = 8;
        std::vector<uint32_t> list(count);
        EXPECT_OK(sidra_weights_crossbars(matrix.weights, list.data(), &count));
        list.resize(count);
        return list;
    }
    // Deploys it, and returns what libsidra says.
    std::string told(sidra_model* model) {
        unsetenv("SIDRA_QUIET");
        testing::internal::CaptureStderr();
        EXPECT_OK(sidra_model_deploy_async(stream, model));
        return testing::internal::GetCapturedStderr();
    }

    static bool says_one(const std::string& text) {
        return text.find("sidra: 1 of 2 matrices of model ") == 0 &&
               text.find(" are not on the crossbars that the file names") != std::string::npos;
    }

    using List = std::vector<uint32_t>;
    Perceptron network{{2}, 1};
};

TEST_F(ModelPlacement, IsThatOfTheFile) {
    sidra_model* model = load(placed({6, 1}, {3}));
    EXPECT_EQ("", told(model));
    EXPECT_EQ(crossbars(model, 0), (List{6, 1}));
    EXPECT_EQ(crossbars(model, 1), (List{3}));
    expect_answers(network, model, 0, pixels(2));
}

TEST_F(ModelPlacement, DecidesTheEncoding) {
    sidra_model* model = load(placed({5}, {0}));
    EXPECT_EQ("", told(model));
    EXPECT_EQ(crossbars(model, 0), (List{5}));
    expect_answers(network, model, 0, pixels(2));
}

TEST_F(ModelPlacement, GivesWayToWhatIsThere) {
    sidra_model* const before = load(placed({6, 1}, {3}));
    EXPECT_EQ("", told(before));
    sidra_model* const again = load(placed({6, 1}, {2}));
    const SaysNothing quiet;
    EXPECT_TRUE(says_one(told(again)));
    EXPECT_EQ(crossbars(again, 1), (List{2})) << "whose crossbar is free";
    expect_answers(network, again, 0, pixels(2));
    expect_answers(network, before, 0, pixels(2));
}

// The first matrix leaves the crossbar of the second one alone, although the driver would take it.
TEST_F(ModelPlacement, ComesBeforeTheChoiceOfTheDriver) {
    sidra_model* model = load(placed({8, 9}, {0}));
    EXPECT_TRUE(says_one(told(model)));
    EXPECT_EQ(crossbars(model, 1), (List{0}));
    expect_answers(network, model, 0, pixels(2));
}

// A chip of level accurate knows its stuck cells once a crossbar was programmed: some 600 of 65,536 here.
class AgedPlacement : public ModelPlacement {
   protected:
    void SetUp() override {
        choose_test_device();
        if (on_a_node()) GTEST_SKIP() << "its level is given to QEMU";
        open_chip({.level = SIDRA_LEVEL_ACCURATE, .stuck_ppm = 10'000});
    }
};

TEST_F(AgedPlacement, AvoidsCrossbarsThatHaveBecomeBad) {
    sidra_model* const first = load(placed({6, 1}, {3}, 0));
    EXPECT_EQ("", told(first)) << "no cell is known to be stuck";
    synchronize();
    destroy(first);
    sidra_model* const strict = load(placed({6, 1}, {2}, 100));
    EXPECT_TRUE(says_one(told(strict)));
    EXPECT_EQ(crossbars(strict, 1), (List{2})) << "which was never used";
    synchronize();
    destroy(strict);
    sidra_model* const lenient = load(placed({6, 1}, {3}, 2'000));
    EXPECT_EQ("", told(lenient));
    EXPECT_EQ(crossbars(lenient, 0), (List{6, 1}));
}

TEST_F(ModelPlacement, IsChecked) {
    const auto refused = [&](const List& first, const List& second, const std::string& why) {
        const TestFile file(placed(first, second));
        sidra_model* model = nullptr;
        EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_load(context, file.path(), &model));
        expect_said(why);
    };
    refused({1, 2, 3}, {4}, "matrix 0 'fc1.weight': it is placed on 3 crossbars, but has another number of tiles");
    refused({1, 2}, {2}, "matrix 0 'fc1.weight' and matrix 1 'fc2.weight' are both placed on crossbar 2");
    refused({1, 1}, {2}, "matrix 0 'fc1.weight' and matrix 0 'fc1.weight' are both placed on crossbar 1");
}

TEST_F(ModelDeploy, ADamagedMatrixLeavesNoCrossbarTaken) {
    Perceptron network({2}, 1);
    const Bytes good = network.model.file();
    Bytes bad = good;
    bad.back() ^= 1;  // of the second matrix
    const TestFile file(bad);
    sidra_model* model = load(file);
    const uint32_t free = free_crossbars();
    for (int round = 0; round < 2; ++round) {
        EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_deploy_async(stream, model));
        expect_said("matrix 1 'fc2.weight': the hash of its 2000 bytes is wrong");
        EXPECT_EQ(free, free_crossbars());
    }
    bad.resize(bad.size() - 10);
    file.write(bad);
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_deploy_async(stream, model));
    expect_said("cut off after it was opened");
    auto matrix = SIDRA_INIT(sidra_model_matrix);
    ASSERT_OK(sidra_model_get_matrix(model, 0, &matrix));
    EXPECT_EQ(nullptr, matrix.weights);
    file.write(good);
    ASSERT_OK(sidra_model_deploy_async(stream, model));
    expect_answers(network, model, 0, pixels(2));
}

TEST_F(ModelDeploy, AMatrixThatIsTooLargeIsRefusedBeforeItIsRead) {
    auto info = SIDRA_INIT(sidra_device_info);
    ASSERT_OK(sidra_device_get_info(device, &info));
    TestModel test;
    test.add_variant(64);
    const uint32_t rows = (info.crossbars_total + 1) * 256;
    test.add_matrix("huge", rows, 1, ones(rows, 1));
    Bytes file = test.file();
    file.back() ^= 1;
    sidra_model* model = load(TestFile(file));
    EXPECT_FAILS(SIDRA_ERROR_OUT_OF_CROSSBARS, sidra_model_deploy_async(stream, model));
    expect_said(std::to_string(info.crossbars_total + 1) + " crossbars or more");
}

// Matrices that need all crossbars with the offset encoding: AUTO must leave room for those behind.
TEST_F(ModelDeploy, AutoLeavesRoomForTheRest) {
    const uint32_t all = free_crossbars();
    TestModel test;
    test.add_variant(64);
    for (uint32_t i = 0; i < all - 1; ++i) test.add_matrix("m" + std::to_string(i), 1, 256, ones(1, 256));
    sidra_model* model = deploy(test.file());
    synchronize();
    EXPECT_EQ(0u, free_crossbars());
    auto matrix = SIDRA_INIT(sidra_model_matrix);
    auto weights = SIDRA_INIT(sidra_weights_info);
    for (uint32_t i = 0; i < all - 1; ++i) {
        ASSERT_OK(sidra_model_get_matrix(model, i, &matrix));
        ASSERT_OK(sidra_weights_get_info(matrix.weights, &weights));
        EXPECT_EQ(i == 0 ? SIDRA_WEIGHTS_DIFFERENTIAL : SIDRA_WEIGHTS_OFFSET, weights.encoding) << i;
    }
    TestModel another;
    another.add_variant(64);
    another.add_matrix("m", 1, 1, ones(1, 1));
    EXPECT_FAILS(SIDRA_ERROR_OUT_OF_CROSSBARS, sidra_model_deploy_async(stream, load(another.file())));
}

TEST_F(ModelDeploy, DifferentialRefusesMinus128) {
    TestModel test;
    test.add_variant(64);
    test.add_matrix("fits", 2, 2, {1, 2, 3, 4});
    test.add_matrix("edge", 2, 2, {1, 2, -128, 4});
    test.manifest.matrices[1]->encoding = fb::Encoding::Differential;
    const TestFile file(test.file());
    sidra_model* model = load(file);
    const uint32_t free = free_crossbars();
    EXPECT_FAILS(SIDRA_ERROR_NOT_REPRESENTABLE, sidra_model_deploy_async(stream, model));
    expect_said("matrix 1 'edge'");
    EXPECT_EQ(free, free_crossbars());
}

// Each allocation of the calls fails once: the call fails, and nothing is left behind (the context tells at the end).
TEST_F(ModelDeploy, EveryAllocationMayFail) {
    Perceptron network({2}, 1);
    const TestFile file(network.model.file());
    const std::vector<uint8_t> input = pixels(2);
    const uint32_t free = free_crossbars();
    for (uint64_t first = 0, failed = 1; failed != 0; ++first) {
        sidra_model* model = nullptr;
        sidra_status status = SIDRA_OK;
        {
            const FailingNew failing(first, 1, FailingNew::Of::kThisThread);
            status = sidra_model_load(context, file.path(), &model);
            if (status == SIDRA_OK) status = sidra_model_deploy_async(stream, model);
            if (status == SIDRA_OK) status = sidra_model_run_async(stream, model, 0);
            failed = failing.failed();
        }
        // FAULT: it was one of the embedded chip's.
        EXPECT_TRUE(status == SIDRA_OK || status == SIDRA_ERROR_OUT_OF_MEMORY || status == SIDRA_ERROR_FAULT)
            << sidra_last_error() << " at allocation " << first;
        if (model != nullptr) {
            EXPECT_OK(sidra_model_deploy_async(stream, model));
            models.push_back(model);
            expect_answers(network, model, 0, input);
            destroy(model);
        }
        ASSERT_EQ(free, free_crossbars()) << "at allocation " << first;
    }
}

}  // namespace
}  // namespace sidra::test
