// SPDX-License-Identifier: MIT
// IR drop. With linear cells a crossbar and its wires are one linear network, so for inputs coded as voltages there is
// a matrix G_eff with I = G_eff V, exactly, for the currents I into columns at virtual ground: one solution for each
// programming, and every product after that is an ordinary one.
#ifndef SIDRA_PHYSICS_WIRES_H
#define SIDRA_PHYSICS_WIRES_H

#include <cstdint>
#include <memory>

#include "instruction_set.h"

namespace sidra::physics {

// Ohm of one segment: between neighbours, from a driver to its first cell, from the last cell to the sense node.
struct Wires {
    double row_ohm, column_ohm;
    bool both_ends;  // rows are driven behind the last column, too
};

// Finds G_eff. Has the memory that it takes, some 20 MiB for 256 x 256. One thread at a time.
class EffectiveConductance {
   public:
    // The best of this CPU.
    EffectiveConductance();
    // That one; std::invalid_argument: this CPU does not have it.
    explicit EffectiveConductance(InstructionSet set);

    // `g`: siemens, row by row; rows and columns are powers of two from 4 to 256, all cells and resistances positive. A
    // row is driven at column 0, a column sensed behind the last row. `effective`: as `g`, and may be the same memory.
    // The same bits with every instruction set.
    void find(const double* g, uint32_t rows, uint32_t columns, const Wires& wires, double* effective) {
        finder_->find(g, rows, columns, wires, effective);
    }

    class Finder {
       public:
        virtual ~Finder() = default;
        virtual void find(const double* g, uint32_t rows, uint32_t columns, const Wires& wires, double* effective) = 0;
    };

   private:
    std::unique_ptr<Finder> finder_;
};

}  // namespace sidra::physics

#endif
