// SPDX-License-Identifier: MIT
#include "publisher.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

#include "futex.h"

namespace sidra::embedded {
namespace {

constexpr uint64_t kXbarsNs = 1'000'000'000;  // minimum interval between two writes of the crossbars
constexpr uint32_t kNumbersMax = 1024;        // limit of published chips per process
constexpr unsigned kAttempts = 3;             // with a name that others may mistake for a leftover
constexpr uint64_t kTelemetryAt = sizeof(sidra_publish), kBeforeAt = kTelemetryAt + sizeof(sidra_telemetry),
                   kXbarsAt = 2048;
static_assert(kBeforeAt + sizeof(sidra_telemetry) <= kXbarsAt);
constexpr unsigned kSweepMost = 4096;  // limit of leftovers checked

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

bool is_folder(const std::string& path) {
    struct stat it;
    return stat(path.c_str(), &it) == 0 && S_ISDIR(it.st_mode);
}

std::string folder_path() {
    // The XDG Base Directory Specification: a path that is not absolute is ignored.
    if (const std::string given = environment("XDG_RUNTIME_DIR"); given.starts_with('/')) return given + "/sidra";
    if (const std::string run = fmt::format("/run/user/{}", geteuid()); is_folder(run)) return run + "/sidra";
    return fmt::format("/tmp/sidra-{}", geteuid());
}

// The lock on the first byte shows that the process exists. Unlike the other locks, it belongs to a process, and
// F_GETLK returns its PID.
bool lock_first_byte(int file) {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_len = 1;
    return fcntl(file, F_SETLK, &lock) == 0;
}

bool same_file(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

// Files published by this process: opening and closing one of them again would release its lock. Held briefly, and not
// across fork(): chips are opened and closed under a lock that is.
struct OwnFiles {
    using Inode = std::pair<dev_t, ino_t>;
    std::mutex lock;
    std::set<Inode> inodes;

    static OwnFiles& instance() {
        static auto* const files = new OwnFiles;
        return *files;
    }
    bool has(const struct stat& file) const { return inodes.contains({file.st_dev, file.st_ino}); }
};

void take_comm(char (&comm)[16]) {
    const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/proc/self/comm", "re"), std::fclose);
    if (!file || std::fgets(comm, sizeof comm, file.get()) == nullptr) comm[0] = '\0';
    comm[std::strcspn(comm, "\n")] = '\0';
}

}  // namespace

// A folder that only this user can change.
class Publisher::Folder {
   public:
    // nullptr: there is none.
    static std::unique_ptr<Folder> open() {
        const std::string path = folder_path();
        mkdir(path.c_str(), 0700);
        const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0) return nullptr;
        std::unique_ptr<Folder> folder(new Folder(fd));
        struct stat it;
        if (fstat(fd, &it) != 0 || it.st_uid != geteuid() || (it.st_mode & 07777) != 0700) return nullptr;
        return folder;
    }
    ~Folder() { close(fd_); }

    int fd() const { return fd_; }
    void remove(const std::string& name) const { unlinkat(fd_, name.c_str(), 0); }

