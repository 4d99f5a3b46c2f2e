// SPDX-License-Identifier: MIT
#ifndef SIDRA_KEPT_ERROR_H
#define SIDRA_KEPT_ERROR_H

#include <array>

namespace sidra {

using ErrorText = std::array<char, 1024>;

// This thread's last error as it was before a step that may fail though the call goes on: only calls that fail set it.
class KeptError {
   public:
    KeptError();
    void restore() const;

   private:
    ErrorText text_;
};

}  // namespace sidra

#endif
