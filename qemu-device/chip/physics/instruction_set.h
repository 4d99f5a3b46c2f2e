// SPDX-License-Identifier: MIT
// The instruction sets for which the physics is compiled. Results have the same bits with each of them.
#ifndef SIDRA_PHYSICS_INSTRUCTION_SET_H
#define SIDRA_PHYSICS_INSTRUCTION_SET_H

#include <cstdint>

namespace sidra::physics {

enum class InstructionSet : uint8_t { kScalar, kAvx2, kAvx512, kNeon };

// Whether this CPU has it (and this library was built with it).
bool has(InstructionSet set);
// The best of those.
InstructionSet best_instruction_set();
// std::invalid_argument unless has(set).
void require(InstructionSet set);

}  // namespace sidra::physics

#endif
