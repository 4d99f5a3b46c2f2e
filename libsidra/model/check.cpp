// SPDX-License-Identifier: MIT
#include "check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "hash.h"
#include "host.h"
#include "sidra/model.h"
#include "sidra_hw.h"
#include "sidra_vector.h"
#include "verify.h"

namespace sidra::format {
namespace {

// What is wrong with a part of the manifest; "": nothing.
using Text = std::string;

// Returns from the calling function with what is wrong, behind the name of the part.
#define TRY_PART(text, ...)                                         \
    do {                                                            \
        if (const Text found = (text); !found.empty()) [[unlikely]] \
            return fmt::format(__VA_ARGS__) + found;                \
    } while (0)

constexpr uint32_t kNoProgram = UINT32_MAX;  // of a Matmul
constexpr size_t kNameShown = 80;            // bytes of a name in a message
constexpr uint32_t kDepthMax = 8;            // of tables in tables; the schema has five
constexpr uint32_t kTablesMax = 1 << 20;
constexpr std::string_view kConstants = "constants", kWork = "work memory";

static_assert(static_cast<int>(Type::MAX) + 1 == SIDRA_TYPE_COUNT && static_cast<int>(Type::BF16) == SIDRA_TYPE_BF16);

// Bytes of a file, or of a memory.
struct Range {
    uint64_t begin, end;
};

template <typename Vector>
uint32_t length(const Vector* vector) {
    return vector != nullptr ? vector->size() : 0;
}

Text check_type(std::string_view field, Type type) {
    if (type <= Type::MAX) return {};
    return fmt::format("{} is {}, which is no type of elements", field, static_cast<uint32_t>(type));
}

Text check_length(std::string_view field, uint32_t length, uint32_t needed) {
    if (length == needed) return {};
    return fmt::format("{} has {} numbers, must have {}", field, length, needed);
}

// FlatBuffers verifies the alignment of the length of a vector only.
template <typename T>
Text check_alignment(std::string_view field, const flatbuffers::Vector<T>* numbers) {
    if (numbers == nullptr || reinterpret_cast<uintptr_t>(numbers->Data()) % alignof(T) == 0) return {};
    return fmt::format("{} does not lie at a multiple of {} bytes in the manifest", field, alignof(T));
}

Text check_params(const flatbuffers::Vector<uint32_t>* params) {
    if (length(params) <= SIDRA_VECTOR_PARAMS) return {};
    return fmt::format("param has {} numbers, at most {} are allowed", length(params), SIDRA_VECTOR_PARAMS);
}

// Checks a dense array, and returns its bytes.
template <typename Dense>
Text check_dense(const Dense& array, uint64_t memory, std::string_view memory_name, uint64_t* bytes) {
    TRY_PART(check_type("type", array.type()), "");
    if (length(array.shape()) > SIDRA_MODEL_RANK_MAX)
        return fmt::format("shape has {} dimensions, at most {} are allowed", length(array.shape()),
                           SIDRA_MODEL_RANK_MAX);
    const uint64_t element = type_size(array.type());
    *bytes = element;
    for (uint32_t i = 0; i < length(array.shape()); ++i)
        if (__builtin_mul_overflow(*bytes, uint64_t{array.shape()->Get(i)}, bytes))
            return fmt::format("shape[{}] is {}, so it has more than 2^64 bytes", i, array.shape()->Get(i));
    const uint64_t offset = array.at()->offset();
    if (offset % element != 0)
        return fmt::format("offset {} is not a multiple of the {} bytes of an element", offset, element);
    if (offset > memory || *bytes > memory - offset)
        return fmt::format("{} bytes from {} on are not in the {}, which {} {}", *bytes, offset, memory_name,
                           memory_name == kConstants ? "have" : "has", memory);
    return {};
}

// The parts of the file, which must not overlap.
class Sections {
   public:
    explicit Sections(uint64_t file_size) : file_size_(file_size) {}
    void add(std::string name, const Range& range) { ranges_.push_back({range, std::move(name)}); }

