// SPDX-License-Identifier: MIT
#include "model_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>

#include "hash.h"
#include "program/program_text.h"
#include "sidra/sidra.h"

namespace sidra::test {
namespace {

uint64_t round_up(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

Bytes pack(const fb::ModelT& manifest) {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::Model::Pack(builder, &manifest));
    return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

void add_tensor(std::vector<std::unique_ptr<fb::TensorT>>* list, const std::string& name, fb::Type type,
                std::vector<uint32_t> shape, uint64_t offset) {
    auto tensor = std::make_unique<fb::TensorT>();
    tensor->name = name;
    tensor->type = type;
    tensor->shape = std::move(shape);
    tensor->at = std::make_unique<fb::Place>(work(offset));
    list->push_back(std::move(tensor));
}

}  // namespace

fb::OperandT dense_operand(const fb::Place& at, fb::Type type, const std::vector<uint32_t>& size) {
    const sidra_vector_operand dense = sidra_operand_dense({}, static_cast<sidra_type>(type), size.data());
    fb::OperandT operand;
    operand.at = std::make_unique<fb::Place>(at);
    operand.type = type;
    operand.stride.assign(std::begin(dense.stride), std::end(dense.stride));
    return operand;
}

fb::OperandT row_operand(const fb::Place& at, fb::Type type) {
    fb::OperandT operand;
    operand.at = std::make_unique<fb::Place>(at);
    operand.type = type;
    operand.stride = {0, 0, 0, sidra_type_size(static_cast<sidra_type>(type))};
    return operand;
}

fb::WindowsT matrix_windows(const fb::Place& at, fb::Type type, uint32_t rows, uint32_t columns) {
    fb::WindowsT windows;
    windows.at = std::make_unique<fb::Place>(at);
    windows.type = type;
    windows.codes = type == fb::Type::U8 ? fb::Type::U8 : fb::Type::S8;
    windows.images = windows.rows = windows.height = 1;
    windows.columns = windows.width = rows;
    windows.channels = columns;
    windows.kernel_h = windows.kernel_w = windows.stride_h = windows.stride_w = windows.dilation_h =
        windows.dilation_w = 1;
    return windows;
}

namespace {

// Behind all that is there.
fb::Section add_section(Bytes* file, const void* data, size_t size) {
    const uint64_t begin = round_up(file->size(), fb::kSectionAlignment);
    file->resize(begin + size);
    std::memcpy(file->data() + begin, data, size);
    return {begin, size, fb::hash_of(data, size)};
}

// Of a file that has its manifest.
void add_header(Bytes* file, uint64_t manifest, size_t size) {
    fb::FileHeader header{};
    std::memcpy(header.magic, fb::kMagic, sizeof header.magic);
    header.version = fb::kVersion;
    header.header_size = sizeof header;
    header.file_size = file->size();
    header.manifest_offset = manifest;
    header.manifest_size = size;
    std::memcpy(file->data(), &header, sizeof header);
    seal(file);
}

}  // namespace

TestModel::TestModel() {
    manifest.name = "test";
    manifest.producer = "model_builder 1.0";
    manifest.source = "none";
}

uint32_t TestModel::add_program(const std::string& text) {
    const program::Assembly assembly = program::assemble(text);
    const auto* code = std::get_if<program::Code>(&assembly);
    EXPECT_NE(nullptr, code) << text;
    auto made = std::make_unique<fb::ProgramT>();
    const auto* bytes = reinterpret_cast<const uint8_t*>(code->instructions.data());
    made->code.assign(bytes, bytes + code->instructions.size() * sizeof(sidra_vector_instruction));
    made->prologue = static_cast<uint32_t>(code->prologue);
    manifest.programs.push_back(std::move(made));
    return static_cast<uint32_t>(manifest.programs.size() - 1);
}

uint32_t TestModel::add_matrix(const std::string& name, uint32_t k, uint32_t n, std::vector<int8_t> its_values) {
    auto matrix = std::make_unique<fb::MatrixT>();
    matrix->name = name;
    matrix->k = k, matrix->n = n;
    manifest.matrices.push_back(std::move(matrix));
    values.push_back(std::move(its_values));
    return static_cast<uint32_t>(values.size() - 1);
}

uint32_t TestModel::add_variant(uint64_t work_bytes) {
    auto variant = std::make_unique<fb::VariantT>();
    variant->work = work_bytes;
    manifest.variants.push_back(std::move(variant));
    return static_cast<uint32_t>(manifest.variants.size() - 1);
}

fb::Place TestModel::add_constants(const void* data, size_t size) {
    constants.resize(round_up(constants.size(), 64));
    const fb::Place at = constant(constants.size());
    const auto* bytes = static_cast<const uint8_t*>(data);
    constants.insert(constants.end(), bytes, bytes + size);
    return at;
}

void TestModel::add_input(uint32_t variant, const std::string& name, fb::Type type, std::vector<uint32_t> shape,
                          uint64_t offset) {
    add_tensor(&manifest.variants[variant]->inputs, name, type, std::move(shape), offset);
}

void TestModel::add_output(uint32_t variant, const std::string& name, fb::Type type, std::vector<uint32_t> shape,
                           uint64_t offset) {
    add_tensor(&manifest.variants[variant]->outputs, name, type, std::move(shape), offset);
}

Bytes TestModel::file(const std::function<void(fb::ModelT&)>& change) {
    // Sections have a fixed size in the manifest, so its size does not depend on where they are.
    const fb::Section nowhere;
    if (!constants.empty()) manifest.constants = std::make_unique<fb::Section>(nowhere);
    for (size_t i = 0; i < values.size(); ++i) {
        manifest.matrices[i]->data = std::make_unique<fb::Section>(nowhere);
        if (i < calibrations.size() && !calibrations[i].empty())
            manifest.matrices[i]->calibration = std::make_unique<fb::Section>(nowhere);
    }
    uint64_t end = sizeof(fb::FileHeader) + pack(manifest).size();
    Bytes bytes(end);
    add_sections(&bytes);
    if (change) change(manifest);
    const Bytes packed = pack(manifest);
    uint64_t at = sizeof(fb::FileHeader);
    if (packed.size() > end - at) {  // the change made it larger
        at = round_up(bytes.size(), fb::kManifestAlignment);
        bytes.resize(at + packed.size());
    }
    std::ranges::copy(packed, bytes.begin() + static_cast<ptrdiff_t>(at));
    add_header(&bytes, at, packed.size());
    return bytes;
}

void TestModel::add_sections(Bytes* file) {
    const auto section = [&](const auto& content) {
        return std::make_unique<fb::Section>(add_section(file, content.data(), content.size()));
    };
    if (!constants.empty()) manifest.constants = section(constants);
    for (size_t i = 0; i < values.size(); ++i) manifest.matrices[i]->data = section(values[i]);
    for (size_t i = 0; i < calibrations.size(); ++i)
        if (!calibrations[i].empty()) manifest.matrices[i]->calibration = section(calibrations[i]);
}

Bytes staged_file(std::vector<TestModel> stages) {
    Bytes bytes(sizeof(fb::FileHeader));
    TestModel whole;
    for (TestModel& stage : stages) {
        stage.add_sections(&bytes);
        const Bytes packed = pack(stage.manifest);
        whole.manifest.stages.push_back(add_section(&bytes, packed.data(), packed.size()));
    }
    const Bytes packed = pack(whole.manifest);
    const uint64_t at = round_up(bytes.size(), fb::kManifestAlignment);
    bytes.resize(at);
    bytes.insert(bytes.end(), packed.begin(), packed.end());
    add_header(&bytes, at, packed.size());
    return bytes;
}

Bytes TwoStages::file() {
    std::vector<TestModel> stages(2);
    for (const auto& [number, line] : {std::pair{0, "v0 = mul v0, 2.0\n"}, {1, "v0 = add v0, 1.0\n"}}) {
        TestModel& stage = stages[static_cast<size_t>(number)];
        const uint64_t from = 0, to = kElements * sizeof(float);
        fb::VectorT step;
        step.program = stage.add_program(std::string("pass:\nv0 = load o0\n") + line + "store o1, v0\n");
        step.size = {1, 1, 1, kElements};
        step.operands = operands(dense_operand(work(from), fb::Type::F32, step.size),
                                 dense_operand(work(to), fb::Type::F32, step.size));
        const uint32_t variant = stage.add_variant(2 * to);
        stage.add_input(variant, number == 0 ? "x" : "between", fb::Type::F32, {kElements}, from);
        stage.add_output(variant, number == 0 ? "between" : "y", fb::Type::F32, {kElements}, to);
        stage.add_call(variant, "/Step", std::move(step));
    }
    return staged_file(std::move(stages));
}

void change_header(Bytes* file, const std::function<void(fb::FileHeader&)>& change) {
    fb::FileHeader header;
    std::memcpy(&header, file->data(), sizeof header);
    change(header);
    header.header_hash = fb::hash_of(&header, offsetof(fb::FileHeader, header_hash));
    std::memcpy(file->data(), &header, sizeof header);
}

void seal(Bytes* file) {
    change_header(file, [&](fb::FileHeader& header) {
        header.manifest_hash = fb::hash_of(file->data() + header.manifest_offset, header.manifest_size);
    });
}

TestFile::TestFile(const Bytes& bytes) : path_(testing::TempDir() + "sidra-model-XXXXXX") {
    const int fd = mkstemp(path_.data());
    EXPECT_GE(fd, 0);
    close(fd);
    write(bytes);
}

void TestFile::write(const Bytes& bytes) const {
    std::ofstream file(path_, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    EXPECT_TRUE(file.flush());
}

fb::ArrayT host_array(const fb::Place& at, fb::Type type, std::vector<uint32_t> shape) {
    fb::ArrayT made;
    made.at = std::make_unique<fb::Place>(at);
    made.type = type;
    made.shape = std::move(shape);
    return made;
}

HostModel::HostModel() {
    const int64_t fixed[] = {0, 0, -1};
    const fb::Place constants = model.add_constants(fixed, sizeof fixed);
    const uint32_t sum = model.add_program("pass:\nv0 = load o0\nv0 = add v0, 1.0\nstore o1, v0\n");
    const uint32_t twice = model.add_program("pass:\nv0 = load o0\nv0 = mul v0, 2.0\nstore o1, v0\n");
    const uint32_t variant = model.add_variant(kOutput + 64);
    model.add_input(variant, "x", fb::Type::F32, {kRows, kColumns}, 0);
    model.add_input(variant, "indices", fb::Type::S64, {kUpdates}, kIndices);
    model.add_input(variant, "updates", fb::Type::F32, {kUpdates, kColumns}, kUpdatesAt);
    model.add_output(variant, "y", fb::Type::F32, {kRows, kColumns}, kOutput);
    const auto vector = [&](const std::string& name, uint32_t program, uint64_t from, uint64_t to) {
        fb::VectorT step;
        step.program = program;
        step.size = {1, 1, kRows, kColumns};
        step.operands = operands(dense_operand(work(from), fb::Type::F32, step.size),
                                 dense_operand(work(to), fb::Type::F32, step.size));
        model.add_call(variant, name, std::move(step));
    };
    const auto scatter = [&](const std::string& name, uint64_t from, const fb::Place& indices, uint64_t to,
                             int64_t reduction) {
        fb::HostT host;
        host.function = "scatter";
        for (const fb::ArrayT& input :
             {host_array(work(from), fb::Type::F32, {kRows, kColumns}), host_array(indices, fb::Type::S64, {kUpdates}),
              host_array(work(kUpdatesAt), fb::Type::F32, {kUpdates, kColumns})})
            host.inputs.push_back(std::make_unique<fb::ArrayT>(input));
        host.output = std::make_unique<fb::ArrayT>(host_array(work(to), fb::Type::F32, {kRows, kColumns}));
        host.parameters = {reduction};
        model.add_call(variant, name, std::move(host));
    };
    vector("/Add", sum, 0, kSum);
    scatter("/Scatter", kSum, work(kIndices), kScattered, 0);
    vector("/Mul", twice, kScattered, kDouble);
    scatter("/ScatterAdd", kDouble, constants, kOutput, 1);
}

Perceptron::Perceptron(const std::vector<uint32_t>& rows, uint32_t seed) : scale_(kHidden), bias_(kHidden) {
    std::mt19937 random(seed);
    const auto any = [&](size_t count) {
        std::vector<int8_t> codes(count);
        for (int8_t& code : codes) code = static_cast<int8_t>(std::uniform_int_distribution<int>(-127, 127)(random));
        return codes;
    };
    for (uint32_t i = 0; i < kHidden; ++i) {
        scale_[i] = 1e-4f * static_cast<float>(1 + i % 7);
        bias_[i] = static_cast<float>(i % 11) - 5.0f;
    }
    model.manifest.name = "perceptron";
    model.manifest.options = "--test";
    const uint32_t first = model.add_matrix("fc1.weight", kInputs, kHidden, any(size_t{kInputs} * kHidden));
    const uint32_t second = model.add_matrix("fc2.weight", kHidden, kOutputs, any(size_t{kHidden} * kOutputs));
    // Codes of the hidden layer saturate at 0: that is the ReLU.
    const uint32_t hidden = model.add_program(
        "pass:\nv0 = load sums\nv1 = load o1\nv2 = load o2\nv0 = fma v0, v1, v2\nv0 = max v0, 0.0\nstore o0, v0\n");
    const uint32_t output = model.add_program("pass:\nv0 = load sums\nv0 = mul v0, p0\nstore o0, v0\n");
    const uint32_t best = model.add_program("pass:\nv0 = load o0\ns0 = reduce_argmax v0\nstore_int o1, s0\n");
    const fb::Place scale = model.add_constants(scale_.data(), scale_.size() * sizeof(float));
    const fb::Place bias = model.add_constants(bias_.data(), bias_.size() * sizeof(float));
    for (const uint32_t n : rows) {
        const uint64_t at_hidden = uint64_t{n} * kInputs, at_output = at_hidden + round_up(uint64_t{n} * kHidden, 8),
                       at_best = at_output + round_up(uint64_t{n} * kOutputs * 4, 8), end = at_best + uint64_t{n} * 8;
        const uint32_t variant = model.add_variant(end);
        model.add_input(variant, "pixels", fb::Type::U8, {n, kInputs}, 0);
        model.add_output(variant, "scores", fb::Type::F32, {n, kOutputs}, at_output);
        model.add_output(variant, "digit", fb::Type::S64, {n}, at_best);
        fb::LayerT layer;
        layer.matrix = first, layer.program = hidden;
        layer.windows = std::make_unique<fb::WindowsT>(matrix_windows(work(0), fb::Type::U8, n, kInputs));
        layer.operands = operands(dense_operand(work(at_hidden), fb::Type::U8, {1, 1, n, kHidden}),
                                  row_operand(scale, fb::Type::F32), row_operand(bias, fb::Type::F32));
        model.add_call(variant, "/fc1/Gemm", std::move(layer));
        layer = {};
        layer.matrix = second, layer.program = output;
        layer.windows = std::make_unique<fb::WindowsT>(matrix_windows(work(at_hidden), fb::Type::U8, n, kHidden));
        layer.operands = operands(dense_operand(work(at_output), fb::Type::F32, {1, 1, n, kOutputs}));
        layer.param = {sidra_param_f32(kOutputScale)};
        model.add_call(variant, "/fc2/Gemm", std::move(layer));
        fb::VectorT argmax;
        argmax.program = best;
        argmax.size = {1, 1, n, kOutputs};
        argmax.operands = operands(dense_operand(work(at_output), fb::Type::F32, {1, 1, n, kOutputs}),
                                   dense_operand(work(at_best), fb::Type::S64, {1, 1, n, 1}));
        model.add_call(variant, "/ArgMax", std::move(argmax));
    }
}

std::vector<float> Perceptron::answers(const std::vector<uint8_t>& input) const {
    const size_t rows = input.size() / kInputs;
    std::vector<float> scores(rows * kOutputs);
    for (size_t r = 0; r < rows; ++r) {
        std::vector<int32_t> codes(kHidden);
        for (uint32_t h = 0; h < kHidden; ++h) {
            int32_t sum = 0;
            for (uint32_t i = 0; i < kInputs; ++i) sum += input[r * kInputs + i] * model.values[0][i * kHidden + h];
            const float real = std::fma(static_cast<float>(sum), scale_[h], bias_[h]);
            codes[h] = static_cast<int32_t>(std::nearbyint(std::clamp(real, 0.0f, 255.0f)));
        }
        for (uint32_t o = 0; o < kOutputs; ++o) {
            int32_t sum = 0;
            for (uint32_t h = 0; h < kHidden; ++h) sum += codes[h] * model.values[1][h * kOutputs + o];
            scores[r * kOutputs + o] = static_cast<float>(sum) * kOutputScale;
        }
    }
    return scores;
}

}  // namespace sidra::test
