// SPDX-License-Identifier: MIT
// Where and with what something was measured.
#ifndef SIDRA_BENCH_MACHINE_H
#define SIDRA_BENCH_MACHINE_H

#include <cstdint>
#include <string>

namespace sidra::bench {

std::string machine();   // "Intel(R) Xeon(R) Processor, 2 CPUs, Linux 6.12 x86_64"
std::string compiler();  // "gcc 12.2.0"
uint32_t cpus();         // that this process may use

// How much of the machine's CPU time others have used since this was made, of all CPUs together: they disturb what is
// measured.
class OtherLoad {
   public:
    OtherLoad();
    double percent() const;

   private:
    double total_, busy_, own_;  // seconds
};

// "" for a build that may be measured; else what is wrong with it ("built with -fsanitize=thread").
std::string unfit_build();

}  // namespace sidra::bench

#endif
