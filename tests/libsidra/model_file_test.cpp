// SPDX-License-Identifier: MIT
// Files of compiled models: what is read from a good one, and each way in which one may be wrong.
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "model_fixture.h"
#include "paths.h"
#include "sidra/pipeline.h"

namespace sidra::test {
namespace {

class ModelFiles : public ModelTest {
   protected:
    // Loading the file fails, and the text has these words besides the file's name.
    void refused(const Bytes& bytes, const std::string& text, sidra_status status = SIDRA_ERROR_INVALID_ARGUMENT) {
        const TestFile file(bytes);
        sidra_model* model = nullptr;
        EXPECT_FAILS(status, sidra_model_load(context, file.path(), &model));
        EXPECT_EQ(nullptr, model);
        expect_said(file.path());
        expect_said(text);
    }
    void refused(const std::function<void(fb::ModelT&)>& change, const std::string& text) {
        Perceptron network({2}, 1);
        refused(network.model.file(change), text);
    }
    // The file is loaded, but its first run fails.
    void not_run(const std::function<void(fb::ModelT&)>& change, const std::string& text,
                 sidra_status status = SIDRA_ERROR_INVALID_ARGUMENT) {
        Perceptron network({2}, 1);
        sidra_model* model = deploy(network.model.file(change));
        EXPECT_FAILS(status, sidra_model_run_async(stream, model, 0));
        expect_said(text);
        EXPECT_FAILS(status, sidra_model_run(stream, model, 0, nullptr, nullptr, soon()));
        synchronize();
        destroy(model);
    }
    static fb::CallT& call(fb::ModelT& model, uint32_t number) { return *model.variants[0]->calls[number]; }
    static fb::LayerT& layer(fb::ModelT& model) { return *call(model, 0).step.AsLayer(); }
    static fb::VectorT& argmax(fb::ModelT& model) { return *call(model, 2).step.AsVector(); }
};

TEST_F(ModelFiles, SayWhatTheModelIs) {
    Perceptron network({1, 5}, 1);
    sidra_model* model = load(network.model.file());
    auto info = SIDRA_INIT(sidra_model_info);
    ASSERT_OK(sidra_model_get_info(model, &info));
    EXPECT_STREQ("perceptron", info.name);
    EXPECT_STREQ("model_builder 1.0", info.producer);
    EXPECT_STREQ("none", info.source);
    EXPECT_STREQ("--test", info.options);
    EXPECT_EQ(2u, info.variants);
    EXPECT_EQ(2u, info.matrices);
    EXPECT_EQ(3u, info.programs);
    EXPECT_EQ(64u * 200 + 200 * 10, info.weights);
    EXPECT_EQ(832u + 800, info.constant_bytes);
    EXPECT_FALSE(info.deployed);
    auto variant = SIDRA_INIT(sidra_model_variant_info);
    ASSERT_OK(sidra_model_get_variant(model, 1, &variant));
    EXPECT_EQ(1u, variant.inputs);
    EXPECT_EQ(2u, variant.outputs);
    EXPECT_EQ(3u, variant.calls);
    EXPECT_EQ(5u * 64 + 5 * 200 + 5 * 40 + 5 * 8, variant.work_bytes);
    auto tensor = SIDRA_INIT(sidra_model_tensor);
    ASSERT_OK(sidra_model_get_output(model, 1, 0, &tensor));
    EXPECT_STREQ("scores", tensor.name);
    EXPECT_EQ(SIDRA_F32, tensor.type);
    EXPECT_EQ(2u, tensor.rank);
    EXPECT_EQ(5u, tensor.shape[0]);
    EXPECT_EQ(10u, tensor.shape[1]);
    EXPECT_EQ(200u, tensor.bytes);
    EXPECT_EQ(5u * 64 + 5 * 200, tensor.offset);
    auto matrix = SIDRA_INIT(sidra_model_matrix);
    ASSERT_OK(sidra_model_get_matrix(model, 1, &matrix));
    EXPECT_STREQ("fc2.weight", matrix.name);
    EXPECT_EQ(200u, matrix.k);
    EXPECT_EQ(10u, matrix.n);
    EXPECT_EQ(SIDRA_WEIGHTS_AUTO, matrix.encoding);
    EXPECT_EQ(nullptr, matrix.weights);
}

TEST_F(ModelFiles, VariantsAreFoundByShape) {
    Perceptron network({1, 5}, 1);
    sidra_model* model = load(network.model.file());
    const uint32_t five[] = {5, 64}, two[] = {2, 64};
    const uint32_t *shapes[] = {five, two}, ranks[] = {2, 2};
    uint32_t variant = 7;
    ASSERT_OK(sidra_model_find_variant(model, shapes, ranks, 1, &variant));
    EXPECT_EQ(1u, variant);
    EXPECT_FAILS(SIDRA_ERROR_NOT_FOUND, sidra_model_find_variant(model, shapes + 1, ranks, 1, &variant));
    expect_said("it takes (1 x 64), (5 x 64)");
    EXPECT_FAILS(SIDRA_ERROR_NOT_FOUND, sidra_model_find_variant(model, shapes, ranks, 2, &variant));
    EXPECT_FAILS(SIDRA_ERROR_NOT_FOUND, sidra_model_find_variant(model, nullptr, nullptr, 0, &variant));
    const uint32_t one_rank[] = {1};
    EXPECT_FAILS(SIDRA_ERROR_NOT_FOUND, sidra_model_find_variant(model, shapes, one_rank, 1, &variant));
    const uint32_t* nothing[] = {nullptr};
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_find_variant(model, nothing, ranks, 1, &variant));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_find_variant(model, nullptr, ranks, 1, &variant));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_find_variant(model, shapes, ranks, 1, nullptr));
    EXPECT_EQ(1u, variant);
}

