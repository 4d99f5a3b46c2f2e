// SPDX-License-Identifier: MIT
// sidra._core: libsidra's objects in Python. Arrays come and go through DLPack and the array interface, without copies.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "objects.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace sidra_python {
namespace {

const Dtype& dtype_named(const std::string& name) {
    for (const Dtype& dtype : kDtypes) {
        if (name == dtype.name) return dtype;
    }
    std::string names;
    for (const Dtype& dtype : kDtypes) names += std::string(names.empty() ? "" : ", ") + dtype.name;
    throw nb::value_error(("dtype \"" + name + "\" is none of the chip's: " + names).c_str());
}

struct Buffer {
    State state;
    sidra::Buffer buffer;
    std::vector<size_t> shape;
    const Dtype* dtype;

    size_t elements() const {
        size_t count = 1;
        for (const size_t size : shape) count *= size;
        return count;
    }
};

struct Weights {
    State state;
    sidra::Weights weights;
    uint32_t k, n;
};

struct Graph {
    State state;
    sidra::Graph graph;
};

struct Stream {
    State state;
    sidra::Stream stream;
};

void require_same(const State& a, const State& b, const char* what) {
    if (a != b) throw nb::value_error((std::string(what) + " is of another device").c_str());
}

// Multiplies the rows of `in` by the weights, into `out`; checks shapes and types.
void mvm(Stream& stream, const Weights& weights, const Buffer& in, const Buffer& out, float in_scale, int32_t in_zero,
         float out_scale, int32_t out_zero) {
    require_same(stream.state, weights.state, "the matrix of weights");
    require_same(stream.state, in.state, "the input");
    require_same(stream.state, out.state, "the output");
    const size_t batch = in.elements() / weights.k;
    if (in.shape.empty() || in.shape.back() != weights.k || out.shape.empty() || out.shape.back() != weights.n ||
        out.elements() != batch * weights.n)
        throw nb::value_error(("the matrix is " + std::to_string(weights.k) + " x " + std::to_string(weights.n) +
                               ", so the input has rows of " + std::to_string(weights.k) +
                               " elements and the output as many rows of " + std::to_string(weights.n))
                                  .c_str());
    sidra_mvm call{};
    call.batch = static_cast<uint32_t>(batch);
    call.in_type = in.dtype->type, call.out_type = out.dtype->type;
    call.in = in.buffer, call.out = out.buffer;
    call.in_scale = in_scale, call.in_zero = in_zero;
    call.out_scale = out_scale, call.out_zero = out_zero;
    const nb::gil_scoped_release release;
    stream.stream.mvm(weights.weights, call);
}

using Matrix = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

State open(uint32_t index, const std::optional<std::string>& level, const std::optional<std::string>& profile,
           const std::optional<std::string>& state_file, uint64_t seed, uint32_t stuck_ppm, bool private_chip) {
    sidra_device_options options{};
    const auto choose = [](const std::optional<std::string>& name, const char* what,
                           const std::map<std::string, int>& all) {
        if (!name) return 0;
        const auto found = all.find(*name);
        if (found != all.end()) return found->second;
        std::string names;
        for (const auto& [known, value] : all) names += (names.empty() ? "\"" : ", \"") + known + "\"";
        throw nb::value_error((std::string(what) + " \"" + *name + "\" is none of " + names).c_str());
    };
    options.level = static_cast<sidra_level>(
        choose(level, "level", {{"fast", SIDRA_LEVEL_FAST}, {"accurate", SIDRA_LEVEL_ACCURATE}}));
    options.profile = static_cast<sidra_profile>(
        choose(profile, "profile", {{"y1", SIDRA_PROFILE_Y1}, {"small", SIDRA_PROFILE_SMALL}}));
    options.state_file = state_file ? state_file->c_str() : nullptr;
    options.seed = seed;
    options.stuck_ppm = stuck_ppm;
    options.private_chip = private_chip;
    return std::make_shared<DeviceState>(sidra::Device::open(index, options));
}

Weights make_weights(const State& state, const Matrix& values, const std::string& encoding,
                     const std::optional<std::vector<uint32_t>>& crossbars) {
    if (values.ndim() != 2) throw nb::value_error("weights: expected a matrix of two dimensions [inputs, outputs]");
    sidra_weights_options options{};
    if (encoding == "differential") options.encoding = SIDRA_WEIGHTS_DIFFERENTIAL;
    else if (encoding == "offset") options.encoding = SIDRA_WEIGHTS_OFFSET;
    else if (encoding != "auto")
        throw nb::value_error(
            ("encoding \"" + encoding + "\" is none of \"auto\", \"differential\", \"offset\"").c_str());
    if (crossbars) {
        if (encoding == "auto")
            throw nb::value_error(
                "weights: `crossbars` needs the encoding \"differential\" or \"offset\", which says how many there "
                "are");
        if (crossbars->empty()) throw nb::value_error("weights: `crossbars` is empty; None lets the driver choose");
        options.crossbars = crossbars->data();
        options.crossbar_count = static_cast<uint32_t>(crossbars->size());
    }
    const auto k = static_cast<uint32_t>(values.shape(0)), n = static_cast<uint32_t>(values.shape(1));
    const nb::gil_scoped_release release;
    if (values.dtype() == nb::dtype<float>())
        return {state,
                sidra::Weights::from_f32(state->context, k, n,
                                         {static_cast<const float*>(values.data()), values.size()}, options),
                k, n};
    if (values.dtype() == nb::dtype<int8_t>())
        return {state,
                sidra::Weights::from_s8(state->context, k, n,
                                        {static_cast<const int8_t*>(values.data()), values.size()}, {}, options),
                k, n};
    throw nb::type_error("weights: expected float32 or int8");
}

}  // namespace
}  // namespace sidra_python

