// SPDX-License-Identifier: MIT
// The instruction sets for which the physics is compiled. All of them give the same bits.
#ifndef SIDRA_PHYSICS_INSTRUCTION_SET_H
#define SIDRA_PHYSICS_INSTRUCTION_SET_H

#include <cstdint>

namespace sidra::physics {

enum class InstructionSet : uint8_t { kScalar, kAvx2, kAvx512, kNeon };

// Whether this CPU and this build of the library support it.
bool has(InstructionSet set);
// The best supported set.
InstructionSet best_instruction_set();
// Throws std::invalid_argument unless has(set).
void require(InstructionSet set);

}  // namespace sidra::physics

#endif
