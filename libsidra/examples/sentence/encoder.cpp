// SPDX-License-Identifier: MIT
#include "encoder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

namespace sidra::sentence {
namespace {

constexpr uint32_t kRows = 16;  // the rows of a graph are a multiple of this

struct Source {
    std::string_view name;
    const char* text;
};
constexpr Source kSources[] = {
#include "sentence_programs.inc"  // of programs/
};

constexpr size_t kFloat = sizeof(float);
constexpr size_t kLine = 64, kPage = size_t{2} << 20;

size_t round_up(size_t value, size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

// A matrix of f32, or as many columns of it as the iteration space has.
Operand rows_of(sidra_ref at, size_t columns) { return {at, SIDRA_F32, 0, {0, 0, columns * kFloat, kFloat}, {}, {}}; }

// The same in parts of `part` columns from column `first` on, one for each head: dimension 1.
Operand heads_of(sidra_ref at, size_t columns, size_t first, size_t part) {
    return {{at.buffer, at.offset + first * kFloat},      SIDRA_F32, 0,
            {0, part * kFloat, columns * kFloat, kFloat}, {},        {}};
}

// Arrays of the model file, for which `tables` has its bytes.
class Loader {
   public:
    Loader(const Context& context, Stream& stream, const ModelFile& model, const Buffer& tables)
        : context_(context), stream_(stream), model_(model), tables_(tables) {
        std::ranges::copy(model.bytes(), tables.as<>().begin());
    }

    template <class T>
    sidra_ref place(std::span<const T> array) const {
        return tables_.at(static_cast<size_t>(std::as_bytes(array).data() - model_.bytes().data()));
    }
    // An array of one row, the same for all rows of an operation.
    Operand row(const std::string& name, uint32_t columns) const {
        return dense(place(model_.floats(name, 1, columns)), SIDRA_F32, {1, 1, 1, columns});
    }

    // Queues the programming of the weights.
    auto weights(const std::string& name, uint32_t inputs, uint32_t outputs) const {
        sidra_weights_options options{};
        options.label = name.c_str();
        Weights weights =
            Weights::from_s8(context_, inputs, outputs, model_.codes(name + ".codes", inputs, outputs), {}, options);
        stream_.program(weights);
        return weights;
    }
    Operand sums(const std::string& name, uint32_t outputs) const {
        return dense(place(model_.integers(name + ".sums", 1, outputs)), SIDRA_S32, {1, 1, 1, outputs});
    }

   private:
    const Context& context_;
    Stream& stream_;
    const ModelFile& model_;
    const Buffer& tables_;
};

}  // namespace

Encoder::Encoder(const Context& context, Stream& stream, const ModelFile& model)
    : sizes_(model.sizes()), stream_(stream), tables_(context, model.bytes().size()) {
    for (const Source& source : kSources) programs_.emplace(source.name, Program::assemble(context, source.text));

    const uint32_t width = sizes_.width;
    const Loader loader(context, stream, model, tables_);
    enum class With { kSmoothing, kNorm };
    const auto matrix = [&](const std::string& name, uint32_t inputs, uint32_t outputs, With with) {
        Matrix made{loader.weights(name, inputs, outputs), inputs, outputs, {}, {}, {}, {}, {}, {}};
        made.sums = loader.sums(name, outputs);
        made.scale = loader.row(name + ".scale", outputs);
        made.bias = loader.row(name + ".bias", outputs);
        if (with == With::kSmoothing) {
            made.smooth = loader.row(name + ".smooth", inputs);
        } else {
            made.gamma = loader.row(name + ".gamma", outputs);
            made.beta = loader.row(name + ".beta", outputs);
        }
        return made;
    };
    for (uint32_t n = 0; n < sizes_.layers; ++n) {
        const std::string name = "layer" + std::to_string(n) + ".";
        Layer layer = {matrix(name + "qkv", width, 3 * width, With::kSmoothing),
                       matrix(name + "out", width, width, With::kNorm),
                       matrix(name + "inner", width, sizes_.inner, With::kSmoothing),
                       matrix(name + "outer", sizes_.inner, width, With::kNorm)};
        layers_.push_back(std::move(layer));
    }

    const size_t rows = rows_for(sizes_.tokens_max);
    ids_ = Buffer(context, rows * sizeof(int32_t));
    count_ = Buffer(context, sizeof(int32_t));
    embedding_ = Buffer(context, width * kFloat);
    const std::pair<sidra_ref*, size_t> arrays[] = {
        {&mask_, rows},      {&share_, rows},           {&x_, rows * width},
        {&y_, rows * width}, {&qkv_, rows * 3 * width}, {&p_, sizes_.heads * rows * rows},
        {&c_, rows * width}, {&h_, rows * sizes_.inner}};
    size_t used = 0;
    for (const auto& [array, elements] : arrays) {
        *array = {nullptr, used};
        used = round_up(used + elements * kFloat, kLine);
    }
    arrays_ = Buffer(context, round_up(used, kPage));
    for (const auto& [array, elements] : arrays) array->buffer = arrays_.get();

    words_ = {loader.place(model.floats("words", sizes_.vocabulary, width)),
              SIDRA_F32,
              sizes_.vocabulary,
              {0, 0, width * kFloat, kFloat},
              ids_,
              SIDRA_S32};
    positions_ = dense(loader.place(model.floats("positions", sizes_.tokens_max, width)), SIDRA_F32,
                       {1, 1, sizes_.tokens_max, width});
    gamma_ = loader.row("embedding.gamma", width);
    beta_ = loader.row("embedding.beta", width);
}

WeightsProgress Encoder::progress() const {
    WeightsProgress all{0, 0};
    for (const Layer& layer : layers_) {
        for (const Matrix* matrix : {&layer.qkv, &layer.out, &layer.inner, &layer.outer}) {
            const WeightsProgress one = matrix->weights.progress();
            all.done += one.done;
            all.total += one.total;
        }
    }
    return all;
}

uint64_t Encoder::weights() const {
    uint64_t count = 0;
    for (const Layer& layer : layers_) {
        for (const Matrix* matrix : {&layer.qkv, &layer.out, &layer.inner, &layer.outer})
            count += uint64_t{matrix->inputs} * matrix->outputs;
    }
    return count;
}

uint32_t Encoder::crossbars() const {
    uint32_t count = 0;
    for (const Layer& layer : layers_) {
        for (const Matrix* matrix : {&layer.qkv, &layer.out, &layer.inner, &layer.outer})
            count += matrix->weights.info().crossbars;
    }
    return count;
}

uint32_t Encoder::rows_for(size_t tokens) const {
    if (tokens < 1 || tokens > sizes_.tokens_max)
        throw std::invalid_argument("a sentence has 1 to " + std::to_string(sizes_.tokens_max) + " tokens, not " +
                                    std::to_string(tokens));
    return std::min((static_cast<uint32_t>(tokens) + kRows - 1) / kRows * kRows, sizes_.tokens_max);
}

void Encoder::launch(std::span<const int32_t> tokens) {
    const Graph& recorded = graph(rows_for(tokens.size()));
    // What follows the sentence does not matter, but the words must exist.
    const auto rest = std::ranges::copy(tokens, ids_.as<int32_t>().begin()).out;
    std::fill(rest, ids_.as<int32_t>().end(), 0);
    count_.as<int32_t>()[0] = static_cast<int32_t>(tokens.size());
    stream_.launch(recorded);
}

const Graph& Encoder::graph(uint32_t rows) {
    const auto found = graphs_.find(rows);
    if (found != graphs_.end()) return found->second;
    return graphs_.emplace(rows, stream_.capture([&] { record(rows); })).first->second;
}

void Encoder::record(uint32_t rows) {
    const uint32_t width = sizes_.width;
    const std::array<Param, 4> norm = {1.0f / static_cast<float>(width), sizes_.epsilon};
    const Operand mask = dense(mask_, SIDRA_F32, {1, 1, 1, rows}), share = dense(share_, SIDRA_F32, {1, 1, 1, rows});
    stream_.label("embedding");
    stream_.vector(programs_.at("mask"), {1, 1, 1, rows}, {dense(count_, SIDRA_S32, {1, 1, 1, 1}), mask, share});
    stream_.vector(programs_.at("embedding"), {1, 1, rows, width},
                   {words_, positions_, gamma_, beta_, rows_of(x_, width)}, norm);
    for (size_t n = 0; n < layers_.size(); ++n) {
        stream_.label("layer " + std::to_string(n));
        record(layers_[n], rows);
    }
    stream_.label("pooling");
    stream_.matmul(programs_.at("pooling"), 1, width, rows,
                   {share, rows_of(x_, width), dense(embedding_, SIDRA_F32, {1, 1, 1, width})});
}

void Encoder::record(const Layer& layer, uint32_t rows) {
    const uint32_t width = sizes_.width, head = width / sizes_.heads;
    const Operand x = rows_of(x_, width), y = rows_of(y_, width);
    record_linear("project", layer.qkv, x_, rows_of(qkv_, 3 * width), rows);

    const auto part = [&](uint32_t n) { return heads_of(qkv_, 3 * width, n * width, head); };
    const Operand p = dense(p_, SIDRA_F32, {1, sizes_.heads, rows, rows});
    Operand keys = part(1);
    std::swap(keys.stride[2], keys.stride[3]);
    stream_.matmul(programs_.at("attention"), rows, rows, head,
                   {part(0), keys, p, dense(mask_, SIDRA_F32, {1, 1, 1, rows})}, {1, sizes_.heads},
                   {1.0f / std::sqrt(static_cast<float>(head))});
    stream_.matmul(programs_.at("context"), rows, head, rows, {p, part(2), heads_of(c_, width, 0, head)},
                   {1, sizes_.heads});

    record_residual_norm(layer.out, c_, x, y, rows);
    record_linear("gelu", layer.inner, y_, rows_of(h_, sizes_.inner), rows);
    record_residual_norm(layer.outer, h_, y, x, rows);
}

namespace {

// Rows of f32, which the prologue quantises to u8.
sidra_windows input_rows(sidra_ref in, uint32_t rows, uint32_t columns) {
    sidra_windows windows = sidra_windows_matrix(in, SIDRA_F32, rows, columns);
    windows.codes = SIDRA_U8;
    return windows;
}

}  // namespace

void Encoder::record_linear(const char* program, const Matrix& matrix, sidra_ref in, const Operand& out,
                            uint32_t rows) {
    stream_.layer(matrix.weights, programs_.at(program), input_rows(in, rows, matrix.inputs),
                  {matrix.smooth, matrix.sums, matrix.scale, matrix.bias, out});
}

void Encoder::record_residual_norm(const Matrix& matrix, sidra_ref in, const Operand& residual, const Operand& out,
                                   uint32_t rows) {
    stream_.layer(matrix.weights, programs_.at("residual_norm"), input_rows(in, rows, matrix.inputs),
                  {matrix.sums, matrix.scale, matrix.bias, residual, matrix.gamma, matrix.beta, out},
                  {1.0f / static_cast<float>(matrix.outputs), sizes_.epsilon});
}

}  // namespace sidra::sentence
