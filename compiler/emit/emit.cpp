// SPDX-License-Identifier: MIT
#include "emit.h"

#include <fmt/format.h>
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <cstring>
#include <map>
#include <vector>

#include "annotations.h"
#include "file_header.h"
#include "hash.h"
#include "model_generated.h"
#include "names.h"
#include "part_file.h"
#include "read.h"
#include "xbar.h"

namespace sidra::compiler {
namespace {

using mlir::Value;

constexpr uint64_t kConstantAlignment = 64;

uint64_t rounded(uint64_t size, uint64_t to) { return (size + to - 1) / to * to; }

class Emission {
   public:
    Emission(const Store& store, const std::string& path) : store_(store), file_(path) {}

    void run(mlir::ModuleOp module, const Provenance& provenance) {
        std::map<int64_t, std::vector<mlir::func::FuncOp>> stages;
        for (auto function : module.getOps<mlir::func::FuncOp>()) {
            const auto stage = function->getAttrOfType<mlir::IntegerAttr>("xbar.stage");
            stages[stage ? stage.getInt() : 0].push_back(function);
        }
        if (stages.empty()) throw EmitError("the module has no function to write");
        std::vector<format::Section> parts;
        flatbuffers::FlatBufferBuilder builder;
        const auto finish = [&] {
            model_.name = provenance.name;
            model_.producer = "sidra-compile " SIDRA_VERSION;
            model_.source = provenance.source;
            model_.options = provenance.options;
            if (!constants_.empty())
                model_.constants = std::make_unique<format::Section>(section(constants_.data(), constants_.size()));
            builder.Clear();
            builder.Finish(format::CreateModel(builder, &model_));
        };
        for (const auto& [number, functions] : stages) {
            for (const mlir::func::FuncOp function : functions) add(function);
            if (const auto bad_cells = module->getAttrOfType<mlir::IntegerAttr>("xbar.bad_cells"))
                model_.bad_cells = static_cast<uint32_t>(bad_cells.getInt());
            finish();
            if (stages.size() == 1) break;
            parts.push_back(section(builder.GetBufferPointer(), builder.GetSize()));
            begin_model();
        }
        if (!parts.empty()) {
            model_.stages = std::move(parts);
            finish();
        }

        format::FileHeader header{};
        std::memcpy(header.magic, format::kMagic, sizeof header.magic);
        header.version = format::kVersion;
        header.header_size = sizeof header;
        header.manifest_offset = end_;
        header.manifest_size = builder.GetSize();
        header.file_size = end_ + builder.GetSize();
        header.manifest_hash = format::hash_of(builder.GetBufferPointer(), builder.GetSize());
        header.header_hash = format::hash_of(&header, offsetof(format::FileHeader, header_hash));
        file_.write(builder.GetBufferPointer(), builder.GetSize(), header.manifest_offset);
        file_.write(&header, sizeof header, 0);
        file_.finish(header.file_size);
    }

   private:
    void begin_model() {
        model_ = {};
        constants_.clear();
        constant_places_.clear();
        matrices_.clear();
        programs_.clear();
    }

    format::Section section(const void* data, uint64_t size) {
        const uint64_t offset = end_;
        file_.write(data, size, offset);
        end_ = rounded(offset + size, format::kSectionAlignment);
        return {offset, size, format::hash_of(data, size)};
    }

    Bytes bytes(llvm::StringRef hash, mlir::Operation* op) {
        const Bytes found = store_.find(hash.str());
        if (found.empty())
            throw EmitError(
                fmt::format("'{}' has values that the store does not have", fmt::join(names_of(op->getLoc()), " ")));
        return found;
    }

    static uint64_t size_of(Value buffer) { return mlir::cast<xbar::BufferType>(buffer.getType()).getSize(); }

    static format::Type type(mlir::Type type) {
        const std::optional<uint8_t> element = xbar::element(type);
        if (!element) throw EmitError("a type has no counterpart on the chip");
        return static_cast<format::Type>(*element);
    }

