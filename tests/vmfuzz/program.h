// SPDX-License-Identifier: MIT
// A program of the fuzzer: bytes that stand for system calls on the driver's nodes.
#ifndef SIDRA_TESTS_VMFUZZ_PROGRAM_H
#define SIDRA_TESTS_VMFUZZ_PROGRAM_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sidra::vmfuzz {

// One call: the first byte is its number, the second says who makes it, the others are its arguments, in which zero
// stands for the usual value: a call of zeros is one that succeeds where it can. The size is fixed, so that a change of
// one call does not move the others.
inline constexpr size_t kCallBytes = 64;
inline constexpr size_t kCallsMax = 24;
using CallBytes = std::array<uint8_t, kCallBytes>;
using Program = std::vector<CallBytes>;

// Numbers of calls: first the ioctls of the table, then the others.
size_t calls();
const char* name_of(size_t call);

// Who makes a call, besides the process that runs the program; bits of the second byte, all of them set.
inline constexpr uint8_t kInThread = 0x60;   // nobody waits for it
inline constexpr uint8_t kInProcess = 0x90;  // likewise, and all files are open in both

// Runs a program in this process, which had better be one that ends afterwards. `told`: prints each call, and what
// became of it.
void run(const Program& program, bool told);

}  // namespace sidra::vmfuzz

#endif