TEST_F(ModelFiles, WrongArgumentsAreRefused) {
    Perceptron network({2}, 1);
    const TestFile file(network.model.file());
    sidra_model* model = load(file);
    sidra_model* none = nullptr;
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_load(context, nullptr, &none));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_load(context, file.path(), nullptr));
    auto info = SIDRA_INIT(sidra_model_info);
    info.struct_size = 8;
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_get_info(model, &info));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_get_info(model, nullptr));
    auto variant = SIDRA_INIT(sidra_model_variant_info);
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_get_variant(model, 1, &variant));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_get_variant(model, 0, nullptr));
    auto tensor = SIDRA_INIT(sidra_model_tensor);
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_get_input(model, 1, 0, &tensor));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_get_input(model, 0, 1, &tensor));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_get_output(model, 0, 2, &tensor));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_get_output(model, 0, 0, nullptr));
    auto matrix = SIDRA_INIT(sidra_model_matrix);
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_get_matrix(model, 2, &matrix));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_get_matrix(model, 0, nullptr));
    sidra_buffer* buffer = nullptr;
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_get_buffer(model, 1, &buffer));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_get_buffer(model, 0, nullptr));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_run_async(stream, model, 1));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_run(stream, model, 1, nullptr, nullptr, 0));
    EXPECT_OK(sidra_model_destroy(nullptr));
    destroy(model);
    EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_model_destroy(model));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_model_run_async(stream, model, 0));
}

