// SPDX-License-Identifier: MIT
// Level accurate gives the same bits for the same seed in QEMU, driven by hand, and embedded in libsidra.
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <numeric>
#include <random>

#include "fixture.h"
#include "sidra/sidra.h"

namespace sidra::qtest {
namespace {

constexpr uint32_t kRows = 300, kCols = 200, kBatch = 20;  // 2 x 2 tiles of pairs
// A rectangle that is programmed again, over all tiles.
constexpr uint32_t kRow = 250, kPatchRows = 20, kCol = 100, kPatchCols = 60;

// The same work for both.
struct Story {
    Story() {
        std::mt19937 random(11);
        const auto fill = [&](auto& values, int low, int count) {
            for (auto& each : values)
                each = static_cast<std::decay_t<decltype(each)>>(low + static_cast<int>(random() % count));
        };
        fill(weights, -127, 255);
        fill(patch, -127, 255);
        fill(inputs, 0, 256);
    }
    std::vector<int8_t> weights = std::vector<int8_t>(kRows * kCols);
    std::vector<int8_t> patch = std::vector<int8_t>(kPatchRows * kPatchCols);
    std::vector<uint8_t> inputs = std::vector<uint8_t>(kBatch * kRows);
};

// What both answer.
struct Answer {
    std::vector<int32_t> products = std::vector<int32_t>(kBatch * kCols);
    std::vector<int8_t> cells = std::vector<int8_t>(kRows * kCols);
    std::vector<uint64_t> tries;  // histograms, tile by tile
    bool operator==(const Answer&) const = default;
};

#define EXPECT_OK(expression) EXPECT_EQ(SIDRA_OK, (expression)) << sidra_last_error()

Answer embedded(const Story& story, uint64_t seed, std::vector<uint32_t>* crossbars) {
    setenv("SIDRA_DEVICE", "embedded", 1);
    auto options = SIDRA_INIT(sidra_device_options);
    options.profile = SIDRA_PROFILE_SMALL;
    options.private_chip = true;
    options.workers = 1;
    options.seed = seed;
    options.level = SIDRA_LEVEL_ACCURATE;
    sidra_device* device = nullptr;
    sidra_context* context = nullptr;
    sidra_stream* stream = nullptr;
    sidra_buffer *in = nullptr, *out = nullptr;
    sidra_weights* weights = nullptr;
    void *x = nullptr, *y = nullptr;
    EXPECT_OK(sidra_device_open(0, &options, &device));
    EXPECT_OK(sidra_context_create(device, &context));
    EXPECT_OK(sidra_stream_create(context, nullptr, &stream));
    Answer answer;
    EXPECT_OK(sidra_buffer_create(context, story.inputs.size(), SIDRA_BUFFER_HOST, &in));
    EXPECT_OK(sidra_buffer_create(context, answer.products.size() * 4, SIDRA_BUFFER_HOST, &out));
    EXPECT_OK(sidra_buffer_map(in, &x));
    EXPECT_OK(sidra_buffer_map(out, &y));
    std::memcpy(x, story.inputs.data(), story.inputs.size());
    auto differential = SIDRA_INIT(sidra_weights_options);
    differential.encoding = SIDRA_WEIGHTS_DIFFERENTIAL;
    EXPECT_OK(
        sidra_weights_create_s8(context, kRows, kCols, story.weights.data(), kCols, nullptr, &differential, &weights));
    EXPECT_OK(sidra_weights_program_async(stream, weights));
    EXPECT_OK(sidra_weights_update_async(stream, weights, kRow, kPatchRows, kCol, kPatchCols, story.patch.data(),
                                         kPatchCols));
    auto mvm = SIDRA_INIT(sidra_mvm);
    mvm.batch = kBatch;
    mvm.in_type = SIDRA_U8;
    mvm.out_type = SIDRA_S32;
    mvm.in = {in, 0};
    mvm.out = {out, 0};
    EXPECT_OK(sidra_mvm_async(stream, weights, &mvm));
    EXPECT_OK(sidra_weights_read(stream, weights, answer.cells.data(), kCols, SIDRA_NEVER));
    std::memcpy(answer.products.data(), y, answer.products.size() * 4);
    uint32_t count = 4;
    crossbars->resize(count);
    EXPECT_OK(sidra_weights_crossbars(weights, crossbars->data(), &count));
    for (uint32_t tile = 0; tile < count; tile++) {
        auto report = SIDRA_INIT(sidra_tile_report);
        EXPECT_OK(sidra_weights_report(weights, tile, &report));
        answer.tries.insert(answer.tries.end(), std::begin(report.arrived), std::end(report.arrived));
    }
    EXPECT_OK(sidra_weights_destroy(weights));
    EXPECT_OK(sidra_buffer_destroy(in));
    EXPECT_OK(sidra_buffer_destroy(out));
    EXPECT_OK(sidra_stream_destroy(stream));
    EXPECT_OK(sidra_context_destroy(context));
    EXPECT_OK(sidra_device_close(device));
    return answer;
}

class SameBits : public Qtest {
   protected:
    // Device address of memory with these contents.
    template <typename T>
    uint64_t put(Context& context, const std::vector<T>& values, uint64_t* bus = nullptr) {
        uint64_t at = 0;
        const uint64_t va = context.alloc(values.size() * sizeof(T), &at);
        machine->write_bytes(at, values.data(), values.size() * sizeof(T));
        if (bus != nullptr) *bus = at;
        return va;
    }
    template <typename T>
    void get(uint64_t bus, std::vector<T>* values) {
        const auto bytes = machine->read_bytes(bus, values->size() * sizeof(T));
        std::memcpy(values->data(), bytes.data(), bytes.size());
    }
    Answer in_qemu(const Story& story, uint64_t seed, const std::vector<uint32_t>& crossbars) {
        bring_up({"sidra,id=card,addr=4.0,profile=small,workers=2,level=accurate,seed=" + std::to_string(seed)});
        Context context(*card, 0);
        sidra_hw_weights entry{};
        entry.uid = 42;
        entry.tiles = machine->alloc(4096);
        machine->write_bytes(entry.tiles, crossbars.data(), crossbars.size() * 4);
        entry.rows = kRows;
        entry.cols = kCols;
        entry.tile_count = 4;
        entry.flags =
            SIDRA_HW_WEIGHTS_VALID | SIDRA_HW_WEIGHTS_COMPUTE | SIDRA_HW_WEIGHTS_PROGRAM | SIDRA_HW_WEIGHTS_READBACK;
        entry.encoding = SIDRA_ENCODING_DIFFERENTIAL;
        context.context_entry().weights_table = machine->alloc(4096);
        context.context_entry().weights_count = 1;
        machine->write_bytes(context.context_entry().weights_table, &entry, sizeof entry);
        context.store();

        Answer answer;
        uint64_t products = 0, cells = 0;
        const uint64_t out = put(context, answer.products, &products), read = put(context, answer.cells, &cells);
        context.submit(
            {chip_test::program(0, 0, kRows, 0, kCols, put(context, story.weights), kCols),
             chip_test::program(0, kRow, kPatchRows, kCol, kPatchCols, put(context, story.patch), kPatchCols),
             chip_test::mvm(0, SIDRA_TYPE_U8, SIDRA_TYPE_S32, kBatch, put(context, story.inputs), kRows, out,
                            kCols * 4),
             chip_test::readback(0, 0, kRows, 0, kCols, read, kCols)});
        EXPECT_TRUE(context.wait(4));
        get(products, &answer.products);
        get(cells, &answer.cells);
        for (const uint32_t xbar : crossbars) {
            std::vector<sidra_hw_xbar_report> report(1);
            const uint64_t page = machine->alloc(4096);
            EXPECT_EQ(card->admin(SIDRA_ADMIN_XBAR_REPORT, xbar, page, 1), SIDRA_ADMIN_OK);
            get(page, &report);
            answer.tries.insert(answer.tries.end(), std::begin(report[0].arrived), std::end(report[0].arrived));
        }
        return answer;
    }
};

TEST_F(SameBits, InQemuAndEmbedded) {
    const Story story;
    std::vector<uint32_t> crossbars;
    const Answer here = embedded(story, 7, &crossbars);
    const Answer there = in_qemu(story, 7, crossbars);
    EXPECT_EQ(here.products, there.products);
    EXPECT_EQ(here.cells, there.cells);
    EXPECT_EQ(here.tries, there.tries);
    const double pulsed = 2.0 * (kRows * kCols + kPatchRows * kPatchCols);
    EXPECT_NEAR(static_cast<double>(std::accumulate(here.tries.begin(), here.tries.end(), uint64_t{0})), pulsed,
                pulsed / 500)
        << "but for those that are stuck";
    EXPECT_NE(here.cells, story.weights) << "it is not exact";
    EXPECT_FALSE(embedded(story, 8, &crossbars) == here) << "another seed";
}

}  // namespace
}  // namespace sidra::qtest
