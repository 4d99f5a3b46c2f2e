// SPDX-License-Identifier: MIT
#include "import.h"

#include <llvm/Support/MemoryBuffer.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/Verifier.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <unordered_map>

#include "node.h"

namespace sidra::compiler {

namespace {

// Functions of the model that call each other.
constexpr int kDepthMax = 32;
// Nodes, counting those of a function each time that it is called.
constexpr size_t kNodesMax = 1 << 20;

// False: the file holds no such message.
template <typename Message>
bool read_message(const std::string& path, Message& message) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) refuse("{} is no file", in_quotes(path));
    auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!file) refuse("{} cannot be read: {}", in_quotes(path), file.getError().message());
    return (*file)->getBufferSize() <= INT32_MAX &&
           message.ParseFromArray((*file)->getBufferStart(), static_cast<int>((*file)->getBufferSize()));
}

// The input becomes a constant.
void set_value(onnx::GraphProto& graph, const std::string& name, const std::string& path) {
    const auto& inputs = graph.input();
    const auto input = std::find_if(inputs.begin(), inputs.end(), [&](const auto& i) { return i.name() == name; });
    if (input == inputs.end()) refuse("the model has no input {}, for which there is a value", in_quotes(name));
    onnx::TensorProto tensor;
    if (!read_message(path, tensor) || tensor.data_location() == onnx::TensorProto::EXTERNAL)
        refuse("{} is no tensor in ONNX's format", in_quotes(path));
    if (input->type().has_tensor_type() && input->type().tensor_type().elem_type() != tensor.data_type())
        refuse("{} has another type than the input {}", in_quotes(path), in_quotes(name));
    tensor.set_name(name);
    for (onnx::TensorProto& constant : *graph.mutable_initializer())
        if (constant.name() == name) return constant.Swap(&tensor);
    graph.add_initializer()->Swap(&tensor);
}

std::shared_ptr<const onnx::ModelProto> read(const std::string& path, const ImportOptions& options) {
    auto model = std::make_shared<onnx::ModelProto>();
    if (!read_message(path, *model) || !model->has_graph()) throw BuildError("this is no ONNX model");
    for (const auto& [name, file] : options.values) set_value(*model->mutable_graph(), name, file);
    return model;
}

std::string_view domain_of(std::string_view domain) { return domain == "ai.onnx" ? std::string_view() : domain; }

using Sizes = std::map<std::string, int64_t>;

// Every combination of the dimensions' sizes.
std::vector<Sizes> combinations(const std::map<std::string, std::vector<int64_t>>& dimensions) {
    std::vector<Sizes> all = {{}};
    for (const auto& [name, sizes] : dimensions) {
        if (sizes.empty()) refuse("there is no size for the dimension {}", in_quotes(name));
        if (sizes.size() > kVariantsMax / all.size())
            refuse("the sizes of the dimensions have more than {} combinations; give fewer sizes", kVariantsMax);
        std::vector<Sizes> next;
        for (const Sizes& before : all)
            for (const int64_t size : sizes) {
                if (std::ranges::count(sizes, size) > 1)
                    refuse("the size {} of the dimension {} is given twice", size, in_quotes(name));
                next.push_back(before);
                next.back()[name] = size;
            }
        all = std::move(next);
    }
    return all;
}

// What the names of a graph, or of a call of a function, mean. A graph inside of a node also sees those around it.
struct Scope {
    Scope* outer = nullptr;
    std::map<std::string_view, int64_t> sets;
    std::unordered_map<std::string_view, Value> values;
    std::unordered_map<std::string_view, const onnx::TensorProto*> initialisers;
    // Of the call.
    Attributes attributes;
    int depth = 0;
};

class Importer {
   public:
    Importer(mlir::MLIRContext& context, Store& store, const std::string& path, const ImportOptions& options)
        : context_(context),
          dimensions_(options.dimensions),
          model_(read(path, options)),
          module_(mlir::ModuleOp::create(mlir::UnknownLoc::get(&context))),
          build_(mlir::OpBuilder(&context), mlir::UnknownLoc::get(&context)),
          tensors_(store, std::filesystem::path(path).parent_path(), model_) {}

    mlir::OwningOpRef<mlir::ModuleOp> import() {
        for (const onnx::FunctionProto& function : model_->functions())
            functions_.emplace(std::pair(domain_of(function.domain()), std::string_view(function.name())), &function);
        if (model_->graph().sparse_initializer_size() > 0) throw BuildError("sparse constants are not supported");
        int number = 0;
        for (Sizes& sizes : combinations(dimensions_)) {
            sizes_ = std::move(sizes);
            import_graph(number == 0 ? "main" : fmt::format("main_{}", number));
            number++;
        }
        return std::move(module_);
    }

