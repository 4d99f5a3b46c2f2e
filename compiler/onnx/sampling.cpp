// SPDX-License-Identifier: MIT
// Images at places between their pixels, which are not known before a run: sums of pixels that are gathered by index.
#include <functional>

#include "common.h"

namespace sidra::compiler {

using xnn::Binary;
using xnn::Pooling;
using xnn::Unary;

namespace {

// A pixel beside each place, in one dimension of the image, and its weight: f32 numbers, which are integers within the
// image, and weights between 0 and 1. A null weight is 1.
struct Tap {
    Value index, weight;
};

Value minus(Build& b, double number, Value x) { return b.sub(b.number(number, x), x); }

Value between(Build& b, Value x, double low, double high) { return b.min(b.max(x, low), high); }

// The sum over all pairs of pixels in two dimensions. images: N x H x W x C. The number of an image, the rows and the
// columns broadcast to the places.
Value sampled(Build& b, Value images, Value image, const std::vector<Tap>& rows, const std::vector<Tap>& columns) {
    const Shape shape = Build::shape_of(images);
    const Value pixels = b.reshape(images, {shape[0] * shape[1] * shape[2], shape[3]});
    const auto whole = [&](Value number) { return b.cast(number, b.integer(32)); };
    const auto size = [](int64_t number) { return static_cast<double>(number); };
    Value sum;
    for (const Tap& row : rows)
        for (const Tap& column : columns) {
            const Value line = b.add(b.mul(whole(image), size(shape[1])), whole(row.index));
            Value part = b.gather(pixels, b.add(b.mul(line, size(shape[2])), whole(column.index)));
            for (const Value weight : {row.weight, column.weight}) {
                if (!weight) continue;
                Shape as_rows = Build::shape_of(weight);
                as_rows.push_back(1);
                part = b.mul(part, b.reshape(weight, as_rows));
            }
            sum = sum ? b.add(sum, part) : part;
        }
    return sum;
}

// ---- GridSample -----------------------------------------------------------------------------------------------------

struct Sampling {
    std::string mode, padding;
    bool align_corners;
};

// Within the image, by reflections at its edges.
Value reflected(Build& b, Value x, double low, double high) {
    const double span = high - low;
    if (span == 0) return b.mul(x, 0);
    const Value distance = b.unary(Unary::abs, b.sub(x, low));
    const Value periods = b.unary(Unary::floor, b.mul(distance, 1 / (2 * span)));
    const Value rest = b.sub(distance, b.mul(periods, 2 * span));
    return b.add(b.min(rest, minus(b, 2 * span, rest)), low);
}

// The pixels beside places from -1 to 1 in a dimension.
std::vector<Tap> taps_of(Build& b, const Sampling& how, Value place, int64_t size) {
    const auto pixels = static_cast<double>(size);
    const double low = how.align_corners ? 0 : -0.5, high = pixels - 1 - low;
    // Beyond the image; pixels are integers, so the edges between them need not be exact.
    const auto inside = [&](Value x) {
        if (how.padding == "border") return between(b, x, 0, pixels - 1);
        return how.padding == "reflection" ? reflected(b, x, low, high) : x;
    };
    Value x = b.add(b.mul(place, (high - low) / 2), (high + low) / 2);
    if (how.mode == "nearest") x = b.unary(Unary::round, x);
    x = inside(x);
    std::vector<Tap> taps;
    if (how.mode == "nearest") {
        taps = {{x, Value()}};
    } else {
        const Value first = b.unary(Unary::floor, x), part = b.sub(x, first);
        if (how.mode == "linear") {
            taps = {{first, minus(b, 1, part)}, {b.add(first, 1), part}};
        } else {
            constexpr double a = -0.75;
            const auto near = [&](Value d) { return b.add(b.mul(b.mul(b.sub(b.mul(d, a + 2), a + 3), d), d), 1); };
            const auto far = [&](Value d) {
                return b.sub(b.mul(b.add(b.mul(b.sub(b.mul(d, a), 5 * a), d), 8 * a), d), 4 * a);
            };
            taps = {{b.sub(first, 1), far(b.add(part, 1))},
                    {first, near(part)},
                    {b.add(first, 1), near(minus(b, 1, part))},
                    {b.add(first, 2), far(minus(b, 2, part))}};
        }
    }
    for (Tap& tap : taps) {
        const Value index = inside(tap.index), exact = between(b, index, 0, pixels - 1);
        if (how.padding == "zeros") {
            const Value there = b.cast(b.binary(Binary::eq, index, exact), b.f32());
            tap.weight = tap.weight ? b.mul(tap.weight, there) : there;
        }
        tap.index = exact;
    }
    return taps;
}

Values grid_sample(Node& n) {
    Build& b = n.b;
    const Shape shape = Build::shape_of(n[0]), places = Build::shape_of(n[1]);
    if (shape.size() != 4) refuse("only images of two dimensions are supported");
    if (places.size() != 4 || places[0] != shape[0] || places[3] != 2)
        refuse("the grid must have two numbers for each place of each image");
    if (shape[2] < 1 || shape[3] < 1) refuse("the images are empty");
    Sampling how{n.text("mode", n.version < 20 ? "bilinear" : "linear"), n.text("padding_mode", "zeros"),
                 n.flag("align_corners")};
    if (how.mode == "bilinear") how.mode = "linear";
    if (how.mode == "bicubic") how.mode = "cubic";
    if (how.mode != "linear" && how.mode != "cubic" && how.mode != "nearest")
        refuse("the mode {} is not known", in_quotes(how.mode));
    if (how.padding != "zeros" && how.padding != "border" && how.padding != "reflection")
        refuse("the padding_mode {} is not known", in_quotes(how.padding));
    const auto part = [&](int64_t i) {
        return b.reshape(b.narrow(b.cast(n[1], b.f32()), -1, i, 1), {places[0], places[1], places[2]});
    };
    const Value image = b.iota({shape[0], 1, 1}, 0);
    return {in_f32(b, n[0], [&](Value x) {
        const Value result = sampled(b, b.move_axis(x, 1, -1), image, taps_of(b, how, part(1), shape[2]),
                                     taps_of(b, how, part(0), shape[3]));
        return b.move_axis(result, -1, 1);
    })};
}

// ---- RoiAlign -------------------------------------------------------------------------------------------------------

// The pixels beside places in a dimension: none where a place is more than one pixel outside.
std::vector<Tap> taps_inside(Build& b, Value place, int64_t size) {
    const auto last = static_cast<double>(size - 1);
    const Value there = b.cast(b.binary(Binary::bit_and, b.binary(Binary::le, b.number(-1, place), place),
                                        b.binary(Binary::le, place, last + 1)),
                               b.f32());
    const Value x = between(b, place, 0, last), first = b.unary(Unary::floor, x), part = b.sub(x, first);
    return {{first, b.mul(there, minus(b, 1, part))}, {b.min(b.add(first, 1), last), b.mul(there, part)}};
}

Values roi_align(Node& n) {
    Build& b = n.b;
    const Shape shape = Build::shape_of(n[0]), regions = Build::shape_of(n[1]);
    if (shape.size() != 4 || shape[2] < 1 || shape[3] < 1) refuse("the input must be images of two dimensions");
    if (regions.size() != 2 || regions[1] != 4 || Build::shape_of(n[2]) != Shape{regions[0]})
        refuse("there must be four numbers and an index of an image for each region");
    if (n.text("mode", "avg") != "avg") refuse("only the mode 'avg' is supported");
    const std::string coordinates =
        n.version < 16 ? "output_half_pixel" : n.text("coordinate_transformation_mode", "half_pixel");
    if (coordinates != "half_pixel" && coordinates != "output_half_pixel")
        refuse("the coordinate transformation {} is not known", in_quotes(coordinates));
    const bool half_pixel = coordinates == "half_pixel";
    const int64_t samples = n.integer("sampling_ratio", 0);
    if (samples < 1 || samples > INT16_MAX)
        refuse("the number of samples would depend on the regions; set sampling_ratio to at least 1");
    const Value all = b.sub(b.mul(b.cast(n[1], b.f32()), n.number("spatial_scale", 1)), half_pixel ? 0.5 : 0);
    // The places of the samples in one dimension: regions x (bins * samples).
    const auto places = [&](int64_t first, std::string_view name) {
        const int64_t bins = n.integer(name, 1);
        if (bins < 1 || bins > xnn::kFoldLimit / samples) refuse("{} is {}", name, bins);
        const Value start = b.narrow(all, 1, first, 1);
        Value size = b.sub(b.narrow(all, 1, first + 2, 1), start);
        if (!half_pixel) size = b.max(size, 1);
        std::vector<float> parts;
        for (int64_t i = 0; i < bins * samples; i++)
            parts.push_back((static_cast<float>(i) + 0.5F) / static_cast<float>(bins * samples));
        return b.add(start, b.mul(size, b.floats(parts)));
    };
    const auto spread = [&](std::vector<Tap> taps, bool rows) {
        for (Tap& tap : taps)
            for (Value* const value : {&tap.index, &tap.weight}) {
                const int64_t count = Build::shape_of(*value)[1];
                *value = b.reshape(*value, rows ? Shape{regions[0], count, 1} : Shape{regions[0], 1, count});
            }
        return taps;
    };
    const auto rows = spread(taps_inside(b, places(1, "output_height"), shape[2]), true);
    const auto columns = spread(taps_inside(b, places(0, "output_width"), shape[3]), false);
    return {in_f32(b, n[0], [&](Value x) {
        const Value values = sampled(b, b.move_axis(x, 1, -1), b.reshape(n[2], {regions[0], 1, 1}), rows, columns);
        const Value means =
            b.pool(Pooling::average, values, b.windows({samples, samples}, {samples, samples}, {0, 0}, {0, 0}, {1, 1}));
        return b.move_axis(means, -1, 1);
    })};
}

constexpr Operator kOperators[] = {
    {"GridSample", 16, 21, grid_sample},
    {"RoiAlign", 10, 21, roi_align},
};

}  // namespace

std::span<const Operator> sampling_operators() { return kOperators; }

}  // namespace sidra::compiler
