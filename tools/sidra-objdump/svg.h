// SPDX-License-Identifier: MIT
// Pictures: SVG that needs nothing else, for light and dark pages.
#ifndef SIDRA_OBJDUMP_SVG_H
#define SIDRA_OBJDUMP_SVG_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sidra::objdump {

// Text between tags, or in an attribute in double quotes.
std::string escaped(std::string_view text);

// A colour for each number, "#rrggbb"; neighbours differ much.
std::string colour(size_t number);

// Marks of an axis from 0 to `end`: about `count` of them, at multiples of 1, 2 or 5 times a power of ten, or of a
// power of two.
std::vector<double> ticks(double end, unsigned count, bool binary);

// How wide a text may be, in pixels, whatever the font of the viewer.
double width_of(std::string_view text, double size);
// The text, or its beginning, so that it is not wider; empty: not even a few characters fit.
std::string fitting(const std::string& text, double size, double width);

enum class Anchor { kStart, kMiddle, kEnd };

// Elements are drawn in their order. Classes: "ink" and "soft" (text), "line" (of an axis), "grid", "free".
class Svg {
   public:
    static constexpr double kSize = 12, kTitleSize = 16;  // of text, in pixels

    explicit Svg(std::string title) : title_(std::move(title)) {}

    // hint: what a viewer shows for the element under the pointer; may be empty. paint: attributes, for example
    // fill="#123456" or class="free".
    void rect(double x, double y, double width, double height, std::string_view paint, const std::string& hint = {});
    void line(double x1, double y1, double x2, double y2, std::string_view paint);
    void text(double x, double y, const std::string& text, std::string_view paint = "class=\"ink\"",
              Anchor anchor = Anchor::kStart, double size = kSize);
    // Anything else.
    void raw(std::string_view text) { body_ += text; }

    std::string file(double width, double height) const;

   private:
    std::string title_, body_;
};

}  // namespace sidra::objdump

#endif
