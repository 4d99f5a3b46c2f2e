// SPDX-License-Identifier: MIT
// What a layer multiplies are codes of windows, with padding, and with steps by row if its program has a prologue. To
// see them as the chip makes them, each layer runs once more with an identity matrix. It does so when all calls are
// known, so halves of 16 bits, copies and votes need no care: whatever uses a matrix shows what its crossbars get.
#include "adc_ranges.h"

#include <fmt/format.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Pass/PassManager.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "annotations.h"
#include "observed_network.h"
#include "xbar.h"
#include "xnn.h"

namespace sidra::compiler {

void VectorSample::add(std::span<const uint8_t> vectors) {
    for (; !vectors.empty(); vectors = vectors.subspan(elements_)) {
        const auto vector = vectors.first(elements_);
        if (seen_++ < kMost) {
            vectors_.insert(vectors_.end(), vector.begin(), vector.end());
            continue;
        }
        // The generator gives the same numbers everywhere, which distributions of the library do not.
        const size_t place = random_() % seen_;
        if (place < kMost) std::ranges::copy(vector, vectors_.begin() + static_cast<ptrdiff_t>(place * elements_));
    }
}

namespace {

constexpr size_t kRuns = 32;
constexpr const char* kEpilogue = "epilogue:";

xbar::WeightsOp weights_of(xbar::LayerOp layer) { return layer.getWeights().getDefiningOp<xbar::WeightsOp>(); }

int64_t rows_of(xbar::WeightsOp weights) { return mlir::cast<xbar::MatrixType>(weights.getType()).getRows(); }

// Of a matrix and all of its copies.
std::string key(xbar::WeightsOp weights) { return fmt::format("{} {}", rows_of(weights), weights.getHash().str()); }

// The network with the codes of its layers as further outputs.
class CodesOfLayers {
   public:
    CodesOfLayers(mlir::ModuleOp module, Store& store) : observed_(module, store), store_(store) {
        mlir::func::FuncOp function = observed_.function();
        // Copies of a matrix get the same inputs, so one of them shows those.
        std::map<std::string, uint32_t> first;
        function.walk([&](xbar::WeightsOp weights) {
            uint32_t& copy = first.try_emplace(key(weights), weights.getCopy()).first->second;
            copy = std::min(copy, weights.getCopy());
        });
        llvm::SmallVector<xbar::LayerOp> layers;
        for (auto layer : function.getOps<xbar::LayerOp>())
            if (weights_of(layer).getCopy() == first.at(key(weights_of(layer)))) layers.push_back(layer);
        // At level fast copies give the same, so they need no crossbars.
        function.walk([](xbar::WeightsOp weights) { weights.setCopy(0); });
        for (xbar::LayerOp layer : layers)
            if (const xbar::WindowsAttr windows = layer.getWindows();
                seen_
                    .emplace(key(weights_of(layer)), layer.getBuffers()[windows.getBuffer()].getAsOpaquePointer(),
                             windows.getAsOpaquePointer())
                    .second)
                observe(layer);
    }

    // The sample of each matrix, by its key.
    std::map<std::string, VectorSample> run(const Calibration& calibration) {
        std::map<std::string, VectorSample> samples;
        if (keys_.empty()) return samples;
        mlir::PassManager passes(observed_.function().getContext());
        observed_.run(passes, calibration, kRuns, SIDRA_LEVEL_FAST, [&](const Model& model) {
            for (size_t i = 0; i < keys_.size(); i++) {
                const auto& [name, elements] = keys_[i];
                const auto output = static_cast<uint32_t>(observed_.own_outputs() + i);
                samples.try_emplace(name, elements)
                    .first->second.add(model.data<const uint8_t>(0, model.output(0, output)));
            }
        });
        return samples;
    }

