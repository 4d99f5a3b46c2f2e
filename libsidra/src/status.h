// SPDX-License-Identifier: MIT
// Failure of a call: a status and a message, kept for sidra_last_error() of this thread. Nothing here runs on success.
#ifndef SIDRA_STATUS_H
#define SIDRA_STATUS_H

#include <fmt/core.h>

#include <cstdint>
#include <exception>
#include <initializer_list>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "sidra/sidra.h"

namespace sidra {

// Sets "<call>: <text>" as this thread's last error and returns `status`. Allocates only for very long texts.
sidra_status fail_text(sidra_status status, const char* call, fmt::string_view format, fmt::format_args args) noexcept;

template <typename... Args>
[[gnu::cold]] [[gnu::noinline]] sidra_status fail(sidra_status status, const char* call,
                                                  fmt::format_string<Args...> format, Args&&... args) noexcept {
    return fail_text(status, call, format, fmt::make_format_args(args...));
}

// NOT_READY of a query, with the complete text: copied, not formatted, because queries are polled.
[[gnu::cold]] sidra_status not_ready(std::string_view text) noexcept;

// The special meaning of an errno for one request.
struct ErrnoMeaning {
    int error;  // positive errno
    sidra_status status;
};

// Maps an -errno of a driver to a status; `special` has precedence over the general mapping.
sidra_status status_of_errno(int negative_errno, std::initializer_list<ErrnoMeaning> special = {}) noexcept;

// Fails with the status of `negative_errno` and the text "<call>: <what> failed: <detail, or the errno in words>. <what
// to do>". If the detail ends with a full stop, it is complete, and no suggestion is added.
[[gnu::cold]] sidra_status fail_errno(const char* call, int negative_errno, const std::string& what,
                                      const std::string& detail,
                                      std::initializer_list<ErrnoMeaning> special = {}) noexcept;

// Runs the body of a C function that may allocate; catches all exceptions.
template <typename Body>
sidra_status guarded(const char* call, Body&& body) noexcept {
    try {
        return std::forward<Body>(body)();
    } catch (const std::bad_alloc&) {
        return fail(SIDRA_ERROR_OUT_OF_MEMORY, call, "host memory is exhausted; free something and try again");
    } catch (const std::exception& error) {
        return fail(SIDRA_ERROR_INTERNAL, call, "unexpected: {}; please report this", error.what());
    } catch (...) {
        return fail(SIDRA_ERROR_INTERNAL, call, "unexpected exception; please report this");
    }
}

}  // namespace sidra

// Returns from the calling function if the expression is not SIDRA_OK.
#define SIDRA_TRY(expression)                                                                              \
    do {                                                                                                   \
        if (const sidra_status sidra_try_status = (expression); sidra_try_status != SIDRA_OK) [[unlikely]] \
            return sidra_try_status;                                                                       \
    } while (0)

#endif
