// SPDX-License-Identifier: MIT
// The part of HTTP/1.1 that a scraper needs: one request per connection, without a body.
#ifndef SIDRA_SMI_EXPORTER_HTTP_H
#define SIDRA_SMI_EXPORTER_HTTP_H

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sidra::exporter {

constexpr size_t kMostRequest = 8192;  // limit for the head of a request, in bytes

// Returns the complete answer to the received data, or nothing while the head is incomplete. Calls `metrics` if they
// are requested; it returns nothing if they are not available.
std::optional<std::string> answer(std::string_view received,
                                  const std::function<std::optional<std::string>()>& metrics);

// The answer to a client that took too long.
std::string too_slow();

}  // namespace sidra::exporter

#endif
