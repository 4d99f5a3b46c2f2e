// SPDX-License-Identifier: MIT
#include "fresh_process.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "error.h"

namespace sidra::bench {

std::string fresh_process(const std::vector<std::string>& options,
                          const std::vector<std::pair<std::string, std::string>>& environment) {
    std::vector<char*> arguments = {const_cast<char*>("sidra-bench")};  // exec changes none of them
    for (const std::string& option : options)
        if (!option.empty()) arguments.push_back(const_cast<char*>(option.c_str()));
    arguments.push_back(nullptr);
    int ends[2];
    if (pipe(ends) != 0) throw Error("cannot create a pipe");
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
        execv("/proc/self/exe", arguments.data());
        _exit(127);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        throw Error("cannot start another process");
    }
    std::string text;
    std::array<char, 256> part;
    for (ssize_t n; (n = read(ends[0], part.data(), part.size())) > 0;)
        text.append(part.data(), static_cast<size_t>(n));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        throw Error(fmt::format("the process 'sidra-bench {}' failed", options.front()));
    return text;
}

}  // namespace sidra::bench
