// SPDX-License-Identifier: MIT
// Memory that runs out when a test says so: operator new of the whole program.
#ifndef SIDRA_TESTS_CHIP_FAILING_NEW_H
#define SIDRA_TESTS_CHIP_FAILING_NEW_H

#include <cstdint>

namespace sidra::test {

// While it exists, allocation number `first` fails (0 is the next one), and as many after it as `count` says.
class FailingNew {
   public:
    enum class Of { kAllThreads, kThisThread };
    FailingNew(uint64_t first, uint64_t count, Of of = Of::kAllThreads);
    ~FailingNew();
    FailingNew(const FailingNew&) = delete;
    FailingNew& operator=(const FailingNew&) = delete;
    uint64_t failed() const;  // how many have
};

}  // namespace sidra::test

#endif
