// SPDX-License-Identifier: MIT
// A JSON value that keeps the order of its members, and its text.
#ifndef SIDRA_COMMON_JSON_H
#define SIDRA_COMMON_JSON_H

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sidra::tools {

class Json {
   public:
    using Array = std::vector<Json>;
    using Object = std::vector<std::pair<std::string, Json>>;

    Json() = default;  // null
    Json(std::same_as<bool> auto value) : value_(value) {}
    Json(std::signed_integral auto value) : value_(static_cast<int64_t>(value)) {}
    Json(std::unsigned_integral auto value) requires(!std::same_as<decltype(value), bool>)
        : value_(static_cast<uint64_t>(value)) {}
    Json(double value) : value_(value) {}
    Json(std::string value) : value_(std::move(value)) {}
    Json(std::string_view value) : value_(std::string(value)) {}
    Json(const char* value) : value_(std::string(value)) {}
    Json(Array value) : value_(std::move(value)) {}
    Json(Object value) : value_(std::move(value)) {}

    // Indented text without a final newline. Doubles have six significant digits; NaN and infinity become null.
    std::string text() const;
    // The same on one line.
    std::string line() const;

   private:
    // `depth`: indentation; negative: on one line.
    void write(std::string& out, int depth) const;

    std::variant<std::nullptr_t, bool, int64_t, uint64_t, double, std::string, Array, Object> value_ = nullptr;
};

}  // namespace sidra::tools

#endif
