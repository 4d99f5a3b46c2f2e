// SPDX-License-Identifier: MIT
// Fourier transforms, which the host computes, and what belongs to them: windows of signals, and mel filters.
#include <cmath>
#include <functional>
#include <numbers>

#include "common.h"

namespace sidra::compiler {

using xnn::axis_of;
using xnn::Elements;

namespace {

// Signals with real and imaginary parts, from those that may have real parts only.
Value complex_of(Build& b, Value signal) {
    const Shape shape = Build::shape_of(signal);
    if (shape.size() < 2 || (shape.back() != 1 && shape.back() != 2))
        refuse("the last dimension has the real parts, or real and imaginary parts, but {} elements", shape.back());
    if (shape.back() == 2) return signal;
    Shape before(shape.size(), 0), after = before;
    after.back() = 1;
    return b.pad(signal, before, after);
}

// The last but one dimension transformed. one_sided: without the frequencies that a real signal has twice.
Value transformed(Build& b, Value signal, bool inverse, bool one_sided) {
    const Shape shape = Build::shape_of(signal);
    const int64_t size = shape[shape.size() - 2];
    const Shape rows = {Build::type_of(signal).getNumElements() / (2 * size), size, 2};
    const Value result =
        b.reshape(b.host("fourier", {b.reshape(signal, rows)}, rows, b.f32(), {inverse ? 1 : 0}), shape);
    return one_sided ? b.narrow(result, -2, 0, size / 2 + 1) : result;
}

Values dft(Node& n) {
    Build& b = n.b;
    const int64_t rank = Build::rank_of(n[0]);
    int64_t axis = n.version < 20 ? n.integer("axis", 1) : -2;
    if (n.version >= 20 && n.optional(2)) axis = n.constant_integer(2, "the axis");
    axis = axis_of(axis, rank);
    const bool inverse = n.flag("inverse"), one_sided = n.flag("onesided");
    if (axis == rank - 1) refuse("the last dimension has real and imaginary parts, so it is not the axis");
    if (one_sided && inverse) refuse("an inverse transform has no half");
    if (one_sided && Build::shape_of(n[0]).back() != 1) refuse("only a real signal has one side");
    return {in_f32(b, n[0], [&](Value wide) {
        Value x = b.move_axis(complex_of(b, wide), axis, rank - 2);
        const int64_t size = Build::shape_of(x)[static_cast<size_t>(rank - 2)];
        const int64_t length = n.optional(1) ? n.constant_integer(1, "the length") : size;
        if (length < 1 || length > xnn::kElementsMax) refuse("the length of the transform is {}", length);
        if (length < size) x = b.narrow(x, rank - 2, 0, length);
        Shape before(static_cast<size_t>(rank), 0), after = before;
        after[static_cast<size_t>(rank - 2)] = std::max<int64_t>(length - size, 0);
        return b.move_axis(transformed(b, b.pad(x, before, after), inverse, one_sided), rank - 2, axis);
    })};
}

// The most elements of all frames.
constexpr int64_t kFramesMax = 1 << 24;

Values stft(Node& n) {
    Build& b = n.b;
    const Shape shape = Build::shape_of(n[0]);
    if (shape.size() != 3) refuse("the signal must have three dimensions");
    const int64_t step = n.constant_integer(1, "frame_step");
    const Value window = n.optional(2);
    if (!window && !n.optional(3)) refuse("there is neither a window nor a length of frames");
    if (window && Build::rank_of(window) != 1) refuse("the window must be a vector");
    const int64_t length = n.optional(3) ? n.constant_integer(3, "frame_length") : Build::shape_of(window)[0];
    if (step < 1 || length < 1 || length > shape[1])
        refuse("frames of {} elements, each {} behind the one before it, do not fit into {}", length, step, shape[1]);
    const bool one_sided = n.flag("onesided", true);
    if (one_sided && shape.back() != 1) refuse("only a real signal has one side; set onesided to 0");
    const int64_t frames = (shape[1] - length) / step + 1;
    if (frames > kFramesMax / length) refuse("the frames have more than {} elements", kFramesMax);
    Shape places;
    for (int64_t frame = 0; frame < frames; frame++)
        for (int64_t i = 0; i < length; i++) places.push_back(frame * step + i);
    return {in_f32(b, n[0], [&](Value wide) {
        Value x = b.reshape(b.take(wide, places, 1), {shape[0], frames, length, shape.back()});
        if (window) x = b.mul(x, along_axis(b, b.cast(window, b.f32()), 2, 4));
        return transformed(b, complex_of(b, x), false, one_sided);
    })};
}

// ---- Constants ------------------------------------------------------------------------------------------------------

// a - b * cos(x) + c * cos(2 x), over one period.
Values cosine_window(Node& n, double a, double b, double c) {
    const int64_t size = n.constant_integer(0, "the size");
    if (size < 1 || size > xnn::kFoldLimit) refuse("a window cannot have {} elements", size);
    const int64_t period = n.flag("periodic", true) ? size : size - 1;
    Elements::Floats numbers;
    for (int64_t i = 0; i < size; i++) {
        const double x =
            2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(std::max<int64_t>(period, 1));
        numbers.push_back(static_cast<float>(a - b * std::cos(x) + c * std::cos(2 * x)));
    }
    return {n.b.cast(n.b.floats(numbers), n.type("output_datatype", onnx::TensorProto::FLOAT))};
}

// Triangles over the frequencies of a transform, which stand at equal distances on the mel scale.
Values mel_weights(Node& n) {
    const int64_t bins = n.constant_integer(0, "num_mel_bins"), length = n.constant_integer(1, "dft_length");
    const int64_t rate = n.constant_integer(2, "sample_rate");
    const std::vector<float> low = n.constant_floats(3, "lower_edge_hertz"),
                             high = n.constant_floats(4, "upper_edge_hertz");
    if (low.size() != 1 || high.size() != 1 || !(low[0] >= 0) || !(high[0] >= low[0]) || !std::isfinite(high[0]))
        refuse("the edges must be two frequencies, the lower one first");
    const int64_t frequencies = length / 2 + 1;
    if (bins < 1 || rate < 1 || length < 1 || length > xnn::kFoldLimit || bins > xnn::kFoldLimit / frequencies)
        refuse("{} bins of {} frequencies are too many, or too few", bins, frequencies);
    const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
    const double first = mel(static_cast<double>(low[0])), last = mel(static_cast<double>(high[0]));
    Shape edges;
    for (int64_t i = 0; i < bins + 2; i++) {
        const double hertz =
            700 *
            (std::pow(10, (first + static_cast<double>(i) * (last - first) / static_cast<double>(bins + 2)) / 2595) -
             1);
        const double edge = std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
        if (!(edge < static_cast<double>(frequencies))) refuse("the upper edge is above half of the sample rate");
        edges.push_back(static_cast<int64_t>(edge));
    }
    Elements::Floats weights(static_cast<size_t>(frequencies * bins));
    for (int64_t i = 0; i < bins; i++) {
        const auto at = [&](int64_t frequency) -> float& { return weights[static_cast<size_t>(frequency * bins + i)]; };
        const int64_t from = edges[static_cast<size_t>(i)], center = edges[static_cast<size_t>(i) + 1],
                      to = edges[static_cast<size_t>(i) + 2];
        for (int64_t f = from; f < center; f++)
            at(f) = static_cast<float>(f - from) / static_cast<float>(center - from);
        at(center) = 1;
        for (int64_t f = center; f < to; f++) at(f) = static_cast<float>(to - f) / static_cast<float>(to - center);
    }
    Build& b = n.b;
    return {
        b.cast(b.reshape(b.floats(weights), {frequencies, bins}), n.type("output_datatype", onnx::TensorProto::FLOAT))};
}

constexpr Operator kOperators[] = {
    {"BlackmanWindow", 17, 21, [](Node& n) { return cosine_window(n, 0.42, 0.5, 0.08); }},
    {"DFT", 17, 21, dft},
    {"HammingWindow", 17, 21, [](Node& n) { return cosine_window(n, 25.0 / 46, 21.0 / 46, 0); }},
    {"HannWindow", 17, 21, [](Node& n) { return cosine_window(n, 0.5, 0.5, 0); }},
    {"MelWeightMatrix", 17, 21, mel_weights},
    {"STFT", 17, 21, stft},
};

}  // namespace

std::span<const Operator> signal_operators() { return kOperators; }

}  // namespace sidra::compiler
