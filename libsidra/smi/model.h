// SPDX-License-Identifier: MIT
// Chips that live in processes, as published in uapi/sidra_publish.h.
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
    // ESRCH: the process has exited. EPROTO: malformed. EAGAIN: it changes too fast to be read.
    Maybe<Sample> read() const;
    Maybe<std::vector<sidra_hw_xbar>> read_crossbars() const;

   private:
    std::string path_, name_;
};

struct FoundModels {
    std::vector<std::shared_ptr<Model>> all;
    uint64_t left_out = 0;  // number of files ignored because there were too many in their folder
};

// All models, by process. `runtime`: the only folder to search; empty: the folders of all users. Excludes chips of this
// process: closing their files would release the locks that show others that they exist.
FoundModels find_models(const std::string& root, const std::string& runtime);

}  // namespace sidra::smi

#endif
