// SPDX-License-Identifier: MIT
#include "aten/pointwise.h"

#include <cctype>
#include <string_view>

#include "aten/arrays.h"
#include "runtime/block.h"
#include "runtime/device.h"

namespace sidra::pytorch {

// Registers: inputs v0 to v2, result v3, temporaries v4 to v7. Parameters: inputs that are numbers, in order; then
// `numbers`.
std::string Pointwise::text(bool integers, unsigned scalars, int inputs) const {
    std::array<std::string, kInputsMax> input;
    std::string out = "pass:\n";
    int operand = 0, param = 0;
    for (int i = 0; i < inputs; ++i) {
        const std::string number = std::to_string(i);
        if (scalars >> i & 1) {
            input[static_cast<size_t>(i)] = "p" + std::to_string(param++);
            continue;
        }
        input[static_cast<size_t>(i)] = "v" + number;
        out += "v" + number + (integers ? " = load_int o" : " = load o") + std::to_string(operand++) + "\n";
    }
    const auto translated = [&](char name) -> std::string {
        switch (name) {
            case 'a':
                return input[0];
            case 'b':
                return input[1];
            case 'c':
                return input[2];
            case 'p':
                return "p" + std::to_string(param);
            case 'q':
                return "p" + std::to_string(param + 1);
            case 'r':
                return "v3";
            case 't':
                return "v4";
            case 'u':
                return "v5";
            case 'w':
                return "v6";
            case 'x':
                return "v7";
            default:
                return std::string(1, name);
        }
    };
    const std::string_view body = integers ? integers_ : floats_;
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
    const std::string o = "o" + std::to_string(operand);
    out += compares_ ? "\nv3 = and v4, 1\nstore_int " + o + ", v3\n"
                     : (integers ? "\nstore_int " : "\nstore ") + o + ", v3\n";
    return out;
}

VectorProgram& Pointwise::program(bool integers, unsigned scalars, int inputs) {
    auto& slot = programs_[(integers ? size_t{1} << kInputsMax : 0) | scalars];
    if (VectorProgram* made = slot.load(std::memory_order_acquire)) [[likely]]
        return *made;
    const std::lock_guard guard(lock_);
    if (slot.load(std::memory_order_relaxed) == nullptr)
        slot.store(new VectorProgram(text(integers, scalars, inputs)), std::memory_order_release);
    return *slot.load(std::memory_order_relaxed);
}

bool Pointwise::run(at::TensorIteratorBase& iter, std::span<const c10::Scalar> numbers,
                    std::optional<at::ScalarType> type) {
    const at::ScalarType common = type.value_or(iter.common_dtype());
    // What s32 computes as the type does: comparisons and bits of all integers that it holds, arithmetic of s32 itself.
    const bool bits = floats_[0] == '\0';
    const bool small = common == at::kByte || common == at::kChar || common == at::kShort || common == at::kBool;
    const bool integers = common == at::kInt || (small && (bits || compares_));
    if (!integers && (bits || !is_float(common))) return false;
    if (integers && integers_[0] == '\0') return false;
    const std::optional<Sizes> sizes = sizes_of(iter);
    if (!sizes) return false;

    auto call = SIDRA_INIT(sidra_vector);
    std::array<sidra_vector_operand, kInputsMax + 1> operands;
    unsigned scalars = 0, operand = 0, param = 0;
    const auto add_number = [&](const c10::Scalar& value) {
        call.param[param++] =
            integers ? static_cast<uint32_t>(value.to<int32_t>()) : sidra_param_f32(value.to<float>());
    };
    const int inputs = iter.ntensors() - 1;
    for (int i = 0; i < inputs; ++i) {
        const at::ScalarType dtype = iter.dtype(i + 1);
        if (iter.is_cpu_scalar(i + 1)) {
            scalars |= 1u << i;
            add_number(iter.tensor(i + 1).item());
            continue;
        }
        // Other types PyTorch would round to the common one first.
        const bool narrow = dtype == at::kByte || dtype == at::kChar || dtype == at::kShort;
        const bool exact = dtype == common || dtype == at::kBool || (narrow && (integers || common == at::kFloat)) ||
                           (is_float(dtype) && common == at::kFloat);
        if (!exact) return false;
        operands[operand++] = array_of(iter, i + 1, *type_of(dtype));
    }
    for (const c10::Scalar& number : numbers) add_number(number);
    const at::ScalarType result = iter.dtype(0);
    if (compares_ ? result != at::kBool : result != common) return false;
    operands[operand++] = array_of(iter, 0, *type_of(result));

    const c10::DeviceIndex index = iter.device(0).index();
    call.program = program(integers, scalars, inputs).on(index);
    for (size_t d = 0; d < sizes->size(); ++d) call.size[d] = (*sizes)[d];
    call.operands = operands.data();
    call.operand_count = operand;
    if (!queued(sidra_vector_async(current_stream(index), &call))) return false;
    mark_written(iter.tensor_base(0));
    return true;
}

}  // namespace sidra::pytorch
