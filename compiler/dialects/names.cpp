// SPDX-License-Identifier: MIT
#include "names.h"

#include <algorithm>

namespace sidra::compiler {

std::vector<std::string> names_of(mlir::Location location) {
    if (const auto name = mlir::dyn_cast<mlir::NameLoc>(location)) return {name.getName().str()};
    std::vector<std::string> names;
    if (const auto fused = mlir::dyn_cast<mlir::FusedLoc>(location))
        for (const mlir::Location part : fused.getLocations())
            for (std::string& name : names_of(part))
                if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    return names;
}

}  // namespace sidra::compiler
