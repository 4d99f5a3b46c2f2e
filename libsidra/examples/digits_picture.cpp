// SPDX-License-Identifier: MIT
#include "digits_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

namespace sidra::digits {
namespace {

constexpr uint32_t kColumns = 10, kFirstDigits = 40, kOthersMax = 40;
constexpr uint32_t kPixel = 8, kImage = kSide * kPixel, kCardWidth = 84, kCardHeight = 112, kGap = 8, kMargin = 32;
constexpr uint32_t kWidth = 2 * kMargin + kColumns * kCardWidth + (kColumns - 1) * kGap;

constexpr std::string_view kInk = "#1f2733", kFaint = "#66707f", kFrame = "#d5dae1", kGood = "#1a7f4b",
                           kBad = "#c62f2f", kBadFill = "#fdf0ef", kOther = "#b26a00", kOtherFill = "#fff6e5";

// Appends to one SVG text; y moves down the page.
class Page {
   public:
    explicit Page(std::string* svg) : out_(*svg) {}

    void text(uint32_t x, uint32_t y, uint32_t size, std::string_view colour, std::string_view extra,
              std::string_view words) {
        fmt::format_to(out_, R"(<text x="{}" y="{}" font-size="{}" fill="{}"{}>)", x, y, size, colour, extra);
        for (const char c : words) {
            if (c == '<' || c == '&') {
                fmt::format_to(out_, "{}", c == '<' ? "&lt;" : "&amp;");
            } else {
                *out_++ = c;
            }
        }
        fmt::format_to(out_, "</text>\n");
    }

    void card(const Model& model, uint32_t digit, int32_t chip, int32_t cpu_float, uint32_t x, uint32_t y) {
        const bool right = chip == model.labels[digit], same = chip == cpu_float;
        const std::string_view frame = right ? (same ? kFrame : kOther) : kBad;
        const std::string_view fill = right ? (same ? "#ffffff" : kOtherFill) : kBadFill;
        fmt::format_to(out_,
                       R"(<rect x="{}" y="{}" width="{}" height="{}" rx="6" fill="{}" stroke="{}" stroke-width="{}"/>)",
                       x, y, kCardWidth, kCardHeight, fill, frame, right && same ? 1 : 2);
        const uint32_t left = x + (kCardWidth - kImage) / 2, top = y + (kCardWidth - kImage) / 2;
        fmt::format_to(out_, R"(<rect x="{}" y="{}" width="{}" height="{}" fill="#10151d"/>)", left, top, kImage,
                       kImage);
        const auto image = model.image(digit);
        for (uint32_t i = 0; i < kPixels; i++) {
            if (image[i] == 0) continue;
            const uint32_t grey = 16 + 239 * std::min<uint32_t>(image[i], kPixelMax) / kPixelMax;
            fmt::format_to(out_, R"(<rect x="{}" y="{}" width="{}" height="{}" fill="#{:02x}{:02x}{:02x}"/>)",
                           left + i % kSide * kPixel, top + i / kSide * kPixel, kPixel, kPixel, grey, grey, grey);
        }
        *out_++ = '\n';
        const uint32_t baseline = y + kCardHeight - 13, end = left + kImage;
        text(left, baseline, 20, right ? kGood : kBad, R"( font-weight="700")", fmt::format("{}", chip));
        const uint32_t note = baseline - (right || same ? 1 : 8);  // the upper one of two notes
        if (!right) text(end, note, 12, kBad, kToEnd, fmt::format("is a {}", model.labels[digit]));
        if (!same) text(end, right ? note : note + 14, 11, kOther, kToEnd, fmt::format("float: {}", cpu_float));
    }

    static constexpr std::string_view kToEnd = R"( text-anchor="end")";

   private:
    std::back_insert_iterator<std::string> out_;
};

}  // namespace

std::string draw_answers(const Model& model, std::span<const int32_t> chip, std::span<const int32_t> cpu_float,
                         const std::string& headline, std::span<const std::string> subtitles) {
    struct Section {
        std::string title;
        std::vector<uint32_t> digits;
    };
    Section first, others;
    uint32_t wrong = 0, differing = 0;
    for (uint32_t i = 0; i < model.digits; i++) {
        if (i < kFirstDigits) first.digits.push_back(i);
        const bool is_wrong = chip[i] != model.labels[i], is_differing = chip[i] != cpu_float[i];
        wrong += is_wrong;
        differing += is_differing;
        if (is_wrong || is_differing) others.digits.push_back(i);
    }
    first.title = fmt::format("The first {} of the {} test digits", first.digits.size(), model.digits);
    others.title = fmt::format("Of all {}: {} that the chip gets wrong, {} that it answers differently from float",
                               model.digits, wrong, differing);
    if (others.digits.size() > kOthersMax) {
        others.digits.resize(kOthersMax);
        others.title += fmt::format(" (the first {} of them)", kOthersMax);
    }

    std::string body;
    Page page(&body);
    uint32_t y = kMargin + 26;
    page.text(kMargin, y, 26, kInk, R"( font-weight="700")", headline);
    y += 4;
    for (const std::string& line : subtitles) {
        y += 21;
        page.text(kMargin, y, 14, kFaint, "", line);
    }
    for (const Section& section : {first, others}) {
        y += 40;
        page.text(kMargin, y, 16, kInk, R"( font-weight="700")", section.title);
        y += 14;
        for (uint32_t i = 0; i < section.digits.size(); i++) {
            const uint32_t digit = section.digits[i], row = i / kColumns;
            page.card(model, digit, chip[digit], cpu_float[digit], kMargin + i % kColumns * (kCardWidth + kGap),
                      y + row * (kCardHeight + kGap));
        }
        const auto rows = static_cast<uint32_t>((section.digits.size() + kColumns - 1) / kColumns);
        if (rows) y += rows * (kCardHeight + kGap) - kGap;
    }
    y += 32;
    page.text(kMargin, y, 13, kFaint, "",
              "Below each image: the chip's answer, green if right. Red frame: wrong, with the true digit. "
              "Amber: float on the CPU says something else.");
    y += 20;
    page.text(kMargin, y, 13, kFaint, "",
              "Digits: Alpaydin and Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning "
              "Repository, CC BY 4.0.");
    y += kMargin;

    return fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" )"
                       R"(font-family="DejaVu Sans, Verdana, Arial, sans-serif" shape-rendering="geometricPrecision">)"
                       "\n<rect width=\"{0}\" height=\"{1}\" fill=\"#f6f7f9\"/>\n{2}</svg>\n",
                       kWidth, y, body);
}

}  // namespace sidra::digits
