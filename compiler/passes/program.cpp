// SPDX-License-Identifier: MIT
// A value of a group is a vector (an element for each column of a row), or a scalar of the row. A pass computes the
// vectors that its reductions and stores need, and a vector that needs a scalar is computed in a later pass than that.
// Registers of vectors do not survive their pass: what a later pass needs again is loaded again if it was stored, and
// computed again otherwise. A vector that is expensive to compute is stored where its result will be, if the result has
// the same type.
#include "program.h"

#include <fmt/format.h>
#include <llvm/ADT/APFloat.h>
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/IR/Matchers.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "shapes.h"
#include "sidra_vector.h"

namespace sidra::compiler {

using mlir::RankedTensorType;
using mlir::Value;

mlir::Operation* product_of(xnn::GroupOp group) {
    for (mlir::Operation& op : group.getBody().front())
        if (mlir::isa<xnn::LinearOp, xnn::ConvLayerOp, xnn::MatmulOp>(op)) return &op;
    return nullptr;
}

bool codes_by_row(mlir::Operation* op) {
    return mlir::isa_and_nonnull<xnn::LinearOp, xnn::ConvLayerOp>(op) &&
           mlir::isa<mlir::FloatType>(mlir::cast<RankedTensorType>(op->getOperand(0).getType()).getElementType());
}

llvm::SmallVector<int64_t> space_of(xnn::GroupOp group) {
    if (mlir::Operation* const product = product_of(group))
        return llvm::SmallVector<int64_t>(mlir::cast<RankedTensorType>(product->getResult(0).getType()).getShape());
    llvm::SmallVector<int64_t> shape;
    for (const Value input : group.getBody().getArguments())
        xnn::broadcast(shape, mlir::cast<RankedTensorType>(input.getType()).getShape());
    for (mlir::Operation& op : group.getBody().front())
        for (const Value result : op.getResults())
            xnn::broadcast(shape, mlir::cast<RankedTensorType>(result.getType()).getShape());
    if (shape.empty()) shape.push_back(1);
    return shape;
}

llvm::SmallVector<int64_t> in_rank_of(Value value, size_t rank) {
    llvm::SmallVector<int64_t> shape(mlir::cast<RankedTensorType>(value.getType()).getShape());
    if (shape.size() < rank) shape.insert(shape.begin(), rank - shape.size(), 1);
    return shape;
}

namespace {

struct Refused {
    std::string why;
};

enum class Kind { kFloat, kInt, kMask };  // a mask is 0 or -1

Kind kind_of(Value value) {
    const mlir::Type type = mlir::cast<RankedTensorType>(value.getType()).getElementType();
    return type.isInteger(1) ? Kind::kMask : type.isInteger() ? Kind::kInt : Kind::kFloat;
}

// A source or destination: a register that is not allocated yet, or a text.
struct Register {
    enum Where { kNone, kVector, kScalar, kText } where = kNone;
    unsigned number = 0;
    std::string text;
};

struct Instruction {
    std::string mnemonic;
    Register destination;
    std::string operand;  // of loads and stores
    std::vector<Register> sources;
};

// The prologue of a layer: each row gets a step and a zero of its own, which the epilogue finds in kStep and kZero.
constexpr unsigned kStep = 14, kZero = 15, kScalars = 14;
constexpr const char* kRowCodes[] = {
    "pass:",
    "v0 = load input",
    "s0 = reduce_min v0",
    "s1 = reduce_max v0",
    "s2 = min s0, 0.0",
    "s3 = max s1, 0.0",
    "s4 = sub s3, s2",
    "s5 = max s4, 1e-30",  // a row of zeros has a step, too
    "s14 = div s5, 255.0",
    "s6 = div 255.0, s5",
    "s7 = mul s2, s6",
    "s15 = round s7",
    "s8 = neg s15",
    "pass:",
    "v0 = load input",
    "v1 = fma v0, s6, s8",
    "store codes, v1",
    "epilogue:",
};

// Instructions of a vector that is stored and loaded rather than computed again.
constexpr unsigned kCostKept = 4;

class Generator {
   public:
    explicit Generator(xnn::GroupOp group)
        : group_(group), product_(product_of(group)), space_(space_of(group)), columns_(space_.back()) {}

