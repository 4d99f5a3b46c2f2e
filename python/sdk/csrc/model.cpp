// SPDX-License-Identifier: MIT
// Compiled models on a device.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <string>
#include <vector>

#include "model_arrays.h"
#include "objects.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace sidra_python {
namespace {

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

    Text name() const {
        return locked([&] { return Text{model_.info().name}; });
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

    uint64_t crossbars() const {
        return locked([&] { return crossbars_of(model_, state_->device.info()); });
    }

    void deploy() {
        locked([&] { recovering([&] { stream_.deploy(model_); }); });
    }
    // Whether the programming ended in time.
    bool wait(double seconds) {
        return locked([&] { return recovering([&] { return stream_.synchronize(deadline_of(seconds)); }); });
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