   private:
    void import_graph(const std::string& name) {
        const onnx::GraphProto& graph = model_->graph();
        Scope scope;
        read_sets(scope, model_->opset_import());
        read_constants(scope, graph);
        nodes_ = 0;
        build_.set_location(mlir::UnknownLoc::get(&context_));
        const mlir::func::FuncOp function = begin(name, graph, scope);
        import_nodes(graph.node(), scope);
        end(function, graph, scope);
    }

    template <typename Imports>
    static void read_sets(Scope& scope, const Imports& imports) {
        for (const auto& set : imports) scope.sets[domain_of(set.domain())] = set.version();
        const int64_t version = scope.sets.contains("") ? scope.sets[""] : 1;
        if (version < kOldestSet || version > kNewestSet)
            refuse("operator set {} is not known; export the model with operator set {} or less", version, kNewestSet);
    }

    static void read_constants(Scope& scope, const onnx::GraphProto& graph) {
        for (const onnx::TensorProto& tensor : graph.initializer())
            if (!scope.initialisers.emplace(tensor.name(), &tensor).second)
                refuse("there are two constants {}", in_quotes(tensor.name()));
        if (graph.sparse_initializer_size() > 0) throw BuildError("sparse constants are not supported");
    }

    // ---- The function

    mlir::RankedTensorType type_of(const onnx::ValueInfoProto& input) {
        if (!input.type().has_tensor_type())
            refuse("the input {} is no tensor; sequences and optional values are not supported",
                   in_quotes(input.name()));
        const auto& tensor = input.type().tensor_type();
        if (!tensor.has_shape()) refuse("the input {} has no shape", in_quotes(input.name()));
        Shape shape;
        for (const auto& dimension : tensor.shape().dim()) {
            const std::string place = fmt::format("{}[{}]", input.name(), shape.size());
            if (dimension.has_dim_value() && dimension.dim_value() >= 0) shape.push_back(dimension.dim_value());
            else if (const auto size = size_of_dimension(dimension.dim_param(), place)) shape.push_back(*size);
            else {
                const std::string& name = dimension.dim_param().empty() ? place : dimension.dim_param();
                refuse("dimension {} of the input {} has no size; give it with --dim {} (in Python: dimensions)",
                       shape.size(), in_quotes(input.name()), in_quotes(name + "=SIZE"));
            }
        }
        try {
            return build_.tensor(shape, element_type(&context_, tensor.elem_type()));
        } catch (const BuildError& error) {
            refuse("the input {} cannot be imported: {}", in_quotes(input.name()), error.what());
        }
    }

    std::optional<int64_t> size_of_dimension(const std::string& name, const std::string& place) {
        open_.insert(name.empty() ? place : name);
        for (const std::string& key : {place, name})
            if (const auto found = sizes_.find(key); !key.empty() && found != sizes_.end()) {
                used_.insert(key);
                return found->second;
            }
        return std::nullopt;
    }

    // Two variants with the same shapes could not be told apart, and one size is a mistake of writing.
    void check_dimensions() const {
        for (const auto& [name, size] : sizes_) {
            if (used_.contains(name)) continue;
            std::string open;
            for (const std::string& each : open_) open += (open.empty() ? "" : ", ") + in_quotes(each);
            refuse("there is a size for the dimension {}, but no input has one of this name without a size; {}",
                   in_quotes(name), open.empty() ? "all sizes are in the model" : "those without are " + open);
        }
    }

    mlir::func::FuncOp begin(const std::string& name, const onnx::GraphProto& graph, Scope& scope) {
        std::vector<const onnx::ValueInfoProto*> inputs;
        llvm::SmallVector<mlir::Type> types;
        for (const onnx::ValueInfoProto& input : graph.input()) {
            // Before version 4, the graph's inputs include its constants.
            if (scope.initialisers.contains(input.name())) continue;
            inputs.push_back(&input);
            types.push_back(type_of(input));
        }
        check_dimensions();
        mlir::OpBuilder& builder = build_.builder();
        builder.setInsertionPointToEnd(module_->getBody());
        auto function = builder.create<mlir::func::FuncOp>(build_.location(), name, builder.getFunctionType(types, {}));
        builder.setInsertionPointToEnd(function.addEntryBlock());
        for (unsigned i = 0; i < inputs.size(); i++) {
            function.setArgAttr(i, kName, builder.getStringAttr(inputs[i]->name()));
            define(scope, inputs[i]->name(), function.getArgument(i));
        }
        return function;
    }

