// SPDX-License-Identifier: MIT
#include "program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <system_error>

#include "standard_files.h"

namespace sidra::tools {

int run_program(const char* name, const std::function<void()>& run) {
    const auto say = [&](const std::exception& e) {
        std::fflush(stdout);  // earlier output
        std::fprintf(stderr, "%s: %s\n", name, e.what());
    };
    try {
        open_standard_files();
        try {
            run();
        } catch (const std::system_error&) {
            if (!std::ferror(stdout)) throw;  // else it comes from fmt, and flush_output() knows the words
        }
        flush_output();
        return 0;
    } catch (const Failure& e) {
        say(e);
        return e.status();
    } catch (const std::exception& e) {
        say(e);
        return kExitFailed;
    }
}

void offer_version(CLI::App& app) {
    app.set_version_flag("--version", fmt::format("{} {}", app.get_name(), SIDRA_VERSION),
                         "Print the version and exit");
}

bool parse_arguments(CLI::App& app, int argc, char** argv) {
    offer_version(app);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        if (e.get_exit_code() != 0) throw Failure(fmt::format("{} ({} --help)", e.what(), app.get_name()), kExitUsage);
        app.exit(e);  // --help, --version
        return false;
    }
    return true;
}

}  // namespace sidra::tools
