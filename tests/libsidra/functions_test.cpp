// SPDX-License-Identifier: MIT
// Ready-made functions without a chip: one packet each, what they allocate, and everything that they refuse. With the
// fake driver.
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "fake_fixture.h"
#include "sidra/functions.h"

namespace sidra::test {
namespace {

class Functions : public FakeTest {
   protected:
    static constexpr uint32_t kSize[4] = {1, 2, 3, 8};
    static constexpr uint32_t kOneEach[4] = {1, 2, 3, 1};

    void SetUp() override {
        FakeTest::SetUp();
        ASSERT_OK(sidra_buffer_register(context, memory, sizeof memory, true, &readonly));
    }
    void TearDown() override {
        EXPECT_OK(sidra_buffer_destroy(readonly));
        FakeTest::TearDown();
    }
    sidra_array array(size_t offset, sidra_type type = SIDRA_F32) const {
        return sidra_operand_dense(at(offset), type, kSize);
    }
    sidra_array column(size_t offset, sidra_type type = SIDRA_F32) const {
        return sidra_operand_dense(at(offset), type, kOneEach);
    }
    uint64_t submitted() const {
        uint64_t value = 0;
        EXPECT_OK(sidra_stream_timeline(stream, &value, nullptr));
        return value;
    }
    // The call fails with a text that has each of these parts, and leaves no packet.
    void refuses(const std::function<sidra_status()>& call, const std::vector<std::string>& parts,
                 sidra_status status = SIDRA_ERROR_INVALID_ARGUMENT) {
        const uint64_t before = submitted();
        EXPECT_FAILS(status, call());
        const std::string text = sidra_last_error();
        for (const std::string& part : parts) EXPECT_NE(std::string::npos, text.find(part)) << part << "\n" << text;
        EXPECT_EQ(before, submitted()) << text;
    }

