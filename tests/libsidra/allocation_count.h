// SPDX-License-Identifier: MIT
#ifndef SIDRA_TESTS_ALLOCATION_COUNT_H
#define SIDRA_TESTS_ALLOCATION_COUNT_H

#include <cstdint>

namespace sidra::test {

// How often the calling thread has called operator new.
uint64_t thread_allocations();

}  // namespace sidra::test

#endif