    Program run() {
        first_operand_ = mlir::isa_and_nonnull<xnn::MatmulOp>(product_) ? 2 : 0;
        mlir::Operation* const yield = group_.getBody().front().getTerminator();
        results_ = yield->getNumOperands();
        for (const Value result : yield->getOperands()) check_result(result);
        unsigned passes = 1;
        for (mlir::Operation& op : group_.getBody().front())
            for (const Value result : op.getResults())
                if (live(result)) passes = std::max(passes, pass_of(result) + 1);
        for (pass_ = 0; pass_ < passes; pass_++) {
            vectors_.clear();
            begins_.push_back(code_.size());
            emit_pass(yield);
            if (begins_.back() == code_.size()) begins_.pop_back();  // nothing to do in it
        }
        allocate();
        return {write(), std::move(bindings_), by_row_};
    }

   private:
    [[noreturn]] static void refuse(std::string why) { throw Refused{std::move(why)}; }

    void check_result(Value value) {
        llvm::SmallVector<int64_t> wanted(space_);
        if (is_scalar(value)) wanted.back() = 1;
        if (in_rank_of(value, wanted.size()) != wanted) refuse("a result is smaller than what the group computes over");
    }

    // Whether something depends on the value; dead operations are still in a group that is being put together.
    static bool live(Value value) { return !value.use_empty(); }

    bool is_scalar(Value value) const {
        const auto shape = mlir::cast<RankedTensorType>(value.getType()).getShape();
        return columns_ > 1 && (shape.empty() || shape.back() == 1);
    }
    static bool is_input(Value value) { return mlir::isa<mlir::BlockArgument>(value); }
    static xnn::ConstantOp constant(Value value) { return value.getDefiningOp<xnn::ConstantOp>(); }
    // A scalar that instructions compute; not one that each instruction can load or has as a number.
    bool is_computed_scalar(Value value) const { return is_scalar(value) && !is_input(value) && !constant(value); }

    // The first pass in which a value can be computed.
    unsigned pass_of(Value value) {
        if (const auto found = passes_.find(value.getAsOpaquePointer()); found != passes_.end()) return found->second;
        unsigned pass = 0;
        mlir::Operation* const op = value.getDefiningOp();
        if (op != nullptr && op != product_ && !constant(value)) {
            const bool scalar = is_scalar(value);
            for (const Value operand : op->getOperands())
                pass = std::max(pass, pass_of(operand) + (!scalar && is_computed_scalar(operand) ? 1 : 0));
        }
        passes_[value.getAsOpaquePointer()] = pass;
        return pass;
    }

    void emit_pass(mlir::Operation* yield) {
        // Vector instructions first: stores, and reductions of vectors.
        std::vector<mlir::Operation*> scalars;
        for (mlir::Operation& op : group_.getBody().front()) {
            if (op.getNumResults() != 1 || !live(op.getResult(0)) || !is_computed_scalar(op.getResult(0)) ||
                pass_of(op.getResult(0)) != pass_)
                continue;
            if (auto reduce = mlir::dyn_cast<xnn::ReduceOp>(op)) emit_reduction(reduce);
            else scalars.push_back(&op);
        }
        for (unsigned i = 0; i < results_; i++) {
            const Value value = yield->getOperand(i);
            if (!is_scalar(value) && pass_of(value) == pass_) store_result(i, value);
        }
        keep_expensive(yield);
        for (mlir::Operation* const op : scalars) scalar(op->getResult(0));
        for (unsigned i = 0; i < results_; i++) {
            const Value value = yield->getOperand(i);
            if (is_scalar(value) && pass_of(value) == pass_) store(i, value, scalar(value));
        }
    }

    void emit_reduction(xnn::ReduceOp op) {
        by_row_ = true;
        Register in = vector(op.getInput());
        const bool ints = kind_of(op.getInput()) != Kind::kFloat;
        std::string name = "reduce_" + xnn::stringifyReduction(op.getFunction()).str();
        const bool index = op.getFunction() == xnn::Reduction::argmax || op.getFunction() == xnn::Reduction::argmin;
        if (ints && index) in = emit_vector("to_float", {in});
        else if (ints) name += "_int";
        const Register result = emit_scalar(name, {in});
        const bool leaves = op.getFunction() == xnn::Reduction::sum;  // the range of its type
        scalars_[op.getResult().getAsOpaquePointer()] = leaves ? narrowed(result, op.getResult(), true) : result;
    }

