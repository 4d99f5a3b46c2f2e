// SPDX-License-Identifier: MIT
// The files that a compilation reads, by the hashes of their content.
#ifndef SIDRA_COMPILER_INPUTS_H
#define SIDRA_COMPILER_INPUTS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compile.h"
#include "emit.h"

namespace sidra::compiler {

class Inputs {
   public:
    // XXH3 with 128 bits, in hexadecimal; nullopt: it is no regular file, or cannot be read.
    std::optional<std::string> hash(const std::string& path);
    // Whether all files are as they were when their hashes were computed.
    bool unchanged() const;

   private:
    struct Seen {
        std::string path;
        uint64_t device, inode, size;
        int64_t modified_ns;

        bool operator==(const Seen&) const = default;
    };
    static std::optional<Seen> see(const std::string& path);

    std::vector<Seen> seen_;
};

// All that a compiled file depends on, in one hash: a network in the format of ONNX, its provenance (with the hash of
// its content and the options), the files beside it, those with values, and the build of the compiler. nullopt: there
// is no such network (which the front end says better), or the build of the compiler is not known.
std::optional<std::string> cache_key(Inputs& inputs, const std::string& network, const Options& options,
                                     const Provenance& provenance);

}  // namespace sidra::compiler

#endif
