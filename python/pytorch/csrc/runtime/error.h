// SPDX-License-Identifier: MIT
// libsidra's failures as PyTorch's exceptions, which become Python's.
#ifndef SIDRA_PYTORCH_ERROR_H
#define SIDRA_PYTORCH_ERROR_H

#include <sidra/sidra.h>

namespace sidra::pytorch {

// Throws for every status but OK: OutOfMemoryError where memory is missing, NotImplementedError for what the device
// cannot do, and RuntimeError for the rest, with libsidra's text, which names the object, the reason and what to do.
// After a fault the calling thread's stream is empty and usable again.
[[noreturn]] void fail(sidra_status status);

inline void check(sidra_status status) {
    if (__builtin_expect(status != SIDRA_OK, 0)) fail(status);
}

}  // namespace sidra::pytorch

#endif
