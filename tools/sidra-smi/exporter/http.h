// SPDX-License-Identifier: MIT
// As much of HTTP/1.1 as a scraper needs: one request a connection, without a body.
#ifndef SIDRA_SMI_EXPORTER_HTTP_H
#define SIDRA_SMI_EXPORTER_HTTP_H

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sidra::exporter {

constexpr size_t kMostRequest = 8192;  // bytes of a request's head

// The whole answer to what a client has sent so far; nothing as long as its head is not complete. `metrics` is called
// when it is asked for, and returns nothing if there are none to be had.
std::optional<std::string> answer(std::string_view received,
                                  const std::function<std::optional<std::string>()>& metrics);

// To one that took too long.
std::string too_slow();

}  // namespace sidra::exporter

#endif
