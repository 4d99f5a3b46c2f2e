// SPDX-License-Identifier: MIT
// The compiler, which is a library of its own: it is loaded when something is compiled.
#include <dlfcn.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <sidra/compiler.h>

#include <array>
#include <exception>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "objects.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace sidra_python {
namespace {

struct CompileError : std::runtime_error {
    using runtime_error::runtime_error;
};
struct TargetMissed : std::runtime_error {
    using runtime_error::runtime_error;
};

// A function of the library. It stays loaded: MLIR cannot be unloaded.
template <typename Function>
Function* loaded(const std::string& library, const char* name) {
    void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void* const function = handle != nullptr ? dlsym(handle, name) : nullptr;
    if (function == nullptr) throw nb::import_error(dlerror());
    return reinterpret_cast<Function*>(function);
}

using Sample =
    std::tuple<std::string, std::string, nb::ndarray<nb::ro, uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>>;
using Labels = nb::ndarray<nb::ro, int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

uint32_t type_named(const std::string& name) {
    uint32_t type = 0;
    while (sidra_type_size(static_cast<sidra_type>(type)) != 0 && name != type_name(static_cast<sidra_type>(type)))
        type++;
    return type;
}

std::vector<sidra_compile_samples> as_samples(const std::vector<Sample>& inputs) {
    std::vector<sidra_compile_samples> samples;
    for (const auto& [name, type, values] : inputs)
        samples.push_back({name.c_str(), type_named(type), values.data(), values.size()});
    return samples;
}

// samples, tests: for each input its name, its type, and its values in all runs. labels: of the tests, if there is a
// target. Returns what the compiler notes.
std::vector<Text> compile(const std::string& library, const std::string& input, const std::string& output,
                          const std::vector<std::pair<std::string, int64_t>>& dimensions,
                          const std::vector<Sample>& samples, const std::vector<Sample>& tests, const Labels& labels,
                          double target_accuracy, uint32_t optimization_level, bool bias_correction, bool equalisation,
                          uint32_t copies, bool copies_by_layer, double tmr, bool predistort,
                          const std::string& observer, double signal_to_noise, const std::string& report,
                          bool adc_ranges, uint32_t chips, const std::string& chip_map, const std::string& dump) {
    auto* const function = loaded<decltype(sidra_compile)>(library, "sidra_compile");
    std::vector<sidra_compile_dimension> sizes;
    for (const auto& [name, size] : dimensions) sizes.push_back({name.c_str(), size});
    const std::vector<sidra_compile_samples> given = as_samples(samples), judged = as_samples(tests);
    std::vector<Text> notes;
    sidra_compile_options options{};
    options.struct_size = sizeof options;
    options.dimensions = sizes.data();
    options.dimension_count = sizes.size();
    options.samples = given.data();
    options.sample_count = given.size();
    options.tests = judged.data();
    options.test_count = judged.size();
    options.labels = labels.data();
    options.label_count = labels.size();
    options.target_accuracy = target_accuracy;
    options.no_bias_correction = !bias_correction;
    options.no_equalisation = !equalisation;
    options.copies = copies;
    options.copies_by_layer = copies_by_layer;
    options.tmr = tmr;
    options.predistort = predistort;
    options.observer = observer.c_str();
    options.signal_to_noise = signal_to_noise;
    options.report_file = report.empty() ? nullptr : report.c_str();
    options.adc_ranges = adc_ranges;
    options.chips = chips;
    options.chip_map = chip_map.empty() ? nullptr : chip_map.c_str();
    options.dump = dump.empty() ? nullptr : dump.c_str();
    options.note = [](void* user, const char* text) { static_cast<std::vector<Text>*>(user)->push_back({text}); };
    options.user = &notes;
    options.optimization = static_cast<sidra_optimization>(SIDRA_OPTIMIZATION_0 + optimization_level);
    std::array<char, 4096> error{};
    sidra_compile_status status;
    {
        const nb::gil_scoped_release release;
        status = function(input.c_str(), output.c_str(), &options, error.data(), error.size());
    }
    if (status == SIDRA_COMPILE_TARGET_MISSED) throw TargetMissed(error.data());
    if (status != SIDRA_COMPILE_OK) throw CompileError(error.data());
    return notes;
}

// What the calls and programs of a compiled model are, as text or as JSON.
Text list_calls(const std::string& library, const std::string& model, bool json) {
    auto* const function = loaded<decltype(sidra_list_calls)>(library, "sidra_list_calls");
    Text listing;
    std::array<char, 4096> error{};
    sidra_compile_status status;
    {
        const nb::gil_scoped_release release;
        const auto take = [](void* user, const char* text) { static_cast<Text*>(user)->bytes = text; };
        status = function(model.c_str(), 0, json, take, &listing, error.data(), error.size());
    }
    if (status != SIDRA_COMPILE_OK) throw CompileError(error.data());
    return listing;
}

// A class of exceptions in Python; nanobind's own translation would take UTF-8 only.
template <typename Exception>
nb::exception<Exception> make_exception(nb::module_& m, const char* name, nb::handle base) {
    nb::exception<Exception> type(m, name, base);
    nb::register_exception_translator(
        [](const std::exception_ptr& thrown, void* to) {
            try {
                std::rethrow_exception(thrown);
            } catch (const Exception& failure) {
                set_error(static_cast<PyObject*>(to), failure.what());
            }
        },
        type.ptr());
    return type;
}

}  // namespace

void bind_compiler(nb::module_& m, nb::handle error) {
    const auto refused = make_exception<CompileError>(m, "CompileError", error);
    make_exception<TargetMissed>(m, "TargetMissed", refused);
    m.def("compile", &compile, "library"_a, "input"_a, "output"_a, "dimensions"_a, "samples"_a, "tests"_a, "labels"_a,
          "target_accuracy"_a, "optimization_level"_a, "bias_correction"_a, "equalisation"_a, "copies"_a,
          "copies_by_layer"_a, "tmr"_a, "predistort"_a, "observer"_a, "signal_to_noise"_a, "report"_a, "adc_ranges"_a,
          "chips"_a, "chip_map"_a, "dump"_a);
    m.def("list_calls", &list_calls, "library"_a, "model"_a, "json"_a);
    m.attr("CHIPS_AUTO") = SIDRA_CHIPS_AUTO;
}

}  // namespace sidra_python