NB_MODULE(_core, m) {
    using namespace sidra_python;
    static nb::exception<sidra::Error> error(m, "Error", PyExc_RuntimeError);
    nb::register_exception_translator(
        [](const std::exception_ptr& thrown, void* to) {
            try {
                std::rethrow_exception(thrown);
            } catch (const sidra::Error& failure) {
                const std::string text = std::string(failure.status_name()) + ": " + failure.what();
                const bool memory = failure.status() == SIDRA_ERROR_OUT_OF_MEMORY ||
                                    failure.status() == SIDRA_ERROR_OUT_OF_DEVICE_MEMORY;
                set_error(memory ? PyExc_MemoryError : static_cast<PyObject*>(to), text);
            }
        },
        error.ptr());

    m.def("device_count", &sidra::Device::count);
    m.def("library_version", &sidra::library_version);

    nb::class_<Buffer>(m, "Buffer")
        .def_prop_ro("shape", [](const Buffer& buffer) { return nb::tuple(nb::cast(buffer.shape)); })
        .def_prop_ro("dtype", [](const Buffer& buffer) { return buffer.dtype->name; })
        .def_prop_ro("nbytes", [](const Buffer& buffer) { return buffer.buffer.size(); })
        .def("_view", [](nb::object self) {
            const auto& buffer = nb::cast<const Buffer&>(self);
            return nb::ndarray<nb::array_api>(buffer.buffer.as<>().data(), buffer.shape.size(), buffer.shape.data(),
                                              self, nullptr, buffer.dtype->code);
        });

    nb::class_<Weights>(m, "Weights")
        .def_prop_ro("shape", [](const Weights& weights) { return std::pair(weights.k, weights.n); })
        .def_prop_ro("crossbars", [](const Weights& weights) { return weights.weights.info().crossbars; })
        .def_prop_ro("grid",
                     [](const Weights& weights) {
                         const sidra_weights_info info = weights.weights.info();
                         return std::pair(info.tile_rows, info.tile_cols);
                     })
        .def("crossbar_numbers", [](const Weights& weights) { return weights.weights.crossbars(); })
        .def_prop_ro("programmed", [](const Weights& weights) { return weights.weights.info().programmed; })
        .def_prop_ro("encoding",
                     [](const Weights& weights) {
                         return weights.weights.info().encoding == SIDRA_WEIGHTS_DIFFERENTIAL ? "differential"
                                                                                              : "offset";
                     })
        .def("progress",
             [](const Weights& weights) {
                 const sidra::WeightsProgress progress = weights.weights.progress();
                 return std::pair(progress.done, progress.total);
             })
        .def(
            "publish", [](Weights& weights, const std::string& name) { weights.weights.publish(name); }, "name"_a)
        .def("scales", [](const Weights& weights) {
            const auto scale = weights.weights.scale();
            return std::vector<float>(scale.begin(), scale.end());
        });

    nb::class_<Graph>(m, "Graph").def_prop_ro("operations", [](const Graph& graph) {
        return graph.graph.operations();
    });

    // The interpreter goes on while a call waits: any that queues an operation does while the ring is full.
    nb::class_<Stream>(m, "Stream")
        .def(
            "synchronize", [](Stream& stream) { stream.stream.synchronize(); },
            nb::call_guard<nb::gil_scoped_release>())
        .def("done", [](const Stream& stream) { return stream.stream.done(); })
        .def(
            "program",
            [](Stream& stream, const Weights& weights) {
                require_same(stream.state, weights.state, "the matrix of weights");
                const nb::gil_scoped_release release;
                stream.stream.program(weights.weights);
            },
            "weights"_a)
        .def("mvm", &mvm, "weights"_a, "input"_a, "output"_a, "in_scale"_a = 0.0f, "in_zero"_a = 0,
             "out_scale"_a = 0.0f, "out_zero"_a = 0)
        .def(
            "copy",
            [](Stream& stream, const Buffer& to, const Buffer& from) {
                require_same(stream.state, to.state, "the destination");
                require_same(stream.state, from.state, "the source");
                if (to.buffer.size() != from.buffer.size())
                    throw nb::value_error("copy: the buffers have different sizes");
                const nb::gil_scoped_release release;
                stream.stream.copy(to.buffer, from.buffer, to.buffer.size());
            },
            "to"_a, "source"_a)
        .def(
            "read",
            [](Stream& stream, const Weights& weights) {
                std::unique_ptr<std::vector<int8_t>> values;
                {
                    const nb::gil_scoped_release release;
                    values = std::make_unique<std::vector<int8_t>>(stream.stream.read(weights.weights));
                }
                const std::array<size_t, 2> shape = {weights.k, weights.n};
                int8_t* data = values->data();
                nb::capsule owner(values.release(),
                                  [](void* held) noexcept { delete static_cast<std::vector<int8_t>*>(held); });
                return nb::ndarray<nb::numpy, int8_t>(data, 2, shape.data(), owner);
            },
            "weights"_a)
        .def("begin", [](Stream& stream) { sidra::detail::check(sidra_graph_begin(stream.stream.get())); })
        .def("end",
             [](Stream& stream) {
                 sidra_graph* graph = nullptr;
                 sidra::detail::check(sidra_graph_end(stream.stream.get(), &graph));
                 return Graph{stream.state, sidra::Graph(graph)};
             })
        .def("drop", [](Stream& stream) { static_cast<void>(sidra_graph_end(stream.stream.get(), nullptr)); })
        .def(
            "launch",
            [](Stream& stream, const Graph& graph) {
                require_same(stream.state, graph.state, "the graph");
                const nb::gil_scoped_release release;
                stream.stream.launch(graph.graph);
            },
            "graph"_a)
        .def_prop_ro("cost", [](const Stream& stream) {
            const sidra::Cost cost = stream.stream.device_time();
            return std::pair(static_cast<double>(cost.picoseconds) / 1e12, static_cast<double>(cost.picojoules) / 1e12);
        });

    nb::class_<DeviceState>(m, "Device")
        .def_static("open", &open, "index"_a, "level"_a, "profile"_a, "state_file"_a, "seed"_a, "stuck_ppm"_a,
                    "private"_a)
        .def_prop_ro("info",
                     [](const DeviceState& state) {
                         const sidra_device_info info = state.device.info();
                         nb::dict all;
                         all["name"] = info.name, all["transport"] = info.transport, all["engine"] = info.engine;
                         all["crossbars_total"] = info.crossbars_total, all["crossbars_free"] = info.crossbars_free;
                         all["rows"] = info.rows, all["columns"] = info.cols;
                         all["l3_size"] = info.l3_size, all["l3_free"] = info.l3_free;
                         all["model"] = info.model;
                         return all;
                     })
        .def("reset", [](DeviceState& state) { state.device.reset(); })
        .def("recover", [](DeviceState& state) { state.context.recover(); });

    m.def(
        "buffer",
        [](const State& state, std::vector<size_t> shape, const std::string& dtype, bool on_chip) {
            Buffer made{state, {}, std::move(shape), &dtype_named(dtype)};
            if (made.elements() == 0) throw nb::value_error("a buffer has at least one element");
            made.buffer = sidra::Buffer(state->context, made.elements() * made.dtype->code.bits / 8,
                                        on_chip ? SIDRA_BUFFER_DEVICE : SIDRA_BUFFER_HOST);
            return made;
        },
        "device"_a, "shape"_a, "dtype"_a, "on_chip"_a);
    m.def(
        "stream",
        [](const State& state) {
            return Stream{state, sidra::Stream(state->context)};
        },
        "device"_a);
    m.def("weights", &make_weights, "device"_a, "values"_a, "encoding"_a, "crossbars"_a.none());
    m.def(
        "open_weights",
        [](const State& state, const std::string& name) {
            sidra::Weights opened = sidra::Weights::open(state->context, name);
            const sidra_weights_info info = opened.info();
            return Weights{state, std::move(opened), info.k, info.n};
        },
        "device"_a, "name"_a);
    bind_model(m);
    bind_pipeline(m);
    bind_compiler(m, error);
}
