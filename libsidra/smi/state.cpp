// SPDX-License-Identifier: MIT
#include "state.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "file.h"

namespace sidra::smi {
namespace {

constexpr size_t kFileLimit = 1 << 20;
constexpr const char* kAcknowledged = "acknowledged.toml";
constexpr const char* kHistories = "health-history.toml";
constexpr uint64_t kForgetS = uint64_t{24} * 3600;  // a chip that was not seen for so long begins anew
constexpr size_t kHistoriesMost = 1024;

[[noreturn]] void fail(const std::string& what, int error) {
    throw BadState{error, fmt::format("{}: {}", what, std::strerror(error))};
}

// The folder of a user who is not root; empty: there is none.
std::string users_folder() {
    if (const char* state = getenv("XDG_STATE_HOME"); state != nullptr && state[0] == '/')
        return fmt::format("{}/sidra", state);
    const char* const home = getenv("HOME");
    return home != nullptr && home[0] == '/' ? fmt::format("{}/.local/state/sidra", home) : std::string();
}

// Creates the folders of a path that are missing.
void make_folders(const std::string& path) {
    for (size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
        const std::string part = path.substr(0, at);
        if (mkdir(part.c_str(), 0755) != 0 && errno != EEXIST) fail("cannot create " + part, errno);
        if (at == std::string::npos) return;
    }
}

// A file that we write; created if necessary.
class Output {
   public:
    explicit Output(const std::string& path, int flags = 0)
        : fd_(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, 0644)) {
        if (fd_ < 0) fail("cannot write " + path, errno);
    }
    ~Output() { close(fd_); }
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;
    int fd() const { return fd_; }

   private:
    int fd_;
};

// One writer at a time.
class Lock {
   public:
    explicit Lock(const std::string& folder) : file_(folder + "/lock") {
        while (flock(file_.fd(), LOCK_EX) != 0)
            if (errno != EINTR) fail("cannot lock " + folder, errno);
    }

   private:
    const Output file_;
};

// Replaces a file as a whole. Everybody may read it: monitoring needs no root.
void replace(const std::string& path, const std::string& text) {
    const std::string part = path + ".new";
    {
        const Output file(part, O_TRUNC);
        for (size_t done = 0; done < text.size();) {
            const ssize_t n = write(file.fd(), text.data() + done, text.size() - done);
            if (n < 0 && errno != EINTR) fail("cannot write " + part, errno);
            if (n > 0) done += static_cast<size_t>(n);
        }
        if (fchmod(file.fd(), 0644) != 0 || fsync(file.fd()) != 0) fail("cannot write " + part, errno);
    }
    if (rename(part.c_str(), path.c_str()) != 0) fail("cannot write " + path, errno);
}

bool same(const Acknowledgement& one, const std::string& chip, std::string_view check) {
    return one.uuid == chip && one.check == check;
}

}  // namespace

uint64_t time_s() {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<uint64_t>(now.tv_sec);
}

