// SPDX-License-Identifier: MIT
#include "compiled/entry.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <torch/csrc/autograd/python_variable.h>

#include <atomic>
#include <cmath>
#include <utility>

#include "compiled/model.h"
#include "residency/residency.h"
#include "runtime/rethrow.h"

namespace nb = nanobind;

namespace sidra::pytorch {
namespace {

const at::Tensor& tensor_of(nb::handle object) {
    if (!THPVariable_Check(object.ptr())) throw nb::type_error("a tensor is expected");
    return THPVariable_Unpack(object.ptr());
}

std::vector<at::Tensor> tensors_of(const nb::sequence& objects) {
    std::vector<at::Tensor> tensors;
    for (const nb::handle object : objects) tensors.push_back(tensor_of(object));
    return tensors;
}

nb::tuple run(Model& model, const std::vector<at::Tensor>& inputs) {
    std::vector<at::Tensor> results;
    {
        const nb::gil_scoped_release release_gil;  // another thread's run may be under way
        try {
            results = model.run(inputs);
        } catch (const c10::Error&) {
            rethrow_behind(model.region() + " cannot run: ");
        }
    }
    PyObject* const tuple = PyTuple_New(static_cast<Py_ssize_t>(results.size()));
    if (tuple == nullptr) throw nb::python_error();
    for (size_t i = 0; i < results.size(); ++i)
        PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), THPVariable_Wrap(std::move(results[i])));
    return nb::steal<nb::tuple>(tuple);
}

// What Dynamo calls for a region: the model that the last call has used, if it is right for these arguments, or else
// the region itself.
class Entry {
   public:
    explicit Entry(nb::object region) : region_(std::move(region)) {}

    // The model to use for arguments that are these objects (weights) or equal to these (numbers), at their places;
    // it takes the arguments at `inputs`. The id of an object that is gone may return, but models know whether their
    // weights are there.
    void use(std::shared_ptr<Model> model, std::vector<size_t> inputs,
             std::vector<std::pair<size_t, nb::object>> numbers, const std::vector<size_t>& weights,
             const nb::sequence& arguments) {
        std::vector<std::pair<size_t, const void*>> identities;
        for (const size_t place : weights) identities.emplace_back(place, nb::object(arguments[place]).ptr());
        latest_ = std::make_shared<const Latest>(
            Latest{std::move(model), std::move(inputs), std::move(identities), std::move(numbers)});
        asked_ = false;
    }
    // The next call goes to the region. Any thread; also in the middle of a garbage collection.
    void ask() { asked_ = true; }
    // All calls go to the region, until it calls use().
    void forget() { latest_ = nullptr; }

    nb::object call(const nb::args& arguments) {
        const std::shared_ptr<const Latest> latest = latest_;
        if (latest != nullptr && !asked_ && matmul_mode() == MatmulMode::kInt8 && fits(*latest, arguments)) {
            std::vector<at::Tensor> inputs;
            inputs.reserve(latest->inputs.size());
            for (const size_t place : latest->inputs)
                inputs.push_back(THPVariable_Unpack(PyTuple_GET_ITEM(arguments.ptr(), static_cast<Py_ssize_t>(place))));
            nb::tuple results = run(*latest->model, inputs);
            if (results.size() != 0) return results;
        }
        return nb::steal(PyObject_Call(region_.ptr(), arguments.ptr(), nullptr));
    }

    static int traverse(PyObject* self, visitproc visit, void* arg) {
        Py_VISIT(Py_TYPE(self));
        if (!nb::inst_ready(self)) return 0;
        const auto* entry = nb::inst_ptr<Entry>(self);
        Py_VISIT(entry->region_.ptr());
        return 0;
    }
    static int clear(PyObject* self) {
        auto* entry = nb::inst_ptr<Entry>(self);
        entry->latest_ = nullptr;
        entry->region_.reset();
        return 0;
    }

   private:
    struct Latest {
        std::shared_ptr<Model> model;
        std::vector<size_t> inputs;
        std::vector<std::pair<size_t, const void*>> weights;
        std::vector<std::pair<size_t, nb::object>> numbers;
    };

    static bool fits(const Latest& latest, const nb::args& arguments) {
        PyObject* const given = arguments.ptr();
        const auto count = static_cast<size_t>(PyTuple_GET_SIZE(given));
        const auto at = [&](size_t place) {
            return place < count ? PyTuple_GET_ITEM(given, static_cast<Py_ssize_t>(place)) : nullptr;
        };
        for (const auto& [place, identity] : latest.weights)
            if (at(place) != identity) return false;
        for (const size_t place : latest.inputs)
            if (at(place) == nullptr || !THPVariable_Check(at(place))) return false;
        for (const auto& [place, number] : latest.numbers) {
            PyObject* const object = at(place);
            // Others, such as tensors, are compared by the region.
            if (object == nullptr || Py_TYPE(object) != Py_TYPE(number.ptr())) return false;
            const int equal = PyObject_RichCompareBool(object, number.ptr(), Py_EQ);
            if (equal < 0) throw nb::python_error();
            if (equal == 0) return false;
            if (PyFloat_CheckExact(object) &&
                std::signbit(PyFloat_AS_DOUBLE(object)) != std::signbit(PyFloat_AS_DOUBLE(number.ptr())))
                return false;  // 0.0 and -0.0
        }
        return true;
    }

    nb::object region_;
    std::shared_ptr<const Latest> latest_;
    std::atomic<bool> asked_{false};
};

PyType_Slot entry_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(Entry::traverse)},
                             {Py_tp_clear, reinterpret_cast<void*>(Entry::clear)},
                             {0, nullptr}};

}  // namespace

void add_compiled(nb::module_& m) {
    nb::class_<Contents>(m, "Contents")
        .def("__init__", [](Contents* self, const nb::sequence& tensors) { new (self) Contents(tensors_of(tensors)); })
        .def("are_current", &Contents::are_current);
    nb::class_<Model>(m, "Model")
        .def(nb::init<int, const std::string&, const std::string&, std::shared_ptr<const Contents>,
                      const std::vector<std::shared_ptr<Model>>&>(),
             nb::call_guard<nb::gil_scoped_release>())
        .def("deploy", &Model::deploy, nb::call_guard<nb::gil_scoped_release>())
        .def("run", [](Model& self, const nb::sequence& inputs) { return run(self, tensors_of(inputs)); });
    nb::class_<Entry>(m, "Entry", nb::is_weak_referenceable(), nb::type_slots(entry_slots))
        .def(nb::init<nb::object>())
        .def("use", &Entry::use)
        .def("ask", &Entry::ask)
        .def("forget", &Entry::forget)
        .def("__call__", &Entry::call);
}

}  // namespace sidra::pytorch
