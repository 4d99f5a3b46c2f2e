// SPDX-License-Identifier: MIT
// Where tests of what engines compute run: on each engine of this machine, with contiguous and with scattered memory.
#ifndef SIDRA_TESTS_HOSTS_H
#define SIDRA_TESTS_HOSTS_H

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bench.h"

namespace sidra::chip_test {

struct Host {
    uint32_t engine;
    bool scatter;
    uint32_t workers;  // for tests that want several threads, too
};

inline std::vector<Host> hosts() {
    std::vector<Host> all;
    for (const uint32_t engine : available_engines())
        for (const bool scatter : {false, true}) all.push_back({engine, scatter, scatter ? 1u : 3u});
    return all;
}

inline std::string host_name(const ::testing::TestParamInfo<Host>& test) {
    return "engine_" + std::to_string(test.param.engine) + (test.param.scatter ? "_scattered" : "_contiguous");
}

}  // namespace sidra::chip_test

#endif
