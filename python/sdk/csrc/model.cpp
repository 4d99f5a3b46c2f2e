// SPDX-License-Identifier: MIT
// Compiled models on a device.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "objects.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace sidra_python {
namespace {

using Bytes = nb::ndarray<nb::ro, uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Room = nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Tensor = std::tuple<std::string, const char*, std::vector<uint32_t>>;      // name, dtype, shape
using Variant = std::tuple<std::vector<Tensor>, std::vector<Tensor>, uint32_t>;  // inputs, outputs, calls

Tensor described(const sidra_model_tensor& tensor) {
    return {tensor.name, type_name(tensor.type), {tensor.shape, tensor.shape + tensor.rank}};
}

// A model with a stream of its own. All calls may come from any thread; runs of one model take turns.
class Model {
   private:
    // The interpreter goes on meanwhile: a run can take long, and another thread's may come first.
    template <typename Body>
    auto locked(const Body& body) const {
        const nb::gil_scoped_release release;
        const std::lock_guard guard(lock_);
        if (!model_) throw sidra::Error(SIDRA_ERROR_INVALID_HANDLE, "the model was closed");
        return body();
    }

    // After a fault the stream would refuse everything.
    template <typename Body>
    auto recovering(const Body& body) {
        try {
            return body();
        } catch (const sidra::Error& error) {
            if (error.status() == SIDRA_ERROR_FAULT) stream_.reset();
            throw;
        }
    }

   public:
    Model(State state, const std::string& path)
        : state_(std::move(state)), stream_(state_->context), model_(state_->context, path) {}

    std::string name() const {
        return locked([&] { return std::string(model_.info().name); });
    }

    std::vector<Variant> variants() const {
        return locked([&] {
            std::vector<Variant> all(model_.info().variants);
            for (uint32_t v = 0; v < all.size(); ++v) {
                auto& [inputs, outputs, calls] = all[v];
                const sidra_model_variant_info info = model_.variant(v);
                for (uint32_t i = 0; i < info.inputs; ++i) inputs.push_back(described(model_.input(v, i)));
                for (uint32_t i = 0; i < info.outputs; ++i) outputs.push_back(described(model_.output(v, i)));
                calls = info.calls;
            }
            return all;
        });
    }

    // With two cells for each weight, as libsidra has it while crossbars are free.
    uint64_t crossbars() const {
        return locked([&] {
            const sidra_device_info device = state_->device.info();
            uint64_t sum = 0;
            for (uint32_t i = 0; i < model_.info().matrices; ++i) {
                const sidra_model_matrix matrix = model_.matrix(i);
                const uint32_t columns = matrix.encoding == SIDRA_WEIGHTS_OFFSET ? device.cols : device.cols / 2;
                sum += ((uint64_t{matrix.k} + device.rows - 1) / device.rows) *
                       ((uint64_t{matrix.n} + columns - 1) / columns);
            }
            return sum;
        });
    }

    void deploy() {
        locked([&] { recovering([&] { stream_.deploy(model_); }); });
    }
    // Whether the programming ended in time.
    bool wait(double seconds) {
        return locked([&] {
            return recovering([&] {
                return stream_.synchronize(sidra::Deadline::after(
                    std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds))));
            });
        });
    }
    std::pair<uint64_t, uint64_t> progress() const {
        return locked([&] {
            const sidra::ModelProgress progress = model_.progress();
            return std::pair(progress.done, progress.total);
        });
    }

    void run(uint32_t variant, const std::vector<Bytes>& inputs, const std::vector<Room>& outputs) {
        std::vector<const void*> from;
        std::vector<void*> to;
        for (const Bytes& input : inputs) from.push_back(input.data());
        for (const Room& output : outputs) to.push_back(output.data());
        locked([&] {
            check_sizes("input", inputs, model_.variant(variant).inputs,
                        [&](uint32_t i) { return model_.input(variant, i); });
            check_sizes("output", outputs, model_.variant(variant).outputs,
                        [&](uint32_t i) { return model_.output(variant, i); });
            recovering([&] { stream_.run(model_, variant, from, to); });
        });
    }

    // Seconds and joules of a real chip, by the cost model.
    std::pair<double, double> cost() const {
        return locked([&] {
            const sidra::Cost cost = stream_.device_time();
            return std::pair(static_cast<double>(cost.picoseconds) / 1e12, static_cast<double>(cost.picojoules) / 1e12);
        });
    }

    // Frees the crossbars; a run of another thread ends before.
    void close() {
        const nb::gil_scoped_release release;
        const std::lock_guard guard(lock_);
        stream_.close();
        model_.close();
    }

   private:
    template <typename Array, typename Get>
    static void check_sizes(const char* kind, const std::vector<Array>& arrays, uint32_t count, const Get& get) {
        bool right = arrays.size() == count;
        for (uint32_t i = 0; right && i < count; ++i) right = arrays[i].size() == get(i).bytes;
        if (!right)
            throw sidra::Error(SIDRA_ERROR_INVALID_ARGUMENT,
                               std::string("an ") + kind + " has another size than the model's");
    }

    mutable std::mutex lock_;
    State state_;
    sidra::Stream stream_;
    sidra::Model model_;
};

}  // namespace

void bind_model(nb::module_& m) {
    nb::class_<Model>(m, "Model")
        .def(nb::init<State, const std::string&>(), "device"_a, "path"_a)
        .def_prop_ro("name", &Model::name)
        .def_prop_ro("variants", &Model::variants)
        .def_prop_ro("crossbars", &Model::crossbars)
        .def("deploy", &Model::deploy)
        .def("wait", &Model::wait, "seconds"_a)
        .def("progress", &Model::progress)
        .def("run", &Model::run, "variant"_a, "inputs"_a, "outputs"_a)
        .def_prop_ro("cost", &Model::cost)
        .def("close", &Model::close);
}

}  // namespace sidra_python
