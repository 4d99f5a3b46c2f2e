// SPDX-License-Identifier: MIT
// Runs a compiled file on a chip of its own.
#ifndef SIDRA_TESTS_RUN_FILE_H
#define SIDRA_TESTS_RUN_FILE_H

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sidra/sidra.hpp"

namespace sidra::tests {

// The first output of one run, and the calls of a run. `prepare` sees the chip before the model is on it.
struct FileRun {
    std::vector<float> output;
    uint32_t calls;
};
inline FileRun run_file(
    const std::string& file, std::span<const float> input, sidra_level level = SIDRA_LEVEL_FAST,
    const std::function<void(const Device&)>& prepare = [](const Device&) {}) {
    sidra_device_options options{};
    options.private_chip = true;
    options.level = level;
    const Device device = Device::open(0, options);
    prepare(device);
    const Context context(device);
    Stream stream(context);
    const Model model(context, file);
    stream.deploy(model);
    std::vector<float> output(model.output(0, 0).bytes / sizeof(float));
    const void* const inputs[] = {input.data()};
    void* const outputs[] = {output.data()};
    stream.run(model, 0, inputs, outputs);
    return {output, model.variant(0).calls};
}

}  // namespace sidra::tests

#endif
