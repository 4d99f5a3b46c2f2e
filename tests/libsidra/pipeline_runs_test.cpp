// SPDX-License-Identifier: MIT
// Pipelines of models that no compiler has made. (Networks in pipelines: tests/pipeline.)
#include "model_fixture.h"
#include "sidra/pipeline.h"

namespace sidra::test {
namespace {

class PipelineFiles : public ModelTest {
   protected:
    sidra_status create(TestModel& model) {
        const TestFile file(model.file());
        sidra_pipeline* pipeline = nullptr;
        return sidra_pipeline_create(&context, 1, file.path(), &pipeline);
    }
};

// Four runs of 2^62 bytes would be none.
TEST_F(PipelineFiles, MoreWorkThanAnAddressSpaceIsRefused) {
    constexpr uint64_t kHuge = uint64_t{1} << 62;
    TestModel model;
    model.add_input(model.add_variant(kHuge + 4096), "x", fb::Type::U8, {1u << 31, 1u << 31}, 0);
    model.add_input(model.add_variant(1 << 20), "x", fb::Type::U8, {1 << 20}, 0);
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, create(model));
    expect_said("variant 0, work is 4611686018427392000 bytes, which do not fit in the 39-bit address space");
}

TEST_F(PipelineFiles, OverlappingInputsThatDoNotFitAreRefused) {
    constexpr uint64_t kBytes = uint64_t{1} << 38;
    TestModel model;
    const uint32_t variant = model.add_variant(kBytes);
    for (int i = 0; i < 1000; ++i) model.add_input(variant, "x", fb::Type::U8, {1u << 31, 1u << 7}, 0);
    EXPECT_FAILS(SIDRA_ERROR_OUT_OF_MEMORY, create(model));
    expect_said("bytes do not fit in the 39-bit address space of a context");
}

}  // namespace
}  // namespace sidra::test
