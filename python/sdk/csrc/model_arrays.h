// SPDX-License-Identifier: MIT
// What models on one device and on several share: their inputs and outputs, and arrays for them.
#ifndef SIDRA_PYTHON_MODEL_ARRAYS_H
#define SIDRA_PYTHON_MODEL_ARRAYS_H

#include <chrono>
#include <string>
#include <tuple>
#include <vector>

#include "objects.h"

namespace sidra_python {

using Bytes = nanobind::ndarray<nanobind::ro, uint8_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
using Room = nanobind::ndarray<uint8_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
using Tensor = std::tuple<Text, const char*, std::vector<uint32_t>>;             // name, dtype, shape
using Variant = std::tuple<std::vector<Tensor>, std::vector<Tensor>, uint32_t>;  // inputs, outputs, calls

inline Tensor described(const sidra_model_tensor& tensor) {
    return {Text{tensor.name}, type_name(tensor.type), {tensor.shape, tensor.shape + tensor.rank}};
}

// With two cells for each weight, as libsidra has it while crossbars are free.
inline uint64_t crossbars_of(const sidra::Model& model, const sidra_device_info& device) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < model.info().matrices; ++i) {
        const sidra_model_matrix matrix = model.matrix(i);
        const uint32_t columns = matrix.encoding == SIDRA_WEIGHTS_OFFSET ? device.cols : device.cols / 2;
        sum += ((uint64_t{matrix.k} + device.rows - 1) / device.rows) * ((uint64_t{matrix.n} + columns - 1) / columns);
    }
    return sum;
}

// get: the tensor with a number.
template <typename Array, typename Get>
void check_sizes(const char* kind, const std::vector<Array>& arrays, uint32_t count, const Get& get) {
    bool right = arrays.size() == count;
    for (uint32_t i = 0; right && i < count; ++i) right = arrays[i].size() == get(i).bytes;
    if (!right)
        throw sidra::Error(SIDRA_ERROR_INVALID_ARGUMENT,
                           std::string("an ") + kind + " has another size than the model's");
}

inline sidra::Deadline deadline_of(double seconds) {
    return sidra::Deadline::after(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds)));
}

}  // namespace sidra_python

#endif