    format::Place place(Value buffer, uint64_t offset) {
        if (auto constant = buffer.getDefiningOp<xbar::ConstantOp>()) {
            const auto [at, is_new] = constant_places_.try_emplace(constant.getHash().str(), constants_.size());
            if (is_new) {
                const Bytes content = bytes(constant.getHash(), constant);
                constants_.insert(constants_.end(), content.begin(), content.end());
                constants_.resize(rounded(constants_.size(), kConstantAlignment));
            }
            return {format::Memory::Constants, at->second + offset};
        }
        if (auto alloc = buffer.getDefiningOp<xbar::AllocOp>()) {
            if (!alloc.getOffset()) throw EmitError("a buffer has no place; run the pass xbar-plan");
            return {format::Memory::Work, *alloc.getOffset() + offset};
        }
        const auto argument = mlir::cast<mlir::BlockArgument>(buffer);
        auto function = mlir::cast<mlir::func::FuncOp>(argument.getOwner()->getParentOp());
        const auto at = function.getArgAttrOfType<mlir::IntegerAttr>(argument.getArgNumber(), "xbar.offset");
        if (!at) throw EmitError("an input has no place; run the pass xbar-plan");
        return {format::Memory::Work, static_cast<uint64_t>(at.getInt()) + offset};
    }

    uint32_t program(mlir::ArrayAttr lines) {
        const auto [at, is_new] = programs_.try_emplace(lines, static_cast<uint32_t>(model_.programs.size()));
        if (is_new) {
            auto assembly = xbar::assemble(lines);
            const auto* const code = std::get_if<program::Code>(&assembly);
            if (code == nullptr)
                throw EmitError("a program has an error: " + std::get<program::AssemblyError>(assembly).message);
            auto to = std::make_unique<format::ProgramT>();
            to->code.resize(code->instructions.size() * sizeof(sidra_vector_instruction));
            std::memcpy(to->code.data(), code->instructions.data(), to->code.size());
            to->prologue = static_cast<uint32_t>(code->prologue);
            model_.programs.push_back(std::move(to));
        }
        return at->second;
    }

    uint32_t matrix(xbar::WeightsOp op) {
        const auto type = mlir::cast<xbar::MatrixType>(op.getType());
        const std::string key = fmt::format("{} {} {}", type.getRows(), op.getHash().str(), op.getCopy());
        const auto [at, is_new] = matrices_.try_emplace(key, static_cast<uint32_t>(model_.matrices.size()));
        if (is_new) {
            const Bytes content = bytes(op.getHash(), op);
            auto to = std::make_unique<format::MatrixT>();
            to->name = op.getName().str();
            to->k = type.getRows();
            to->n = type.getColumns();
            to->encoding = format::Encoding::Auto;
            to->data = std::make_unique<format::Section>(section(content.data(), content.size()));
            if (const auto inputs = op->getAttrOfType<mlir::StringAttr>(kAdcInputs)) {
                const Bytes vectors = bytes(inputs.getValue(), op);
                to->calibration = std::make_unique<format::Section>(section(vectors.data(), vectors.size()));
            }
            if (const auto crossbars = op.getCrossbars()) to->crossbars.assign(crossbars->begin(), crossbars->end());
            model_.matrices.push_back(std::move(to));
        }
        return at->second;
    }

    std::vector<std::unique_ptr<format::OperandT>> operands(mlir::ArrayAttr arrays, mlir::ValueRange buffers) {
        std::vector<std::unique_ptr<format::OperandT>> list;
        for (const mlir::Attribute attribute : arrays) {
            const auto array = mlir::cast<xbar::ArrayAttr>(attribute);
            auto to = std::make_unique<format::OperandT>();
            to->at = std::make_unique<format::Place>(place(buffers[array.getBuffer()], array.getOffset()));
            to->type = type(array.getType());
            to->extent = array.getExtent();
            to->stride.assign(array.getStrides().begin(), array.getStrides().end());
            if (array.getIndex() >= 0) {
                to->index = std::make_unique<format::Place>(
                    place(buffers[static_cast<size_t>(array.getIndex())], array.getIndexOffset()));
                to->index_type = type(array.getIndexType());
            }
            list.push_back(std::move(to));
        }
        return list;
    }

