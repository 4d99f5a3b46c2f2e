// SPDX-License-Identifier: MIT
// Chips that live in processes: what uapi/sidra_publish.h says of them.
#ifndef SIDRA_SMI_MODEL_H
#define SIDRA_SMI_MODEL_H

#include <memory>
#include <string>
#include <vector>

#include "sample.h"

namespace sidra::smi {

class Model {
   public:
    Model(std::string path, std::string name) : path_(std::move(path)), name_(std::move(name)) {}
    const std::string& path() const { return path_; }
    const std::string& name() const { return name_; }
    // ESRCH: its process is gone. EPROTO: it is not what it should be. EAGAIN: it changes faster than it can be read.
    Maybe<Sample> read() const;
    Maybe<std::vector<sidra_hw_xbar>> read_crossbars() const;

   private:
    std::string path_, name_;
};

struct FoundModels {
    std::vector<std::shared_ptr<Model>> all;
    uint64_t left_out = 0;  // files that were not looked at, since there were too many in their folder
};

// All of them, by process. `runtime` is the one folder to look in; empty: those of all users. Chips of the process that
// asks are not among them: closing their files would give up the locks by which others know that they are there.
FoundModels find_models(const std::string& root, const std::string& runtime);

}  // namespace sidra::smi

#endif
