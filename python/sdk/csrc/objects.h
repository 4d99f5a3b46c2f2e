// SPDX-License-Identifier: MIT
// What the parts of sidra._core share: the types of elements, and the device that all objects are made of.
#ifndef SIDRA_PYTHON_OBJECTS_H
#define SIDRA_PYTHON_OBJECTS_H

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <sidra/sidra.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace sidra_python {

// A new string of Python's; null: an exception is set. Names in files may be no text, and an error may end inside a
// character.
inline PyObject* to_string(std::string_view text) {
    return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}
inline void set_error(nanobind::handle type, std::string_view text) {
    const auto string = nanobind::steal(to_string(text));
    if (string.is_valid()) PyErr_SetObject(type.ptr(), string.ptr());
}

// Such a string where a function returns one.
struct Text {
    std::string bytes;
};

// Dtypes of the chip by the names of NumPy. Buffers of f16, bf16 and bool are handed out by DLPack's codes.
struct Dtype {
    const char* name;
    sidra_type type;
    nanobind::dlpack::dtype code;
};
inline constexpr uint8_t kInt = static_cast<uint8_t>(nanobind::dlpack::dtype_code::Int),
                         kUint = static_cast<uint8_t>(nanobind::dlpack::dtype_code::UInt),
                         kFloat = static_cast<uint8_t>(nanobind::dlpack::dtype_code::Float),
                         kBool = static_cast<uint8_t>(nanobind::dlpack::dtype_code::Bool);
inline constexpr Dtype kDtypes[] = {
    {"uint8", SIDRA_U8, {kUint, 8, 1}},  {"int8", SIDRA_S8, {kInt, 8, 1}},
    {"int32", SIDRA_S32, {kInt, 32, 1}}, {"float32", SIDRA_F32, {kFloat, 32, 1}},
    {"int16", SIDRA_S16, {kInt, 16, 1}}, {"int64", SIDRA_S64, {kInt, 64, 1}},
    {"bool", SIDRA_BOOL, {kBool, 8, 1}}, {"float16", SIDRA_F16, {kFloat, 16, 1}},
};

// The names of all types. Only compiled models have bf16, which NumPy does not know by itself.
inline const char* type_name(sidra_type type) {
    for (const Dtype& dtype : kDtypes)
        if (dtype.type == type) return dtype.name;
    return "bfloat16";
}

// A device with its context, which all objects that are made of it share.
struct DeviceState {
    explicit DeviceState(sidra::Device opened) : device(std::move(opened)), context(device) {}
    sidra::Device device;
    sidra::Context context;
};
using State = std::shared_ptr<DeviceState>;

void bind_model(nanobind::module_& m);
void bind_pipeline(nanobind::module_& m);
void bind_compiler(nanobind::module_& m, nanobind::handle error);

}  // namespace sidra_python

namespace nanobind::detail {

template <>
struct type_caster<sidra_python::Text> {
    NB_TYPE_CASTER(sidra_python::Text, const_name("str"))
    static handle from_cpp(const sidra_python::Text& text, rv_policy, cleanup_list*) {
        return sidra_python::to_string(text.bytes);
    }
};

}  // namespace nanobind::detail

#endif