    void end(mlir::func::FuncOp function, const onnx::GraphProto& graph, Scope& scope) {
        if (graph.output().empty()) refuse("the network has no outputs, so there is nothing to compute");
        llvm::SmallVector<Value> results;
        for (const onnx::ValueInfoProto& output : graph.output()) {
            const std::optional<Value> result = value(scope, output.name());
            if (!result || !*result) refuse("nothing computes the output {}", in_quotes(output.name()));
            results.push_back(*result);
        }
        mlir::OpBuilder& builder = build_.builder();
        builder.create<mlir::func::ReturnOp>(mlir::UnknownLoc::get(&context_), results);
        function.setFunctionType(
            builder.getFunctionType(function.getArgumentTypes(), mlir::ValueRange(results).getTypes()));
        for (unsigned i = 0; i < results.size(); i++)
            function.setResultAttr(i, kName, builder.getStringAttr(graph.output(static_cast<int>(i)).name()));
        // What was folded away.
        for (mlir::Operation& op : llvm::make_early_inc_range(llvm::reverse(function.front())))
            if (mlir::isOpTriviallyDead(&op)) op.erase();
        std::string complaint;
        const mlir::ScopedDiagnosticHandler handler(&context_, [&](mlir::Diagnostic& diagnostic) {
            if (complaint.empty()) complaint = diagnostic.str();
        });
        if (mlir::failed(mlir::verify(function))) refuse("the importer made a wrong module: {}", complaint);
    }

    // ---- Values

    static void define(Scope& scope, std::string_view name, Value value) {
        if (scope.initialisers.contains(name) || !scope.values.emplace(name, value).second)
            refuse("there are two values {}", in_quotes(name));
    }

    // Nothing if there is none with this name; null is an optional input that a call of a function does not have.
    std::optional<Value> value(Scope& scope, const std::string& name) {
        if (const auto found = scope.values.find(name); found != scope.values.end()) return found->second;
        const auto found = scope.initialisers.find(name);
        if (found == scope.initialisers.end()) return scope.outer ? value(*scope.outer, name) : std::nullopt;
        build_.set_location(location(name));
        return scope.values[found->first] = tensors_.constant(build_, *found->second);
    }

    mlir::Location location(std::string_view name) {
        return mlir::NameLoc::get(mlir::StringAttr::get(&context_, llvm::StringRef(name)));
    }

    // ---- Nodes

    template <typename Nodes>
    void import_nodes(const Nodes& nodes, Scope& scope) {
        for (int i = 0; i < nodes.size(); i++) {
            const onnx::NodeProto& node = nodes.Get(i);
            if (++nodes_ > kNodesMax) refuse("the model has more than {} nodes", kNodesMax);
            const std::string name = node.name().empty() ? fmt::format("{}_{}", node.op_type(), i) : node.name();
            const std::string_view domain = domain_of(node.domain());
            try {
                import_node(node, name, domain, scope);
            } catch (const BuildError& error) {
                refuse("node {} ({}, {} {}): {}", in_quotes(name), in_quotes(node.op_type()),
                       domain.empty() ? "operator set" : in_quotes(domain),
                       scope.sets.contains(domain) ? scope.sets[domain] : 1, error.what());
            }
        }
    }

    void import_node(const onnx::NodeProto& node, const std::string& name, std::string_view domain, Scope& scope) {
        std::vector<Value> inputs;
        for (const std::string& input : node.input()) {
            const std::optional<Value> found = input.empty() ? Value() : value(scope, input);
            if (!found) refuse("nothing before it computes its input {}", in_quotes(input));
            inputs.push_back(*found);
        }
        Attributes attributes;
        for (const onnx::AttributeProto& attribute : node.attribute()) {
            const onnx::AttributeProto* meant = &attribute;
            if (!attribute.ref_attr_name().empty()) {
                const auto found = scope.attributes.find(attribute.ref_attr_name());
                if (found == scope.attributes.end()) continue;
                meant = found->second;
            }
            attributes[attribute.name()] = meant;
        }
        build_.set_location(location(name));
        const Values results = call(node, domain, std::move(inputs), std::move(attributes), scope);
        for (int i = 0; i < node.output_size(); i++) {
            if (node.output(i).empty()) continue;
            if (static_cast<size_t>(i) < results.size() && results[static_cast<size_t>(i)])
                define(scope, node.output(i), results[static_cast<size_t>(i)]);
            else refuse("its output {} is not supported", i);
        }
    }

