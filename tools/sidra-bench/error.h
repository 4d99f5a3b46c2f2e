// SPDX-License-Identifier: MIT
// The one exception of this program: a sentence for the person who ran it, printed as one line before exit status 1.
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