TEST_F(ModelFiles, OfAnotherKindAreRefused) {
    sidra_model* model = nullptr;
    EXPECT_FAILS(SIDRA_ERROR_NOT_FOUND, sidra_model_load(context, "/no/such/file.sidra", &model));
    EXPECT_FAILS(SIDRA_ERROR_NOT_FOUND, sidra_model_load(context, "", &model));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_load(context, "/dev/zero", &model));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_load(context, testing::TempDir().c_str(), &model));
    const std::string pipe = testing::TempDir() + "sidra-pipe-" + std::to_string(getpid());
    ASSERT_EQ(0, mkfifo(pipe.c_str(), 0600));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_load(context, pipe.c_str(), &model));
    expect_said("is a pipe");
    unlink(pipe.c_str());
    refused(Bytes(), "has 0 bytes");
    refused(Bytes(63), "has 63 bytes");
    refused(Bytes(64), "first bytes are not those");
    refused(Bytes(100'000, 'S'), "first bytes are not those");
}

TEST_F(ModelFiles, EveryCutIsRefused) {
    Perceptron network({2}, 1);
    const Bytes whole = network.model.file();
    for (const size_t size : {size_t{64}, size_t{65}, size_t{1000}, size_t{4096}, whole.size() - 1})
        refused({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)}, "it was cut off");
    Bytes longer = whole;
    longer.push_back(0);
    refused(longer, "something was added to it");
}

TEST_F(ModelFiles, WrongHeadersAreRefused) {
    Perceptron network({2}, 1);
    const Bytes whole = network.model.file();
    const auto header = [&](const std::string& text, const auto& change,
                            sidra_status status = SIDRA_ERROR_INVALID_ARGUMENT) {
        Bytes bytes = whole;
        change_header(&bytes, change);
        refused(bytes, text, status);
    };
    using Header = fb::FileHeader;
    header(
        "version 2.0 of the format", [](Header& h) { h.version = 0x20000; }, SIDRA_ERROR_VERSION);
    header(
        "version 1.3 of the format", [](Header& h) { h.version = 0x10003; }, SIDRA_ERROR_VERSION);
    header(
        "version 0.9 of the format", [](Header& h) { h.version = 9; }, SIDRA_ERROR_VERSION);
    header("header_size is 65", [](Header& h) { h.header_size = 65; });
    header("file_size is 7", [](Header& h) { h.file_size = 7; });
    header("reserved is 0x1", [](Header& h) { h.reserved = 1; });
    header("bytes from 65 on", [](Header& h) { h.manifest_offset = 65; });
    header("bytes from 0 on", [](Header& h) { h.manifest_offset = 0; });
    header("from 18446744073709551608 on", [](Header& h) { h.manifest_offset = ~uint64_t{7}; });
    header("has 18446744073709551615 bytes", [](Header& h) { h.manifest_size = ~uint64_t{0}; });
    header("manifest: its hash is wrong", [](Header& h) { h.manifest_hash ^= 1; });
    header("manifest: its hash is wrong", [](Header& h) { h.manifest_size -= 1; });
    Bytes empty = whole;
    change_header(&empty, [](Header& h) { h.manifest_size = 0; });
    seal(&empty);
    refused(empty, "not a valid FlatBuffer");
}

// One bit of each byte of header and manifest changed: a hash tells, or the magic or the version.
TEST_F(ModelFiles, EveryChangedByteIsFound) {
    Perceptron network({2}, 1);
    const Bytes whole = network.model.file();
    fb::FileHeader header;
    std::memcpy(&header, whole.data(), sizeof header);
    const TestFile file(whole);
    for (size_t at = 0; at < header.manifest_offset + header.manifest_size; ++at) {
        Bytes changed = whole;
        changed[at] ^= static_cast<uint8_t>(1 << at % 8);
        file.write(changed);
        sidra_model* model = nullptr;
        const sidra_status status = sidra_model_load(context, file.path(), &model);
        EXPECT_TRUE(status == SIDRA_ERROR_INVALID_ARGUMENT || status == SIDRA_ERROR_VERSION) << at;
    }
    Bytes changed = whole;
    changed[network.model.manifest.constants->offset()] ^= 1;
    refused(changed, "constants: the hash of its 1632 bytes is wrong");
}

