// SPDX-License-Identifier: MIT
#include "host_call.h"

#include <fmt/format.h>

#include "xbar.h"

namespace sidra::xnn {
namespace {

// False: it is no tensor of a type of the chip.
bool read(mlir::Type type, format::HostArray& to) {
    const auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
    const std::optional<uint8_t> element =
        tensor && tensor.hasStaticShape() ? xbar::element(tensor.getElementType()) : std::nullopt;
    if (!element) return false;
    to.type = static_cast<format::Type>(*element);
    to.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
    return true;
}

}  // namespace

HostCall host_call(llvm::StringRef function, mlir::TypeRange inputs, mlir::Type output,
                   llvm::ArrayRef<int64_t> parameters) {
    HostCall result;
    result.function = format::find_host_function(std::string_view(function.data(), function.size()));
    bool known = read(output, result.call.output);
    for (const mlir::Type input : inputs) known = read(input, result.call.inputs.emplace_back()) && known;
    result.call.parameters.assign(parameters.begin(), parameters.end());
    if (result.function == nullptr)
        result.problem = fmt::format("calls '{}', which is no function of the host", function.str());
    else if (!known) result.problem = "has arrays of types that the chip lacks";
    else if (const std::string found = result.function->check(result.call); !found.empty())
        result.problem = fmt::format("cannot call {}: {}", result.function->name, found);
    return result;
}

}  // namespace sidra::xnn
