// SPDX-License-Identifier: MIT
// Failure of requests: -errno for the program, a message for the user.
#ifndef SIDRA_EMBEDDED_DETAIL_H
#define SIDRA_EMBEDDED_DETAIL_H

#include <fmt/format.h>

#include <cerrno>
#include <string>
#include <utility>

namespace sidra::embedded {

// What failed, on which object, why, and what to do. A clause without a full stop: callers include it in a sentence.
using Detail = std::string;

// Returns `code` (a negative errno) with the formatted text in `detail`.
template <class... Args>
[[nodiscard]] int fail(Detail& detail, int code, fmt::format_string<Args...> format, Args&&... args) {
    detail = fmt::format(format, std::forward<Args>(args)...);
    return code;
}

}  // namespace sidra::embedded

#endif
