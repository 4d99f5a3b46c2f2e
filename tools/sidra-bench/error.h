// SPDX-License-Identifier: MIT
// A failed measurement: a sentence for the person who runs the program. Its exit status is 1.
#ifndef SIDRA_BENCH_ERROR_H
#define SIDRA_BENCH_ERROR_H

#include <stdexcept>

namespace sidra::bench {

class Error : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
};

}  // namespace sidra::bench

#endif