    std::unique_ptr<format::WindowsT> windows(xbar::WindowsAttr w, mlir::ValueRange buffers) {
        auto to = std::make_unique<format::WindowsT>();
        to->at = std::make_unique<format::Place>(place(buffers[w.getBuffer()], w.getOffset()));
        to->type = type(w.getType());
        to->codes = format::Type::U8;
        to->zero = static_cast<int32_t>(w.getZero());
        to->images = w.getCount()[0], to->rows = w.getCount()[1], to->columns = w.getCount()[2];
        to->height = w.getImage()[0], to->width = w.getImage()[1], to->channels = w.getImage()[2];
        to->kernel_h = w.getKernel()[0], to->kernel_w = w.getKernel()[1];
        to->stride_h = w.getStride()[0], to->stride_w = w.getStride()[1];
        to->pad_h = w.getPad()[0], to->pad_w = w.getPad()[1];
        to->dilation_h = w.getDilation()[0], to->dilation_w = w.getDilation()[1];
        to->image_stride = w.getBytes()[0], to->row_stride = w.getBytes()[1], to->pixel_stride = w.getBytes()[2];
        return to;
    }

    static std::vector<uint32_t> sizes(llvm::ArrayRef<int64_t> list) { return {list.begin(), list.end()}; }

    format::StepUnion step(mlir::Operation* op) {
        format::StepUnion to;
        llvm::TypeSwitch<mlir::Operation*>(op)
            .Case<xbar::VectorOp>([&](auto vector) {
                format::VectorT v;
                v.program = program(vector.getProgram());
                v.size = sizes(vector.getSize());
                v.operands = operands(vector.getArrays(), vector.getBuffers());
                to.Set(std::move(v));
            })
            .Case<xbar::LayerOp>([&](auto layer) {
                format::LayerT l;
                l.matrix = matrix(layer.getWeights().template getDefiningOp<xbar::WeightsOp>());
                l.program = program(layer.getProgram());
                l.windows = windows(layer.getWindows(), layer.getBuffers());
                l.operands = operands(layer.getArrays(), layer.getBuffers());
                to.Set(std::move(l));
            })
            .Case<xbar::MatmulOp>([&](auto matmul) {
                const auto size = sizes(matmul.getSize());
                format::MatmulT m;
                m.program = program(matmul.getProgram());
                m.batch = {size[0], size[1]};
                m.m = size[2], m.n = size[3], m.k = size[4];
                m.operands = operands(matmul.getArrays(), matmul.getBuffers());
                to.Set(std::move(m));
            })
            .Case<xbar::PoolOp>([&](auto pool) {
                format::PoolT p;
                p.operation = static_cast<format::Pooling>(pool.getFunction());
                p.windows = windows(pool.getWindows(), pool.getBuffers());
                p.out = std::make_unique<format::Place>(place(pool.getBuffers().back(), pool.getOffset()));
                for (const int64_t stride : pool.getStrides()) p.out_stride.push_back(static_cast<uint64_t>(stride));
                to.Set(std::move(p));
            })
            .Case<xbar::SortOp>([&](auto sort) {
                format::SortT s;
                s.type = type(sort.getType());
                s.index_type = format::Type::S64;
                s.in = std::make_unique<format::Place>(place(sort.getInput(), sort.getOffset()));
                if (!sort.getValues().use_empty())
                    s.values = std::make_unique<format::Place>(place(sort.getValues(), 0));
                if (!sort.getIndices().use_empty())
                    s.indices = std::make_unique<format::Place>(place(sort.getIndices(), 0));
                s.in_stride = sort.getStride();
                s.rows = static_cast<uint32_t>(sort.getRows());
                s.cols = static_cast<uint32_t>(sort.getColumns());
                s.count = static_cast<uint32_t>(sort.getCount());
                s.descending = sort.getDescending();
                to.Set(std::move(s));
            })
            .Case<xbar::HostOp>([&](auto host) {
                format::HostT h;
                h.function = host.getFunction().str();
                const auto types = host.getTypes().template getAsValueRange<mlir::TypeAttr>();
                for (const auto [input, offset, its_type] : llvm::zip(host.getInputs(), host.getOffsets(), types))
                    h.inputs.push_back(std::make_unique<format::ArrayT>(array(its_type, input, offset)));
                h.output = std::make_unique<format::ArrayT>(array(host.getType(), host.getOutput(), 0));
                h.parameters.assign(host.getParameters().begin(), host.getParameters().end());
                to.Set(std::move(h));
            });
        return to;
    }

