// SPDX-License-Identifier: MIT
#include "interpret.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "build.h"
#include "onnx/tensors.h"
#include "shapes.h"

namespace sidra::tests {

using namespace xnn;

namespace {

using Floats = Elements::Floats;
using Integers = Elements::Integers;

// The dialect folds no product, window, or sort: these are written again, as plainly as possible.
class Interpreter {
   public:
    explicit Interpreter(const compiler::Store& store) : tensors_(const_cast<compiler::Store&>(store), {}, nullptr) {}

    std::vector<Elements> run(mlir::func::FuncOp function, const std::vector<Elements>& inputs) {
        if (inputs.size() != function.getNumArguments()) throw std::runtime_error("another number of inputs");
        for (unsigned i = 0; i < inputs.size(); i++) {
            if (inputs[i].type != function.getArgument(i).getType())
                throw std::runtime_error("an input of another type");
            values_[function.getArgument(i)] = inputs[i];
        }
        std::vector<Elements> results;
        for (mlir::Operation& op : function.front()) {
            if (mlir::isa<mlir::func::ReturnOp>(op)) {
                for (const mlir::Value value : op.getOperands()) results.push_back(values_.at(value));
                continue;
            }
            if (auto sort = mlir::dyn_cast<SortOp>(op)) {
                run_sort(sort);
                continue;
            }
            llvm::SmallVector<Elements> operands;
            for (const mlir::Value value : op.getOperands()) operands.push_back(values_.at(value));
            Elements result = one(op, operands);
            if (std::visit([](const auto& numbers) { return static_cast<int64_t>(numbers.size()); }, result.numbers) !=
                mlir::cast<mlir::RankedTensorType>(op.getResult(0).getType()).getNumElements())
                throw std::runtime_error("wrong number of elements");
            values_[op.getResult(0)] = std::move(result);
        }
        return results;
    }

   private:
    Elements one(mlir::Operation& op, llvm::ArrayRef<Elements> in) {
        return llvm::TypeSwitch<mlir::Operation*, Elements>(&op)
            .Case([&](ConstantOp constant) { return *tensors_.elements(constant.getResult(), kElementsMax); })
            .Case<MatmulOp, ConvOp, PoolOp, PadOp, IotaOp, ScanOp>([&](auto typed) { return run_op(typed, in); })
            .Default([&](mlir::Operation* other) {
                std::optional<Elements> result = evaluate(other, in);
                if (!result) throw std::runtime_error("cannot evaluate " + other->getName().getStringRef().str());
                return std::move(*result);
            });
    }

    static double number(const Elements& elements, int64_t i) {
        return std::visit([&](const auto& numbers) { return static_cast<double>(numbers.at(static_cast<size_t>(i))); },
                          elements.numbers);
    }

    // Rounds to the type of an operation's result.
    static Elements rounded(mlir::RankedTensorType type, const std::vector<double>& numbers) {
        Elements result{type, {}};
        if (mlir::isa<mlir::FloatType>(type.getElementType())) {
            Floats floats;
            for (const double x : numbers) floats.push_back(store(static_cast<float>(x), type.getElementType()));
            result.numbers = floats;
        } else {
            Integers integers;
            for (const double x : numbers) integers.push_back(store(static_cast<int64_t>(x), type.getElementType()));
            result.numbers = integers;
        }
        return result;
    }

    static Elements run_op(MatmulOp op, llvm::ArrayRef<Elements> in) {
        const auto a = in[0].type.getShape(), b = in[1].type.getShape(), shape = op.getType().getShape();
        const int64_t m = shape[shape.size() - 2], n = shape.back(), k = a.back();
        const int64_t products = op.getType().getNumElements() / std::max<int64_t>(m * n, 1);
        // The number of a factor's matrix for a product.
        const auto matrix = [&](llvm::ArrayRef<int64_t> of, int64_t product) {
            int64_t at = 0, stride = 1;
            for (size_t d = 3; d <= shape.size(); d++) {
                const int64_t index = product % shape[shape.size() - d];
                product /= shape[shape.size() - d];
                if (d > of.size()) continue;
                if (of[of.size() - d] != 1) at += index * stride;
                stride *= of[of.size() - d];
            }
            return at;
        };
        std::vector<double> result;
        for (int64_t p = 0; p < products; p++)
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < n; j++) {
                    double sum = 0;
                    for (int64_t x = 0; x < k; x++)
                        sum += number(in[0], (matrix(a, p) * m + i) * k + x) *
                               number(in[1], (matrix(b, p) * k + x) * n + j);
                    result.push_back(sum);
                }
        return rounded(op.getType(), result);
    }

    // Calls visit(y, x, row, column of the kernel) for the pixels of a window that are in the image.
    template <typename Visit>
    static void in_window(WindowsAttr w, llvm::ArrayRef<int64_t> image, int64_t row, int64_t column, Visit visit) {
        for (int64_t i = 0; i < w.getKernel()[0]; i++)
            for (int64_t j = 0; j < w.getKernel()[1]; j++) {
                const int64_t y = row * w.getStride()[0] + i * w.getDilation()[0] - w.getBefore()[0];
                const int64_t x = column * w.getStride()[1] + j * w.getDilation()[1] - w.getBefore()[1];
                if (y >= 0 && y < image[1] && x >= 0 && x < image[2]) visit(y, x, i, j);
            }
    }

