// SPDX-License-Identifier: MIT
// Which generation of forks this process is.
#include <pthread.h>

#include <atomic>

#include "transport.h"

namespace sidra {
namespace {

std::atomic<uint32_t> generation{0};

// When the library is loaded: before any handle exists.
[[gnu::constructor]] void watch_forks() {
    pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
}

}  // namespace

uint32_t fork_generation() { return generation.load(std::memory_order_relaxed); }

}  // namespace sidra
