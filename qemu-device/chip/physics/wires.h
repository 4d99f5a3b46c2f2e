// SPDX-License-Identifier: MIT
// IR drop. With linear cells, a crossbar and its wires are one linear network. For inputs coded as voltages there is
// thus a matrix G_eff with I = G_eff V exactly, for the currents I into columns at virtual ground. It is computed once
// for each programming, and every product after that is an ordinary matrix product.
#ifndef SIDRA_PHYSICS_WIRES_H
#define SIDRA_PHYSICS_WIRES_H

#include <cstdint>
#include <memory>

#include "instruction_set.h"

namespace sidra::physics {

// Ohm of one segment: between neighbours, from a driver to its first cell, from the last cell to the sense node.
struct Wires {
    double row_ohm, column_ohm;
    bool both_ends;  // rows are also driven behind the last column
};

// Computes G_eff. It holds the memory that this takes, some 20 MiB for 256 x 256. One thread at a time.
class EffectiveConductance {
   public:
    // Uses the best instruction set of this CPU.
    EffectiveConductance();
    // Uses that set; throws std::invalid_argument if this CPU lacks it.
    explicit EffectiveConductance(InstructionSet set);

    // `g` is in siemens, row by row. Rows and columns are powers of two from 4 to 256, and all cells and resistances
    // are positive. A row is driven at column 0, and a column is sensed behind the last row. `effective` has the layout
    // of `g`, and may be the same memory. Every instruction set gives the same bits.
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
