// SPDX-License-Identifier: MIT
#include "address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <cstring>
#include <stdexcept>

#include "common/number.h"

namespace sidra::exporter {
namespace {

constexpr std::string_view kUnix = "unix:";

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
    throw std::invalid_argument(
        fmt::format("cannot listen on '{}': {}; expected unix:PATH, 127.0.0.1:PORT or [::1]:PORT", text, why));
}

Address unix_address(const std::string& text, const std::string& path) {
    Address address;
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    if (path.empty()) refuse(text, "the path is empty");
    if (path.size() >= sizeof to.sun_path)
        refuse(text, fmt::format("the path is longer than the {} bytes that a socket address can have",
                                 sizeof to.sun_path - 1));
    std::memcpy(to.sun_path, path.data(), path.size());
    std::memcpy(&address.bytes, &to, sizeof to);
    address.size = sizeof to;
    address.path = path;
    address.loopback = true;
    return address;
}

}  // namespace

Address parse_address(const std::string& text) {
    if (text.starts_with(kUnix)) return unix_address(text, text.substr(kUnix.size()));
    const size_t colon = text.rfind(':');
    if (colon == std::string::npos) refuse(text, "the port is missing");
    std::string host = text.substr(0, colon);
    const std::string digits = text.substr(colon + 1);
    const auto port = tools::parse_number(digits);
    if (!port || *port > 65535 || digits.size() > 5) refuse(text, fmt::format("'{}' is not a port number", digits));
    Address address;
    sockaddr_in four{};
    sockaddr_in6 six{};
    if (inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1) {
        four.sin_family = AF_INET;
        four.sin_port = htons(static_cast<uint16_t>(*port));
        std::memcpy(&address.bytes, &four, sizeof four);
        address.size = sizeof four;
        address.loopback = ntohl(four.sin_addr.s_addr) >> 24 == 127;
        return address;
    }
    const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (bracketed) host = host.substr(1, host.size() - 2);
    if (!bracketed || inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) != 1)
        refuse(text, fmt::format("'{}' is not a numeric address", host));
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(static_cast<uint16_t>(*port));
    std::memcpy(&address.bytes, &six, sizeof six);
    address.size = sizeof six;
    address.loopback = IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
    return address;
}

std::string to_text(const sockaddr_storage& bytes, socklen_t size) {
    char host[INET6_ADDRSTRLEN] = "";
    if (bytes.ss_family == AF_INET && size >= sizeof(sockaddr_in)) {
        sockaddr_in four;
        std::memcpy(&four, &bytes, sizeof four);
        inet_ntop(AF_INET, &four.sin_addr, host, sizeof host);
        return fmt::format("{}:{}", host, ntohs(four.sin_port));
    }
    if (bytes.ss_family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
        sockaddr_in6 six;
        std::memcpy(&six, &bytes, sizeof six);
        inet_ntop(AF_INET6, &six.sin6_addr, host, sizeof host);
        return fmt::format("[{}]:{}", host, ntohs(six.sin6_port));
    }
    sockaddr_un path;
    std::memcpy(&path, &bytes, sizeof path);
    return fmt::format("{}{}", kUnix, std::string_view(path.sun_path, strnlen(path.sun_path, sizeof path.sun_path)));
}

}  // namespace sidra::exporter
