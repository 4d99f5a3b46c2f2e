// SPDX-License-Identifier: MIT
// What Python knows about the calling thread, for errors of torch.distributed.
#ifndef SIDRA_PYTORCH_CONTEXT_H
#define SIDRA_PYTORCH_CONTEXT_H

#include <string>

namespace sidra::pytorch {

// "stage 1 of 4: " in a pipeline of torch.distributed.pipelining; otherwise "". Takes the lock of the interpreter.
std::string pipeline_stage();

}  // namespace sidra::pytorch

#endif