    Values call(const onnx::NodeProto& node, std::string_view domain, std::vector<Value> inputs, Attributes attributes,
                Scope& scope) {
        if (const auto found = functions_.find({domain, node.op_type()}); found != functions_.end())
            return call_function(*found->second, inputs, std::move(attributes), scope.depth + 1);
        if (!domain.empty() && domain != kTrainingDomain)
            throw BuildError("operators of this domain are not supported");
        const Operator* const one = find_operator(domain, node.op_type());
        if (!one) throw BuildError(std::string(reason_against(node.op_type())));
        const int64_t set = scope.sets.contains(domain) ? scope.sets[domain] : 1;
        const auto version = static_cast<int>(std::clamp<int64_t>(set, 0, INT32_MAX));
        if (version < one->since || version > one->until)
            refuse("the operator is supported in the operator sets {} to {}", one->since, one->until);
        std::vector<bool> outputs;
        for (const std::string& output : node.output()) outputs.push_back(!output.empty());
        const mlir::Location here = build_.location();
        const auto import_graph = [&](const onnx::GraphProto& graph, llvm::ArrayRef<Value> values) {
            Values results = call_graph(graph, values, scope);
            build_.set_location(here);
            return results;
        };
        Node view(version, std::move(inputs), std::move(outputs), std::move(attributes), build_, tensors_,
                  import_graph);
        return one->import(view);
    }

    Values call_graph(const onnx::GraphProto& graph, llvm::ArrayRef<Value> inputs, Scope& outer) {
        if (outer.depth >= kDepthMax) refuse("graphs are inside of each other more than {} times", kDepthMax);
        if (inputs.size() != static_cast<size_t>(graph.input_size()))
            refuse("the graph {} has {} inputs instead of {}", in_quotes(graph.name()), graph.input_size(),
                   inputs.size());
        Scope scope;
        scope.outer = &outer;
        scope.sets = outer.sets;
        scope.attributes = outer.attributes;
        scope.depth = outer.depth + 1;
        read_constants(scope, graph);
        for (int i = 0; i < graph.input_size(); i++)
            define(scope, graph.input(i).name(), inputs[static_cast<size_t>(i)]);
        import_nodes(graph.node(), scope);
        Values results;
        for (const onnx::ValueInfoProto& output : graph.output()) {
            const std::optional<Value> result = value(scope, output.name());
            if (!result || !*result)
                refuse("nothing computes the output {} of the graph {}", in_quotes(output.name()),
                       in_quotes(graph.name()));
            results.push_back(*result);
        }
        return results;
    }

    Values call_function(const onnx::FunctionProto& function, const std::vector<Value>& inputs, Attributes attributes,
                         int depth) {
        if (depth > kDepthMax) refuse("functions of the model call each other more than {} times", kDepthMax);
        if (inputs.size() > static_cast<size_t>(function.input_size()))
            refuse("the function takes {} inputs", function.input_size());
        Scope scope;
        read_sets(scope, function.opset_import());
        scope.attributes = std::move(attributes);
        scope.depth = depth;
        for (int i = 0; i < function.input_size(); i++)
            define(scope, function.input(i),
                   static_cast<size_t>(i) < inputs.size() ? inputs[static_cast<size_t>(i)] : Value());
        import_nodes(function.node(), scope);
        Values results;
        for (const std::string& output : function.output()) results.push_back(value(scope, output).value_or(Value()));
        return results;
    }

    static constexpr const char* kName = "xnn.name";

    mlir::MLIRContext& context_;
    const std::map<std::string, std::vector<int64_t>>& dimensions_;
    Sizes sizes_;                        // of the function that is made
    std::set<std::string> open_, used_;  // dimensions of inputs without a size, and those of them that have got one
    std::shared_ptr<const onnx::ModelProto> model_;
    mlir::OwningOpRef<mlir::ModuleOp> module_;
    Build build_;
    Tensors tensors_;
    std::map<std::pair<std::string_view, std::string_view>, const onnx::FunctionProto*> functions_;
    size_t nodes_ = 0;
};

}  // namespace

mlir::OwningOpRef<mlir::ModuleOp> import_onnx(mlir::MLIRContext& context, Store& store, const std::string& path,
                                              const ImportOptions& options) {
    try {
        return Importer(context, store, path, options).import();
    } catch (const BuildError& error) {
        throw ImportError(fmt::format("{}: {}", path, error.what()));
    } catch (const std::bad_alloc&) {
        throw ImportError(fmt::format("{}: there is not enough memory for the model", path));
    }
}

}  // namespace sidra::compiler