    // What later passes need again, if it costs more than to store and load it.
    void keep_expensive(mlir::Operation* yield) {
        for (mlir::Operation& op : group_.getBody().front()) {
            if (op.getNumResults() != 1) continue;
            const Value value = op.getResult(0);
            const auto found = vectors_.find(value.getAsOpaquePointer());
            if (found == vectors_.end() || kept_.contains(value.getAsOpaquePointer()) || cost(value) < kCostKept ||
                !needed_after(value))
                continue;
            for (unsigned i = 0; i < results_; i++) {
                const Value result = yield->getOperand(i);
                if (result.getType() != value.getType() || kind_of(value) != Kind::kFloat || taken_.contains(i) ||
                    !mlir::cast<RankedTensorType>(value.getType()).getElementType().isF32() || pass_of(result) <= pass_)
                    continue;
                store(i, value, found->second);
                taken_.insert(i);
                break;
            }
        }
    }
    bool needed_after(Value value) {
        return llvm::any_of(value.getUsers(), [&](mlir::Operation* user) {
            if (user->getNumResults() == 0) return false;  // it is a result itself
            const Value result = user->getResult(0);
            return live(result) && (pass_of(result) > pass_ || (!is_scalar(result) && needed_after(result)));
        });
    }
    // Of computing a vector again.
    unsigned cost(Value value) {
        mlir::Operation* const op = value.getDefiningOp();
        if (op == nullptr || constant(value) || is_scalar(value)) return 1;
        if (op == product_) return mlir::isa<xnn::MatmulOp>(op) ? 1 : is_layer_of_codes() ? 3 : 6;
        unsigned sum = 1;
        if (auto unary = mlir::dyn_cast<xnn::UnaryOp>(op)) {
            const auto f = unary.getFunction();
            if (f >= xnn::Unary::exp && f <= xnn::Unary::cos) sum = 8;
        }
        for (const Value operand : op->getOperands()) sum += cost(operand);
        return sum;
    }

    // ---- Sources
    // -----------------------------------------------------------------------------------------------------

    static Register text(std::string text) { return {Register::kText, 0, std::move(text)}; }

    static Register number(xnn::ConstantOp op) {
        const auto elements = mlir::dyn_cast<mlir::DenseElementsAttr>(op.getValue());
        if (!elements || !elements.isSplat()) refuse("a constant in a group is not one number");
        if (mlir::isa<mlir::FloatType>(elements.getElementType())) {
            llvm::APFloat value = elements.getSplatValue<llvm::APFloat>();
            bool lost;
            value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &lost);
            return text(number_text(value.convertToFloat()));
        }
        const llvm::APInt value = elements.getSplatValue<llvm::APInt>();
        if (elements.getElementType().isInteger(1)) return text(value.isZero() ? "0" : "-1");
        const int64_t n = elements.getElementType().isUnsignedInteger() ? static_cast<int64_t>(value.getZExtValue())
                                                                        : value.getSExtValue();
        return text(fmt::format("{}", std::clamp<int64_t>(n, INT32_MIN, INT32_MAX)));
    }
    static std::string number_text(float value) {
        if (std::isnan(value)) return "nan";
        if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
        std::string digits = fmt::format("{}", value);
        if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
        return digits;
    }

    std::string bind(Binding binding) {
        for (size_t i = 0; i < bindings_.size(); i++)
            if (bindings_[i].kind == binding.kind && bindings_[i].number == binding.number &&
                bindings_[i].scalar == binding.scalar)
                return fmt::format("o{}", first_operand_ + i);
        bindings_.push_back(binding);
        return fmt::format("o{}", first_operand_ + bindings_.size() - 1);
    }

    Register load(const std::string& operand, Kind kind, bool scalar) {
        Register result = scalar ? new_scalar() : new_vector();
        code_.push_back({kind == Kind::kFloat ? "load" : "load_int", result, operand, {}});
        if (kind == Kind::kMask) result = emit("ne_int", {result, text("0")}, scalar);
        return result;
    }

