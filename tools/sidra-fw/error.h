// SPDX-License-Identifier: MIT
// What a person must hear about, and the exit status that goes with it.
#ifndef SIDRA_FW_ERROR_H
#define SIDRA_FW_ERROR_H

#include <string>

#include "common/program.h"

namespace sidra::fw {

enum Status : int {
    kOk = 0,
    kFailed = tools::kExitFailed,
    kUsage = tools::kExitUsage,
    kTransfer = 3,
    kCorrupt = 4,
    kAuthenticity = 5,
    kRollback = 6,
    kUnfit = 7,
};

class Error : public tools::Failure {
   public:
    explicit Error(const std::string& what, Status status = kFailed) : Failure(what, status) {}
};

}  // namespace sidra::fw

#endif