    Text add(std::string name, const Section& section) {
        if (section.offset() % kSectionAlignment != 0)
            return fmt::format("{}: offset {} is not a multiple of {}", name, section.offset(), kSectionAlignment);
        if (section.offset() > file_size_ || section.size() > file_size_ - section.offset())
            return fmt::format("{}: {} bytes from {} on are not in the file, which has {}", name, section.size(),
                               section.offset(), file_size_);
        add(std::move(name), Range{section.offset(), section.offset() + section.size()});
        return {};
    }

    Text check() {
        std::ranges::sort(ranges_, {}, [](const Named& named) { return named.range.begin; });
        for (size_t i = 1; i < ranges_.size(); ++i)
            if (ranges_[i].range.begin < ranges_[i - 1].range.end)
                return fmt::format("{} and {} overlap in the file", ranges_[i - 1].name, ranges_[i].name);
        return {};
    }

   private:
    struct Named {
        Range range;
        std::string name;
    };
    const uint64_t file_size_;
    std::vector<Named> ranges_;
};

// The calls of one variant.
class Calls {
   public:
    // room: how many parameters functions of the host can still have; each checked call takes its own.
    Calls(const Model& model, const Variant& variant, uint64_t* room)
        : model_(model),
          room_(*room),
          constants_(model.constants() != nullptr ? model.constants()->size() : 0),
          work_(variant.work()) {}

    Text check(const Call& call) const {
        switch (call.step_type()) {
            case Step::Vector:
                return check(*call.step_as_Vector());
            case Step::Layer:
                return check(*call.step_as_Layer());
            case Step::Matmul:
                return check(*call.step_as_Matmul());
            case Step::Pool:
                return check(*call.step_as_Pool());
            case Step::Sort:
                return check(*call.step_as_Sort());
            case Step::Host:
                return check(*call.step_as_Host());
            default:
                return fmt::format("step {} is none that this libsidra knows", static_cast<uint32_t>(call.step_type()));
        }
    }

   private:
    // Where the array ends is the call's to check.
    Text check_place(std::string_view field, const Place* place) const {
        if (place == nullptr) return {};
        if (place->memory() > Memory::MAX)
            return fmt::format("{} is in memory {}, which does not exist", field,
                               static_cast<uint32_t>(place->memory()));
        const bool constants = place->memory() == Memory::Constants;
        const uint64_t size = constants ? constants_ : work_;
        if (place->offset() < size) return {};
        return fmt::format("{} is at byte {} of the {}, which {} {} bytes", field, place->offset(),
                           constants ? kConstants : kWork, constants ? "have" : "has", size);
    }

    Text check_program(uint32_t program) const {
        if (program < model_.programs()->size()) return {};
        return fmt::format("program is {}, but the model has {}", program, model_.programs()->size());
    }

    Text check_operands(const flatbuffers::Vector<flatbuffers::Offset<Operand>>& operands) const {
        if (operands.size() > SIDRA_VECTOR_OPERANDS_MAX)
            return fmt::format("it has {} operands, at most {} are allowed", operands.size(),
                               SIDRA_VECTOR_OPERANDS_MAX);
        for (uint32_t i = 0; i < operands.size(); ++i) TRY_PART(check(*operands[i]), "operand {}: ", i);
        return {};
    }

    Text check(const Operand& operand) const {
        TRY_PART(check_place("at", operand.at()), "");
        TRY_PART(check_type("type", operand.type()), "");
        TRY_PART(check_length("stride", length(operand.stride()), 4), "");
        TRY_PART(check_alignment("stride", operand.stride()), "");
        TRY_PART(check_place("index", operand.index()), "");
        return check_type("index_type", operand.index_type());
    }

    Text check(const Windows& windows) const {
        TRY_PART(check_place("at", windows.at()), "windows: ");
        TRY_PART(check_type("type", windows.type()), "windows: ");
        TRY_PART(check_type("codes", windows.codes()), "windows: ");
        return {};
    }

