// SPDX-License-Identifier: MIT
#include "dump_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>

namespace sidra::embedded {
namespace {

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

std::string folder() {
    if (const std::string given = environment("SIDRA_DUMP_DIR"); !given.empty()) return given;
    // The XDG Base Directory Specification: a path that is not absolute is ignored.
    if (const std::string state = environment("XDG_STATE_HOME"); state.starts_with('/')) return state + "/sidra";
    if (const std::string home = environment("HOME"); home.starts_with('/')) return home + "/.local/state/sidra";
    return "";
}

// Unique by time, process and count.
std::string new_name() {
    static std::atomic<unsigned> count{0};
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&now, &utc);
    char when[32] = "";
    std::strftime(when, sizeof when, "%Y%m%dT%H%M%SZ", &utc);
    return fmt::format("firmware-{}-{}-{}.dump", when, getpid(), count.fetch_add(1));
}

// Returns 0 or errno. Removes a file that could not be written completely.
int write_new(const std::string& path, std::span<const uint8_t> bytes) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return errno;
    int error = 0;
    while (!bytes.empty() && error == 0) {
        const ssize_t n = ::write(fd, bytes.data(), bytes.size());
        if (n >= 0) bytes = bytes.subspan(static_cast<size_t>(n));
        else if (errno != EINTR) error = errno;
    }
    if (close(fd) != 0 && error == 0) error = errno;
    if (error != 0) unlink(path.c_str());
    return error;
}

// Creates missing folders, accessible only by their owner. Returns 0 or errno.
int make_folders(const std::filesystem::path& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) return 0;
    if (path.has_parent_path() && path.parent_path() != path)
        if (const int parent = make_folders(path.parent_path())) return parent;
    return mkdir(path.c_str(), 0700) == 0 || errno == EEXIST ? 0 : errno;
}

}  // namespace

DumpFiles::DumpFiles() : folder_(folder()), quiet_(environment("SIDRA_QUIET") == "1") {}

void DumpFiles::write(std::span<const uint8_t> dump) const noexcept {
    constexpr const char* kWhat = "sidra: the firmware of the embedded chip panicked and was restarted";
    try {
        std::string why = "none of SIDRA_DUMP_DIR, XDG_STATE_HOME and HOME names a folder";
        if (!folder_.empty()) {
            std::string path = folder_ + '/' + new_name();
            int error = make_folders(folder_);
            if (error == 0) error = write_new(path, dump);
            // Name taken, for example by a process with the same PID in another container.
            for (int again = 0; error == EEXIST && again < 16; again++) {
                path = folder_ + '/' + new_name();
                error = write_new(path, dump);
            }
            if (error == 0) {
                if (!quiet_)
                    std::fprintf(stderr, "%s; its crash dump is in %s (read it with sidra-dump)\n", kWhat,
                                 path.c_str());
                return;
            }
            why = fmt::format("{}: {}; SIDRA_DUMP_DIR names another folder", path, std::strerror(error));
        }
        if (!quiet_) std::fprintf(stderr, "%s; its crash dump cannot be written: %s\n", kWhat, why.c_str());
    } catch (const std::exception& e) {
        if (!quiet_) std::fprintf(stderr, "%s; its crash dump cannot be written: %s\n", kWhat, e.what());
    }
}

}  // namespace sidra::embedded
