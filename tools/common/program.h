// SPDX-License-Identifier: MIT
// The frame of a main(): standard files, arguments, what is said of a failure, and the exit status.
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

// What a person must hear about, and the exit status that goes with it.
class Failure : public std::runtime_error {
   public:
    explicit Failure(const std::string& what, int status = kExitFailed) : std::runtime_error(what), status_(status) {}
    int status() const { return status_; }

   private:
    int status_;
};

// All of main(): runs it between open_standard_files() and flush_output(), and says what it throws ("NAME: WHAT").
// Returns the exit status: 0, a Failure's, or kExitFailed.
int run_program(const char* name, const std::function<void()>& run);

// --version: the program's name, and the version of this tree.
void offer_version(CLI::App& app);

// Offers --version, too. False: it was asked for that or for help, and has given it. Throws a Failure of kExitUsage.
bool parse_arguments(CLI::App& app, int argc, char** argv);

}  // namespace sidra::tools

#endif
