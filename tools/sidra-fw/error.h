// SPDX-License-Identifier: MIT
// What a person must hear about, and the exit status that goes with it.
#ifndef SIDRA_FW_ERROR_H
#define SIDRA_FW_ERROR_H

#include <stdexcept>
#include <string>

namespace sidra::fw {

enum Status : int {
    kOk = 0,
    kFailed = 1,
    kUsage = 2,
    kTransfer = 3,
    kCorrupt = 4,
    kAuthenticity = 5,
    kRollback = 6,
    kUnfit = 7,
};

class Error : public std::runtime_error {
   public:
    explicit Error(const std::string& what, Status status = kFailed) : std::runtime_error(what), status_(status) {}
    Status status() const { return status_; }

   private:
    Status status_;
};

}  // namespace sidra::fw

#endif