Stamp stamp_of(const std::string& path) {
    struct stat about;
    if (stat(path.c_str(), &about) != 0) return {};
    return {about.st_ino, about.st_size, about.st_mtim.tv_sec * int64_t{1'000'000'000} + about.st_mtim.tv_nsec};
}

void HealthState::locate(const std::string& root, const std::string& policy, const std::string& folder) {
    policy_path_ = policy.empty() ? root + "/etc/sidra/health.conf" : policy;
    folders_ = {folder.empty() ? root + "/var/lib/sidra" : folder};
    writable_ = !folder.empty() || geteuid() == 0;
    if (writable_) return;
    const std::string own = users_folder();
    writable_ = !own.empty();
    if (writable_) folders_.push_back(own);
}

void HealthState::load_policy() {
    const Stamp stamp = stamp_of(policy_path_);
    if (policy_read_ && stamp == policy_stamp_) return;
    const Maybe<std::string> text = read_file(policy_path_, kFileLimit);
    if (!text && text.error != ENOENT) fail("cannot read " + policy_path_, text.error);
    Policy policy = text ? parse_policy(text.value, policy_path_) : Policy();
    policy_ = std::move(policy);
    policy_stamp_ = stamp;
    policy_read_ = true;
}

void HealthState::load_acknowledgements() {
    std::vector<Stamp> stamps;
    for (const std::string& folder : folders_) stamps.push_back(stamp_of(file(folder, kAcknowledged)));
    if (stamps == stamps_) return;
    acknowledged_.clear();
    for (const std::string& folder : folders_) {
        const Maybe<std::string> text = read_file(file(folder, kAcknowledged), kFileLimit);
        if (!text) continue;
        std::string error;  // a problem that nobody can read about is not acknowledged
        std::ranges::move(parse_acknowledgements(text.value, error), std::back_inserter(acknowledged_));
    }
    stamps_ = std::move(stamps);
}

const Acknowledgement* HealthState::acknowledgement(const std::string& chip, std::string_view check) const {
    // The latest one.
    for (auto each = acknowledged_.rbegin(); each != acknowledged_.rend(); ++each)
        if (same(*each, chip, check) && std::ranges::find(ended_, *each) == ended_.end()) return &*each;
    return nullptr;
}

template <typename Change>
void HealthState::change_acknowledgements(const Change& change) {
    if (!writable_)
        throw BadState{EACCES, "there is no folder for acknowledgements: neither HOME nor XDG_STATE_HOME is set"};
    const std::string& folder = folders_.back();
    make_folders(folder);
    const Lock lock(folder);
    const std::string path = file(folder, kAcknowledged);
    const Maybe<std::string> text = read_file(path, kFileLimit);
    if (!text && text.error != ENOENT) fail("cannot read " + path, text.error);
    std::string error;
    std::vector<Acknowledgement> all = parse_acknowledgements(text.value, error);
    if (!error.empty()) throw BadState{EPROTO, fmt::format("{} is damaged ({}): repair or remove it", path, error)};
    if (!change(all)) return;
    const uint64_t now = time_s();
    std::erase_if(all, [now](const Acknowledgement& one) { return one.until_s != 0 && one.until_s <= now; });
    replace(path, acknowledgements_text(all));
    load_acknowledgements();
}

void HealthState::acknowledge(Acknowledgement what) {
    change_acknowledgements([&](std::vector<Acknowledgement>& all) {
        std::erase_if(all, [&](const Acknowledgement& one) { return same(one, what.uuid, what.check); });
        all.push_back(std::move(what));
        return true;
    });
}

bool HealthState::end(const std::string& chip, std::string_view check) {
    size_t ended = 0;
    change_acknowledgements([&](std::vector<Acknowledgement>& all) {
        ended = std::erase_if(all, [&](const Acknowledgement& one) { return same(one, chip, check); });
        return ended != 0;
    });
    return ended != 0;
}

void HealthState::forget(const Acknowledgement& gone) {
    ended_.push_back(gone);
    if (!writable_ || stamps_.back().size < 0) return;  // it is not in a file of ours
    try {
        change_acknowledgements([&](std::vector<Acknowledgement>& all) { return std::erase(all, ended_.back()) != 0; });
    } catch (const BadState&) {
        // Whoever may write the file ends it.
    }
}

History& HealthState::history(const std::string& chip) {
    const uint64_t now = time_s();
    if (histories_.size() >= kHistoriesMost)
        std::erase_if(histories_, [now](const auto& each) { return each.second.seen_s + 3600 < now; });
    History& history = histories_[chip];
    history.seen_s = now;
    return history;
}

void HealthState::load_histories() {
    if (writable_) histories_ = read_histories(file(folders_.back(), kHistories));
    const uint64_t now = time_s();
    std::erase_if(histories_, [now](const auto& each) { return each.second.seen_s + kForgetS < now; });
}

void HealthState::save_histories() {
    if (!writable_)
        throw BadState{EACCES, "there is no folder for what was seen: neither HOME nor XDG_STATE_HOME is set"};
    make_folders(folders_.back());
    const Lock lock(folders_.back());
    // Another run may have read other chips meanwhile.
    Histories all = read_histories(file(folders_.back(), kHistories));
    const uint64_t now = time_s();
    std::erase_if(all, [now](const auto& each) { return each.second.seen_s + kForgetS < now; });
    for (const auto& [chip, history] : histories_)
        if (const auto other = all.find(chip); other == all.end() || other->second.seen_s <= history.seen_s)
            all[chip] = history;
    replace(file(folders_.back(), kHistories), histories_text(all));
}

}  // namespace sidra::smi
