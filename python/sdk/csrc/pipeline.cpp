// SPDX-License-Identifier: MIT
// Compiled models on several devices.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "model_arrays.h"
#include "objects.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace sidra_python {
namespace {

// A pipeline with a context for each stage. All calls may come from any thread; runs end in the order of submit().
class Pipeline {
   private:
    template <typename Body>
    auto open(const Body& body) const {
        const nb::gil_scoped_release release;
        const std::shared_lock guard(lock_);
        if (!pipeline_) throw sidra::Error(SIDRA_ERROR_INVALID_HANDLE, "the model was closed");
        return body();
    }
    // A model of its own only by its type: the pipeline destroys it.
    class Stage {
       public:
        explicit Stage(sidra_model* model) : model_(model) {}
        Stage(const Stage&) = delete;
        Stage& operator=(const Stage&) = delete;
        ~Stage() { static_cast<void>(model_.release()); }
        const sidra::Model& model() const { return model_; }
        const sidra::Model* operator->() const { return &model_; }

       private:
        sidra::Model model_;
    };
    Stage first() const { return Stage(pipeline_.stage(0)); }
    Stage last() const { return Stage(pipeline_.stage(static_cast<uint32_t>(contexts_.size()) - 1)); }

   public:
    // devices: of the stages. One may hold several.
    Pipeline(const std::vector<State>& devices, const std::string& path) : devices_(devices) {
        std::vector<const sidra::Context*> all;
        contexts_.reserve(devices.size());
        for (const State& state : devices) all.push_back(&contexts_.emplace_back(state->device));
        pipeline_ = sidra::Pipeline(all, path);
    }

    Text name() const {
        return open([&] { return Text{first()->info().name}; });
    }
    std::vector<Variant> variants() const {
        return open([&] {
            std::vector<Variant> all(pipeline_.info().variants);
            for (uint32_t v = 0; v < all.size(); ++v) {
                auto& [inputs, outputs, calls] = all[v];
                for (uint32_t i = 0; i < first()->variant(v).inputs; ++i)
                    inputs.push_back(described(first()->input(v, i)));
                for (uint32_t i = 0; i < last()->variant(v).outputs; ++i)
                    outputs.push_back(described(last()->output(v, i)));
                for (uint32_t s = 0; s < contexts_.size(); ++s) calls += Stage(pipeline_.stage(s))->variant(v).calls;
            }
            return all;
        });
    }
    uint64_t crossbars() const {
        return open([&] {
            uint64_t sum = 0;
            for (uint32_t s = 0; s < contexts_.size(); ++s)
                sum += crossbars_of(Stage(pipeline_.stage(s)).model(), devices_[s]->device.info());
            return sum;
        });
    }
    uint32_t runs_max() const {
        return open([&] { return pipeline_.info().runs_max; });
    }

    void deploy() {
        open([&] { pipeline_.deploy(); });
    }
    // Whether all that was queued ended in time.
    bool wait(double seconds) {
        return open([&] { return pipeline_.synchronize(deadline_of(seconds)); });
    }
    std::pair<uint64_t, uint64_t> progress() const {
        return open([&] {
            const sidra::ModelProgress progress = pipeline_.progress();
            return std::pair(progress.done, progress.total);
        });
    }

    void submit(uint32_t variant, const std::vector<Bytes>& inputs) {
        std::vector<const void*> from;
        for (const Bytes& input : inputs) from.push_back(input.data());
        open([&] {
            check_sizes("input", inputs, first()->variant(variant).inputs,
                        [&](uint32_t i) { return first()->input(variant, i); });
            pipeline_.submit(variant, from);
        });
    }
    // variant: of the oldest run.
    void receive(uint32_t variant, const std::vector<Room>& outputs) {
        std::vector<void*> to;
        for (const Room& output : outputs) to.push_back(output.data());
        open([&] {
            check_sizes("output", outputs, last()->variant(variant).outputs,
                        [&](uint32_t i) { return last()->output(variant, i); });
            pipeline_.receive(to);
        });
    }
    void reset() {
        open([&] { pipeline_.reset(); });
    }

    // Of all stages.
    std::pair<double, double> cost() const {
        return open([&] {
            std::pair<double, double> sum;
            for (uint32_t s = 0; s < contexts_.size(); ++s) {
                const sidra::Cost cost = pipeline_.device_time(s);
                sum.first += static_cast<double>(cost.picoseconds) / 1e12;
                sum.second += static_cast<double>(cost.picojoules) / 1e12;
            }
            return sum;
        });
    }

    // Frees the crossbars; calls of other threads end before.
    void close() {
        const nb::gil_scoped_release release;
        const std::unique_lock guard(lock_);
        pipeline_.close();
    }

   private:
    mutable std::shared_mutex lock_;
    std::vector<State> devices_;
    std::vector<sidra::Context> contexts_;
    sidra::Pipeline pipeline_;
};

}  // namespace

void bind_pipeline(nb::module_& m) {
    nb::class_<Pipeline>(m, "Pipeline")
        .def(nb::init<const std::vector<State>&, const std::string&>(), "devices"_a, "path"_a)
        .def_prop_ro("name", &Pipeline::name)
        .def_prop_ro("variants", &Pipeline::variants)
        .def_prop_ro("crossbars", &Pipeline::crossbars)
        .def_prop_ro("runs_max", &Pipeline::runs_max)
        .def("deploy", &Pipeline::deploy)
        .def("wait", &Pipeline::wait, "seconds"_a)
        .def("progress", &Pipeline::progress)
        .def("submit", &Pipeline::submit, "variant"_a, "inputs"_a)
        .def("receive", &Pipeline::receive, "variant"_a, "outputs"_a)
        .def("reset", &Pipeline::reset)
        .def_prop_ro("cost", &Pipeline::cost)
        .def("close", &Pipeline::close);
    m.def(
        "stages", [](const std::string& path) { return sidra::Pipeline::stages(path); }, "path"_a);
}

}  // namespace sidra_python
