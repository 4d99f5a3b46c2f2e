// SPDX-License-Identifier: MIT
// sidra-demo: neural networks on a SIDRA chip. Its first argument may be the name of a demo; without one the digits
// run.
#include <cstdlib>
#include <string_view>

#include "common/program.h"
#include "demo.h"

namespace {

bool run(int argc, char** argv) {
    const std::string_view name = argc > 1 ? argv[1] : "";
    if (name == "convnet") return sidra::demo::convnet(argc - 1, argv + 1);
    if (name == "sentence") return sidra::demo::sentence(argc - 1, argv + 1);
    return sidra::demo::digits(argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
    bool plausible = false;
    const int status = sidra::tools::run_program("sidra-demo", [&] { plausible = run(argc, argv); });
    return status == EXIT_SUCCESS && !plausible ? EXIT_FAILURE : status;
}
