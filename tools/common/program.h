// SPDX-License-Identifier: MIT
// The frame of a main(): standard files, arguments, error messages and exit status.
#ifndef SIDRA_COMMON_PROGRAM_H
#define SIDRA_COMMON_PROGRAM_H

#include <functional>
#include <stdexcept>
#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
}

namespace sidra::tools {

inline constexpr int kExitFailed = 1, kExitUsage = 2;

// An error message with its exit status.
class Failure : public std::runtime_error {
   public:
    explicit Failure(const std::string& what, int status = kExitFailed) : std::runtime_error(what), status_(status) {}
    int status() const { return status_; }

   private:
    int status_;
};

// The whole main(): calls `run` between open_standard_files() and flush_output(), and prints what it throws ("NAME:
// WHAT"). Returns the exit status: 0, that of a Failure, or kExitFailed.
int run_program(const char* name, const std::function<void()>& run);

// Adds --version: the program's name and version.
void offer_version(CLI::App& app);

// Also adds --version. Returns false if --version or --help was given and has been printed. Throws a Failure of
// kExitUsage.
bool parse_arguments(CLI::App& app, int argc, char** argv);

}  // namespace sidra::tools

#endif
