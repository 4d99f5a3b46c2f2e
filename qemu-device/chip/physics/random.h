// SPDX-License-Identifier: MIT
// Counter-based random numbers of the chip's physics: a draw is a function of its purpose and of nothing else. So
// results do not depend on threads, the order of work or the instruction set, and any draw can be repeated.
//
// The generator is Philox4x32-10: Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC'11.
// All functions here are pure and may be called from any thread.
#ifndef SIDRA_PHYSICS_RANDOM_H
#define SIDRA_PHYSICS_RANDOM_H

#include <array>
#include <cstdint>

namespace sidra::physics {

using Words = std::array<uint32_t, 4>;

// Philox4x32-10: 128 random bits for each counter and key.
Words philox4x32(const Words& counter, const std::array<uint32_t, 2>& key);

// The purposes of draws; draws of different domains are independent. Results depend on these values.
enum class Domain : uint32_t {
    kDevice = 1,      // constant variation between cells
    kForming = 2,     // result of forming
    kPulse = 3,       // spread of pulses, and noise of the reads between them
    kRelaxation = 4,  // relaxation after the last pulse
    kReadout = 5,     // noise of products
    kVerify = 6,      // noise of verifying reads
    kOffset = 7,      // noise of ADCs with no input driven
};

// Identifies a draw. `program` counts how often the crossbar was programmed; `draw`, below 2^16, counts within that.
struct Draw {
    uint64_t seed;
    Domain domain;
    uint32_t crossbar, cell, program, draw;
};
Words words(const Draw& draw);

// A uniform number: the middle of one of 2^23 equal parts of (0, 1).
float uniform(uint32_t word);

// Two independent normal numbers of mean 0 and deviation 1.
std::array<float, 2> normals(uint32_t first, uint32_t second);

// The logarithm of a positive, normal x, and e^x for x from -80 to 80, with the same bits everywhere: math.inc.
float same_log(float x);
float same_exp(float x);

}  // namespace sidra::physics

#endif
