// SPDX-License-Identifier: MIT
#include "function_programs.h"

#include <cstring>
#include <variant>
#include <vector>

#include "program/program_text.h"

namespace sidra {
namespace {

constexpr const char* kTexts[] = {
#define SIDRA_FUNCTION(name, text) text,
#include "function_programs.inc"
#undef SIDRA_FUNCTION
};

}  // namespace

sidra_status FunctionPrograms::create(const char* call, sidra_context* context,
                                      std::shared_ptr<FunctionPrograms>* programs) {
    std::shared_ptr<FunctionPrograms> made(new FunctionPrograms);
    std::vector<sidra_vector_instruction> all;
    std::vector<size_t> ends;
    for (const char* text : kTexts) {
        const program::Assembly assembly = program::assemble(text);
        const auto* code = std::get_if<program::Code>(&assembly);
        if (code == nullptr) return fail(SIDRA_ERROR_INTERNAL, call, "the program of a function is wrong: {}", text);
        all.insert(all.end(), code->instructions.begin(), code->instructions.end());
        ends.push_back(all.size());
    }
    const size_t bytes = all.size() * sizeof(sidra_vector_instruction);
    SIDRA_TRY(DeviceMemory::create(call, context, bytes, false, &made->memory_));
    std::memcpy(made->memory_->host(), all.data(), bytes);
    const auto* copy = reinterpret_cast<const sidra_vector_instruction*>(made->memory_->host());
    size_t begin = 0;
    for (size_t i = 0; i < ends.size(); ++i) {
        const std::span code(copy + begin, ends[i] - begin);
        ProgramRules rules;
        if (verify_code(code, 0, &rules))
            return fail(SIDRA_ERROR_INTERNAL, call, "the program of a function is refused: {}", kTexts[i]);
        made->programs_[i].set(code, made->memory_->address() + begin * sizeof(sidra_vector_instruction), rules, 0);
        begin = ends[i];
    }
    *programs = std::move(made);
    return SIDRA_OK;
}

sidra_status make_function_programs(const char* call, sidra_context* context, const FunctionPrograms** programs) {
    return guarded(call, [&]() -> sidra_status {
        const std::lock_guard lock(context->mutex);
        if (!context->functions_owned) {
            SIDRA_TRY(FunctionPrograms::create(call, context, &context->functions_owned));
            context->functions.store(context->functions_owned.get(), std::memory_order_release);
        }
        *programs = context->functions_owned.get();
        return SIDRA_OK;
    });
}

}  // namespace sidra
