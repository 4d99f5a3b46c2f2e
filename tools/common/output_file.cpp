// SPDX-License-Identifier: MIT
#include "common/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string_view>

namespace sidra::tools {
namespace {

constexpr int kLinksMax = 40;  // as the kernel's

// Blocks the signals that users send to end a program, so that none arrives between the temporary file and its rename.
class SignalsHeld {
   public:
    SignalsHeld() {
        sigset_t held;
        sigemptyset(&held);
        for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&held, signal);
        pthread_sigmask(SIG_BLOCK, &held, &before_);
    }
    ~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsHeld(const SignalsHeld&) = delete;
    SignalsHeld& operator=(const SignalsHeld&) = delete;

   private:
    sigset_t before_;
};

[[noreturn]] void fail(const std::string& path, std::string_view why) {
    throw std::runtime_error(fmt::format("cannot write {}: {}", path, why));
}
[[noreturn]] void fail(const std::string& path, int error) { fail(path, std::string_view(std::strerror(error))); }

// A new file in the folder of its final name; removed unless it is published.
class Temporary {
   public:
    explicit Temporary(const std::string& path) : path_(behind_links(path)), name_(path_ + ".XXXXXX") {
        if (path.empty()) fail("a file", "its name is empty");
        struct stat info {};
        // Do not create the folder: a mistyped name must not leave folders behind.
        const std::string folder = std::filesystem::path(path).parent_path();
        if (!folder.empty() && stat(folder.c_str(), &info) != 0 && errno == ENOENT)
            fail(path, fmt::format("the folder {} does not exist; create it, or name another", folder));
        if (stat(path.c_str(), &info) == 0) {
            if (!S_ISREG(info.st_mode)) fail(path, "it is not a regular file");
            before_ = info;
        } else if (errno != ENOENT) {
            fail(path, errno);  // in the way to it, also a link that the kernel does not follow
        }
        fd_ = mkostemp(name_.data(), O_CLOEXEC);
        if (fd_ < 0) fail(path, errno);
    }
    ~Temporary() {
        if (fd_ >= 0) close(fd_);
        if (!name_.empty()) unlink(name_.c_str());
    }
    Temporary(const Temporary&) = delete;
    Temporary& operator=(const Temporary&) = delete;

    void write(std::string_view text) {
        while (!text.empty()) {
            const ssize_t n = ::write(fd_, text.data(), text.size());
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) fail(path_, errno);
            text.remove_prefix(static_cast<size_t>(n));
        }
    }

    // Replaces an existing file.
    void publish() {
        finish(false);
        if (rename(name_.c_str(), path_.c_str()) != 0) fail(path_, errno);
        name_.clear();
    }
    // Fails if the file exists.
    void publish_new(bool secret) {
        finish(secret);
        if (link(name_.c_str(), path_.c_str()) == 0) return;
        if (errno == EEXIST) fail(path_, "it exists already, and is never overwritten");
        fail(path_, errno);
    }

   private:
    // Keeps a symbolic link, and returns its target; of a link to nowhere, the link. The kernel does not notice that a
    // link is followed here, so its rule (fs.protected_symlinks) is applied here: in a folder where everybody may put
    // links, one is followed only if it is ours or of the folder's owner.
    static std::string behind_links(const std::string& given) {
        std::filesystem::path path = given;
        struct stat info = {}, around = {};
        int found = lstat(path.c_str(), &info);
        for (int links = 0; found == 0 && S_ISLNK(info.st_mode); ++links) {
            const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
            if (links == kLinksMax) fail(given, ELOOP);
            if (stat(folder.c_str(), &around) != 0) fail(given, errno);
            const bool shared = (around.st_mode & S_ISVTX) != 0 && (around.st_mode & S_IWOTH) != 0;
            if (shared && info.st_uid != geteuid() && info.st_uid != around.st_uid)
                fail(given, fmt::format("{} is another user's link in a folder of all users", path.string()));
            std::error_code error;
            path = folder / std::filesystem::read_symlink(path, error);
            if (error) fail(given, error.value());
            found = lstat(path.c_str(), &info);
        }
        return found == 0 ? path.string() : given;
    }
    // mkostemp created it with mode 0600. A replacement gets the owner (if permitted) and mode of the old file; a new
    // file that is not secret gets the default mode.
    void finish(bool secret) {
        const mode_t mask = umask(0);
        umask(mask);
        if (before_) [[maybe_unused]]
            const int given = fchown(fd_, before_->st_uid, before_->st_gid);
        const mode_t mode = before_ ? before_->st_mode & 0777 : secret ? 0600 : 0666 & ~mask;
        if (fchmod(fd_, mode) != 0 || fsync(fd_) != 0) fail(path_, errno);
    }

    const std::string path_;
    std::string name_;
    std::optional<struct stat> before_;
    int fd_ = -1;
};

}  // namespace

void make_folder(const std::string& path) {
    if (mkdir(path.c_str(), 0777) == 0 || errno == EEXIST) return;
    throw std::runtime_error(fmt::format("cannot create the folder {}: {}", path, std::strerror(errno)));
}

void require_writable(const std::string& path) {
    const SignalsHeld held;
    const Temporary file(path);
}

void write_file(const std::string& path, std::string_view text) {
    const SignalsHeld held;
    Temporary file(path);
    file.write(text);
    file.publish();
}

void write_new_file(const std::string& path, std::string_view text, bool secret) {
    const SignalsHeld held;
    Temporary file(path);
    file.write(text);
    file.publish_new(secret);
}

}  // namespace sidra::tools
