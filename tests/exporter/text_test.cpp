// SPDX-License-Identifier: MIT
// Texts in and out: addresses, requests and their answers, the format of Prometheus.
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "address.h"
#include "exposition.h"
#include "http.h"

namespace sidra::exporter {
namespace {

TEST(Address, InItsForms) {
    for (const char* text : {"127.0.0.1:9834", "127.255.0.1:0", "[::1]:65535", "unix:/run/x y.sock", "unix:relative"}) {
        const Address address = parse_address(text);
        EXPECT_TRUE(address.loopback) << text;
        EXPECT_EQ(to_text(address.bytes, address.size), text);
    }
    for (const char* text :
         {"0.0.0.0:9834", "[::]:1", "192.168.1.7:80", "128.0.0.1:80", "[fe80::1]:80", "[::ffff:127.0.0.1]:80"})
        EXPECT_FALSE(parse_address(text).loopback) << text;
}

TEST(Address, RefusedWithItsForms) {
    for (const char* text : {"",
                             "9834",
                             "127.0.0.1",
                             "127.0.0.1:",
                             "127.0.0.1:65536",
                             "127.0.0.1:-1",
                             "127.0.0.1: 80",
                             "127.0.0.1:80x",
                             "127.0.0.1:0x50000",
                             "127.0.0.1:99999999999999999999",
                             "127.0.0.1:000080",
                             "::1:80",
                             "[::1]",
                             "[::1:80",
                             "[]:80",
                             "localhost:80",
                             ":80",
                             "unix:",
                             "1.2.3:80",
                             "[127.0.0.1]:80",
                             "unix"}) {
        try {
            parse_address(text);
            ADD_FAILURE() << text;
        } catch (const std::invalid_argument& e) {
            EXPECT_NE(std::string(e.what()).find("expected unix:PATH, 127.0.0.1:PORT or [::1]:PORT"), std::string::npos)
                << e.what();
            EXPECT_NE(std::string(e.what()).find("'" + std::string(text) + "'"), std::string::npos) << e.what();
        }
    }
    EXPECT_NO_THROW(parse_address("unix:" + std::string(107, 'p')));
    EXPECT_THROW(parse_address("unix:" + std::string(108, 'p')), std::invalid_argument);
}

std::optional<std::string> ask(std::string_view request) {
    return answer(request, [] { return std::optional<std::string>("body\n"); });
}
std::string status_of(std::string_view request) {
    const auto text = ask(request);
    return text ? text->substr(9, 3) : "none yet";
}

TEST(Http, AWholeAnswer) {
    const std::string head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: 5\r\nConnection: "
        "close\r\n\r\n";
    EXPECT_EQ(ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), head + "body\n");
    EXPECT_EQ(ask("HEAD /metrics HTTP/1.0\r\n\r\n"), head);
    EXPECT_EQ(ask("GET /metrics?a=b HTTP/1.1\n\n"), head + "body\n");
}

TEST(Http, WaitsForTheHead) {
    const std::string request = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
    for (size_t i = 0; i + 1 < request.size(); ++i) EXPECT_EQ(status_of(request.substr(0, i)), "none yet") << i;
    EXPECT_EQ(status_of(request + "and a body"), "200");
}

TEST(Http, WhatItDoesNotKnow) {
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), "404");
    EXPECT_EQ(status_of("GET /metrics/ HTTP/1.1\r\n\r\n"), "404");
    EXPECT_EQ(status_of("GET http://x/metrics HTTP/1.1\r\n\r\n"), "404");
    EXPECT_EQ(status_of("POST /metrics HTTP/1.1\r\n\r\n"), "405");
    EXPECT_EQ(status_of("get /metrics HTTP/1.1\r\n\r\n"), "405");
    EXPECT_NE(ask("PUT /metrics HTTP/1.1\r\n\r\n")->find("\r\nAllow: GET, HEAD\r\n"), std::string::npos);
    EXPECT_EQ(status_of("GET /metrics HTTP/2.0\r\n\r\n"), "505");
    for (const char* request :
         {"\r\n\r\n", "GET\r\n\r\n", "GET /metrics\r\n\r\n", " / HTTP/1.1\r\n\r\n", "GET  HTTP/1.1\r\n\r\n",
          "GET /metrics HTTP/1.1 \r\n\r\n", "GET /me trics HTTP/1.1\r\n\r\n", "G\x01T /metrics HTTP/1.1\r\n\r\n",
          "GET /m\xff HTTP/1.1\r\n\r\n"})
        EXPECT_EQ(status_of(request), "400") << request;
}

TEST(Http, AHeadHasAnEnd) {
    std::string request = "GET /metrics HTTP/1.1\r\nA: ";
    request.resize(kMostRequest - 1, 'a');
    EXPECT_EQ(status_of(request), "none yet");
    request += 'a';
    EXPECT_EQ(status_of(request), "431");
    EXPECT_EQ(status_of(std::string(kMostRequest, '\n')), "400");
}

TEST(Http, HeadHasNoBody) {
    const std::string text = *ask("HEAD /none HTTP/1.1\r\n\r\n");
    EXPECT_EQ(text.substr(9, 3), "404");
    EXPECT_TRUE(text.ends_with("\r\n\r\n"));
}

TEST(Http, NoMetricsNow) {
    const auto text = answer("GET /metrics HTTP/1.1\r\n\r\n", [] { return std::optional<std::string>(); });
    EXPECT_EQ(text->substr(9, 3), "503");
}

TEST(Exposition, Samples) {
    Exposition out;
    out.family({"nothing", "left out", "gauge"});
    out.family({"sidra_mvms_total", "Crossbar operations", "counter"});
    out.sample({{"device", "sidra0"}, {"bdf", ""}, {"uuid", "1"}}, uint64_t{18446744073709551615U});
    out.sample({}, uint64_t{0});
    out.family({"sidra_power_watts", "Power", "gauge"});
    out.sample({{"device", "sidra1"}}, 22.5);
    out.sample({{"bdf", ""}}, 1e-12);
    EXPECT_EQ(out.text(),
              "# HELP sidra_mvms_total Crossbar operations\n"
              "# TYPE sidra_mvms_total counter\n"
              "sidra_mvms_total{device=\"sidra0\",uuid=\"1\"} 18446744073709551615\n"
              "sidra_mvms_total 0\n"
              "# HELP sidra_power_watts Power\n"
              "# TYPE sidra_power_watts gauge\n"
              "sidra_power_watts{device=\"sidra1\"} 22.5\n"
              "sidra_power_watts 1e-12\n");
}

TEST(Exposition, EscapesWhatOthersHaveWritten) {
    Exposition out;
    out.family({"a", "one \\ two\n\"three\"", "gauge"});
    out.sample({{"l", "\"\\\n\x1b\xff"}}, uint64_t{1});
    EXPECT_EQ(out.text(), "# HELP a one \\\\ two\\n\"three\"\n# TYPE a gauge\na{l=\"\\\"\\\\\\n??\"} 1\n");
}

TEST(Exposition, NumbersThatAreNone) {
    Exposition out;
    out.family({"a", "b", "gauge"});
    for (const double value : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()})
        out.sample({}, value);
    EXPECT_TRUE(out.text().ends_with("gauge\na +Inf\na -Inf\na NaN\n")) << out.text();
}

}  // namespace
}  // namespace sidra::exporter
