// SPDX-License-Identifier: MIT
#include "model_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "file_header.h"
#include "model_file.h"
#include "sidra/model.h"
#include "sidra_vector.h"

namespace sidra {
namespace {

// What is wrong; "": nothing.
using Finding = std::string;

// Returns from the calling function with what is wrong, behind the name of the part.
#define TRY_PART(finding, ...)                                            \
    do {                                                                  \
        if (const Finding found = (finding); !found.empty()) [[unlikely]] \
            return fmt::format(__VA_ARGS__) + found;                      \
    } while (0)

constexpr uint32_t kNoProgram = UINT32_MAX;  // of a Matmul

template <typename Vector>
uint32_t length(const Vector* vector) {
    return vector != nullptr ? vector->size() : 0;
}

Finding check_type(std::string_view field, format::Type type) {
    if (sidra_type_size(static_cast<sidra_type>(type)) != 0) return {};
    return fmt::format("{} is {}, which is no type of elements", field, static_cast<uint32_t>(type));
}

Finding check_length(std::string_view field, uint32_t length, uint32_t needed) {
    if (length == needed) return {};
    return fmt::format("{} has {} numbers, must have {}", field, length, needed);
}

Finding check_params(const flatbuffers::Vector<uint32_t>* params) {
    if (length(params) <= SIDRA_VECTOR_PARAMS) return {};
    return fmt::format("param has {} numbers, at most {} are allowed", length(params), SIDRA_VECTOR_PARAMS);
}

// The parts of the file, which must not overlap.
class Sections {
   public:
    explicit Sections(uint64_t file_size) : file_size_(file_size) {}
    void add(std::string name, const FileRange& range) { ranges_.push_back({range, std::move(name)}); }

    Finding add(std::string name, const format::Section& section) {
        if (section.offset() % format::kSectionAlignment != 0)
            return fmt::format("{}: offset {} is not a multiple of {}", name, section.offset(),
                               format::kSectionAlignment);
        if (section.offset() > file_size_ || section.size() > file_size_ - section.offset())
            return fmt::format("{}: {} bytes from {} on are not in the file, which has {}", name, section.size(),
                               section.offset(), file_size_);
        add(std::move(name), FileRange{section.offset(), section.offset() + section.size()});
        return {};
    }

    Finding check() {
        std::ranges::sort(ranges_, {}, [](const Named& named) { return named.range.begin; });
        for (size_t i = 1; i < ranges_.size(); ++i)
            if (ranges_[i].range.begin < ranges_[i - 1].range.end)
                return fmt::format("{} and {} overlap in the file", ranges_[i - 1].name, ranges_[i].name);
        return {};
    }

   private:
    struct Named {
        FileRange range;
        std::string name;
    };
    const uint64_t file_size_;
    std::vector<Named> ranges_;
};

// The calls of one variant.
class Calls {
   public:
    Calls(const format::Model& model, const format::Variant& variant)
        : model_(model),
          constants_(model.constants() != nullptr ? model.constants()->size() : 0),
          work_(variant.work()) {}

    Finding check(const format::Call& call) const {
        switch (call.step_type()) {
            case format::Step::Vector:
                return check(*call.step_as_Vector());
            case format::Step::Layer:
                return check(*call.step_as_Layer());
            case format::Step::Matmul:
                return check(*call.step_as_Matmul());
            case format::Step::Pool:
                return check(*call.step_as_Pool());
            case format::Step::Sort:
                return check(*call.step_as_Sort());
            default:
                return fmt::format("step {} is none that this libsidra knows", static_cast<uint32_t>(call.step_type()));
        }
    }

   private:
    // Where the array ends is the call's to check.
    Finding check_place(std::string_view field, const format::Place* place) const {
        if (place == nullptr) return {};
        if (place->memory() > format::Memory::MAX)
            return fmt::format("{} is in memory {}, which does not exist", field,
                               static_cast<uint32_t>(place->memory()));
        const bool constants = place->memory() == format::Memory::Constants;
        const uint64_t size = constants ? constants_ : work_;
        if (place->offset() < size) return {};
        return fmt::format("{} is at byte {} of the {}, which {} {} bytes", field, place->offset(),
                           constants ? "constants" : "work memory", constants ? "have" : "has", size);
    }