    // Every function with good arguments, which a test may change. The first array is the output.
    struct Call {
        const char* name;
        std::vector<sidra_array> arrays;
        std::function<sidra_status(const uint32_t*, const sidra_array* const*)> run;
    };
    std::vector<Call> all() const {
        std::vector<Call> calls;
        const sidra_array out = array(0), a = array(4096), b = array(8192), c = array(12288);
        const sidra_array codes = array(0, SIDRA_S8), whole = array(16384, SIDRA_S32);
        using P = const sidra_array* const*;
        using S = const uint32_t*;
        const auto one = [&](const char* name, auto function, const sidra_array& to) {
            calls.push_back({name, {to, a}, [=, this](S size, P p) { return function(stream, size, p[0], p[1]); }});
        };
        const auto two = [&](const char* name, auto function, const sidra_array& to) {
            calls.push_back(
                {name, {to, a, b}, [=, this](S size, P p) { return function(stream, size, p[0], p[1], p[2]); }});
        };
#define ONE(name) one(#name, name, out)
#define TWO(name) two(#name, name, out)
        TWO(sidra_add), TWO(sidra_sub), TWO(sidra_mul), TWO(sidra_div), TWO(sidra_max), TWO(sidra_min);
        ONE(sidra_neg), ONE(sidra_abs), ONE(sidra_relu), ONE(sidra_floor), ONE(sidra_ceil), ONE(sidra_round);
        ONE(sidra_trunc), ONE(sidra_sqrt), ONE(sidra_rsqrt), ONE(sidra_exp), ONE(sidra_log), ONE(sidra_sin);
        ONE(sidra_cos), ONE(sidra_erf), ONE(sidra_tanh), ONE(sidra_sigmoid), ONE(sidra_silu), ONE(sidra_gelu);
        ONE(sidra_gelu_tanh), ONE(sidra_convert), ONE(sidra_softmax), ONE(sidra_log_softmax), ONE(sidra_cumsum);
        const sidra_array truth = array(0, SIDRA_BOOL);
        two("equal", sidra_equal, truth), two("not_equal", sidra_not_equal, truth), two("less", sidra_less, truth);
        two("less_equal", sidra_less_equal, truth), two("greater", sidra_greater, truth);
        two("greater_equal", sidra_greater_equal, truth);
        const sidra_array reduced = column(0), best = column(0, SIDRA_S64);
        one("reduce_sum", sidra_reduce_sum, reduced), one("reduce_max", sidra_reduce_max, reduced);
        one("reduce_min", sidra_reduce_min, reduced), one("reduce_mean", sidra_reduce_mean, reduced);
        one("reduce_argmax", sidra_reduce_argmax, best), one("reduce_argmin", sidra_reduce_argmin, best);
#undef ONE
#undef TWO
        const auto more = [&](const char* name, const std::vector<sidra_array>& arrays, auto run) {
            calls.push_back({name, arrays, run});
        };
        more("fma", {out, a, b, c}, [this](S s, P p) { return sidra_fma(stream, s, p[0], p[1], p[2], p[3]); });
        more("where", {out, a, b, c}, [this](S s, P p) { return sidra_where(stream, s, p[0], p[1], p[2], p[3]); });
        more("affine", {out, a}, [this](S s, P p) { return sidra_affine(stream, s, p[0], p[1], 2, 1); });
        more("clamp", {out, a}, [this](S s, P p) { return sidra_clamp(stream, s, p[0], p[1], -1, 1); });
        more("quantize", {codes, a}, [this](S s, P p) { return sidra_quantize(stream, s, p[0], p[1], 1, nullptr, 3); });
        more("quantize with scales", {codes, a, b},
             [this](S s, P p) { return sidra_quantize(stream, s, p[0], p[1], 1, p[2], 3); });
        more("dequantize", {out, whole},
             [this](S s, P p) { return sidra_dequantize(stream, s, p[0], p[1], 1, nullptr, 3); });
        more("quantize_rows", {codes, column(4096), b},
             [this](S s, P p) { return sidra_quantize_rows(stream, s, p[0], p[1], p[2]); });
        more("layer_norm", {out, a},
             [this](S s, P p) { return sidra_layer_norm(stream, s, p[0], p[1], nullptr, nullptr, 0); });
        more("rms_norm", {out, a}, [this](S s, P p) { return sidra_rms_norm(stream, s, p[0], p[1], nullptr, 0); });
        more("variance", {reduced, a}, [this](S s, P p) { return sidra_reduce_variance(stream, s, p[0], p[1], 1); });
        more("gather_rows", {out, a},
             [this](S s, P p) { return sidra_gather_rows(stream, s, p[0], p[1], 3, at(20480), SIDRA_S32); });
        more("scatter_rows", {out, a},
             [this](S s, P p) { return sidra_scatter_rows(stream, s, p[0], 3, at(20480), SIDRA_S64, p[1]); });
        more("scatter_add_rows", {out, a},
             [this](S s, P p) { return sidra_scatter_add_rows(stream, s, p[0], 3, at(20480), SIDRA_S64, p[1]); });
        more("gather", {out, a, whole}, [this](S s, P p) { return sidra_gather(stream, s, p[0], p[1], 8, p[2]); });
        more("scatter", {out, whole, a}, [this](S s, P p) { return sidra_scatter(stream, s, p[0], 8, p[1], p[2]); });
        more("lookup", {out, array(4096, SIDRA_S8)},
             [this](S s, P p) { return sidra_lookup(stream, s, p[0], p[1], at(20480), SIDRA_U8); });
        more("uniform", {out}, [this](S s, P p) { return sidra_random_uniform(stream, s, p[0], 0, 1, 2, 3); });
        more("normal", {out}, [this](S s, P p) { return sidra_random_normal(stream, s, p[0], 0, 1, 2, 3); });
        more("bernoulli", {out}, [this](S s, P p) { return sidra_random_bernoulli(stream, s, p[0], 0.5f, 2, 3); });
        more("dropout", {out, a}, [this](S s, P p) { return sidra_dropout(stream, s, p[0], p[1], 0.5f, 2, 3); });
        return calls;
    }
    static std::vector<const sidra_array*> pointers(const Call& call) {
        std::vector<const sidra_array*> of_arrays;
        for (const sidra_array& each : call.arrays) of_arrays.push_back(&each);
        return of_arrays;
    }

