// SPDX-License-Identifier: MIT
// Counts forks, so that handles can detect that they were inherited.
#include <pthread.h>

#include <atomic>

#include "transport.h"

namespace sidra {
namespace {

std::atomic<uint32_t> generation{0};

// At load time, before any handle exists.
[[gnu::constructor]] void watch_forks() {
    pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
}

}  // namespace

uint32_t fork_generation() { return generation.load(std::memory_order_relaxed); }

}  // namespace sidra