    Finding check_program(uint32_t program) const {
        if (program < model_.programs()->size()) return {};
        return fmt::format("program is {}, but the model has {}", program, model_.programs()->size());
    }

    Finding check_operands(const flatbuffers::Vector<flatbuffers::Offset<format::Operand>>& operands) const {
        if (operands.size() > SIDRA_VECTOR_OPERANDS_MAX)
            return fmt::format("it has {} operands, at most {} are allowed", operands.size(),
                               SIDRA_VECTOR_OPERANDS_MAX);
        for (uint32_t i = 0; i < operands.size(); ++i) TRY_PART(check(*operands[i]), "operand {}: ", i);
        return {};
    }

    Finding check(const format::Operand& operand) const {
        TRY_PART(check_place("at", operand.at()), "");
        TRY_PART(check_type("type", operand.type()), "");
        TRY_PART(check_length("stride", length(operand.stride()), 4), "");
        TRY_PART(check_place("index", operand.index()), "");
        return check_type("index_type", operand.index_type());
    }

    Finding check(const format::Windows& windows) const {
        TRY_PART(check_place("at", windows.at()), "windows: ");
        TRY_PART(check_type("type", windows.type()), "windows: ");
        TRY_PART(check_type("codes", windows.codes()), "windows: ");
        return {};
    }

    Finding check(const format::Vector& vector) const {
        TRY_PART(check_program(vector.program()), "");
        TRY_PART(check_length("size", length(vector.size()), 4), "");
        TRY_PART(check_params(vector.param()), "");
        return check_operands(*vector.operands());
    }

    Finding check(const format::Layer& layer) const {
        if (layer.matrix() >= model_.matrices()->size())
            return fmt::format("matrix is {}, but the model has {}", layer.matrix(), model_.matrices()->size());
        TRY_PART(check_program(layer.program()), "");
        TRY_PART(check(*layer.windows()), "");
        TRY_PART(check_params(layer.param()), "");
        return check_operands(*layer.operands());
    }

    Finding check(const format::Matmul& matmul) const {
        if (matmul.program() != kNoProgram) TRY_PART(check_program(matmul.program()), "");
        TRY_PART(check_length("batch", length(matmul.batch()), 2), "");
        TRY_PART(check_params(matmul.param()), "");
        return check_operands(*matmul.operands());
    }

    Finding check(const format::Pool& pool) const {
        TRY_PART(check(*pool.windows()), "");
        TRY_PART(check_place("out", pool.out()), "");
        if (pool.out_stride() != nullptr) return check_length("out_stride", length(pool.out_stride()), 3);
        return {};
    }

    Finding check(const format::Sort& sort) const {
        TRY_PART(check_type("type", sort.type()), "");
        TRY_PART(check_type("index_type", sort.index_type()), "");
        TRY_PART(check_place("in", sort.in()), "");
        TRY_PART(check_place("values", sort.values()), "");
        return check_place("indices", sort.indices());
    }

