// SPDX-License-Identifier: MIT
// Random VECTOR packets, for comparing implementations. A packet is valid, stays inside its memory, and its results do
// not depend on what docs/device.md leaves open: the order of rows, and columns of one pass that meet through memory.
#ifndef SIDRA_TESTS_VECTOR_RANDOM_PROGRAM_H
#define SIDRA_TESTS_VECTOR_RANDOM_PROGRAM_H

#include <random>

#include "reference.h"

namespace sidra::vector_reference {

using Random = std::mt19937_64;

struct Packet {
    std::vector<sidra_vector_instruction> program;
    std::vector<sidra_operand> operands;
    Size size;
    Params param;
    Memory memory;
};

// At most one index of the packet's data is invalid, so the address of the fault is defined.
Packet random_packet(Random& random);

// Changes a few bytes of the program, of the operands or of the size, whatever comes of it.
void mutate(Packet& packet, Random& random);

}  // namespace sidra::vector_reference

#endif