    static Elements run_op(ConvOp op, llvm::ArrayRef<Elements> in) {
        const auto image = in[0].type.getShape(), shape = op.getType().getShape(), filter = in[1].type.getShape();
        const int64_t each = filter[3] / static_cast<int64_t>(op.getGroups());
        std::vector<double> result;
        for (int64_t n = 0; n < shape[0]; n++)
            for (int64_t y = 0; y < shape[1]; y++)
                for (int64_t x = 0; x < shape[2]; x++)
                    for (int64_t f = 0; f < shape[3]; f++) {
                        double sum = 0;
                        in_window(op.getWindows(), image, y, x, [&](int64_t row, int64_t column, int64_t i, int64_t j) {
                            for (int64_t c = 0; c < filter[2]; c++)
                                sum += number(in[0], ((n * image[1] + row) * image[2] + column) * image[3] +
                                                         f / each * filter[2] + c) *
                                       number(in[1], ((i * filter[1] + j) * filter[2] + c) * filter[3] + f);
                        });
                        result.push_back(sum);
                    }
        return rounded(op.getType(), result);
    }

    static Elements run_op(PoolOp op, llvm::ArrayRef<Elements> in) {
        const auto image = in[0].type.getShape(), shape = op.getType().getShape();
        const double whole = static_cast<double>(op.getWindows().getKernel()[0] * op.getWindows().getKernel()[1]);
        std::vector<double> result;
        for (int64_t n = 0; n < shape[0]; n++)
            for (int64_t y = 0; y < shape[1]; y++)
                for (int64_t x = 0; x < shape[2]; x++)
                    for (int64_t c = 0; c < shape[3]; c++) {
                        double sum = 0, count = 0, best = -std::numeric_limits<double>::infinity(), place = -1;
                        in_window(op.getWindows(), image, y, x, [&](int64_t row, int64_t column, int64_t, int64_t) {
                            const double pixel =
                                number(in[0], ((n * image[1] + row) * image[2] + column) * image[3] + c);
                            sum += pixel;
                            if (count++ == 0 || pixel > best) {
                                best = pixel;
                                place = static_cast<double>(row * image[2] + column);
                            }
                        });
                        if (count == 0) throw std::runtime_error("a window without pixels");
                        switch (op.getFunction()) {
                            case Pooling::max:
                                result.push_back(best);
                                break;
                            case Pooling::argmax:
                                result.push_back(place);
                                break;
                            case Pooling::average:
                                result.push_back(sum / count);
                                break;
                            case Pooling::average_all:
                                result.push_back(sum / whole);
                                break;
                        }
                    }
        return rounded(op.getType(), result);
    }

    static Elements run_op(PadOp op, llvm::ArrayRef<Elements> in) {
        const auto from = in[0].type.getShape(), shape = op.getType().getShape();
        const auto scalar = mlir::RankedTensorType::get({}, op.getType().getElementType());
        const double value =
            number(*elements_of(mlir::DenseElementsAttr::get(scalar, mlir::Attribute(op.getValue()))), 0);
        const llvm::SmallVector<int64_t> strides = dense_strides(shape), inner = dense_strides(from);
        std::vector<double> result;
        for (int64_t i = 0; i < op.getType().getNumElements(); i++) {
            int64_t at = 0;
            bool inside = true;
            for (size_t d = 0; d < shape.size(); d++) {
                const int64_t index = i / strides[d] % shape[d] - op.getBefore()[d];
                inside = inside && index >= 0 && index < from[d];
                at += index * inner[d];
            }
            result.push_back(inside ? number(in[0], at) : value);
        }
        return rounded(op.getType(), result);
    }

    static Elements run_op(IotaOp op, llvm::ArrayRef<Elements>) {
        const auto shape = op.getType().getShape();
        const llvm::SmallVector<int64_t> strides = dense_strides(shape);
        Integers numbers;
        for (int64_t i = 0; i < op.getType().getNumElements(); i++)
            numbers.push_back(i / strides[op.getAxis()] % shape[op.getAxis()]);
        return {op.getType(), numbers};
    }

    static Elements run_op(ScanOp op, llvm::ArrayRef<Elements> in) {
        std::vector<double> result;
        const int64_t columns = op.getType().getShape().back();
        double sum = 0;
        for (int64_t i = 0; i < op.getType().getNumElements(); i++) {
            if (i % columns == 0) sum = 0;
            result.push_back(sum += number(in[0], i));
        }
        return rounded(op.getType(), result);
    }

    void run_sort(SortOp op) {
        const Elements& in = values_.at(op.getInput());
        const auto type = mlir::cast<mlir::RankedTensorType>(op.getValues().getType());
        const int64_t columns = in.type.getShape().back(), count = type.getShape().back();
        std::vector<double> sorted;
        Integers places;
        for (int64_t row = 0; row < in.type.getNumElements() / std::max<int64_t>(columns, 1); row++) {
            std::vector<int64_t> order(static_cast<size_t>(columns));
            std::iota(order.begin(), order.end(), 0);
            std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
                const double x = number(in, row * columns + a), y = number(in, row * columns + b);
                return op.getDescending() ? x > y : x < y;
            });
            for (int64_t i = 0; i < count; i++) {
                places.push_back(order[static_cast<size_t>(i)]);
                sorted.push_back(number(in, row * columns + places.back()));
            }
        }
        values_[op.getValues()] = rounded(type, sorted);
        values_[op.getIndices()] = {mlir::cast<mlir::RankedTensorType>(op.getIndices().getType()), places};
    }

    compiler::Tensors tensors_;
    llvm::DenseMap<mlir::Value, Elements> values_;
};

}  // namespace

std::vector<Elements> interpret(mlir::ModuleOp module, const compiler::Store& store,
                                const std::vector<Elements>& inputs) {
    return Interpreter(store).run(module.lookupSymbol<mlir::func::FuncOp>("main"), inputs);
}

}  // namespace sidra::tests
