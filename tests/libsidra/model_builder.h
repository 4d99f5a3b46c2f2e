// SPDX-License-Identifier: MIT
// Compiled models for tests, without a compiler: a manifest to change, and the file that it becomes.
#ifndef SIDRA_TESTS_MODEL_BUILDER_H
#define SIDRA_TESTS_MODEL_BUILDER_H

#include <unistd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "file_header.h"
#include "model_generated.h"

namespace sidra::test {

namespace fb = sidra::format;
using Bytes = std::vector<uint8_t>;

inline fb::Place work(uint64_t offset) { return {fb::Memory::Work, offset}; }
inline fb::Place constant(uint64_t offset) { return {fb::Memory::Constants, offset}; }

// A dense array of these sizes; as sidra_operand_dense().
fb::OperandT dense_operand(const fb::Place& at, fb::Type type, const std::vector<uint32_t>& size);
// Another one of the same type in the rows of `size`, whose elements are the same for each row.
fb::OperandT row_operand(const fb::Place& at, fb::Type type);
// The rows of a dense matrix; as sidra_windows_matrix().
fb::WindowsT matrix_windows(const fb::Place& at, fb::Type type, uint32_t rows, uint32_t columns);

// An array of a function of the host.
fb::ArrayT host_array(const fb::Place& at, fb::Type type, std::vector<uint32_t> shape);

struct TestModel {
    fb::ModelT manifest;
    Bytes constants;
    std::vector<std::vector<int8_t>> values;  // of the matrices
    std::vector<Bytes> calibrations;          // of the first ones; empty: none

    TestModel();

    // Each returns the index.
    uint32_t add_program(const std::string& text);
    uint32_t add_matrix(const std::string& name, uint32_t k, uint32_t n, std::vector<int8_t> its_values);
    uint32_t add_variant(uint64_t work_bytes);
    // Returns the place of the bytes, at a multiple of 64.
    fb::Place add_constants(const void* data, size_t size);

    void add_input(uint32_t variant, const std::string& name, fb::Type type, std::vector<uint32_t> shape,
                   uint64_t offset);
    void add_output(uint32_t variant, const std::string& name, fb::Type type, std::vector<uint32_t> shape,
                    uint64_t offset);
    template <typename Step>
    void add_call(uint32_t variant, const std::string& name, Step step) {
        auto call = std::make_unique<fb::CallT>();
        call->name = name;
        call->step.Set(std::move(step));
        manifest.variants[variant]->calls.push_back(std::move(call));
    }

    // The whole file. change: of the manifest after its sections were laid out and hashed.
    Bytes file(const std::function<void(fb::ModelT&)>& change = {});
    // Adds constants and matrices to a file, whose manifest then says where they are.
    void add_sections(Bytes* file);
};

template <typename... Operands>
std::vector<std::unique_ptr<fb::OperandT>> operands(const Operands&... each) {
    std::vector<std::unique_ptr<fb::OperandT>> list;
    (list.push_back(std::make_unique<fb::OperandT>(each)), ...);
    return list;
}

// A file for as many chips.
Bytes staged_file(std::vector<TestModel> stages);
// 2 * x, and 1 more on another chip: f32 of kElements.
struct TwoStages {
    static constexpr uint32_t kElements = 8;
    static Bytes file();
};

// Makes header and hash of the manifest right after a change of the file's bytes.
void seal(Bytes* file);
// Changes the header, whose hash becomes right again.
void change_header(Bytes* file, const std::function<void(fb::FileHeader&)>& change);

// A file with a name of its own, removed with the object.
class TestFile {
   public:
    explicit TestFile(const Bytes& bytes);
    TestFile(const TestFile&) = delete;
    TestFile& operator=(const TestFile&) = delete;
    ~TestFile() { unlink(path_.c_str()); }
    const char* path() const { return path_.c_str(); }
    void write(const Bytes& bytes) const;

   private:
    std::string path_;
};

// A perceptron as the demo's of digits: u8 [rows, inputs] -> relu -> f32 [rows, outputs], and s64 [rows] of the largest
// output. One variant for each number of rows.
struct Perceptron {
    static constexpr uint32_t kInputs = 64, kHidden = 200, kOutputs = 10;
    Perceptron(const std::vector<uint32_t>& rows, uint32_t seed);
    TestModel model;
    // The same by plain arithmetic, with as many rows as the input has.
    std::vector<float> answers(const std::vector<uint8_t>& input) const;

   private:
    std::vector<float> scale_, bias_;  // of the hidden layer
    static constexpr float kOutputScale = 0.001f;
};

// 2 * ((x + 1) with rows replaced by updates), to which the updates are added at the rows 0, 0 and 3: the chip, the
// host, the chip, the host.
struct HostModel {
    static constexpr uint32_t kRows = 4, kColumns = 2, kUpdates = 3;
    static constexpr uint64_t kIndices = 64, kUpdatesAt = 128, kSum = 192, kScattered = 256, kDouble = 320,
                              kOutput = 384;
    HostModel();
    TestModel model;
};

}  // namespace sidra::test

#endif