// With hashes that are made right: whatever the file means then, nothing breaks. The fuzzer does this for longer.
TEST_F(ModelFiles, AnyByteMayBeWrong) {
    Perceptron network({2}, 1);
    const Bytes whole = network.model.file();
    fb::FileHeader header;
    std::memcpy(&header, whole.data(), sizeof header);
    const TestFile file(whole);
    const Buffer words(context, 64);
    uint64_t blocked = 0;
    for (size_t at = 0; at < header.manifest_size; at += 3) {
        Bytes changed = whole;
        changed[header.manifest_offset + at] = at % 2 == 0 ? 0x01 : 0xff;
        seal(&changed);
        file.write(changed);
        sidra_model* model = nullptr;
        if (sidra_model_load(context, file.path(), &model) != SIDRA_OK) continue;
        ASSERT_OK(sidra_semaphore_wait_async(stream, words.at(), ++blocked));
        if (sidra_model_deploy_async(stream, model) == SIDRA_OK)
            static_cast<void>(sidra_model_run_async(stream, model, 0));  // recorded, and dropped
        ASSERT_OK(sidra_stream_reset(stream));
        ASSERT_OK(sidra_model_destroy(model));
    }
}

TEST_F(ModelFiles, WrongSectionsAreRefused) {
    const auto moved = [](const fb::Section& from, uint64_t offset, uint64_t size) {
        return std::make_unique<fb::Section>(offset, size, from.hash());
    };
    const auto matrix = [&](uint64_t offset, const std::string& text) {
        refused([&](fb::ModelT& m) { m.matrices[0]->data = moved(*m.matrices[0]->data, offset, 12800); }, text);
    };
    matrix(4097, "matrix 0 'fc1.weight': offset 4097 is not a multiple of 4096");
    matrix(4096, "constants and matrix 0 'fc1.weight' overlap");
    matrix(0, "the header and matrix 0 'fc1.weight' overlap");
    matrix(1 << 20, "12800 bytes from 1048576 on are not in the file");
    matrix(~uint64_t{4095}, "12800 bytes from 18446744073709547520 on are not in the file");
    refused([&](fb::ModelT& m) { m.matrices[1]->data = moved(*m.matrices[1]->data, 4096, 1999); },
            "data has 1999 bytes, but 200 x 10 weights have 2000");
    refused([&](fb::ModelT& m) { m.constants = moved(*m.constants, 4096, 0); }, "constants: there are 0 bytes");
    refused([&](fb::ModelT& m) { m.constants = moved(*m.constants, 4096, ~uint64_t{0}); }, "are not in the file");
}

TEST_F(ModelFiles, WrongPartsAreRefused) {
    refused([](fb::ModelT& m) { m.variants.clear(); }, "it has no variant");
    refused([](fb::ModelT& m) { m.matrices[0]->k = 0; }, "matrix 0 'fc1.weight': 0 x 200 has no weights");
    refused([](fb::ModelT& m) { m.matrices[0]->encoding = fb::Encoding{3}; }, "encoding is 3");
    refused([](fb::ModelT& m) { m.programs[1]->code.clear(); }, "program 1: code has 0 bytes");
    refused([](fb::ModelT& m) { m.programs[1]->code.pop_back(); }, "program 1: code has 47 bytes");
    refused([](fb::ModelT& m) { m.programs[1]->code[0] = 255; }, "program 1: sidra_program_create: ");
    refused([](fb::ModelT& m) { m.programs[1]->prologue = 9; }, "program 1: sidra_program_create: ");
    refused([](fb::ModelT& m) { m.programs[1]->code.resize(65 * 16); }, "program 1: sidra_program_create: ");
    refused([](fb::ModelT& m) { m.variants[0]->work = 0; }, "work is 0 bytes");
    refused([](fb::ModelT& m) { m.variants[0]->work = uint64_t{1} << 39; },
            "variant 0, work is 549755813888 bytes, which do not fit in the 39-bit address space");
}

