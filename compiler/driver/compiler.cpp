// SPDX-License-Identifier: MIT
// The C interface.
#include "sidra/compiler.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "compile.h"

namespace {

int fail(const char* what, char* error, size_t capacity) {
    if (error == nullptr || capacity == 0) return 1;
    const size_t size = std::min(std::strlen(what), capacity - 1);
    std::memcpy(error, what, size);
    error[size] = '\0';
    return 1;
}

std::string text(const char* string) { return string == nullptr ? "" : string; }

}  // namespace

extern "C" int sidra_compile(const char* input, const char* output, const sidra_compile_options* options, char* error,
                             size_t capacity) {
    if (input == nullptr || output == nullptr) return fail("the names of the files are missing", error, capacity);
    if (options != nullptr && options->struct_size != sizeof *options)
        return fail("struct_size of the options is not that of this library", error, capacity);
    try {
        sidra::compiler::Options all;
        if (options != nullptr) {
            for (size_t i = 0; i < options->dimension_count; i++) {
                const sidra_compile_dimension& dimension = options->dimensions[i];
                if (dimension.name == nullptr || dimension.size < 1)
                    return fail("a dimension has no name, or a size below 1", error, capacity);
                all.dimensions[dimension.name] = dimension.size;
            }
            for (size_t i = 0; i < options->value_count; i++) {
                const sidra_compile_value& value = options->values[i];
                if (value.name == nullptr || value.file == nullptr)
                    return fail("a value has no name, or no file", error, capacity);
                all.values[value.name] = value.file;
            }
            all.pipeline = text(options->pipeline);
            all.dump = text(options->dump);
            all.reproducer = text(options->reproducer);
            if (options->report != nullptr)
                all.report = [options](const std::string& table) { options->report(options->user, table.c_str()); };
        }
        sidra::compiler::compile(input, output, all);
        return 0;
    } catch (const sidra::compiler::CompileError& refused) {
        return fail(refused.what(), error, capacity);
    } catch (const std::bad_alloc&) {
        return fail("there is not enough memory", error, capacity);
    }
}
