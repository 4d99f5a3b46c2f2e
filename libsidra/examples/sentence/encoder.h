// SPDX-License-Identifier: MIT
// The sentence encoder on a chip: README.md lists the packets of a sentence.
#ifndef SIDRA_EXAMPLES_SENTENCE_ENCODER_H
#define SIDRA_EXAMPLES_SENTENCE_ENCODER_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "model_file.h"
#include "sidra/sidra.hpp"

namespace sidra::sentence {

class Encoder {
   public:
    // Queues the programming of the weights. The stream must outlive the encoder; the model need not.
    Encoder(const Context& context, Stream& stream, const ModelFile& model);

    // Of the programming of all weights, in rows of tiles.
    WeightsProgress progress() const;
    uint64_t weights() const;  // their number
    uint32_t crossbars() const;

    // Queues a sentence as one launch of a graph; 1 to tokens_max tokens. The launch before must be done.
    void launch(std::span<const int32_t> tokens);
    // Of the last launch, once it is done: `width` numbers, a vector of length 1.
    std::span<const float> embedding() const { return embedding_.as<float>().first(sizes_.width); }
    // Packets of the graph for a sentence of so many tokens.
    uint32_t operations(size_t tokens) { return graph(rows_for(tokens)).operations(); }

   private:
    // Weights, and their arrays of the model file. `smooth` only if the inputs are smoothed, `gamma` and `beta` only if
    // a layer norm follows.
    struct Matrix {
        Weights weights;
        uint32_t inputs, outputs;
        Operand smooth, sums, scale, bias, gamma, beta;
    };
    struct Layer {
        Matrix qkv, out, inner, outer;
    };

    uint32_t rows_for(size_t tokens) const;
    const Graph& graph(uint32_t rows);
    void record(uint32_t rows);
    void record(const Layer& layer, uint32_t rows);
    void record_linear(const char* program, const Matrix& matrix, sidra_ref in, const Operand& out, uint32_t rows);
    void record_residual_norm(const Matrix& matrix, sidra_ref in, const Operand& residual, const Operand& out,
                              uint32_t rows);

    Sizes sizes_;
    Stream& stream_;
    std::map<std::string_view, Program> programs_;
    Buffer tables_;  // the bytes of the model file
    Operand words_, positions_, gamma_, beta_;
    std::vector<Layer> layers_;
    Buffer ids_, count_, embedding_;
    // As README.md names them; with room for the longest sentence. All are in one buffer, which is large enough for
    // pages of 2 MiB: the chip then finds them faster.
    Buffer arrays_;
    sidra_ref mask_, share_, x_, y_, qkv_, p_, c_, h_;
    std::map<uint32_t, Graph> graphs_;  // by number of rows
};

}  // namespace sidra::sentence

#endif
