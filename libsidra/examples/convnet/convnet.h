// SPDX-License-Identifier: MIT
// The files of the convolutional network that train.py writes, and how a chip computes it.
//
// model.bin: a FileHeader, `layers` FileLayers, and the arrays to which they point. Little-endian, packed.
// reference.f32: the logits of the test digits, f32[digits][kClasses]. The test digits are those of
// ../digits/model.bin, in their order.
//
// A value is an array [image][y][x][channel] of codes or of f32. The network's input are pixels, u8 of 0..16, whose
// code of 0 is 0. All other codes are s8, and -128 is 0. Batch norms are folded into weights, factors and offsets.
//
//   kConvolution  LAYER over windows of the input, with all channels. Weights [kernel][kernel][in][out] are those of
//                 the object as they lie: rows are [i][j][channel], as in a window.
//   kDepthwise    a LAYER for each group of kGroup channels, whose windows begin at the group's first channel and have
//                 kGroup channels; pixel_stride is that of all channels. Weights [kernel][kernel][channel] become one
//                 object a group: row (i, j, c) has its weight in column c, and 0 elsewhere. The group writes its
//                 columns of the output, so operands begin at the group's first column, too.
//   kPoolMax      of codes: POOL with MAX.
//   kPoolAverage  of f32: POOL with AVERAGE_ALL.
//   kClassifier   LAYER over rows of f32 (one row an image), with a prologue: programs/classify.vector.
//
// Convolutions compute f32(sum) * factor[n] + offset[n], both operations rounded. They store codes
// (programs/codes.vector), or, if kPoolAverage follows, f32 (programs/floats.vector). Padding has the code of 0.
#ifndef SIDRA_EXAMPLES_CONVNET_CONVNET_H
#define SIDRA_EXAMPLES_CONVNET_CONVNET_H

#include <cstdint>

namespace sidra::convnet {

inline constexpr char kMagic[] = "SIDRACNV";  // without its zero
inline constexpr uint32_t kVersion = 1;
inline constexpr uint32_t kSide = 8;  // pixels of an image, in both directions
inline constexpr uint32_t kClasses = 10;

// Channels of a depthwise object. A window of 3 x 3 pixels has 9 rows a channel, so a crossbar of 256 rows holds at
// most 28 channels. 16 divides the channels of every layer here, and one crossbar is enough for a group: 144 rows, and
// 16 columns of the 128 that a differential object has. Smaller groups waste fewer cells on zeros, but a crossbar
// belongs to one object, so they would need more crossbars and more packets for the same result.
inline constexpr uint32_t kGroup = 16;

enum Kind : uint32_t { kConvolution = 0, kDepthwise = 1, kPoolMax = 2, kPoolAverage = 3, kClassifier = 4 };

struct FileHeader {
    char magic[8];
    uint32_t version;
    uint32_t layers;
    uint32_t digits;       // test digits
    uint32_t right;        // how many of them the quantised network classifies correctly
    uint32_t logits_hash;  // 32-bit FNV-1a of the logits' bytes
    uint32_t reserved;     // 0
};
static_assert(sizeof(FileHeader) == 32);

struct FileLayer {
    uint32_t kind;
    uint32_t kernel, stride, pad;   // in both directions
    uint32_t in_side, in_channels;  // pixels in both directions
    uint32_t out_side, out_channels;
    int32_t zero;               // code of 0 in the input
    float in_factor;            // kClassifier: parameter of its program; else 0
    uint32_t output_hash;       // 32-bit FNV-1a of the layer's output for all test digits
    uint32_t weights;           // offset in the file of s8 weights; 0: the layer has none
    uint32_t factors, offsets;  // likewise of f32[out_channels]
};
static_assert(sizeof(FileLayer) == 56);

}  // namespace sidra::convnet

#endif
