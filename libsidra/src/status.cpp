// SPDX-License-Identifier: MIT
#include "status.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "kept_error.h"

namespace sidra {
namespace {

struct LastError {
    ErrorText text;
};
thread_local LastError last_error{};

constexpr std::array<const char*, SIDRA_STATUS_COUNT> kNames = {
    "SIDRA_OK",
    "SIDRA_ERROR_INVALID_ARGUMENT",
    "SIDRA_ERROR_INVALID_HANDLE",
    "SIDRA_ERROR_WRONG_CONTEXT",
    "SIDRA_ERROR_OUT_OF_MEMORY",
    "SIDRA_ERROR_OUT_OF_DEVICE_MEMORY",
    "SIDRA_ERROR_OUT_OF_CROSSBARS",
    "SIDRA_ERROR_LIMIT",
    "SIDRA_ERROR_TIMEOUT",
    "SIDRA_ERROR_NOT_READY",
    "SIDRA_ERROR_NO_DEVICE",
    "SIDRA_ERROR_PERMISSION",
    "SIDRA_ERROR_MEMLOCK",
    "SIDRA_ERROR_NOT_FOUND",
    "SIDRA_ERROR_EXISTS",
    "SIDRA_ERROR_BUSY",
    "SIDRA_ERROR_UNPROGRAMMED",
    "SIDRA_ERROR_NOT_REPRESENTABLE",
    "SIDRA_ERROR_FAULT",
    "SIDRA_ERROR_CONTEXT_LOST",
    "SIDRA_ERROR_DEVICE_LOST",
    "SIDRA_ERROR_FORKED",
    "SIDRA_ERROR_NOT_RECORDABLE",
    "SIDRA_ERROR_NOT_SUPPORTED",
    "SIDRA_ERROR_VERSION",
    "SIDRA_ERROR_INTERNAL",
};
static_assert(kNames.back() != nullptr, "a name for each status");

// A suggestion for the user after a failure of the driver.
const char* hint(sidra_status status) {
    switch (status) {
        case SIDRA_ERROR_INVALID_ARGUMENT:
            return "Check the arguments";
        case SIDRA_ERROR_OUT_OF_MEMORY:
            return "Free buffers, or ask for less";
        case SIDRA_ERROR_OUT_OF_DEVICE_MEMORY:
            return "Destroy buffers in L3, or use SIDRA_BUFFER_HOST";
        case SIDRA_ERROR_OUT_OF_CROSSBARS:
            return "Destroy weights, or evict names";
        case SIDRA_ERROR_LIMIT:
            return "Destroy objects of this kind, end threads or close file descriptors, or raise the limit";
        case SIDRA_ERROR_PERMISSION:
            return "Ask the owner for the right, or run with more privileges";
        case SIDRA_ERROR_MEMLOCK:
            return "Raise RLIMIT_MEMLOCK (ulimit -l), or use sidra_buffer_create()";
        case SIDRA_ERROR_NOT_FOUND:
            return "It does not exist, or not any more";
        case SIDRA_ERROR_EXISTS:
            return "Choose another name, or unlink the old one";
        case SIDRA_ERROR_BUSY:
            return "End what uses it, then try again";
        case SIDRA_ERROR_UNPROGRAMMED:
            return "Program the weights first, and wait until that is done";
        case SIDRA_ERROR_TIMEOUT:
            return "What is queued goes on; wait longer";
        case SIDRA_ERROR_CONTEXT_LOST:
            return "Call sidra_context_recover()";
        case SIDRA_ERROR_DEVICE_LOST:
            return "Destroy the handles and open the device again";
        case SIDRA_ERROR_NOT_SUPPORTED:
            return "This device or its driver cannot do it";
        case SIDRA_ERROR_VERSION:
            return "Install a libsidra and a driver of the same major version";
        case SIDRA_ERROR_NO_DEVICE:
            return "Check the environment variable SIDRA_DEVICE, and whether the driver is loaded";
        case SIDRA_ERROR_FAULT:
            return "sidra_stream_fault() says why";
        default:
            return "Please report this";
    }
}

}  // namespace

sidra_status fail_text(sidra_status status, const char* call, fmt::string_view format, fmt::format_args args) noexcept {
    auto& text = last_error.text;
    try {
        const size_t room = text.size() - 1;
        const size_t head = std::min(fmt::format_to_n(text.data(), room, "{}: ", call).size, room);
        const auto tail = fmt::vformat_to_n(text.data() + head, room - head, format, args);
        *tail.out = '\0';
    } catch (...) {  // invalid format or out of memory: keep only the name of the call
        std::strncpy(text.data(), call, text.size() - 1);
    }
    return status;
}

sidra_status not_ready(std::string_view text) noexcept {
    last_error.text[text.copy(last_error.text.data(), last_error.text.size() - 1)] = '\0';
    return SIDRA_ERROR_NOT_READY;
}

KeptError::KeptError() : text_(last_error.text) {}

void KeptError::restore() const { last_error.text = text_; }

sidra_status status_of_errno(int negative_errno, std::initializer_list<ErrnoMeaning> special) noexcept {
    for (const ErrnoMeaning& meaning : special)
        if (meaning.error == -negative_errno) return meaning.status;
    switch (-negative_errno) {
        case 0:
            return SIDRA_OK;
        case EINVAL:
        case EFAULT:
        case ERANGE:
        case E2BIG:
            return SIDRA_ERROR_INVALID_ARGUMENT;
        case ENOMEM:
            return SIDRA_ERROR_OUT_OF_MEMORY;
        case ENOSPC:
        case EMFILE:
        case ENFILE:
        case ENOBUFS:
        case EUSERS:
        case EDQUOT:
            return SIDRA_ERROR_LIMIT;
        case ETIMEDOUT:
            return SIDRA_ERROR_TIMEOUT;
        case EAGAIN:
            return SIDRA_ERROR_NOT_READY;
        case ENOTSUP:
        case ENOTTY:
        case ENOSYS:
            return SIDRA_ERROR_NOT_SUPPORTED;
        case EACCES:
        case EPERM:
            return SIDRA_ERROR_PERMISSION;
        case ENOENT:
            return SIDRA_ERROR_NOT_FOUND;
        case EEXIST:
            return SIDRA_ERROR_EXISTS;
        case EBUSY:
            return SIDRA_ERROR_BUSY;
        case ENODATA:
            return SIDRA_ERROR_UNPROGRAMMED;
        case EIO:
            return SIDRA_ERROR_FAULT;
        case ESTALE:
            return SIDRA_ERROR_CONTEXT_LOST;
        case ENODEV:
        case ENXIO:
            return SIDRA_ERROR_DEVICE_LOST;
        case EPROTO:
        case EPROTONOSUPPORT:
            return SIDRA_ERROR_VERSION;
        default:
            return SIDRA_ERROR_INTERNAL;
    }
}

sidra_status fail_errno(const char* call, int negative_errno, const std::string& what, const std::string& detail,
                        std::initializer_list<ErrnoMeaning> special) noexcept {
    const sidra_status status = status_of_errno(negative_errno, special);
    if (detail.ends_with('.')) return fail(status, call, "{} failed: {}", what, detail);
    std::array<char, 128> words{};
    const char* reason = detail.c_str();
    if (detail.empty()) reason = strerror_r(-negative_errno, words.data(), words.size());
    return fail(status, call, "{} failed: {} (errno {}). {}", what, reason, -negative_errno, hint(status));
}

}  // namespace sidra

const char* sidra_status_string(sidra_status status) {
    const auto index = static_cast<uint32_t>(status);
    return index < SIDRA_STATUS_COUNT ? sidra::kNames[index] : "SIDRA_ERROR_(unknown)";
}

const char* sidra_last_error(void) { return sidra::last_error.text.data(); }

uint32_t sidra_version(void) { return (SIDRA_VERSION_MAJOR << 16) | (SIDRA_VERSION_MINOR << 8) | SIDRA_VERSION_PATCH; }
