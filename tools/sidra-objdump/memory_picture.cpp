// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "check.h"
#include "common/units.h"
#include "names.h"
#include "pictures.h"
#include "svg.h"

namespace sidra::objdump {
namespace {

struct Range {
    uint64_t begin, end;
};

// Follows the values of a variant, call by call.
class Values {
   public:
    void read(uint64_t begin, uint64_t end, uint32_t call) {
        for (Live& live : live_) {
            if (!meets(live.rest, begin, end)) continue;
            live.read = true;
            all_[live.value].last = std::max(all_[live.value].last, call);
        }
    }

    void write(uint64_t begin, uint64_t end, uint32_t call, Value::Kind kind, const std::string& name) {
        // A value that nobody has read yet is still being made.
        const auto made = std::ranges::find_if(live_, [&](const Live& live) {
            return !live.read && all_[live.value].kind != Value::Kind::kInput && meets(live.rest, begin, end);
        });
        size_t number = all_.size();
        if (made != live_.end()) {
            number = made->value;
            Value& value = all_[number];
            value.begin = begin = std::min(value.begin, begin);
            value.end = end = std::max(value.end, end);
            value.last = call;
            live_.erase(made);
        } else {
            all_.push_back({begin, end, call, call, kind, name});
        }
        for (Live& live : live_) live.rest = without(live.rest, begin, end);
        std::erase_if(live_, [](const Live& live) { return live.rest.empty(); });
        live_.push_back({number, {{begin, end}}});
    }

    // An output at the end. What nobody has written is also shown.
    void output(uint64_t begin, uint64_t end, uint32_t last, const std::string& name) {
        bool found = false;
        for (const Live& live : live_) {
            if (!meets(live.rest, begin, end)) continue;
            found = true;
            Value& value = all_[live.value];
            value.last = last;
            value.name += " -> " + name;
            if (value.kind == Value::Kind::kIntermediate) value.kind = Value::Kind::kOutput;
        }
        if (!found) write(begin, end, last, Value::Kind::kOutput, name);
    }

    std::vector<Value> take() { return std::move(all_); }

   private:
    struct Live {
        size_t value;
        std::vector<Range> rest;  // that no other value has taken
        bool read = false;
    };

    static bool meets(const std::vector<Range>& ranges, uint64_t begin, uint64_t end) {
        return std::ranges::any_of(ranges, [&](const Range& r) { return r.begin < end && begin < r.end; });
    }
    static std::vector<Range> without(const std::vector<Range>& ranges, uint64_t begin, uint64_t end) {
        std::vector<Range> rest;
        for (const Range& r : ranges) {
            if (r.end <= begin || end <= r.begin) {
                rest.push_back(r);
                continue;
            }
            if (r.begin < begin) rest.push_back({r.begin, begin});
            if (end < r.end) rest.push_back({end, r.end});
        }
        return rest;
    }

