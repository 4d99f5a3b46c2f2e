// SPDX-License-Identifier: MIT
#include "aten/pointwise.h"

#include <ATen/Dispatch_v2.h>

#include <cctype>
#include <cmath>
#include <string_view>

#include "aten/arrays.h"
#include "runtime/block.h"
#include "runtime/device.h"

namespace sidra::pytorch {
namespace {

uint32_t low_half(int64_t number) { return static_cast<uint32_t>(number); }
uint32_t high_half(int64_t number) { return static_cast<uint32_t>(static_cast<uint64_t>(number) >> 32); }

// An input that is a number of the CPU, in another type: rounded or wrapped as the CPU's operators do, never refused.
c10::Scalar number_of(at::TensorIteratorBase& iter, int arg, at::ScalarType type) {
    return AT_DISPATCH_V2(type, "number", AT_WRAP([&] { return c10::Scalar(iter.scalar_value<scalar_t>(arg)); }),
                          AT_EXPAND(AT_ALL_TYPES), at::kBool, at::kHalf, at::kBFloat16);
}

}  // namespace

bool fits(at::ScalarType type, const at::Scalar& number) {
    if (number.isComplex()) return false;
    if (is_float(type)) return true;
    if (number.isFloatingPoint()) {
        const double value = number.to<double>();
        return std::abs(value) < 1e6 && value == std::trunc(value) &&
               fits(type, at::Scalar(static_cast<int64_t>(value)));
    }
    const int64_t value = number.to<int64_t>();
    switch (type) {
        case at::kBool:
            return value == 0 || value == 1;
        case at::kByte:
            return value >= 0 && value <= UINT8_MAX;
        case at::kChar:
            return value >= INT8_MIN && value <= INT8_MAX;
        case at::kShort:
            return value >= INT16_MIN && value <= INT16_MAX;
        case at::kInt:
            return value >= INT32_MIN && value <= INT32_MAX;
        default:
            return type == at::kLong;
    }
}

// Registers: inputs v0 to v2, and with s64 their high words v3 to v5; result v6, v7; temporaries v8 to v13. Parameters:
// inputs that are numbers, in order; then `numbers`.
std::string Pointwise::assembly(const Variant& variant) const {
    const bool longs = variant.kind == Kind::kLongs, floats = variant.kind == Kind::kFloats;
    const std::string_view body = longs ? text_.longs : floats ? text_.floats : text_.integers;
    std::array<std::string, kInputsMax> low, high;
    std::string out = "pass:\n";
    int operand = 0, param = 0;
    for (int i = 0; i < variant.inputs; ++i) {
        std::string &a = low[static_cast<size_t>(i)], &b = high[static_cast<size_t>(i)];
        if (variant.scalars >> i & 1) {
            a = "p" + std::to_string(param++);
            if (longs) b = "p" + std::to_string(param++);
            continue;
        }
        a = "v" + std::to_string(i);
        const auto load = [&](const std::string& to) {
            out += to + (floats ? " = load o" : " = load_int o") + std::to_string(operand++) + "\n";
        };
        load(a);
        if (!longs) continue;
        b = "v" + std::to_string(3 + i);
        if (variant.narrow >> i & 1) out += b + " = shr " + a + ", 31\n";
        else load(b);
    }
    const auto translated = [&](char name) -> std::string {
        constexpr std::string_view kInputs = "abcABC", kNumbers = "pq", kRegisters = "rRtuwxyz";
        if (const size_t i = kInputs.find(name); i != kInputs.npos) return i < 3 ? low[i] : high[i - 3];
        if (const size_t i = kNumbers.find(name); i != kNumbers.npos)
            return "p" + std::to_string(static_cast<size_t>(param) + i);
        if (const size_t i = kRegisters.find(name); i != kRegisters.npos) return "v" + std::to_string(6 + i);
        return std::string(1, name);
    };
    const auto is_word = [&](size_t i) {
        return i < body.size() &&
               (std::isalnum(static_cast<unsigned char>(body[i])) || body[i] == '_' || body[i] == '.');
    };
    for (size_t i = 0; i < body.size();) {
        size_t end = i;
        while (is_word(end)) ++end;
        if (end == i) {
            out += body[i] == ';' ? '\n' : body[i];
            ++i;
        } else {
            out += end == i + 1 ? translated(body[i]) : std::string(body.substr(i, end - i));
            i = end;
        }
    }
    const auto store = [&](const char* instruction, char from) {
        out += "\n" + std::string(instruction) + " o" + std::to_string(operand++) + ", " + translated(from);
    };
    if (text_.compares) {
        out += "\nv6 = and " + translated('t') + ", 1";
        store("store_int", 'r');
    } else {
        store(floats ? "store" : "store_int", 'r');
        if (longs) store("store_int", 'R');
    }
    return out + "\n";
}

VectorProgram& Pointwise::program(const Variant& variant) {
    auto& slot = programs_[variant.index()];
    if (VectorProgram* made = slot.load(std::memory_order_acquire)) [[likely]]
        return *made;
    const std::lock_guard guard(lock_);
    if (slot.load(std::memory_order_relaxed) == nullptr)
        slot.store(new VectorProgram(assembly(variant)), std::memory_order_release);
    return *slot.load(std::memory_order_relaxed);
}

std::optional<Pointwise::Kind> Pointwise::kind_of(at::ScalarType type) const {
    const auto if_there = [](const char* text, Kind kind) {
        return text[0] == '\0' ? std::nullopt : std::optional(kind);
    };
    if (is_float(type)) return if_there(text_.floats, Kind::kFloats);
    if (type == at::kInt || (is_narrow(type) && (text_.small || text_.compares)))
        return if_there(text_.integers, Kind::kIntegers);
    if (type == at::kLong) return if_there(text_.longs, Kind::kLongs);
    return std::nullopt;
}

bool Pointwise::run(at::TensorIteratorBase& iter, std::span<const c10::Scalar> numbers,
                    std::optional<at::ScalarType> type) {
    const at::ScalarType common = type.value_or(iter.common_dtype());
    const std::optional<Kind> kind = kind_of(common);
    if (!kind) return false;
    const std::optional<Sizes> sizes = sizes_of(iter);
    if (!sizes) return false;
    const bool longs = kind == Kind::kLongs, floats = kind == Kind::kFloats;

    std::array<uint32_t, 4> params{};
    std::array<sidra_vector_operand, 2 * (kInputsMax + 1)> operands;
    Variant variant{*kind, 0, 0, iter.ntensors() - 1};
    unsigned operand = 0, param = 0;
    const auto add_number = [&](const c10::Scalar& value) {
        if (longs) {
            const int64_t number = value.to<int64_t>();
            params[param++] = low_half(number);
            params[param++] = high_half(number);
        } else {
            params[param++] = kind == Kind::kIntegers ? static_cast<uint32_t>(value.to<int32_t>())
                                                      : sidra_param_f32(value.to<float>());
        }
    };
    const auto add_words = [&](int arg) {
        const sidra_array array = array_of(iter, arg, SIDRA_S64);
        operands[operand++] = low_word(array);
        operands[operand++] = high_word(array);
    };
    for (int i = 0; i < variant.inputs; ++i) {
        const at::ScalarType dtype = iter.dtype(i + 1);
        if (iter.is_cpu_scalar(i + 1)) {
            variant.scalars |= 1u << i;
            // As on other devices, arithmetic of shorter floats does not round the number to them.
            add_number(number_of(iter, i + 1, floats && !text_.compares ? at::kFloat : common));
            continue;
        }
        if (longs && dtype == at::kLong) {
            add_words(i + 1);
            continue;
        }
        // Other types PyTorch would round to the common one first.
        const bool exact = dtype == common || dtype == at::kBool ||
                           (is_narrow(dtype) && (kind != Kind::kFloats || common == at::kFloat)) ||
                           (longs && dtype == at::kInt) || (is_float(dtype) && common == at::kFloat);
        if (!exact) return false;
        variant.narrow |= longs ? 1u << i : 0;
        operands[operand++] = array_of(iter, i + 1, *type_of(dtype));
    }
    for (const c10::Scalar& number : numbers) add_number(number);
    const at::ScalarType result = iter.dtype(0);
    if (text_.compares ? result != at::kBool : result != common) return false;
    const sidra_array out = array_of(iter, 0, *type_of(result));
    std::optional<StoredWords> words;
    if (longs && !text_.compares) {
        words.emplace(*sizes, iter.device(0));
        operands[operand++] = words->low();
        operands[operand++] = words->high();
    } else {
        operands[operand++] = out;
    }

    if (!run_program(program(variant), iter.device(0).index(), *sizes, {operands.data(), operand},
                     {params.data(), param}) ||
        (words && !words->place(out)))
        return false;
    mark_written(iter.tensor_base(0));
    return true;
}

}  // namespace sidra::pytorch
