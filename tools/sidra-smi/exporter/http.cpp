// SPDX-License-Identifier: MIT
#include "http.h"

#include <fmt/format.h>

#include <algorithm>

namespace sidra::exporter {
namespace {

std::string response(std::string_view status, std::string_view type, std::string_view body, bool head = false,
                     std::string_view more = {}) {
    return fmt::format("HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n{}", status,
                       type, body.size(), more, head ? std::string_view() : body);
}

std::string failure(std::string_view status, std::string_view text, bool head = false, std::string_view more = {}) {
    return response(status, "text/plain; charset=utf-8", fmt::format("{}\n", text), head, more);
}

// An empty line ends the head; some clients send bare line feeds.
bool head_complete(std::string_view received) {
    return received.find("\r\n\r\n") != received.npos || received.find("\n\n") != received.npos;
}

bool printable(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

std::optional<std::string> answer(std::string_view received,
                                  const std::function<std::optional<std::string>()>& metrics) {
    if (!head_complete(received)) {
        if (received.size() < kMostRequest) return std::nullopt;
        return failure("431 Request Header Fields Too Large", "The request header is too long.");
    }
    std::string_view line = received.substr(0, received.find('\n'));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const size_t first = line.find(' '), last = line.rfind(' ');
    if (first == line.npos || first == last) return failure("400 Bad Request", "This is not an HTTP request.");
    const std::string_view method = line.substr(0, first), target = line.substr(first + 1, last - first - 1),
                           version = line.substr(last + 1);
    if (method.empty() || target.empty() || !printable(method) || !printable(target))
        return failure("400 Bad Request", "This is not an HTTP request.");
    if (version != "HTTP/1.1" && version != "HTTP/1.0")
        return failure("505 HTTP Version Not Supported", "Only HTTP/1.1 and HTTP/1.0 are supported.");
    const bool head = method == "HEAD";
    if (!head && method != "GET")
        return failure("405 Method Not Allowed", "Only GET and HEAD are supported.", false, "Allow: GET, HEAD\r\n");
    if (target.substr(0, target.find('?')) != "/metrics")
        return failure("404 Not Found", "Not found. Metrics: /metrics", head);
    const std::optional<std::string> body = metrics();
    if (!body) return failure("503 Service Unavailable", "The chips cannot be read at present.", head);
    return response("200 OK", "text/plain; version=0.0.4; charset=utf-8", *body, head);
}

std::string too_slow() { return failure("408 Request Timeout", "The request took too long."); }

}  // namespace sidra::exporter