    const format::Model& model_;
    const uint64_t constants_, work_;  // bytes
};

Finding check_matrix(const format::Matrix& matrix) {
    if (matrix.encoding() > format::Encoding::MAX)
        return fmt::format("encoding is {}, which does not exist", static_cast<uint32_t>(matrix.encoding()));
    if (matrix.k() == 0 || matrix.n() == 0) return fmt::format("{} x {} has no weights", matrix.k(), matrix.n());
    if (const uint64_t needed = uint64_t{matrix.k()} * matrix.n(); matrix.data()->size() != needed)
        return fmt::format("data has {} bytes, but {} x {} weights have {}", matrix.data()->size(), matrix.k(),
                           matrix.n(), needed);
    return {};
}

Finding check_program(const format::Program& program) {
    const uint32_t bytes = program.code()->size();
    if (bytes == 0 || bytes % sizeof(sidra_vector_instruction) != 0)
        return fmt::format("code has {} bytes, must be a number of instructions of {} bytes", bytes,
                           sizeof(sidra_vector_instruction));
    return {};
}

Finding check_tensor(const format::Tensor& tensor, uint64_t work) {
    TRY_PART(check_type("type", tensor.type()), "");
    if (length(tensor.shape()) > SIDRA_MODEL_RANK_MAX)
        return fmt::format("shape has {} dimensions, at most {} are allowed", length(tensor.shape()),
                           SIDRA_MODEL_RANK_MAX);
    const uint64_t element = sidra_type_size(static_cast<sidra_type>(tensor.type()));
    uint64_t bytes = element;
    for (uint32_t i = 0; i < length(tensor.shape()); ++i)
        if (const uint32_t size = tensor.shape()->Get(i);
            size == 0 || __builtin_mul_overflow(bytes, uint64_t{size}, &bytes))
            return fmt::format("shape[{}] is {}, so it has no elements, or more than 2^64 bytes", i, size);
    const format::Place& at = *tensor.at();
    if (at.memory() != format::Memory::Work) return "it is not in the work memory";
    if (at.offset() % element != 0)
        return fmt::format("offset {} is not a multiple of the {} bytes of an element", at.offset(), element);
    if (at.offset() > work || bytes > work - at.offset())
        return fmt::format("{} bytes from {} on are not in the work memory, which has {}", bytes, at.offset(), work);
    return {};
}

using Tensors = flatbuffers::Vector<flatbuffers::Offset<format::Tensor>>;

Finding check_tensors(std::string_view kind, const Tensors& tensors, uint64_t work) {
    for (uint32_t i = 0; i < tensors.size(); ++i)
        TRY_PART(check_tensor(*tensors[i], work), "{} {} {}: ", kind, i, quoted(tensors[i]->name()));
    return {};
}

Finding check_variant(const format::Model& model, const format::Variant& variant) {
    if (variant.work() == 0) return "work is 0 bytes";
    TRY_PART(check_tensors("input", *variant.inputs(), variant.work()), "");
    TRY_PART(check_tensors("output", *variant.outputs(), variant.work()), "");
    const Calls calls(model, variant);
    for (uint32_t i = 0; i < variant.calls()->size(); ++i) {
        const format::Call& call = *variant.calls()->Get(i);
        TRY_PART(calls.check(call), "call {} {}: ", i, quoted(call.name()));
    }
    return {};
}

}  // namespace

std::string check_manifest(const format::Model& model, uint64_t file_size, const FileRange& manifest) {
    Sections sections(file_size);
    sections.add("the header", FileRange{0, sizeof(format::FileHeader)});
    sections.add("the manifest", manifest);
    if (model.constants() != nullptr) {
        if (model.constants()->size() == 0) return "constants: there are 0 bytes";
        TRY_PART(sections.add("constants", *model.constants()), "");
    }
    for (uint32_t i = 0; i < model.matrices()->size(); ++i) {
        TRY_PART(check_matrix(*model.matrices()->Get(i)), "{}: ", matrix_name(model, i));
        TRY_PART(sections.add(matrix_name(model, i), *model.matrices()->Get(i)->data()), "");
    }
    TRY_PART(sections.check(), "");
    for (uint32_t i = 0; i < model.programs()->size(); ++i)
        TRY_PART(check_program(*model.programs()->Get(i)), "program {}: ", i);
    if (model.variants()->size() == 0) return "it has no variant";
    for (uint32_t i = 0; i < model.variants()->size(); ++i)
        TRY_PART(check_variant(model, *model.variants()->Get(i)), "variant {}, ", i);
    return {};
}

uint64_t tensor_bytes(const format::Tensor& tensor) {
    uint64_t bytes = sidra_type_size(static_cast<sidra_type>(tensor.type()));
    for (uint32_t i = 0; i < length(tensor.shape()); ++i) bytes *= tensor.shape()->Get(i);
    return bytes;
}

}  // namespace sidra
