// SPDX-License-Identifier: MIT
// Counts allocations, and lets them fail on request: replaces operator new of the whole program.
#ifndef SIDRA_TESTS_CHIP_FAILING_NEW_H
#define SIDRA_TESTS_CHIP_FAILING_NEW_H

#include <cstdint>

namespace sidra::test {

// While an object exists, allocation number `first` (0 is the next one) and the `count` allocations after it fail.
class FailingNew {
   public:
    enum class Of { kAllThreads, kThisThread };
    FailingNew(uint64_t first, uint64_t count, Of of = Of::kAllThreads);
    ~FailingNew();
    FailingNew(const FailingNew&) = delete;
    FailingNew& operator=(const FailingNew&) = delete;
    uint64_t failed() const;  // how many have
};

// How often the calling thread has called operator new.
uint64_t thread_allocations();

}  // namespace sidra::test

#endif