TEST_F(ModelFiles, WrongTensorsAreRefused) {
    const auto input = [&](const std::string& text, const auto& change) {
        refused([&](fb::ModelT& m) { change(*m.variants[0]->inputs[0]); }, "variant 0, input 0 'pixels': " + text);
    };
    input("type is 9", [](fb::TensorT& t) { t.type = fb::Type{9}; });
    input("shape has 9 dimensions", [](fb::TensorT& t) { t.shape.assign(9, 1); });
    input("shape[2] is 4294967295", [](fb::TensorT& t) { t.shape.assign(3, UINT32_MAX); });
    input("it is not in the work memory", [](fb::TensorT& t) { *t.at = constant(0); });
    input("128 bytes from 4096 on", [](fb::TensorT& t) { *t.at = work(4096); });
    input("128 bytes from 18446744073709551615 on", [](fb::TensorT& t) { *t.at = work(UINT64_MAX); });
    input("offset 2 is not a multiple of the 4 bytes", [](fb::TensorT& t) { t.type = fb::Type::F32, *t.at = work(2); });
    refused([](fb::ModelT& m) { m.variants[0]->outputs[1]->type = fb::Type{200}; },
            "variant 0, output 1 'digit': type is 200");
    const std::string long_name(79, 'x');
    refused([&](fb::ModelT& m) { m.variants[0]->inputs[0]->name = long_name + "\u00e4", m.variants[0]->work = 64; },
            "input 0 '" + long_name + "...': ");
}

TEST_F(ModelFiles, WrongCallsAreRefused) {
    const std::string first = "variant 0, call 0 '/fc1/Gemm': ", last = "variant 0, call 2 '/ArgMax': ";
    refused([](fb::ModelT& m) { layer(m).matrix = 2; }, first + "matrix is 2, but the model has 2");
    refused([](fb::ModelT& m) { layer(m).program = 3; }, first + "program is 3, but the model has 3");
    refused([](fb::ModelT& m) { layer(m).param.resize(5); }, first + "param has 5 numbers");
    refused([](fb::ModelT& m) { layer(m).windows->type = fb::Type{77}; }, first + "windows: type is 77");
    refused([](fb::ModelT& m) { layer(m).windows->codes = fb::Type{9}; }, first + "windows: codes is 9");
    refused([](fb::ModelT& m) { *layer(m).windows->at = work(1 << 30); }, first + "windows: at is at byte");
    refused([](fb::ModelT& m) { *layer(m).operands[1]->at = constant(5000); },
            first + "operand 1: at is at byte 5000 of the constants, which have 1632 bytes");
    refused(
        [](fb::ModelT& m) {
            *layer(m).operands[1]->at = {fb::Memory{2}, 0};
        },
        first + "operand 1: at is in memory 2");
    refused([](fb::ModelT& m) { argmax(m).program = UINT32_MAX; }, last + "program is 4294967295");
    refused([](fb::ModelT& m) { argmax(m).size.pop_back(); }, last + "size has 3 numbers, must have 4");
    refused([](fb::ModelT& m) { argmax(m).operands[0]->stride.push_back(1); }, last + "operand 0: stride has 5");
    refused([](fb::ModelT& m) { argmax(m).operands[0]->index_type = fb::Type{9}; }, last + "operand 0: index_type");
    refused([](fb::ModelT& m) { argmax(m).operands[0]->index = std::make_unique<fb::Place>(work(1 << 30)); },
            last + "operand 0: index is at byte");
    refused(
        [](fb::ModelT& m) {
            while (argmax(m).operands.size() < 9)
                argmax(m).operands.push_back(std::make_unique<fb::OperandT>(*argmax(m).operands[0]));
        },
        last + "it has 9 operands");

    const auto other = [&](auto step, const std::string& text) {
        refused(
            [&](fb::ModelT& m) {
                call(m, 2).name = "other\n";
                call(m, 2).step.Set(std::move(step));
            },
            "variant 0, call 2 'other?': " + text);
    };
    fb::MatmulT matmul;
    matmul.batch = {1};
    other(std::move(matmul), "batch has 1 numbers, must have 2");
    fb::PoolT pool;
    pool.windows = std::make_unique<fb::WindowsT>(matrix_windows(work(0), fb::Type::F32, 1, 1));
    pool.out = std::make_unique<fb::Place>(work(0));
    pool.out_stride = {1};
    other(std::move(pool), "out_stride has 1 numbers, must have 3");
    fb::SortT sort;
    sort.in = std::make_unique<fb::Place>(work(0));
    sort.values = std::make_unique<fb::Place>(work(UINT64_MAX));
    other(std::move(sort), "values is at byte 18446744073709551615");
}