    alignas(64) unsigned char memory[4096] = {};
    sidra_buffer* readonly = nullptr;
};

TEST_F(Functions, EachIsOnePacketAndOnlyTheFirstAllocates) {
    const auto calls = all();
    EXPECT_EQ(62u, calls.size()) << "all of functions.h, and quantize() twice";
    const size_t before = fake->live_buffers();
    for (const Call& call : calls) {
        const uint64_t packets = submitted();
        ASSERT_OK(call.run(kSize, pointers(call).data())) << call.name;
        EXPECT_EQ(packets + 1, submitted()) << call.name;
        const sidra_cmd_vector packet = last_packet().vector;
        EXPECT_EQ(SIDRA_CMD_VECTOR, packet.hdr.opcode) << call.name;
        EXPECT_TRUE(std::equal(std::begin(kSize), std::end(kSize), packet.size)) << call.name;
        EXPECT_EQ(before + 2, fake->live_buffers()) << "all programs, and the operand tables of the stream";
    }
}

TEST_F(Functions, OtherContextsHaveTheirOwnPrograms) {
    sidra_context* other = nullptr;
    sidra_stream* others = nullptr;
    ASSERT_OK(sidra_context_create(device, &other));
    ASSERT_OK(sidra_stream_create(other, nullptr, &others));
    const sidra_array out = array(0), a = array(4096);
    ASSERT_OK(sidra_neg(stream, kSize, &out, &a));
    refuses([&] { return sidra_neg(others, kSize, &out, &a); }, {"out.at", "belongs to context"},
            SIDRA_ERROR_WRONG_CONTEXT);
    EXPECT_OK(sidra_stream_destroy(others));
    const size_t before = fake->live_buffers();
    fake->fail(SIDRA_IOCTL_BUFFER_UNBIND, EINVAL);
    EXPECT_NE(SIDRA_OK, sidra_context_destroy(other)) << "a failure leaves it as it was";
    EXPECT_EQ(before, fake->live_buffers());
    EXPECT_OK(sidra_context_destroy(other));
    EXPECT_EQ(before - 1, fake->live_buffers()) << "its programs are gone";
}

TEST_F(Functions, ARefusedAllocationQueuesNothing) {
    const sidra_array out = array(0), a = array(4096);
    for (const auto request : {SIDRA_IOCTL_BUFFER_CREATE, SIDRA_IOCTL_BUFFER_BIND}) {
        fake->fail(request, ENOMEM);
        refuses([&] { return sidra_neg(stream, kSize, &out, &a); }, {"sidra_neg"}, SIDRA_ERROR_OUT_OF_MEMORY);
    }
    EXPECT_OK(sidra_neg(stream, kSize, &out, &a));
}

TEST_F(Functions, EveryArrayIsChecked) {
    for (const Call& call : all()) {
        SCOPED_TRACE(call.name);
        refuses([&] { return call.run(nullptr, pointers(call).data()); }, {"`size` is NULL"});
        for (size_t n = 0; n < call.arrays.size(); ++n) {
            SCOPED_TRACE(n);
            const bool optional = call.name == std::string("quantize with scales") && n == 2;
            Call bad = call;
            auto given = pointers(bad);
            if (!optional) {
                given[n] = nullptr;
                refuses([&] { return bad.run(kSize, given.data()); }, {"` is NULL"});
            }
            given[n] = &bad.arrays[n];
            sidra_array& changed = bad.arrays[n];
            const sidra_array good = changed;
            const auto refuses_it = [&](const std::vector<std::string>& parts,
                                        sidra_status status = SIDRA_ERROR_INVALID_ARGUMENT) {
                refuses([&] { return bad.run(kSize, given.data()); }, parts, status);
                changed = good;
            };
            changed.type = static_cast<sidra_type>(9);
            refuses_it({".type is 9: not a sidra_type"});
            changed.at.offset = kBufferSize - 4;
            refuses_it({".at"});
            changed.at.buffer = nullptr;
            refuses_it({".at"}, SIDRA_ERROR_INVALID_HANDLE);
            changed.stride[1] = size_t{1} << 62;
            refuses_it({"`: the operand reaches beyond the address space"});
            if (sidra_type_size(good.type) > 1) {
                changed.at.offset += 1;
                refuses_it({".at", "aligned"});
            }
            if (n == 0) {
                changed.at = {readonly, 0};
                refuses_it({"out.at", "read-only"}, SIDRA_ERROR_PERMISSION);
                changed.stride[1] = 0;
                if (std::string(call.name).find("scatter") == std::string::npos)
                    refuses_it({"`out`: the operand is written, and overlaps"});
            }
        }
    }
}

TEST_F(Functions, NumbersAndTypesAreChecked) {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
    const sidra_array out = array(0), a = array(4096), codes = array(0, SIDRA_U8), whole = array(8192, SIDRA_S32);
    const sidra_array one = column(0), to_whole = array(0, SIDRA_S32);
    const auto refused = [&](sidra_status status, const std::vector<std::string>& parts) {
        EXPECT_EQ(SIDRA_ERROR_INVALID_ARGUMENT, status);
        const std::string text = sidra_last_error();
        for (const std::string& part : parts) EXPECT_NE(std::string::npos, text.find(part)) << part << "\n" << text;
    };
    const uint64_t before = submitted();
    refused(sidra_less(stream, kSize, &out, &a, &a), {"sidra_less", "out.type is F32", "integer type or BOOL"});
    refused(sidra_clamp(stream, kSize, &out, &a, 1, 0.5), {"low is 1", "not above `high`"});
    refused(sidra_clamp(stream, kSize, &out, &a, kNan, 0.5), {"low is nan"});
    refused(sidra_clamp(stream, kSize, &to_whole, &whole, 0.2, 0.8), {"low is 0.2", "an integer lies between"});
    refused(sidra_quantize(stream, kSize, &out, &a, 1, nullptr, 0), {"out.type is F32", "U8, S8 or S16"});
    for (const float scale : {0.0f, -1.0f, kNan, kInf}) {
        refused(sidra_quantize(stream, kSize, &codes, &a, scale, nullptr, 0), {"scale is", "finite and above 0"});
        refused(sidra_dequantize(stream, kSize, &out, &whole, scale, nullptr, 0), {"scale is", "finite and above 0"});
    }
    refused(sidra_quantize(stream, kSize, &codes, &a, 1, nullptr, 256), {"zero is 256", "a code of the type of `out`"});
    refused(sidra_quantize(stream, kSize, &codes, &a, 1, nullptr, -1), {"zero is -1"});
    refused(sidra_dequantize(stream, kSize, &out, &a, 1, nullptr, 0), {"a.type is F32", "integer"});
    refused(sidra_quantize_rows(stream, kSize, &codes, &one, &a), {"out.type is U8", "must be S8"});
    const sidra_array s8 = array(0, SIDRA_S8), bytes = array(4096, SIDRA_S8), not_f32 = column(4096, SIDRA_F16),
                      wide = array(4096);
    refused(sidra_quantize_rows(stream, kSize, &s8, &not_f32, &a), {"scales.type is F16", "must be F32"});
    refused(sidra_quantize_rows(stream, kSize, &s8, &wide, &a), {"`scales`: a field", "stride[3] = 0"});
    refused(sidra_reduce_sum(stream, kSize, &out, &a), {"`out`: a field", "stride[3] = 0"});
    refused(sidra_reduce_argmax(stream, kSize, &one, &a), {"out.type is F32"});
    refused(sidra_reduce_variance(stream, kSize, &one, &a, 2), {"correction is 2"});
    refused(sidra_reduce_variance(stream, kOneEach, &one, &a, 1), {"correction is 1", "less than the columns"});
    for (const float epsilon : {-1e-9f, kNan, kInf}) {
        refused(sidra_layer_norm(stream, kSize, &out, &a, nullptr, nullptr, epsilon), {"epsilon is"});
        refused(sidra_rms_norm(stream, kSize, &out, &a, nullptr, epsilon), {"epsilon is"});
    }
    refused(sidra_layer_norm(stream, kSize, &out, &a, nullptr, &a, 0), {"`gamma` is NULL", "give both"});
    refused(sidra_gather_rows(stream, kSize, &out, &a, 0, at(0), SIDRA_S32), {"rows is 0", "1..2^30"});
    refused(sidra_gather_rows(stream, kSize, &out, &a, 1, {}, SIDRA_S32), {"indices.buffer is NULL"});
    refused(sidra_gather_rows(stream, kSize, &out, &a, 1, at(8192), SIDRA_F32), {"index_type is F32"});
    refused(sidra_gather_rows(stream, kSize, &out, &a, 1, at(kBufferSize - 8), SIDRA_S32), {"indices", "24 bytes"});
    refused(sidra_gather_rows(stream, kSize, &out, &a, 1 << 20, at(8192), SIDRA_S32), {"table.at"});
    sidra_array indexed = a;
    indexed.index = at(8192), indexed.index_type = SIDRA_S32, indexed.extent = 3;
    refused(sidra_gather_rows(stream, kSize, &out, &indexed, 1, at(8192), SIDRA_S32), {"table.index is given"});
    EXPECT_OK(sidra_neg(stream, kSize, &out, &indexed)) << "any function takes rows at indices";
    refused(sidra_gather(stream, kSize, &out, &a, 0, &whole), {"columns is 0"});
    refused(sidra_gather(stream, kSize, &out, &a, 8, &a), {"indices.type is F32"});
    refused(sidra_scatter(stream, kSize, &out, 8, &a, &a), {"indices.type is F32"});
    refused(sidra_gather(stream, kSize, &out, &a, 1 << 20, &whole), {"a.at"});
    refused(sidra_lookup(stream, kSize, &out, &a, at(8192), SIDRA_U8), {"a.type is F32", "U8 or S8"});
    refused(sidra_lookup(stream, kSize, &out, &bytes, at(8192), static_cast<sidra_type>(9)), {"table_type is 9"});
    refused(sidra_lookup(stream, kSize, &out, &bytes, at(kBufferSize - 255), SIDRA_U8), {"table", "256 bytes"});
    refused(sidra_random_uniform(stream, kSize, &out, 1, 0, 0, 0), {"high is 0"});
    refused(sidra_random_uniform(stream, kSize, &out, kNan, 0, 0, 0), {"low is nan"});
    refused(sidra_random_uniform(stream, kSize, &out, -3e38f, 3e38f, 0, 0), {"high is"});
    refused(sidra_random_normal(stream, kSize, &out, kInf, 1, 0, 0), {"mean is inf"});
    refused(sidra_random_normal(stream, kSize, &out, 0, -1, 0, 0), {"deviation is -1"});
    refused(sidra_random_bernoulli(stream, kSize, &out, 1.01f, 0, 0), {"probability is", "0..1"});
    refused(sidra_random_bernoulli(stream, kSize, &out, kNan, 0, 0), {"probability is"});
    refused(sidra_dropout(stream, kSize, &out, &a, 1, 0, 0), {"probability is 1", "below 1"});
    const uint32_t none[4] = {1, 1, 0, 8}, long_row[4] = {1, 1, 1, 1 << 24};
    refused(sidra_neg(stream, none, &out, &a), {"sidra_neg: the iteration space is empty"});
    refused(sidra_softmax(stream, long_row, &out, &a), {"size[3] is 16777216", "whole rows", "at most ", "divide"});
    EXPECT_EQ(before + 1, submitted()) << "what is refused leaves no packet";
    // In place is the same place, strides and type.
    EXPECT_OK(sidra_neg(stream, kSize, &a, &a));
    sidra_array other = a;
    other.type = SIDRA_S32;
    refused(sidra_neg(stream, kSize, &other, &a), {"`out`: the operand is written, and overlaps"});
}

}  // namespace
}  // namespace sidra::test
