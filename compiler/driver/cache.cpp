// SPDX-License-Identifier: MIT
#include "cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "check.h"
#include "hash.h"
#include "part_file.h"

namespace sidra::compiler {
namespace {

namespace fs = std::filesystem;

class Descriptor {
   public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0) close(number_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return number_; }

   private:
    const int number_;
};

// Whether each part of a file has the hash that the file says. Nobody else changes the file.
bool intact(int file, uint64_t size) {
    format::FileHeader header{};
    if (size < sizeof header) return false;
    void* const map = mmap(nullptr, size, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
    if (map == MAP_FAILED) return false;
    const auto* const bytes = static_cast<const std::byte*>(map);
    const auto check = [&] {
        std::memcpy(&header, bytes, sizeof header);
        if (format::check_header(header, size)) return false;
        format::Manifest manifest(header);
        std::memcpy(manifest.bytes(), bytes + header.manifest_offset, header.manifest_size);
        if (manifest.check(header)) return false;
        const auto matches = [&](const format::Section& section) {
            return format::hash_of(bytes + section.offset(), section.size()) == section.hash();
        };
        const auto whole = [&](const format::Model& model) {
            return (model.constants() == nullptr || matches(*model.constants())) &&
                   std::ranges::all_of(*model.matrices(), [&](const auto* matrix) {
                       return matches(*matrix->data()) &&
                              (matrix->calibration() == nullptr || matches(*matrix->calibration()));
                   });
        };
        const auto* const stages = manifest.model().stages();
        if (stages == nullptr) return whole(manifest.model());
        return std::ranges::all_of(*stages, [&](const format::Section* stage) {
            format::Manifest part(*stage);
            std::memcpy(part.bytes(), bytes + stage->offset(), stage->size());
            return !part.check_stage(*stage, size) && whole(part.model());
        });
    };
    const bool result = check();
    munmap(map, size);
    return result;
}

// The files of a folder with such an end; none if it cannot be read.
std::vector<fs::path> files_with(const fs::path& folder, std::string_view end) {
    std::vector<fs::path> found;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), last; !error && at != last; at.increment(error))
        if (at->path().extension() == end) found.push_back(at->path());
    return found;
}

}  // namespace

Cache::Cache(uint64_t limit, std::function<void(const std::string&)> note)
    : folder_(folder()), limit_(limit), note_(std::move(note)) {}

fs::path Cache::folder() {
    const auto variable = [](const char* name) {
        const char* const value = std::getenv(name);
        return fs::path(value != nullptr && value[0] == '/' ? value : "");  // the others have no meaning
    };
    fs::path base = variable("XDG_CACHE_HOME");
    if (const fs::path home = variable("HOME"); base.empty() && !home.empty()) base = home / ".cache";
    return base.empty() ? base : base / "sidra" / "compiled";
}

bool Cache::fetch(const std::string& key, const std::string& output) {
    if (folder_.empty()) return false;
    const Descriptor file(open(entry(key).c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status {};
    if (file.get() < 0 || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
    const auto size = static_cast<uint64_t>(status.st_size);
    PartFile copy(output);
    copy.copy(file.get(), size);
    // The copy, because the entry could still change.
    if (!intact(copy.descriptor(), size)) {
        note_(fmt::format("{} is damaged, so the network is compiled again", entry(key).string()));
        return false;
    }
    copy.finish(size);
    static_cast<void>(utimensat(AT_FDCWD, entry(key).c_str(), nullptr, 0));  // it may be gone, or not ours
    note_(fmt::format("{} is a copy of {}; --no-cache compiles it again", output, entry(key).string()));
    return true;
}

void Cache::keep(const std::string& key, const std::string& file) {
    const auto give_up = [&](const std::string& where, const std::string& why) {
        note_(fmt::format("{} is not kept for later: {}: {}", file, where, why));
    };
    if (folder_.empty()) return give_up("the cache", "neither XDG_CACHE_HOME nor HOME names a folder");
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) return give_up(folder_.string(), error.message());
    const fs::path lock_path = folder_ / "lock";
    const Descriptor lock(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    const Descriptor source(open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (lock.get() < 0) return give_up(lock_path.string(), std::strerror(errno));
    struct stat status {};
    if (source.get() < 0 || fstat(source.get(), &status) != 0) return give_up("it", std::strerror(errno));
    while (flock(lock.get(), LOCK_EX) != 0)
        if (errno != EINTR) return give_up(lock_path.string(), std::strerror(errno));
    const auto size = static_cast<uint64_t>(status.st_size);
    if (size > limit_)
        return give_up("the cache", fmt::format("it may have {} bytes, and the file has {}", limit_, size));
    // Whoever writes has the lock, so these are of processes that were killed.
    for (const fs::path& part : files_with(folder_, kPartSuffix)) fs::remove(part, error);
    fs::remove(entry(key), error);
    make_room(size);
    try {
        PartFile copy(entry(key));
        copy.copy(source.get(), size);
        copy.finish(size);
    } catch (const FileError& failed) {
        give_up("the cache", failed.what());
    }
}

// The lock is held.
void Cache::make_room(uint64_t size) const {
    struct Entry {
        fs::file_time_type used;
        fs::path path;
        uint64_t size;
    };
    std::vector<Entry> entries;
    uint64_t all = size;
    for (const fs::path& path : files_with(folder_, ".sidra")) {
        std::error_code error;
        const uint64_t bytes = fs::file_size(path, error);
        const fs::file_time_type used = error ? fs::file_time_type() : fs::last_write_time(path, error);
        if (error) continue;
        entries.push_back({used, path, bytes});
        all += bytes;
    }
    std::ranges::sort(entries, {}, &Entry::used);
    for (const Entry& oldest : entries) {
        if (all <= limit_) return;
        std::error_code error;
        if (fs::remove(oldest.path, error)) all -= oldest.size;
    }
}

}  // namespace sidra::compiler
