// SPDX-License-Identifier: MIT
// A chip whose driver has short time limits.
#ifndef SIDRA_TESTS_EMBEDDED_IMPATIENT_H
#define SIDRA_TESTS_EMBEDDED_IMPATIENT_H

#include <memory>
#include <string>

#include "fixture.h"
#include "session.h"

namespace sidra::test {

// A session on a chip of its own.
struct Impatient {
    explicit Impatient(uint64_t queue_timeout_ns = 500'000'000) {
        sidra_chip_config config{};
        config.profile = SIDRA_CHIP_SMALL;
        config.workers = 1;
        int error = 0;
        std::string text;
        host = embedded::ChipHost::create(config, &error, &text);
        EXPECT_NE(host, nullptr) << text;
        embedded::DriverTuning tuning;
        tuning.admin_timeout_ns = 500'000'000;
        tuning.queue_timeout_ns = queue_timeout_ns;
        session = std::make_unique<embedded::Session>(embedded::Driver::probe(*host, false, tuning, &error, text));
        EXPECT_EQ(error, 0) << text;
    }
    ~Impatient() { session.reset(); }
    template <class Argument>
    int call(unsigned long request, Argument& a) {
        return session->ioctl(request, &a, detail);
    }
    std::unique_ptr<embedded::ChipHost> host;
    std::unique_ptr<embedded::Session> session;
    std::string detail;
};

}  // namespace sidra::test

#endif
