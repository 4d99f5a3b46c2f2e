// SPDX-License-Identifier: MIT
#include "common/json.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace sidra::tools {
namespace {

void write_string(std::string& out, std::string_view text) {
    out += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
        } else {
            out += c;
        }
    }
    out += '"';
}

void new_line(std::string& out, int depth) {
    if (depth < 0) return;
    out += '\n';
    out.append(static_cast<size_t>(depth) * 2, ' ');
}

}  // namespace

void Json::write(std::string& out, int depth) const {
    const int inner = depth < 0 ? depth : depth + 1;
    if (const auto* b = std::get_if<bool>(&value_)) {
        out += *b ? "true" : "false";
    } else if (const auto* i = std::get_if<int64_t>(&value_)) {
        fmt::format_to(std::back_inserter(out), "{}", *i);
    } else if (const auto* u = std::get_if<uint64_t>(&value_)) {
        fmt::format_to(std::back_inserter(out), "{}", *u);
    } else if (const auto* d = std::get_if<double>(&value_); d != nullptr && std::isfinite(*d)) {
        fmt::format_to(std::back_inserter(out), "{:.6g}", *d);
    } else if (const auto* s = std::get_if<std::string>(&value_)) {
        write_string(out, *s);
    } else if (const auto* array = std::get_if<Array>(&value_)) {
        out += '[';
        for (size_t n = 0; n < array->size(); ++n) {
            if (n > 0) out += ',';
            new_line(out, inner);
            (*array)[n].write(out, inner);
        }
        if (!array->empty()) new_line(out, depth);
        out += ']';
    } else if (const auto* object = std::get_if<Object>(&value_)) {
        out += '{';
        for (size_t n = 0; n < object->size(); ++n) {
            if (n > 0) out += ',';
            new_line(out, inner);
            write_string(out, (*object)[n].first);
            out += depth < 0 ? ":" : ": ";
            (*object)[n].second.write(out, inner);
        }
        if (!object->empty()) new_line(out, depth);
        out += '}';
    } else {
        out += "null";
    }
}

std::string Json::text() const {
    std::string out;
    write(out, 0);
    return out;
}

std::string Json::line() const {
    std::string out;
    write(out, -1);
    return out;
}

}  // namespace sidra::tools