    // Removes files left by killed processes.
    void sweep() const {
        const int again = openat(fd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const std::unique_ptr<DIR, int (*)(DIR*)> entries(again < 0 ? nullptr : fdopendir(again), closedir);
        if (!entries) {
            if (again >= 0) close(again);
            return;
        }
        unsigned looked = 0;
        while (const dirent* entry = readdir(entries.get())) {
            if (!is_ours(entry->d_name)) continue;
            sweep(entry->d_name);
            if (++looked == kSweepMost) break;
        }
    }

   private:
    explicit Folder(int fd) : fd_(fd) {}

    // Whether a name has the form of this class. Files with this process's PID are included, because PIDs are reused.
    static bool is_ours(std::string_view name) {
        if (name.starts_with('.')) name.remove_prefix(1);
        const size_t dash = name.find('-');
        const auto digits = [](std::string_view text) {
            return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string_view::npos;
        };
        return dash != std::string_view::npos && digits(name.substr(0, dash)) && digits(name.substr(dash + 1));
    }

    // Removes the file only with its lock, which its creator would hold: no other process removes it, and a new file
    // with the same name stays.
    void sweep(const char* name) const {
        struct stat opened, named;
        if (fstatat(fd_, name, &named, AT_SYMLINK_NOFOLLOW) != 0 || OwnFiles::instance().has(named)) return;
        const int file = openat(fd_, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (file < 0) return;
        if (fstat(file, &opened) == 0 && S_ISREG(opened.st_mode) && lock_first_byte(file) &&
            fstatat(fd_, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && same_file(opened, named))
            remove(name);
        close(file);
    }

    const int fd_;
};

Publisher::Publisher(sidra_chip* chip, const sidra_publish& known) : chip_(chip), pid_(getpid()), header_(known) {}

std::unique_ptr<Publisher> Publisher::create(sidra_chip* chip, const sidra_publish& known) {
    if (environment("SIDRA_PUBLISH") == "0") return nullptr;
    std::unique_ptr<Publisher> publisher(new Publisher(chip, known));
    publisher->folder_ = Folder::open();
    if (!publisher->folder_) return nullptr;
    const std::lock_guard held(OwnFiles::instance().lock);
    publisher->folder_->sweep();
    return publisher->make_file(monotonic_ns()) ? std::move(publisher) : nullptr;
}

// The file gets its size, content and lock before its final name.
bool Publisher::make_file(uint64_t now_ns) {
    const int folder = folder_->fd();
    header_.magic = SIDRA_PUBLISH_MAGIC;
    header_.version = SIDRA_PUBLISH_VERSION;
    header_.header_size = sizeof header_;
    header_.telemetry = kTelemetryAt;
    header_.xbars = kXbarsAt;
    header_.xbar_count = header_.clusters * header_.cus_per_cluster * header_.xbars_per_cu;
    header_.size = kXbarsAt + uint64_t{header_.xbar_count} * sizeof(sidra_hw_xbar);
    header_.pid = static_cast<uint32_t>(pid_);
    header_.uid = geteuid();
    header_.started_ns = now_ns;
    take_comm(header_.comm);
    for (unsigned attempt = 0; attempt < kAttempts; attempt++) {
        const auto number = (reinterpret_cast<uintptr_t>(this) & 0xffffff) + attempt;
        const std::string part = fmt::format(".{}-{}", pid_, number);
        file_ = openat(folder, part.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file_ < 0) {
            if (errno == EEXIST) continue;
            return false;
        }
        // Until the file is locked, others may remove it as a leftover: then create another one.
        const bool locked = lock_first_byte(file_);
        const int full = locked ? posix_fallocate(file_, 0, static_cast<off_t>(header_.size)) : 0;
        const int error = !locked ? ENOENT : full != 0 ? full : give_name(part, now_ns);
        folder_->remove(part);
        if (error == 0) return own(true);
        close(file_);
        file_ = -1;
        if (error != ENOENT && error != EINTR) return false;
    }
    return false;
}

// Protects the file from sweeps of this process, or removes the protection. The lock of OwnFiles is held.
bool Publisher::own(bool is_ours) const {
    struct stat file;
    if (fstat(file_, &file) != 0) return false;
    const OwnFiles::Inode inode{file.st_dev, file.st_ino};
    if (is_ours) OwnFiles::instance().inodes.insert(inode);
    else OwnFiles::instance().inodes.erase(inode);
    return true;
}

// Returns 0 or errno.
int Publisher::give_name(const std::string& part, uint64_t now_ns) {
    for (uint32_t number = 0; number < kNumbersMax; number++) {
        header_.index = number;
        name_ = fmt::format("{}-{}", pid_, number);
        update({}, now_ns);
        if (linkat(folder_->fd(), part.c_str(), folder_->fd(), name_.c_str(), 0) == 0) return 0;
        if (errno != EEXIST) return errno;
    }
    return EEXIST;
}

Publisher::~Publisher() {
    if (file_ < 0 || pid_ != getpid()) return;
    const std::lock_guard held(OwnFiles::instance().lock);
    own(false);
    folder_->remove(name_);
    close(file_);
}

bool Publisher::write(const void* from, size_t bytes, uint64_t offset) noexcept {
    return pwrite(file_, from, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

void Publisher::update(const Users& users, uint64_t now_ns) noexcept {
    if (pid_ != getpid()) return;
    // Code in this process may have opened and closed the file, which releases the lock.
    lock_first_byte(file_);
    constexpr uint64_t kSequenceAt = offsetof(sidra_publish, sequence);
    header_.sequence++;
    if (!write(&header_.sequence, sizeof header_.sequence, kSequenceAt)) {
        header_.sequence--;
        return;
    }
    header_.updated_ns = now_ns;
    header_.firmware_version = users.firmware_version;
    header_.contexts = users.contexts;
    header_.queues = users.queues;
    header_.buffers = users.buffers;
    header_.l3_used = users.l3_used;
    header_.memory = users.memory;
    header_.before = telemetry_.magic != 0 ? kBeforeAt : 0;
    struct {
        sidra_publish header;
        sidra_telemetry telemetry, before;
    } page{header_, {}, telemetry_};
    static_assert(offsetof(decltype(page), telemetry) == kTelemetryAt && offsetof(decltype(page), before) == kBeforeAt);
    sidra_chip_get_telemetry(chip_, &page.telemetry);
    telemetry_ = page.telemetry;
    write(&page, sizeof page, 0);
    write_xbars(now_ns);
    header_.sequence++;
    write(&header_.sequence, sizeof header_.sequence, kSequenceAt);
}

void Publisher::write_xbars(uint64_t now_ns) noexcept {
    const uint64_t changes = sidra_chip_xbar_changes(chip_);  // first: later changes are written the next time
    if (changes == xbars_changes_ || (xbars_written_ns_ != 0 && now_ns - xbars_written_ns_ < kXbarsNs)) return;
    sidra_hw_xbar some[256];
    for (uint32_t first = 0; first < header_.xbar_count;) {
        const uint32_t count = std::min<uint32_t>(header_.xbar_count - first, std::size(some));
        if (!sidra_chip_get_xbars(chip_, first, count, some)) return;
        if (!write(some, count * sizeof some[0], kXbarsAt + first * sizeof some[0])) return;
        first += count;
    }
    xbars_changes_ = changes;
    xbars_written_ns_ = now_ns;
}

}  // namespace sidra::embedded
