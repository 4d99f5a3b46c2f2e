// SPDX-License-Identifier: MIT
// Who this process and the calling thread are in torch.distributed, for errors.
#ifndef SIDRA_PYTORCH_CONTEXT_H
#define SIDRA_PYTORCH_CONTEXT_H

#include <atomic>
#include <cstdint>
#include <string>

namespace sidra::pytorch {

// Groups of torch.distributed with this package's backend, and the rank of the process in the default one; -1: none.
inline std::atomic<int> distributed_groups{0};
inline std::atomic<int64_t> own_rank{-1};

// "stage 1 of 4: " in a pipeline of torch.distributed.pipelining; otherwise "". Takes the lock of the interpreter.
std::string pipeline_stage();

}  // namespace sidra::pytorch

#endif