    void store(unsigned number, Value value, Register from) {
        const bool is_one = is_scalar(value);
        if (from.where == Register::kText)
            from = emit(kind_of(value) == Kind::kFloat ? "move" : "move_int", {from}, is_one);
        const std::string operand = bind({Binding::kResult, number, is_one});
        code_.push_back({kind_of(value) == Kind::kFloat ? "store" : "store_int", {}, operand, {from}});
        kept_[value.getAsOpaquePointer()] = {number, pass_};
    }

    // A vector that is a result. Stores of floats round to the nearest code and saturate, as casts to codes do.
    void store_result(unsigned number, Value value) {
        auto cast = value.getDefiningOp<xnn::CastOp>();
        const mlir::Type type = mlir::cast<RankedTensorType>(value.getType()).getElementType();
        if (!cast || !cast.getNearest() || !type.isInteger(8) || kind_of(cast.getInput()) != Kind::kFloat ||
            is_scalar(cast.getInput()))
            return store(number, value, vector(value));
        Register from = vector(cast.getInput());
        if (from.where == Register::kText) from = emit_vector("move", {from});
        const std::string operand = bind({Binding::kResult, number});
        code_.push_back({"store", {}, operand, {from}});
        kept_[value.getAsOpaquePointer()] = {number, pass_};
    }

    // The register (or number) of a value as a vector instruction of this pass takes it.
    Register vector(Value value) {
        if (auto c = constant(value)) return number(c);
        if (is_computed_scalar(value)) return scalars_.at(value.getAsOpaquePointer());
        if (const auto found = vectors_.find(value.getAsOpaquePointer()); found != vectors_.end()) return found->second;
        Register result;
        if (const auto kept = kept_.find(value.getAsOpaquePointer()); kept != kept_.end() && kept->second.pass < pass_)
            result = load(bind({Binding::kResult, kept->second.result}), kind_of(value), false);
        else if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(value))
            result = load(bind({Binding::kInput, argument.getArgNumber()}), kind_of(value), false);
        else if (value.getDefiningOp() == product_) result = product(value);
        else result = compute(value.getDefiningOp(), false);
        vectors_[value.getAsOpaquePointer()] = result;
        return result;
    }