    format::ArrayT array(mlir::Type of, Value buffer, int64_t offset) {
        const auto tensor_type = mlir::cast<mlir::RankedTensorType>(of);
        format::ArrayT to;
        to.at = std::make_unique<format::Place>(place(buffer, static_cast<uint64_t>(offset)));
        to.type = type(tensor_type.getElementType());
        to.shape = sizes(tensor_type.getShape());
        return to;
    }

    std::unique_ptr<format::TensorT> tensor(mlir::DictionaryAttr attributes, Value buffer,
                                            const std::string& fallback) {
        auto to = std::make_unique<format::TensorT>();
        const auto name = attributes ? attributes.getAs<mlir::StringAttr>("xnn.name") : mlir::StringAttr();
        const auto shape = attributes ? attributes.getAs<mlir::TypeAttr>("xbar.tensor") : mlir::TypeAttr();
        if (!shape) throw EmitError("an input or output has no shape; run the pass xnn-to-xbar");
        const auto tensor_type = mlir::cast<mlir::RankedTensorType>(shape.getValue());
        to->name = name ? name.getValue().str() : fallback;
        to->type = type(tensor_type.getElementType());
        to->shape = sizes(tensor_type.getShape());
        to->at = std::make_unique<format::Place>(place(buffer, 0));
        return to;
    }

    void add(mlir::func::FuncOp function) {
        auto variant = std::make_unique<format::VariantT>();
        const auto work = function->getAttrOfType<mlir::IntegerAttr>("xbar.work");
        if (!work || !function.getBody().hasOneBlock())
            throw EmitError("a function is not planned; run the pass xbar-plan");
        variant->work = static_cast<uint64_t>(work.getInt());
        mlir::Block& block = function.getBody().front();
        for (unsigned i = 0; i < block.getNumArguments(); i++)
            variant->inputs.push_back(
                tensor(function.getArgAttrDict(i), block.getArgument(i), fmt::format("input{}", i)));
        for (mlir::Operation& op : block) {
            format::StepUnion union_step = step(&op);
            if (union_step.type == format::Step::NONE) continue;
            auto call = std::make_unique<format::CallT>();
            call->name = fmt::format("{}", fmt::join(names_of(op.getLoc()), " "));
            call->step = std::move(union_step);
            variant->calls.push_back(std::move(call));
        }
        mlir::Operation* const end = block.getTerminator();
        for (unsigned i = 0; i < end->getNumOperands(); i++)
            variant->outputs.push_back(
                tensor(function.getResultAttrDict(i), end->getOperand(i), fmt::format("output{}", i)));
        model_.variants.push_back(std::move(variant));
    }

    const Store& store_;
    PartFile file_;
    uint64_t end_ = format::kSectionAlignment;  // of what is written; a multiple of the sections' alignment
    format::ModelT model_;
    std::vector<std::byte> constants_;
    std::map<std::string, uint64_t> constant_places_;
    std::map<std::string, uint32_t> matrices_;
    llvm::DenseMap<mlir::ArrayAttr, uint32_t> programs_;
};

}  // namespace

void emit(mlir::ModuleOp module, const Store& store, const Provenance& provenance, const std::string& path) {
    Emission(store, path).run(module, provenance);
}

}  // namespace sidra::compiler