    std::vector<Live> live_;
    std::vector<Value> all_;
};

const char* kind_colour(Value::Kind kind) {
    switch (kind) {
        case Value::Kind::kInput:
            return "#2da44e";
        case Value::Kind::kOutput:
            return "#d4762c";
        default:
            return "#4a8fd8";
    }
}

// The name of a value, or the number of its call, which tells more than a few characters of the name.
std::string label_of(const Value& value, double size, double width) {
    constexpr size_t kFewest = 13;
    std::string label = fitting(value.name, size, width);
    if (label == value.name || characters_of(label) >= kFewest) return label;
    const std::string number = fmt::format("{}", value.first);
    return value.kind == Value::Kind::kInput || width_of(number, size) > width ? "" : number;
}

}  // namespace

void require_runnable(std::span<const CallAnalysis> analyses) {
    if (analyses.size() > kPictureCallsMax)
        throw std::runtime_error(
            fmt::format("there is no picture of {} calls; {} are the most", analyses.size(), kPictureCallsMax));
    for (size_t i = 0; i < analyses.size(); ++i)
        if (!analyses[i].problem.empty())
            throw std::runtime_error(
                fmt::format("there is no picture, because call {} cannot be run: {}", i, analyses[i].problem));
}

std::vector<Value> values_of(const format::Variant& variant, std::span<const CallAnalysis> analyses) {
    Values values;
    for (const format::Tensor* input : *variant.inputs())
        values.write(input->at()->offset(), input->at()->offset() + format::tensor_bytes(*input), 0,
                     Value::Kind::kInput, printable(input->name()));
    for (uint32_t i = 0; i < analyses.size(); ++i) {
        for (const Access& access : analyses[i].accesses)
            if (!access.write) values.read(access.begin, access.end, i);
        for (const Access& access : analyses[i].accesses)
            if (access.write)
                values.write(access.begin, access.end, i, Value::Kind::kIntermediate,
                             fmt::format("{} {}", i, printable(variant.calls()->Get(i)->name())));
    }
    const auto last = static_cast<uint32_t>(std::max<size_t>(analyses.size(), 1) - 1);
    for (const format::Tensor* output : *variant.outputs())
        values.output(output->at()->offset(), output->at()->offset() + format::tensor_bytes(*output), last,
                      printable(output->name()));
    return values.take();
}

Peak peak_of(std::span<const Value> values, uint32_t calls) {
    Peak peak;
    for (uint32_t call = 0; call < calls; ++call) {
        std::vector<Range> live;
        for (const Value& value : values)
            if (value.first <= call && call <= value.last) live.push_back({value.begin, value.end});
        std::ranges::sort(live, {}, &Range::begin);
        uint64_t bytes = 0, end = 0;
        for (const Range& range : live) {  // values may overlap
            bytes += range.end > std::max(end, range.begin) ? range.end - std::max(end, range.begin) : 0;
            end = std::max(end, range.end);
        }
        if (bytes > peak.bytes) peak = {call, bytes};
    }
    return peak;
}

std::string memory_picture(const format::Model& model, uint32_t number, std::span<const CallAnalysis> analyses) {
    constexpr double kLeft = 90, kTop = 92, kWidth = 1080, kHeight = 520, kRight = 30, kBottom = 60;
    require_runnable(analyses);
    const format::Variant& variant = *model.variants()->Get(number);
    const std::vector<Value> values = values_of(variant, analyses);
    const auto calls = static_cast<uint32_t>(std::max<size_t>(analyses.size(), 1));
    const Peak peak = peak_of(values, calls);
    const auto work = static_cast<double>(variant.work());
    const auto x = [&](double call) { return kLeft + kWidth * call / calls; };
    const auto y = [&](double byte) { return kTop + kHeight * (1 - byte / work); };

    const std::string title = fmt::format("{}, variant {}: {} of work memory", printable(model.name()), number,
                                          tools::bytes_text(variant.work()));
    Svg svg(title);
    svg.text(kLeft, 28, fitting(title, Svg::kTitleSize, kWidth), R"(class="ink" font-weight="bold")", Anchor::kStart,
             Svg::kTitleSize);
    const double peak_at = x(peak.call + 0.5);
    double at = kLeft;
    constexpr std::pair<Value::Kind, const char*> kLegend[] = {{Value::Kind::kInput, "input"},
                                                               {Value::Kind::kOutput, "output"},
                                                               {Value::Kind::kIntermediate, "between calls"}};
    for (const auto& [kind, label] : kLegend) {
        svg.rect(at, 42, 12, 12, fmt::format(R"(fill="{}")", kind_colour(kind)));
        svg.text(at + 18, 52, label);
        at += 18 + width_of(label, Svg::kSize) + 18;
    }
    for (const double tick : ticks(work, 8, true)) {
        svg.line(kLeft, y(tick), kLeft + kWidth, y(tick), R"(class="grid")");
        svg.text(kLeft - 8, y(tick) + 4, tools::bytes_text(static_cast<uint64_t>(tick)), R"(class="soft")",
                 Anchor::kEnd);
    }
    for (const Value& value : values) {
        const auto size = static_cast<double>(value.end - value.begin);
        const double height = std::max(kHeight * size / work, 1.0);
        const double gap = kWidth / calls > 6 ? 1 : 0;
        const std::string hint = fmt::format(
            "{}{}\nbytes {:#x} to {:#x} ({})\ncalls {} to {}", value.kind == Value::Kind::kInput ? "input " : "call ",
            value.name, value.begin, value.end, tools::bytes_text(value.end - value.begin), value.first, value.last);
        const double top = y(static_cast<double>(value.end));
        const double left = x(value.first) + gap, width = x(value.last + 1.0) - x(value.first) - 2 * gap;
        svg.rect(left, top, width, height,
                 fmt::format(R"(fill="{}" fill-opacity="0.8" stroke="{}" stroke-width="0.7")", kind_colour(value.kind),
                             kind_colour(value.kind)),
                 hint);
        constexpr double kSmall = 10;
        if (height < kSmall + 4) continue;
        // Beside the line of the peak, if that goes through the label.
        double from = left + 4, room = width - 8;
        std::string label = label_of(value, kSmall, room);
        if (from < peak_at && peak_at < from + width_of(label, kSmall)) {
            room -= peak_at + 3 - from, from = peak_at + 3;
            label = label_of(value, kSmall, room);
        }
        if (!label.empty())
            svg.text(from, top + kSmall + 2, label, "fill=\"#000000\" pointer-events=\"none\"", Anchor::kStart, kSmall);
    }
    svg.line(kLeft, kTop, kLeft, kTop + kHeight, R"(class="line")");
    svg.line(kLeft, kTop + kHeight, kLeft + kWidth, kTop + kHeight, R"(class="line")");
    double free_from = 0;
    for (const double tick : ticks(calls, 12, false)) {
        if (tick >= calls || tick != static_cast<uint32_t>(tick)) continue;
        svg.line(x(tick + 0.5), kTop + kHeight, x(tick + 0.5), kTop + kHeight + 5, R"(class="line")");
        if (x(tick + 0.5) < free_from) continue;
        svg.text(x(tick + 0.5), kTop + kHeight + 19, fmt::format("{}", tick), R"(class="soft")", Anchor::kMiddle);
        free_from = x(tick + 0.5) + 50;
    }
    svg.text(kLeft + kWidth / 2, kTop + kHeight + 42, "number of the call", R"(class="soft")", Anchor::kMiddle);
    svg.raw(fmt::format(
        R"svg(<text class="soft" font-size="12" text-anchor="middle" transform="translate(22 {:.0f}) rotate(-90)">offset in the work memory (bytes)</text>)svg"
        "\n",
        kTop + kHeight / 2));
    svg.line(peak_at, kTop - 8, peak_at, kTop + kHeight, R"(class="peak")");
    const std::string note = fmt::format("peak: {} ({:.1f} %) in use at call {}", tools::bytes_text(peak.bytes),
                                         100 * static_cast<double>(peak.bytes) / work, peak.call);
    const double half = width_of(note, Svg::kSize) / 2;
    svg.text(std::clamp(peak_at, kLeft + half, kLeft + kWidth - half), kTop - 14, note, R"(class="alarm")",
             Anchor::kMiddle);
    return svg.file(kLeft + kWidth + kRight, kTop + kHeight + kBottom);
}

}  // namespace sidra::objdump