// The fuzzer begins with them (tests/fuzz/model_fuzz.cpp): a byte of switches, and a file. SIDRA_WRITE_SEEDS=1 writes
// them.
void expect_seed(const std::string& name, const Bytes& file) {
    Bytes seed = {1};
    seed.insert(seed.end(), file.begin(), file.end());
    const std::string path = source_file("tests/fuzz/corpus/model/" + name);
    if (std::getenv("SIDRA_WRITE_SEEDS") != nullptr)
        std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(seed.data()), std::ssize(seed));
    std::ifstream stored(path, std::ios::binary);
    EXPECT_EQ(seed, Bytes(std::istreambuf_iterator<char>(stored), {}));
}

TEST_F(ModelFiles, TheFuzzersSeedIsAModel) {
    Perceptron network({1, 2}, 1);
    expect_seed("seed-perceptron", network.model.file());
}

TEST_F(ModelFiles, AnotherSeedOfTheFuzzerHasTwoStages) {
    const TestFile file(TwoStages::file());
    expect_seed("seed-stages", TwoStages::file());
    sidra_context* other = nullptr;
    ASSERT_OK(sidra_context_create(device, &other));
    sidra_context* const contexts[] = {context, other};
    sidra_pipeline* pipeline = nullptr;
    ASSERT_OK(sidra_pipeline_create(contexts, 2, file.path(), &pipeline));
    ASSERT_OK(sidra_pipeline_deploy_async(pipeline));
    std::vector<float> x(TwoStages::kElements), y(TwoStages::kElements);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    const void* const inputs[] = {x.data()};
    void* const outputs[] = {y.data()};
    ASSERT_OK(sidra_pipeline_submit(pipeline, 0, inputs));
    ASSERT_OK(sidra_pipeline_receive(pipeline, outputs, soon()));
    for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(2 * x[i] + 1, y[i]);
    EXPECT_OK(sidra_pipeline_destroy(pipeline));
    EXPECT_OK(sidra_context_destroy(other));
}

// What a call of libsidra checks is found when the variant is recorded.
TEST_F(ModelFiles, CallsThatTheLibraryRefusesAreNamed) {
    const std::string first = "variant 0, call 0 '/fc1/Gemm': sidra_layer_async: ",
                      last = "variant 0, call 2 '/ArgMax': sidra_vector_async: ";
    not_run([](fb::ModelT& m) { layer(m).windows->channels = 63; }, first);
    not_run([](fb::ModelT& m) { layer(m).windows->width = UINT32_MAX; }, first);
    not_run([](fb::ModelT& m) { layer(m).windows->pixel_stride = UINT64_MAX; }, first);
    not_run([](fb::ModelT& m) { layer(m).operands.pop_back(); }, first);
    not_run([](fb::ModelT& m) { argmax(m).operands[0]->stride[3] = 3; }, last);
    not_run([](fb::ModelT& m) { argmax(m).operands[0]->stride[2] = uint64_t{1} << 63; }, last);
    not_run([](fb::ModelT& m) { argmax(m).size[2] = UINT32_MAX; }, last);
    not_run([](fb::ModelT& m) { argmax(m).operands[1]->type = fb::Type::F32; }, last);
    not_run([](fb::ModelT& m) { argmax(m).program = 0; }, last);
    not_run([](fb::ModelT& m) { *argmax(m).operands[1]->at = constant(0); }, last, SIDRA_ERROR_PERMISSION);
    not_run([](fb::ModelT& m) { m.variants[0]->calls[1]->step.AsLayer()->matrix = 0; },
            "variant 0, call 1 '/fc2/Gemm': sidra_layer_async: ");
}

}  // namespace
}  // namespace sidra::test
