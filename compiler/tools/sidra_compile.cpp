// SPDX-License-Identifier: MIT
// sidra-compile: compiles a network to a .sidra file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <filesystem>
#include <string>
#include <vector>

#include "sidra/compiler.h"

int main(int argc, char** argv) {
    CLI::App app("Compiles a network to a file that sidra-run and libsidra run.");
    app.set_version_flag("--version", "sidra-compile " SIDRA_VERSION);
    std::string input, output, pipeline, dump, reproducer;
    std::vector<std::string> dims;
    app.add_option("model", input, "the network: .onnx")->required()->check(CLI::ExistingFile);
    app.add_option("-o,--output", output, "the compiled model (the network's name with .sidra, in this folder)");
    app.add_option("--dim", dims, "size of a dimension that the network only names, as NAME=SIZE")->type_name("NAME=SIZE");
    app.add_option("--passes", pipeline, "run these passes instead, and write the module behind them as text");
    app.add_option("--dump", dump, "a folder for the module behind each pass");
    app.add_option("--reproducer", reproducer, "a file for module and passes, should a pass crash");
    bool explain = false;
    app.add_flag("--explain", explain, "print the layers, and what they need of the crossbars");
    CLI11_PARSE(app, argc, argv);

    std::vector<sidra_compile_dimension> dimensions;
    for (std::string& dim : dims) {
        const size_t equals = dim.rfind('=');
        int64_t size = 0;
        const char* const end = dim.data() + dim.size();
        if (equals == std::string::npos || equals == 0 ||
            std::from_chars(dim.data() + equals + 1, end, size).ptr != end || size < 1) {
            fmt::print(stderr, "sidra-compile: --dim {}: give a name and a size of at least 1, as batch=8\n", dim);
            return 2;
        }
        dim[equals] = '\0';
        dimensions.push_back({dim.c_str(), size});
    }
    if (output.empty())
        output = std::filesystem::path(input).stem().string() + (pipeline.empty() ? ".sidra" : ".mlir");

    sidra_compile_options options{};
    options.struct_size = sizeof options;
    options.dimensions = dimensions.data();
    options.dimension_count = dimensions.size();
    const auto optional = [](const std::string& text) { return text.empty() ? nullptr : text.c_str(); };
    options.pipeline = optional(pipeline);
    options.dump = optional(dump);
    options.reproducer = optional(reproducer);
    if (explain) options.report = [](void*, const char* text) { fmt::print("{}", text); };
    std::array<char, 4096> error{};
    if (sidra_compile(input.c_str(), output.c_str(), &options, error.data(), error.size()) == 0) return 0;
    fmt::print(stderr, "sidra-compile: {}\n", error.data());
    return 1;
}
