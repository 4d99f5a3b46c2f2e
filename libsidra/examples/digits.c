// SPDX-License-Identifier: MIT
// Recognises 360 handwritten digits on a SIDRA chip, with the C interface only. digits/README.md describes the model.
//   sidra-digits [libsidra/examples/digits/model.bin]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sidra/functions.h"

enum { PIXELS = 64, MAX_LAYERS = 8, MAX_SIZE = 4096 };

// Exits with the failed call and the library's error message.
#define CHECK(call) check((call), __LINE__, #call)
static void check(sidra_status status, int line, const char* call) {
    if (status == SIDRA_OK) return;
    fprintf(stderr, "digits.c:%d: %s: %s\n  in %s\n", line, sidra_status_string(status), sidra_last_error(), call);
    exit(EXIT_FAILURE);
}

static void require(bool condition, const char* text) {
    if (condition) return;
    fprintf(stderr, "digits: %s\n", text);
    exit(EXIT_FAILURE);
}

static void read_all(FILE* file, void* data, size_t size) {
    require(fread(data, 1, size, file) == size, "the model file is shorter than its header says");
}

// Memory that the chip and this process share.
static void* new_buffer(sidra_context* context, size_t size, sidra_buffer** buffer) {
    void* address = NULL;
    CHECK(sidra_buffer_create(context, size, SIDRA_BUFFER_HOST, buffer));
    CHECK(sidra_buffer_map(*buffer, &address));
    return address;
}

int main(int argc, char** argv) {
    FILE* file = fopen(argc > 1 ? argv[1] : "libsidra/examples/digits/model.bin", "rb");
    require(file, "cannot open model.bin: give its path, or run this at the top of the source tree");
    struct {
        char magic[8];
        uint32_t version, layers, digits, logits_hash;
    } model;
    read_all(file, &model, sizeof model);
    require(memcmp(model.magic, "SIDRAMLP", 8) == 0 && model.version == 1, "not a digits model of version 1");
    require(model.layers - 1 < MAX_LAYERS && model.digits - 1 < 65536, "the model has a size that cannot be");
    uint32_t size[MAX_LAYERS + 1];  // layer i has size[i] inputs and size[i + 1] outputs
    float in_scale[MAX_LAYERS];     // value of one step of its 8-bit input codes
    read_all(file, size, sizeof size[0] * (model.layers + 1));
    read_all(file, in_scale, sizeof in_scale[0] * model.layers);

    sidra_device* device;
    sidra_context* context;
    sidra_stream* stream;
    CHECK(sidra_device_open(0, NULL, &device));
    CHECK(sidra_context_create(device, &context));
    CHECK(sidra_stream_create(context, NULL, &stream));

    // Weights: the library quantises each column to 8 bits, the chip programs them into its crossbars.
    sidra_weights* weights[MAX_LAYERS];
    sidra_buffer *bias[MAX_LAYERS], *in[MAX_LAYERS + 1], *answers;
    for (uint32_t i = 0; i < model.layers; i++) {
        const uint32_t k = size[i], n = size[i + 1];
        require(size[0] == PIXELS && n - 1 < MAX_SIZE, "the model has a layer whose size cannot be");
        float* data = malloc(sizeof(float) * (k + 1) * n);  // k rows of weights, then a row of biases
        require(data, "out of memory");
        read_all(file, data, sizeof(float) * (k + 1) * n);
        CHECK(sidra_weights_create_f32(context, k, n, data, n, NULL, &weights[i]));
        CHECK(sidra_weights_program_async(stream, weights[i]));
        const float* scale;  // a bias is added to the integer sums, so it is in their unit
        CHECK(sidra_weights_scale(weights[i], &scale));
        int32_t* sums = new_buffer(context, sizeof(int32_t) * n, &bias[i]);
        const float* b = &data[k * n];
        for (uint32_t c = 0; c < n; c++)  // round to nearest
            sums[c] = (int32_t)(b[c] / (in_scale[i] * scale[c]) + (b[c] < 0 ? -0.5f : 0.5f));
        free(data);
    }

    // The graph, recorded once: one operation per layer, then the index of the largest output of each digit.
    uint8_t* pixels = new_buffer(context, (PIXELS + 1) * model.digits, &in[0]);  // with a label for each digit
    read_all(file, pixels, (PIXELS + 1) * model.digits);
    sidra_graph* graph;
    CHECK(sidra_graph_begin(stream));
    for (uint32_t i = 0; i < model.layers; i++) {
        const bool last = i + 1 == model.layers;
        new_buffer(context, model.digits * size[i + 1] * (last ? sizeof(float) : 1), &in[i + 1]);
        sidra_mvm mvm = {.struct_size = sizeof mvm, .batch = model.digits, .in_type = SIDRA_U8, .in = {in[i], 0}};
        mvm.in_scale = in_scale[i];
        mvm.bias = (sidra_ref){bias[i], 0};
        mvm.out = (sidra_ref){in[i + 1], 0};
        mvm.out_type = last ? SIDRA_F32 : SIDRA_U8;  // codes of a hidden layer saturate at 0: that is the ReLU
        mvm.out_scale = last ? 0 : in_scale[i + 1];
        CHECK(sidra_mvm_async(stream, weights[i], &mvm));
    }
    const int32_t* answer = new_buffer(context, sizeof(int32_t) * model.digits, &answers);
    const uint32_t outputs[4] = {1, 1, model.digits, size[model.layers]}, one_each[4] = {1, 1, model.digits, 1};
    const sidra_array logits = sidra_operand_dense((sidra_ref){in[model.layers], 0}, SIDRA_F32, outputs);
    const sidra_array best = sidra_operand_dense((sidra_ref){answers, 0}, SIDRA_S32, one_each);
    CHECK(sidra_reduce_argmax(stream, outputs, &best, &logits));
    CHECK(sidra_graph_end(stream, &graph));

    // All digits at once: the whole graph is one packet for the chip.
    CHECK(sidra_graph_launch_async(stream, graph));
    CHECK(sidra_stream_synchronize(stream, sidra_deadline_after_ns(60000000000)));
    uint32_t right = 0;
    for (uint32_t i = 0; i < model.digits; i++) right += answer[i] == pixels[PIXELS * model.digits + i];
    printf("%u of %u digits right (%.2f %%)\n", right, model.digits, 100.0 * right / model.digits);
    CHECK(sidra_graph_destroy(graph));
    for (uint32_t i = 0; i < model.layers; i++) CHECK(sidra_weights_destroy(weights[i]));
    for (uint32_t i = 0; i < model.layers; i++) CHECK(sidra_buffer_destroy(bias[i]));
    for (uint32_t i = 0; i <= model.layers; i++) CHECK(sidra_buffer_destroy(in[i]));
    CHECK(sidra_buffer_destroy(answers));
    CHECK(sidra_stream_destroy(stream));
    CHECK(sidra_context_destroy(context));
    CHECK(sidra_device_close(device));
    return fclose(file);
}