    Text check(const Vector& vector) const {
        TRY_PART(check_program(vector.program()), "");
        TRY_PART(check_length("size", length(vector.size()), 4), "");
        TRY_PART(check_params(vector.param()), "");
        return check_operands(*vector.operands());
    }

    Text check(const Layer& layer) const {
        if (layer.matrix() >= model_.matrices()->size())
            return fmt::format("matrix is {}, but the model has {}", layer.matrix(), model_.matrices()->size());
        TRY_PART(check_program(layer.program()), "");
        TRY_PART(check(*layer.windows()), "");
        TRY_PART(check_params(layer.param()), "");
        return check_operands(*layer.operands());
    }

    Text check(const Matmul& matmul) const {
        if (matmul.program() != kNoProgram) TRY_PART(check_program(matmul.program()), "");
        TRY_PART(check_length("batch", length(matmul.batch()), 2), "");
        TRY_PART(check_params(matmul.param()), "");
        return check_operands(*matmul.operands());
    }

    Text check(const Pool& pool) const {
        TRY_PART(check(*pool.windows()), "");
        TRY_PART(check_place("out", pool.out()), "");
        if (pool.out_stride() != nullptr) TRY_PART(check_length("out_stride", length(pool.out_stride()), 3), "");
        return check_alignment("out_stride", pool.out_stride());
    }

    Text check(const Sort& sort) const {
        TRY_PART(check_type("type", sort.type()), "");
        TRY_PART(check_type("index_type", sort.index_type()), "");
        TRY_PART(check_place("in", sort.in()), "");
        TRY_PART(check_place("values", sort.values()), "");
        return check_place("indices", sort.indices());
    }

    // No call of libsidra checks it, so everything is checked here.
    Text check(const Host& host) const {
        const HostFunction* const function = find_host_function(host.function()->string_view());
        if (function == nullptr)
            return fmt::format("the host has no function {}; use a libsidra of the same age as the compiler",
                               quoted(host.function()));
        uint64_t out = 0;
        if (host.output()->at()->memory() != Memory::Work) return "output is not in the work memory";
        TRY_PART(check_dense(*host.output(), work_, kWork, &out), "output: ");
        const Range output{host.output()->at()->offset(), host.output()->at()->offset() + out};
        for (uint32_t i = 0; i < host.inputs()->size(); ++i) {
            const Array& input = *host.inputs()->Get(i);
            const Place& at = *input.at();
            if (at.memory() > Memory::MAX)
                return fmt::format("input {} is in memory {}, which does not exist", i,
                                   static_cast<uint32_t>(at.memory()));
            const bool constants = at.memory() == Memory::Constants;
            uint64_t bytes = 0;
            TRY_PART(check_dense(input, constants ? constants_ : work_, constants ? kConstants : kWork, &bytes),
                     "input {}: ", i);
            if (!constants && bytes != 0 && out != 0 && at.offset() < output.end && output.begin < at.offset() + bytes)
                return fmt::format("input {} and output overlap", i);
        }
        TRY_PART(check_alignment("parameters", host.parameters()), "");
        const uint32_t parameters = length(host.parameters());
        if (parameters > room_)
            return fmt::format("it has {} parameters, but the calls of the manifest can have only {} more", parameters,
                               room_);
        room_ -= parameters;
        TRY_PART(function->check(host_call(host)), "{}: ", function->name);
        return {};
    }

