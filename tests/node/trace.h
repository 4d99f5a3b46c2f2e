// SPDX-License-Identifier: MIT
// The driver's tracepoints.
#ifndef SIDRA_TESTS_NODE_TRACE_H
#define SIDRA_TESTS_NODE_TRACE_H

#include <sys/stat.h>

#include "attributes.h"

namespace sidra::test {

// A trace buffer of its own with all of the driver's events, while the object exists.
class Trace {
   public:
    Trace() {
        EXPECT_EQ(mkdir(kInstance, 0700), 0);
        good = write_text(std::string(kInstance) + "/events/sidra/enable", "1");
    }
    ~Trace() {
        EXPECT_TRUE(write_text(std::string(kInstance) + "/events/sidra/enable", "0"));
        EXPECT_EQ(rmdir(kInstance), 0);
    }
    Trace(const Trace&) = delete;
    Trace& operator=(const Trace&) = delete;

    // Position of the first `event` directly followed by `fields`.
    static size_t at(const std::string& events, const std::string& event, const std::string& fields) {
        const size_t found = events.find(' ' + event + ": sidra0 " + fields);
        EXPECT_NE(found, std::string::npos) << event << ' ' << fields << " in\n" << events;
        return found;
    }
    static std::string events() { return read_file(std::string(kInstance) + "/trace").bytes; }
    bool good;

   private:
    static constexpr const char* kInstance = "/sys/kernel/tracing/instances/sidra-test";
};

}  // namespace sidra::test

#endif
