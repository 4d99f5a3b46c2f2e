// SPDX-License-Identifier: MIT
// sidra_pytorch._C: what torch.sidra needs beside operators. Functions on tensors are operators of the library "sidra".
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <torch/library.h>
#include <torch/version.h>

#include "aten/fallback.h"
#include "compiled/entry.h"
#include "distributed/context.h"
#include "residency/residency.h"
#include "runtime/block.h"
#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/generator.h"
#include "runtime/memory.h"

namespace nb = nanobind;

namespace sidra::pytorch {
namespace {

nb::dict memory(int index) {
    const MemoryStats stats = memory_stats(static_cast<c10::DeviceIndex>(index));
    nb::dict all;
    all["allocated_bytes.current"] = stats.used;
    all["allocated_bytes.peak"] = stats.used_peak;
    all["reserved_bytes.current"] = stats.reserved;
    all["reserved_bytes.peak"] = stats.reserved_peak;
    all["pending_bytes.current"] = stats.pending;
    all["allocation.allocated"] = stats.allocations;
    all["allocation.freed"] = stats.frees;
    all["num_device_alloc"] = stats.misses;
    return all;
}

nb::list fallbacks() {
    nb::list rows;
    for (const FallbackCount& count : fallback_counts()) {
        nb::dict row;
        row["op"] = count.op;
        row["calls"] = count.calls;
        row["in_place"] = count.in_place;
        row["copied"] = count.copied;
        row["seconds"] = static_cast<double>(count.nanoseconds) / 1e9;
        rows.append(row);
    }
    return rows;
}

nb::list residency(int index) {
    nb::list rows;
    for (const ResidencyRow& of : residency_rows(static_cast<c10::DeviceIndex>(index))) {
        nb::dict row;
        row["storage"] = of.uid;
        row["inputs"] = of.k;
        row["outputs"] = of.n;
        row["crossbars"] = of.crossbars;
        row["uses"] = of.uses;
        row["programs"] = of.programs;
        row["pinned"] = of.pinned;
        row["resident"] = !of.stale;
        row["volatile"] = of.is_volatile;
        row["program_seconds"] = static_cast<double>(of.program_device_ps) / 1e12;
        row["program_joules"] = static_cast<double>(of.program_energy_pj) / 1e12;
        row["wear"] = of.wear;
        row["pulses"] = of.pulses;
        rows.append(row);
    }
    return rows;
}

nb::dict properties(int index) {
    auto info = SIDRA_INIT(sidra_device_info);
    check(sidra_device_get_info(device(static_cast<c10::DeviceIndex>(index)).device().get(), &info));
    nb::dict all;
    all["name"] = info.name;
    all["transport"] = info.transport;
    all["engine"] = info.engine;
    all["crossbars_total"] = info.crossbars_total;
    all["crossbars_free"] = info.crossbars_free;
    all["rows"] = info.rows;
    all["columns"] = info.cols;
    all["l3_size"] = info.l3_size;
    return all;
}

// Device seconds and joules of the calling thread's stream since it began, by the cost model.
std::pair<double, double> cost(int index) {
    uint64_t picoseconds = 0, picojoules = 0;
    check(sidra_stream_device_time(current_stream(static_cast<c10::DeviceIndex>(index)), &picoseconds, &picojoules));
    return {static_cast<double>(picoseconds) / 1e12, static_cast<double>(picojoules) / 1e12};
}

// Why the matrix stays digital; "": it is on crossbars.
std::string program_tensor(const at::Tensor& matrix) {
    std::string why;
    program(matrix, &why);
    return why;
}

// Encoding ("": it is not on crossbars), inputs and outputs, rows and columns of tiles, and the crossbar of each tile.
using LayoutTuple = std::tuple<std::string, std::vector<int64_t>, std::vector<int64_t>, std::vector<int64_t>>;
LayoutTuple layout(const at::Tensor& matrix) {
    const std::optional<Layout> found = layout_of(matrix);
    if (!found) return {};
    return {found->encoding == SIDRA_WEIGHTS_DIFFERENTIAL ? "differential" : "offset",
            {found->k, found->n},
            {found->tile_rows, found->tile_cols},
            {found->crossbars.begin(), found->crossbars.end()}};
}

// Seconds and joules.
std::tuple<double, double> programming_cost_of(const at::Tensor& matrix) {
    const ProgrammingCost cost = programming_cost(matrix);
    return {static_cast<double>(cost.device_ps) / 1e12, static_cast<double>(cost.energy_pj) / 1e12};
}

// encoding: as layout() gives it; "": any.
void set_tensor_layout(const at::Tensor& matrix, const std::string& encoding, at::IntArrayRef crossbars, bool pin) {
    const std::vector<uint32_t> numbers(crossbars.begin(), crossbars.end());
    set_layout(matrix,
               encoding.empty()             ? SIDRA_WEIGHTS_AUTO
               : encoding == "differential" ? SIDRA_WEIGHTS_DIFFERENTIAL
                                            : SIDRA_WEIGHTS_OFFSET,
               numbers, pin);
}

at::Tensor rng_state(int64_t index) { return default_generator(static_cast<c10::DeviceIndex>(index)).get_state(); }

void set_rng_state(int64_t index, const at::Tensor& state) {
    at::Generator generator = default_generator(static_cast<c10::DeviceIndex>(index));
    const std::lock_guard guard(generator.mutex());
    generator.set_state(state);
}

}  // namespace

std::string pipeline_stage() {
    const nb::gil_scoped_acquire acquire_gil;
    try {
        return nb::cast<std::string>(nb::module_::import_("sidra_pytorch.distributed").attr("pipeline_stage")());
    } catch (const std::exception&) {
        return "";  // the error that it would be part of is more important
    }
}

TORCH_LIBRARY_FRAGMENT(sidra, m) {
    m.def("mark_written(Tensor tensor) -> ()", [](const at::Tensor& tensor) { mark_written(tensor); });
    m.def("generation(Tensor tensor) -> int", [](const at::Tensor& tensor) {
        const Block* block = block_of(tensor);
        return block == nullptr ? int64_t{-1} : static_cast<int64_t>(block->generation.load());
    });
    m.def("rng_state(int device) -> Tensor", rng_state);
    m.def("set_rng_state(int device, Tensor state) -> ()", set_rng_state);
    m.def("program(Tensor matrix) -> str", program_tensor);
    m.def("layout(Tensor matrix) -> (str, int[], int[], int[])", layout);
    m.def("programming_cost(Tensor matrix) -> (float, float)", programming_cost_of);
    m.def("set_layout(Tensor matrix, str encoding, int[] crossbars, bool pin) -> ()", set_tensor_layout);
    m.def("release(Tensor matrix) -> ()", [](const at::Tensor& matrix) { release(matrix); });
}

NB_MODULE(_C, m) {
    // As PyTorch's own functions raise them, and without the addresses of a stack.
    nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
        try {
            std::rethrow_exception(thrown);
        } catch (const c10::OutOfMemoryError& error) {
            PyErr_SetString(nb::module_::import_("torch").attr("OutOfMemoryError").ptr(),
                            error.what_without_backtrace());
        } catch (const c10::NotImplementedError& error) {
            PyErr_SetString(PyExc_NotImplementedError, error.what_without_backtrace());
        } catch (const c10::Error& error) {
            PyErr_SetString(PyExc_RuntimeError, error.what_without_backtrace());
        }
    });
    m.attr("torch_version") = TORCH_VERSION;
    m.def("device_count", [] { return static_cast<int>(device_count()); });
    m.def("current_device", [] { return static_cast<int>(current_device()); });
    m.def("set_device", [](int index) { set_current_device(static_cast<c10::DeviceIndex>(index)); });
    m.def("is_open", [](int index) { return is_open(static_cast<c10::DeviceIndex>(index)); });
    m.def("properties", &properties);
    m.def("synchronize", [](int index) {
        const nb::gil_scoped_release release_gil;
        if (is_open(static_cast<c10::DeviceIndex>(index))) device(static_cast<c10::DeviceIndex>(index)).synchronize();
    });
    m.def("recover", [](int index) { device(static_cast<c10::DeviceIndex>(index)).recover(); });
    m.def("cost", &cost);
    m.def("memory_stats", &memory);
    m.def("memory_info", [](int index) { return memory_info(static_cast<c10::DeviceIndex>(index)); });
    m.def("empty_cache", [](int index) { empty_cache(static_cast<c10::DeviceIndex>(index)); });
    m.def("reset_peak_memory_stats", [](int index) { reset_peak(static_cast<c10::DeviceIndex>(index)); });
    const auto generator = [](int index) { return default_generator(static_cast<c10::DeviceIndex>(index)); };
    m.def("manual_seed", [=](int index, uint64_t seed) {
        at::Generator of = generator(index);
        const std::lock_guard guard(of.mutex());
        of.set_current_seed(seed);
    });
    m.def("seed", [=](int index) {
        at::Generator of = generator(index);
        const std::lock_guard guard(of.mutex());
        return of.seed();
    });
    m.def("initial_seed", [=](int index) { return generator(index).current_seed(); });
    m.def("fallbacks", &fallbacks);
    m.def("reset_fallbacks", &reset_fallback_counts);
    m.def("native_calls", &native_calls);
    m.def("set_fallback_mode", [](int mode) { set_fallback_mode(static_cast<FallbackMode>(mode)); });
    m.def("fallback_mode", [] { return static_cast<int>(fallback_mode()); });
    m.def("matmul_mode", [] { return static_cast<int>(matmul_mode()); });
    m.def("set_matmul_mode", [](int mode) { set_matmul_mode(static_cast<MatmulMode>(mode)); });
    m.def("residency", &residency);
    m.def("set_residency_check", &set_residency_check);
    add_compiled(m);
}

}  // namespace sidra::pytorch