    const Model& model_;
    uint64_t& room_;
    const uint64_t constants_, work_;  // bytes
};

uint64_t tiles_of(const Matrix& matrix, Encoding encoding) {
    const uint64_t width = encoding == Encoding::Differential ? SIDRA_XBAR_COLS / 2 : SIDRA_XBAR_COLS;
    return (uint64_t{matrix.k()} + SIDRA_XBAR_ROWS - 1) / SIDRA_XBAR_ROWS * ((matrix.n() + width - 1) / width);
}

// The crossbars where the compiler has placed matrices: as many as a matrix has tiles, and none twice.
Text check_placement(const Model& model) {
    std::vector<std::pair<uint32_t, uint32_t>> taken;  // crossbar, matrix
    for (uint32_t i = 0; i < model.matrices()->size(); ++i) {
        const Matrix& matrix = *model.matrices()->Get(i);
        if (matrix.crossbars() == nullptr) continue;
        const uint32_t count = matrix.crossbars()->size();
        const bool differential =
            matrix.encoding() != Encoding::Offset && count == tiles_of(matrix, Encoding::Differential);
        const bool offset = matrix.encoding() != Encoding::Differential && count == tiles_of(matrix, Encoding::Offset);
        if (!differential && !offset)
            return fmt::format("{}: it is placed on {} crossbars, but has another number of tiles",
                               matrix_name(model, i), count);
        for (uint32_t tile = 0; tile < count; ++tile) taken.emplace_back(matrix.crossbars()->Get(tile), i);
    }
    std::ranges::sort(taken);
    for (size_t i = 1; i < taken.size(); ++i)
        if (taken[i].first == taken[i - 1].first)
            return fmt::format("{} and {} are both placed on crossbar {}", matrix_name(model, taken[i - 1].second),
                               matrix_name(model, taken[i].second), taken[i].first);
    return {};
}

Text check_matrix(const Matrix& matrix) {
    if (matrix.encoding() > Encoding::MAX)
        return fmt::format("encoding is {}, which does not exist", static_cast<uint32_t>(matrix.encoding()));
    if (matrix.k() == 0 || matrix.n() == 0) return fmt::format("{} x {} has no weights", matrix.k(), matrix.n());
    if (const uint64_t needed = uint64_t{matrix.k()} * matrix.n(); matrix.data()->size() != needed)
        return fmt::format("data has {} bytes, but {} x {} weights have {}", matrix.data()->size(), matrix.k(),
                           matrix.n(), needed);
    if (matrix.calibration() == nullptr) return {};
    const uint64_t bytes = matrix.calibration()->size();
    if (bytes == 0 || bytes % matrix.k() != 0 || bytes / matrix.k() > kCalibrationVectorsMax)
        return fmt::format("calibration has {} bytes, but must have 1 to {} vectors of {}", bytes,
                           kCalibrationVectorsMax, matrix.k());
    return {};
}

Text check_program(const Program& program) {
    const uint32_t bytes = program.code()->size();
    if (bytes == 0 || bytes % sizeof(sidra_vector_instruction) != 0)
        return fmt::format("code has {} bytes, must be a number of instructions of {} bytes", bytes,
                           sizeof(sidra_vector_instruction));
    return {};
}

Text check_tensor(const Tensor& tensor, uint64_t work) {
    if (tensor.at()->memory() != Memory::Work) return "it is not in the work memory";
    uint64_t bytes = 0;
    return check_dense(tensor, work, kWork, &bytes);
}

using Tensors = flatbuffers::Vector<flatbuffers::Offset<Tensor>>;

Text check_tensors(std::string_view kind, const Tensors& tensors, uint64_t work) {
    for (uint32_t i = 0; i < tensors.size(); ++i)
        TRY_PART(check_tensor(*tensors[i], work), "{} {} {}: ", kind, i, quoted(tensors[i]->name()));
    return {};
}

Text check_variant(const Model& model, const Variant& variant, uint64_t* room) {
    if (variant.work() == 0) return "work is 0 bytes";
    if (variant.work() >> SIDRA_VA_BITS != 0)
        return fmt::format("work is {} bytes, which do not fit in the {}-bit address space of a context",
                           variant.work(), SIDRA_VA_BITS);
    TRY_PART(check_tensors("input", *variant.inputs(), variant.work()), "");
    TRY_PART(check_tensors("output", *variant.outputs(), variant.work()), "");
    const Calls calls(model, variant, room);
    for (uint32_t i = 0; i < variant.calls()->size(); ++i) {
        const Call& call = *variant.calls()->Get(i);
        TRY_PART(calls.check(call), "call {} {}: ", i, quoted(call.name()));
    }
    return {};
}

// A model of stages has nothing else; its stages have all.
Text check_stages(const Model& model, Sections* sections) {
    const auto& stages = *model.stages();
    if (stages.size() < 2 || stages.size() > kStagesMax)
        return fmt::format("it has {} stages, must have 2 to {}", stages.size(), kStagesMax);
    if (reinterpret_cast<uintptr_t>(stages.Data()) % alignof(Section) != 0)
        return fmt::format("stages does not lie at a multiple of {} bytes in the manifest", alignof(Section));
    if (model.constants() != nullptr || model.matrices()->size() != 0 || model.programs()->size() != 0 ||
        model.variants()->size() != 0)
        return "it has stages, and other parts beside them";
    for (uint32_t i = 0; i < stages.size(); ++i) {
        if (stages[i]->size() == 0 || stages[i]->size() > kManifestBytesMax)
            return fmt::format("stage {} has {} bytes, must have 1 to {}", i, stages[i]->size(), kManifestBytesMax);
        TRY_PART(sections->add(fmt::format("stage {}", i), *stages[i]), "");
    }
    return sections->check();
}

// FlatBuffers has verified it.
Text check_manifest(const Model& model, uint64_t file_size, const Range& manifest, bool is_stage) {
    Sections sections(file_size);
    sections.add("the header", Range{0, sizeof(FileHeader)});
    sections.add("the manifest", manifest);
    if (length(model.stages()) != 0) return is_stage ? "a stage has stages" : check_stages(model, &sections);
    if (model.constants() != nullptr) {
        if (model.constants()->size() == 0) return "constants: there are 0 bytes";
        TRY_PART(sections.add("constants", *model.constants()), "");
    }
    for (uint32_t i = 0; i < model.matrices()->size(); ++i) {
        TRY_PART(check_matrix(*model.matrices()->Get(i)), "{}: ", matrix_name(model, i));
        TRY_PART(sections.add(matrix_name(model, i), *model.matrices()->Get(i)->data()), "");
        if (const Section* calibration = model.matrices()->Get(i)->calibration(); calibration != nullptr)
            TRY_PART(sections.add(calibration_name(model, i), *calibration), "");
    }
    TRY_PART(sections.check(), "");
    TRY_PART(check_placement(model), "");
    for (uint32_t i = 0; i < model.programs()->size(); ++i)
        TRY_PART(check_program(*model.programs()->Get(i)), "program {}: ", i);
    if (model.variants()->size() == 0) return "it has no variant";
    // Calls can share one vector, but each gets a copy of it: a small file could take any amount of memory and time.
    uint64_t room = (manifest.end - manifest.begin) / sizeof(int64_t);
    for (uint32_t i = 0; i < model.variants()->size(); ++i)
        TRY_PART(check_variant(model, *model.variants()->Get(i), &room), "variant {}, ", i);
    return {};
}

}  // namespace

Finding too_short(uint64_t size) {
    return {fmt::format(" is not a compiled model: it has {} bytes, and the header alone has {}", size,
                        sizeof(FileHeader))};
}

Finding check_header(const FileHeader& header, uint64_t size) {
    const auto damaged = [&](const Text& what) -> Finding {
        return {fmt::format(": header: {}; copy or compile the model again", what)};
    };
    if (std::memcmp(header.magic, kMagic, sizeof header.magic) != 0)
        return {" is not a compiled model: its first bytes are not those of a .sidra file; compile the network first"};
    const uint32_t major = header.version >> 16, minor = header.version & 0xffff;
    if (major != kVersionMajor || minor > kVersionMinor)
        return {fmt::format(" has version {}.{} of the format, but this libsidra reads {}.0 to {}.{}; use a libsidra "
                            "of the same age as the compiler, or compile the model again",
                            major, minor, kVersionMajor, kVersionMajor, kVersionMinor),
                true};
    if (header.header_hash != hash_of(&header, offsetof(FileHeader, header_hash)))
        return damaged("its hash is wrong, so the file is damaged");
    if (header.header_size != sizeof header)
        return damaged(fmt::format("header_size is {}, must be {}", header.header_size, sizeof header));
    if (header.file_size != size)
        return damaged(fmt::format("the file has {} bytes, but file_size is {}: {}", size, header.file_size,
                                   size < header.file_size ? "it was cut off" : "something was added to it"));
    if (header.reserved != 0) return damaged(fmt::format("reserved is {:#x}, must be 0", header.reserved));
    if (header.manifest_offset % kManifestAlignment != 0 || header.manifest_offset < sizeof header ||
        header.manifest_offset > size || header.manifest_size > size - header.manifest_offset)
        return damaged(
            fmt::format("the manifest has {} bytes from {} on; it must lie between the header and the end of the "
                        "file, at a multiple of {}",
                        header.manifest_size, header.manifest_offset, kManifestAlignment));
    if (header.manifest_size > kManifestBytesMax)
        return damaged(
            fmt::format("manifest_size is {}, at most {} are allowed", header.manifest_size, kManifestBytesMax));
    return {};
}

Manifest::Manifest(const FileHeader& header)
    : memory_(std::make_unique_for_overwrite<uint64_t[]>(header.manifest_size / sizeof(uint64_t) + 1)) {}

Manifest::Manifest(const Section& stage)
    : memory_(std::make_unique_for_overwrite<uint64_t[]>(stage.size() / sizeof(uint64_t) + 1)) {}

Finding Manifest::check(const FileHeader& header) const {
    return check({header.manifest_offset, header.manifest_size, header.manifest_hash}, header.file_size, false);
}

Finding Manifest::check_stage(const Section& stage, uint64_t file_size) const { return check(stage, file_size, true); }

Finding Manifest::check(const Section& place, uint64_t file_size, bool is_stage) const {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(memory_.get());
    if (hash_of(bytes, place.size()) != place.hash())
        return {": manifest: its hash is wrong, so the file is damaged; copy or compile the model again"};
    flatbuffers::Verifier verifier(bytes, place.size(), kDepthMax, kTablesMax);
    if (!VerifyModelBuffer(verifier))
        return {
            fmt::format(": manifest: it is not a valid FlatBuffer of the schema of compiled models (or has more "
                        "than {} tables); compile the model again",
                        kTablesMax)};
    const Text found = check_manifest(model(), file_size, {place.offset(), place.offset() + place.size()}, is_stage);
    if (!found.empty()) return {fmt::format(": {}; compile the model again", found)};
    return {};
}

uint64_t type_size(Type type) { return vector::element_size(static_cast<uint32_t>(type)); }

uint64_t tensor_bytes(const Tensor& tensor) {
    uint64_t bytes = type_size(tensor.type());
    for (uint32_t i = 0; i < length(tensor.shape()); ++i) bytes *= tensor.shape()->Get(i);
    return bytes;
}

std::string quoted(std::string_view name) {
    size_t shown = std::min(name.size(), kNameShown);
    if (shown < name.size())
        while (shown > 0 && (static_cast<uint8_t>(name[shown]) & 0xc0) == 0x80) --shown;  // not inside a character
    std::string text = "'";
    text += name.substr(0, shown);
    std::ranges::replace_if(
        text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
    if (shown < name.size()) text += "...";
    return text + "'";
}

std::string matrix_name(const Model& model, uint32_t index) {
    return fmt::format("matrix {} {}", index, quoted(model.matrices()->Get(index)->name()));
}

std::string calibration_name(const Model& model, uint32_t index) {
    return "the calibration of " + matrix_name(model, index);
}

}  // namespace sidra::format