   private:
    void observe(xbar::LayerOp layer) {
        mlir::OpBuilder builder(layer);
        const mlir::Location location = layer.getLoc();
        const xbar::WindowsAttr windows = layer.getWindows();
        const int64_t k = rows_of(weights_of(layer));
        const auto codes = builder.getIntegerType(8, /*isSigned=*/false);
        const llvm::SmallVector<int64_t> shape = {windows.getCount()[0], windows.getCount()[1], windows.getCount()[2],
                                                  k};
        llvm::SmallVector<uint64_t> strides(shape.size(), 1);
        for (size_t d = shape.size() - 1; d > 0; d--) strides[d - 1] = strides[d] * static_cast<uint64_t>(shape[d]);
        const uint64_t bytes = strides[0] * static_cast<uint64_t>(shape[0]);

        const mlir::Value output = builder.create<xbar::AllocOp>(
            location, xbar::BufferType::get(builder.getContext(), bytes), mlir::IntegerAttr());
        llvm::SmallVector<mlir::Value> buffers(layer.getBuffers());
        buffers.push_back(output);
        const auto array = xbar::ArrayAttr::get(builder.getContext(), static_cast<uint32_t>(buffers.size() - 1), 0,
                                                codes, strides, 0, -1, 0, mlir::Type());
        builder.create<xbar::LayerOp>(location, identity(builder, location, k), buffers, windows,
                                      program(builder, layer), builder.getArrayAttr(array));

        mlir::func::FuncOp function = observed_.function();
        observed_.end()->insertOperands(observed_.end()->getNumOperands(), output);
        const auto attributes = builder.getDictionaryAttr(
            builder.getNamedAttr("xbar.tensor", mlir::TypeAttr::get(mlir::RankedTensorType::get(shape, codes))));
        function.insertResult(function.getNumResults(), output.getType(), attributes);
        keys_.emplace_back(key(weights_of(layer)), static_cast<size_t>(k));
    }

    mlir::Value identity(mlir::OpBuilder& builder, mlir::Location location, int64_t k) {
        std::vector<std::byte> ones(static_cast<size_t>(k * k));
        for (size_t i = 0; i < ones.size(); i += static_cast<size_t>(k) + 1) ones[i] = std::byte{1};
        const auto type =
            xbar::MatrixType::get(builder.getContext(), static_cast<uint32_t>(k), static_cast<uint32_t>(k));
        return builder.create<xbar::WeightsOp>(location, type, builder.getStringAttr("identity"),
                                               builder.getStringAttr(store_.add(std::move(ones))), 0,
                                               mlir::DenseI32ArrayAttr());
    }

    // The layer's prologue, if it has one, and then only the sums, to which their zero comes back.
    static mlir::ArrayAttr program(mlir::OpBuilder& builder, xbar::LayerOp layer) {
        llvm::SmallVector<mlir::Attribute> lines;
        const mlir::ArrayAttr old = layer.getProgram();
        const auto end = llvm::find(old, builder.getStringAttr(kEpilogue));
        if (end != old.end()) lines.assign(old.begin(), end + 1);
        const std::string sum = fmt::format("v0 = add v0, {}.0", layer.getWindows().getZero());
        for (const llvm::StringRef line : {"pass:", "v0 = load sums", sum.c_str(), "store o0, v0"})
            lines.push_back(builder.getStringAttr(line));
        return builder.getArrayAttr(lines);
    }

    ObservedNetwork observed_;
    Store& store_;
    std::set<std::tuple<std::string, const void*, const void*>>
        seen_;                                          // matrix, memory and windows of what is observed
    std::vector<std::pair<std::string, size_t>> keys_;  // of each further output, and the matrix's rows
};

class AdcRangesPass : public mlir::PassWrapper<AdcRangesPass, mlir::OperationPass<mlir::ModuleOp>> {
   public:
    MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AdcRangesPass)
    explicit AdcRangesPass(const Calibration& calibration) : calibration_(calibration) {}
    llvm::StringRef getName() const override { return "adc-ranges"; }
    void runOnOperation() override {
        if (getOperation().getOps<mlir::func::FuncOp>().empty()) return;
        Store& store = xnn::store_of(&getContext());
        try {
            std::map<std::string, std::string> hashes;
            for (const auto& [name, sample] : CodesOfLayers(getOperation(), store).run(calibration_)) {
                const auto bytes = std::as_bytes(sample.vectors());
                hashes[name] = store.add(std::vector<std::byte>(bytes.begin(), bytes.end()));
            }
            getOperation().walk([&](xbar::WeightsOp weights) {
                if (const auto found = hashes.find(key(weights)); found != hashes.end())
                    weights->setAttr(kAdcInputs, mlir::StringAttr::get(&getContext(), found->second));
            });
        } catch (const SamplesError& error) {
            getOperation().emitError("ranges of ADCs: ") << error.what();
            signalPassFailure();
        }
    }

   private:
    const Calibration calibration_;
};

}  // namespace

std::unique_ptr<mlir::Pass> make_adc_ranges_pass(const Calibration& calibration) {
    return std::make_unique<AdcRangesPass>(calibration);
}

}  // namespace sidra::compiler