    // The same for a scalar instruction.
    Register scalar(Value value) {
        if (auto c = constant(value)) return number(c);
        if (const auto found = scalars_.find(value.getAsOpaquePointer()); found != scalars_.end()) return found->second;
        Register result;
        if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(value))
            result = load(bind({Binding::kInput, argument.getArgNumber(), true}), kind_of(value), true);
        else result = compute(value.getDefiningOp(), true);
        scalars_[value.getAsOpaquePointer()] = result;
        return result;
    }

    Register product(Value value) {
        if (mlir::isa<xnn::MatmulOp>(product_)) return load("sums", kind_of(value), false);
        const Register sums = load("sums", Kind::kFloat, false);
        if (is_layer_of_codes()) return emit_vector("mul", {sums, load_factors()});
        const Register codes = load(bind({Binding::kColumnSums}), Kind::kFloat, false);
        const Register exact = emit_vector("fma", {codes, text(fmt::format("s{}", kZero)), sums});
        const Register step = emit_vector("mul", {load_factors(), text(fmt::format("s{}", kStep))});
        return emit_vector("mul", {exact, step});
    }

    bool is_layer_of_codes() const {
        return mlir::isa_and_nonnull<xnn::LinearOp, xnn::ConvLayerOp>(product_) && !codes_by_row(product_);
    }

    // The factors of a layer's columns.
    Register load_factors() {
        const auto scale = mlir::dyn_cast<mlir::BlockArgument>(product_->getOperand(2));
        if (!scale) refuse("the factors of a layer's columns are not an input of its group");
        return load(bind({Binding::kInput, scale.getArgNumber()}), Kind::kFloat, false);
    }

    // ---- Operations
    // --------------------------------------------------------------------------------------------------

    Register new_vector() { return {Register::kVector, count_++, {}}; }
    Register new_scalar() { return {Register::kScalar, count_++, {}}; }
    Register emit(std::string mnemonic, std::vector<Register> sources, bool is_one) {
        const Register result = is_one ? new_scalar() : new_vector();
        code_.push_back({std::move(mnemonic), result, {}, std::move(sources)});
        return result;
    }
    Register emit_vector(std::string mnemonic, std::vector<Register> sources) {
        return emit(std::move(mnemonic), std::move(sources), false);
    }
    Register emit_scalar(std::string mnemonic, std::vector<Register> sources) {
        return emit(std::move(mnemonic), std::move(sources), true);
    }

    Register source(Value value, bool is_one) { return is_one ? scalar(value) : vector(value); }

    // Integers narrower than a register wrap around.
    Register narrowed(Register value, Value as, bool is_one) {
        const mlir::Type type = mlir::cast<RankedTensorType>(as.getType()).getElementType();
        const unsigned width = type.getIntOrFloatBitWidth();
        if (kind_of(as) != Kind::kInt || width >= 32) return value;
        if (type.isUnsignedInteger()) return emit("and", {value, text(fmt::format("{}", (1u << width) - 1))}, is_one);
        const Register shift = text(fmt::format("{}", 32 - width));
        return emit("shr", {emit("shl", {value, shift}, is_one), shift}, is_one);
    }

    Register compute(mlir::Operation* op, bool is_one) {
        return llvm::TypeSwitch<mlir::Operation*, Register>(op)
            .Case<xnn::UnaryOp>([&](auto unary) { return compute(unary, is_one); })
            .Case<xnn::BinaryOp>([&](auto binary) { return compute(binary, is_one); })
            .Case<xnn::CastOp>([&](auto cast) { return compute(cast, is_one); })
            .Case<xnn::SelectOp>([&](auto select) {
                Register condition = source(select.getCondition(), is_one);
                return emit("select", {condition, source(select.getYes(), is_one), source(select.getNo(), is_one)},
                            is_one);
            })
            .Case<xnn::BroadcastOp>([&](auto broadcast) { return source(broadcast.getInput(), is_one); })
            .Case<xnn::ScanOp>([&](auto scan) {
                by_row_ = true;
                if (is_one) refuse("a scan of one column");
                const bool is_float = kind_of(scan.getInput()) == Kind::kFloat;
                const Register sums = emit_vector(is_float ? "scan" : "scan_int", {vector(scan.getInput())});
                return narrowed(sums, scan.getResult(), false);
            })
            .Default([](mlir::Operation* other) -> Register {
                refuse(other->getName().getStringRef().str() + " is not an operation of vector programs");
            });
    }

    Register compute(xnn::UnaryOp op, bool is_one) {
        using enum xnn::Unary;
        const Register in = source(op.getInput(), is_one);
        const Kind kind = kind_of(op.getInput());
        const auto function = op.getFunction();
        if (function == invert) {
            if (kind == Kind::kMask) return emit("xor", {in, text("-1")}, is_one);
            if (kind == Kind::kInt) return narrowed(emit("xor", {in, text("-1")}, is_one), op.getResult(), is_one);
            refuse("a float has no bits to invert");
        }
        if (kind == Kind::kFloat) return emit(xnn::stringifyUnary(function).str(), {in}, is_one);
        if (kind != Kind::kInt) refuse("a function of numbers on booleans");
        switch (function) {
            case neg:
                return narrowed(emit("sub_int", {text("0"), in}, is_one), op.getResult(), is_one);
            case abs:
                return narrowed(emit("max_int", {emit("sub_int", {text("0"), in}, is_one), in}, is_one), op.getResult(),
                                is_one);
            case floor:
            case ceil:
            case round:
            case trunc:
                return in;
            default:
                refuse("a function of floats on integers");
        }
    }

    // a * b + c, where nothing else needs the product a * b.
    std::optional<Register> fused(xnn::BinaryOp op, bool is_one) {
        for (const auto& [factor, term] : {std::pair{op.getLhs(), op.getRhs()}, {op.getRhs(), op.getLhs()}}) {
            if (is_layer_of_codes() && factor.getDefiningOp() == product_ && factor.hasOneUse()) {
                const Register sums = load("sums", Kind::kFloat, false), factors = load_factors();
                return emit("fma", {sums, factors, source(term, is_one)}, is_one);
            }
            auto mul = factor.getDefiningOp<xnn::BinaryOp>();
            if (!mul || mul.getFunction() != xnn::Binary::mul || !factor.hasOneUse() || is_scalar(factor) != is_one)
                continue;
            const Register a = source(mul.getLhs(), is_one), b = source(mul.getRhs(), is_one);
            const Register c = source(term, is_one);
            std::set<std::string> numbers;
            for (const Register& r : {a, b, c})
                if (r.where == Register::kText) numbers.insert(r.text);
            if (numbers.size() > 2) continue;
            return emit("fma", {a, b, c}, is_one);
        }
        return std::nullopt;
    }

    Register compute(xnn::BinaryOp op, bool is_one) {
        using enum xnn::Binary;
        const auto function = op.getFunction();
        const Kind kind = kind_of(op.getLhs());
        if (function == add && kind == Kind::kFloat)
            if (const auto result = fused(op, is_one)) return *result;
        const Register a = source(op.getLhs(), is_one), b = source(op.getRhs(), is_one);
        if (kind == Kind::kFloat) {
            if (function >= bit_and) refuse("floats have no bits");
            return emit(xnn::stringifyBinary(function).str(), {a, b}, is_one);
        }
        switch (function) {
            case add:
            case sub:
            case mul:
            case max:
            case min:
                if (kind == Kind::kMask) refuse("arithmetic of booleans");
                return narrowed(emit(xnn::stringifyBinary(function).str() + "_int", {a, b}, is_one), op.getResult(),
                                is_one);
            case lt:
            case le:
            case eq:
            case ne:
                if (kind == Kind::kMask && (function == lt || function == le)) refuse("an order of booleans");
                return emit(xnn::stringifyBinary(function).str() + "_int", {a, b}, is_one);
            case bit_and:
                return emit("and", {a, b}, is_one);
            case bit_or:
                return emit("or", {a, b}, is_one);
            case bit_xor:
                return emit("xor", {a, b}, is_one);
            case shl:
                return narrowed(emit("shl", {a, b}, is_one), op.getResult(), is_one);
            case shr:
                return emit("shr", {a, b}, is_one);
            case div:
                if (kind == Kind::kMask) refuse("arithmetic of booleans");
                return narrowed(quotient(a, b, is_one), op.getResult(), is_one);
        }
        refuse("an unknown function");
    }

    // Towards zero. An f32 has 24 bits, so each round leaves a remainder that is smaller by more than 2^22; after three
    // of them the quotient is right, or too far from zero by one.
    Register quotient(const Register& a, const Register& b, bool is_one) {
        const Register divisor = emit("to_float", {b}, is_one);
        Register result = text("0"), rest = a;
        for (int round = 0; round < 3; round++) {
            const Register part =
                emit("to_int_trunc", {emit("div", {emit("to_float", {rest}, is_one), divisor}, is_one)}, is_one);
            result = round == 0 ? part : emit("add_int", {result, part}, is_one);
            rest = emit("sub_int", {rest, emit("mul_int", {part, b}, is_one)}, is_one);
        }
        const Register other_sign = emit("lt_int", {emit("xor", {rest, a}, is_one), text("0")}, is_one);
        const Register too_far = emit("and", {other_sign, emit("ne_int", {rest, text("0")}, is_one)}, is_one);
        const Register sign = emit("shr", {emit("xor", {a, b}, is_one), text("31")}, is_one);
        const Register one = emit("or", {sign, text("1")}, is_one);
        return emit("sub_int", {result, emit("and", {one, too_far}, is_one)}, is_one);
    }

    Register compute(xnn::CastOp op, bool is_one) {
        const Register in = source(op.getInput(), is_one);
        const Kind from = kind_of(op.getInput()), to = kind_of(op.getResult());
        if (to == Kind::kMask) {
            if (from == Kind::kMask) return in;
            return from == Kind::kFloat ? emit("ne", {in, text("0.0")}, is_one)
                                        : emit("ne_int", {in, text("0")}, is_one);
        }
        if (to == Kind::kFloat) {
            if (from == Kind::kFloat) return in;
            return emit("to_float", {from == Kind::kMask ? emit("and", {in, text("1")}, is_one) : in}, is_one);
        }
        if (from == Kind::kMask) return emit("and", {in, text("1")}, is_one);
        if (from == Kind::kInt) return narrowed(in, op.getResult(), is_one);
        Register value = emit(op.getNearest() ? "to_int" : "to_int_trunc", {in}, is_one);
        const mlir::Type type = mlir::cast<RankedTensorType>(op.getType()).getElementType();
        if (const unsigned width = type.getIntOrFloatBitWidth(); width < 32) {
            const bool plus = type.isUnsignedInteger();
            const int64_t low = plus ? 0 : -(int64_t{1} << (width - 1)), high = low + (int64_t{1} << width) - 1;
            value = emit("max_int", {value, text(fmt::format("{}", low))}, is_one);
            value = emit("min_int", {value, text(fmt::format("{}", high))}, is_one);
        }
        return value;
    }

    // ---- Registers
    // ---------------------------------------------------------------------------------------------------

    // Gives each value the lowest register that is free from its definition to its last use.
    void allocate() {
        std::map<unsigned, size_t> last;
        for (size_t i = 0; i < code_.size(); i++)
            for (const Register& source : code_[i].sources)
                if (source.where == Register::kVector || source.where == Register::kScalar) last[source.number] = i;
        const unsigned limits[] = {SIDRA_VECTOR_REGISTERS, codes_by_row(product_) ? kScalars : SIDRA_VECTOR_REGISTERS};
        std::array<std::vector<size_t>, 2> busy_until{std::vector<size_t>(limits[0]), std::vector<size_t>(limits[1])};
        for (size_t i = 0; i < code_.size(); i++) {
            const Register& to = code_[i].destination;
            if (to.where == Register::kNone) continue;
            const unsigned file = to.where == Register::kScalar;
            const size_t end = last.contains(to.number) ? last[to.number] : i;
            // A scalar's last use may be in a later pass, where it is read before anything is written.
            const auto free = std::ranges::find_if(busy_until[file], [&](size_t until) { return until <= i; });
            if (free == busy_until[file].end()) refuse("it needs more registers than a program has");
            *free = std::max(end, i + 1);
            registers_[to.number] = static_cast<unsigned>(free - busy_until[file].begin());
        }
    }

    std::string name(const Register& r) const {
        if (r.where == Register::kText) return r.text;
        return fmt::format("{}{}", r.where == Register::kVector ? 'v' : 's', registers_.at(r.number));
    }

    std::vector<std::string> write() {
        std::vector<std::string> lines;
        size_t instructions = code_.size();
        if (codes_by_row(product_)) {
            lines.assign(std::begin(kRowCodes), std::end(kRowCodes));
            instructions += std::size(kRowCodes) - 3;
        }
        if (instructions > SIDRA_VECTOR_INSTRUCTIONS_MAX) refuse("it needs more instructions than a program has");
        if (first_operand_ + bindings_.size() > SIDRA_VECTOR_OPERANDS_MAX)
            refuse("it needs more operands than a program has");
        for (size_t i = 0; i < code_.size(); i++) {
            if (std::ranges::find(begins_, i) != begins_.end()) lines.emplace_back("pass:");
            const Instruction& in = code_[i];
            std::string line = in.destination.where == Register::kNone ? "" : name(in.destination) + " = ";
            line += in.mnemonic;
            const char* separator = " ";
            if (!in.operand.empty()) line += std::exchange(separator, ", ") + in.operand;
            for (const Register& source : in.sources) line += std::exchange(separator, ", ") + name(source);
            lines.push_back(std::move(line));
        }
        return lines;
    }

    struct Kept {
        unsigned result, pass;
    };

    xnn::GroupOp group_;
    mlir::Operation* const product_;
    const llvm::SmallVector<int64_t> space_;
    const int64_t columns_;
    size_t first_operand_ = 0;
    unsigned pass_ = 0, count_ = 0;
    bool by_row_ = false;
    unsigned results_ = 0;
    std::map<const void*, unsigned> passes_;
    std::map<const void*, Register> vectors_, scalars_;  // vectors_: of this pass
    std::map<const void*, Kept> kept_;                   // values that were stored
    std::set<unsigned> taken_;                           // results that keep another value meanwhile
    std::vector<Instruction> code_;
    std::vector<size_t> begins_;  // of passes
    std::vector<Binding> bindings_;
    std::map<unsigned, unsigned> registers_;
};

}  // namespace

std::optional<Program> generate(xnn::GroupOp group, std::string* why) {
    try {
        return Generator(group).run();
    } catch (const Refused& refused) {
        if (why != nullptr) *why = refused.why;
        return std::nullopt;
    }
}

}  // namespace sidra::compiler
