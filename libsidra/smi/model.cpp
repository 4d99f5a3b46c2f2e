// SPDX-License-Identifier: MIT
#include "model.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sidra_publish.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "clients.h"
#include "file.h"
#include "text.h"

namespace sidra::smi {
namespace {

constexpr uint64_t kSizeLimit = 64 << 20;
constexpr int kTries = 200;
constexpr size_t kFilesMost = 1024;  // limit per folder: the number that one process publishes, whatever else is there
// Users can place links there to files whose opening has side effects.
constexpr int kReadOnly = O_RDONLY | O_NOFOLLOW;

// Parses PID-N.
Maybe<std::pair<uint64_t, uint64_t>> to_name(std::string_view name) {
    const size_t dash = name.find('-');
    const Maybe<uint64_t> pid = to_number(name.substr(0, dash));
    const Maybe<uint64_t> number =
        dash == std::string_view::npos ? Maybe<uint64_t>() : to_number(name.substr(dash + 1));
    if (!pid || !number || pid.value > INT32_MAX) return Maybe<std::pair<uint64_t, uint64_t>>::none(EINVAL);
    // Exactly the format of libsidra: no blanks, no leading zeros.
    if (name != fmt::format("{}-{}", pid.value, number.value))
        return Maybe<std::pair<uint64_t, uint64_t>>::none(EINVAL);
    return std::pair{pid.value, number.value};
}

// The process that holds the file's lock, as seen from this PID namespace; 0: not visible here. ESRCH: no process.
Maybe<uint64_t> holder(const File& file) {
    struct flock lock = {};
    lock.l_type = F_RDLCK;
    lock.l_whence = SEEK_SET;
    lock.l_len = 1;
    if (fcntl(file.fd(), F_GETLK, &lock) != 0) return Maybe<uint64_t>::none(errno);
    if (lock.l_type == F_UNLCK) return Maybe<uint64_t>::none(ESRCH);
    return static_cast<uint64_t>(std::max<pid_t>(lock.l_pid, 0));
}

// Offset and size, from the header.
using Part = std::pair<uint64_t, uint64_t>;

// Reads the header and parts of the file consistently. `where` returns the parts after it has seen the header. The user
// in the header is replaced by the owner of the file, which can be trusted.
template <size_t Count, typename Where>
Maybe<std::array<std::string, Count>> read_once(const File& file, sidra_publish& header, const Where& where) {
    using Result = Maybe<std::array<std::string, Count>>;
    struct stat info;
    if (file.error() != 0) return Result::none(file.error());
    if (fstat(file.fd(), &info) != 0) return Result::none(errno);
    if (!S_ISREG(info.st_mode)) return Result::none(EPROTO);
    for (int n = 0; n < kTries; ++n) {
        const Maybe<size_t> got = file.read(&header, sizeof header, 0);
        if (!got) return Result::none(got.error);
        if (got.value < sizeof header || header.magic != SIDRA_PUBLISH_MAGIC ||
            header.version != SIDRA_PUBLISH_VERSION || header.header_size < sizeof header || header.size > kSizeLimit)
            return Result::none(EPROTO);
        if (header.sequence & 1) {
            sched_yield();
            continue;
        }
        const std::array<Part, Count> parts = where(header);
        std::array<std::string, Count> bytes;
        for (size_t part = 0; part < Count; ++part) {
            const auto [offset, size] = parts[part];
            if (offset > header.size || size > header.size - offset) return Result::none(EPROTO);
            bytes[part].resize(size);
            const Maybe<size_t> rest = file.read(bytes[part].data(), size, offset);
            if (!rest || rest.value != size) return Result::none(EPROTO);
        }
        uint64_t sequence = 0;
        const Maybe<size_t> again = file.read(&sequence, sizeof sequence, offsetof(sidra_publish, sequence));
        if (!again || again.value != sizeof sequence) return Result::none(EPROTO);
        if (sequence != header.sequence) continue;
        header.uid = info.st_uid;
        return bytes;
    }
    return Result::none(EAGAIN);
}

// Whether only the owner can create files in this folder.
bool trusted(const std::string& folder, uid_t owner) {
    struct stat info;
    return lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == owner &&
           (info.st_mode & 0777) == 0700;
}

std::vector<std::string> folders(const std::string& root) {
    std::vector<std::string> found;
    std::set<std::pair<dev_t, ino_t>> seen;
    const auto add = [&](const std::string& folder, uid_t owner) {
        struct stat info;
        if (trusted(folder, owner) && stat(folder.c_str(), &info) == 0 && seen.emplace(info.st_dev, info.st_ino).second)
            found.push_back(folder);
    };
    // The environment variable applies to this process, not to another root.
    const char* const own = root.empty() ? getenv("XDG_RUNTIME_DIR") : nullptr;
    if (own != nullptr && own[0] == '/') add(std::string(own) + "/sidra", geteuid());
    const auto each = [&](const std::string& parent, std::string_view prefix, const char* suffix) {
        for (const std::string& name : list_folder(parent).value) {
            if (!name.starts_with(prefix)) continue;
            const Maybe<uint64_t> uid = to_number(std::string_view(name).substr(prefix.size()));
            // Exactly the format of libsidra: without leading zeros each user has one folder.
            if (uid && uid.value < UINT32_MAX && name == fmt::format("{}{}", prefix, uid.value))
                add(fmt::format("{}/{}{}", parent, name, suffix), static_cast<uid_t>(uid.value));
        }
    };
    each(root + "/run/user", "", "/sidra");
    each(root + "/tmp", "sidra-", "");
    return found;
}

}  // namespace

Maybe<Sample> Model::read() const {
    const File file(path_, kReadOnly);
    sidra_publish header;
    const auto pages = read_once<2>(file, header, [](const sidra_publish& h) {
        constexpr uint64_t kSize = sizeof(sidra_telemetry);
        return std::array{Part{h.telemetry, kSize}, Part{h.before, h.before != 0 ? kSize : 0}};
    });
    if (!pages) return Maybe<Sample>::none(pages.error == ENOENT ? ESRCH : pages.error);
    const Maybe<uint64_t> pid = holder(file);
    if (!pid) return Maybe<Sample>::none(pid.error);
    Sample sample;
    sample.telemetry = to_telemetry(pages.value[0]);
    if (header.before != 0) sample.before = to_telemetry(pages.value[1]);
    sample.uuid = uuid_text(header.uuid);
    sample.hardware = version_text(header.hw_version);
    sample.driver = version_text(header.driver_version);
    sample.firmware = firmware_version_text(header.firmware_version);
    sample.process = clean(std::string_view(header.comm, strnlen(header.comm, sizeof header.comm)));
    sample.pid = pid.value != 0 ? pid.value : header.pid;
    sample.uid = header.uid;
    sample.generation = sample.telemetry ? Maybe<uint64_t>(sample.telemetry.value.generation) : Maybe<uint64_t>();
    sample.features = header.features;
    sample.clusters = header.clusters;
    sample.cus_per_cluster = header.cus_per_cluster;
    sample.xbars_per_cu = header.xbars_per_cu;
    sample.l3_size = header.l3_size;
    sample.l3_used = header.l3_used <= header.l3_size ? Maybe<uint64_t>(header.l3_used) : Maybe<uint64_t>::none(EPROTO);
    sample.nvm_size = header.nvm_size;
    sample.memory = header.memory;
    sample.level = header.level <= 1 ? Maybe<std::string>(header.level == 1 ? "accurate" : "fast")
                                     : Maybe<std::string>::none(EPROTO);
    sample.persistent = header.persistent != 0;

    sidra_smi_client client = no_client(static_cast<int32_t>(std::min<uint64_t>(sample.pid.value, INT32_MAX)));
    client.uid = header.uid;
    std::memcpy(client.name, sample.process.value.data(),
                std::min(sample.process.value.size(), sizeof client.name - 1));
    client.contexts = header.contexts;
    client.queues = header.queues;
    client.memory = header.memory;
    if (sample.telemetry) std::memcpy(client.engine_ns, sample.telemetry.value.engine_ns, sizeof client.engine_ns);
    sample.clients.push_back(client);
    sample.clients_error = 0;
    sample.read_ns = now_ns();
    sample.data_ns = std::min(header.updated_ns, sample.read_ns);
    return sample;
}

Maybe<std::vector<sidra_hw_xbar>> Model::read_crossbars() const {
    using Result = Maybe<std::vector<sidra_hw_xbar>>;
    const File file(path_, kReadOnly);
    sidra_publish header;
    const auto parts = read_once<1>(file, header, [](const sidra_publish& h) {
        return std::array{Part{h.xbars, static_cast<uint64_t>(h.xbar_count) * sizeof(sidra_hw_xbar)}};
    });
    if (!parts) return Result::none(parts.error == ENOENT ? ESRCH : parts.error);
    const std::string& bytes = parts.value[0];
    std::vector<sidra_hw_xbar> all(bytes.size() / sizeof(sidra_hw_xbar));
    if (!all.empty()) std::memcpy(all.data(), bytes.data(), all.size() * sizeof all[0]);
    return all;
}

FoundModels find_models(const std::string& root, const std::string& runtime) {
    using Name = std::pair<uint64_t, uint64_t>;
    std::vector<std::pair<Name, std::shared_ptr<Model>>> found;
    FoundModels models;
    for (const std::string& folder : runtime.empty() ? folders(root) : std::vector{runtime}) {
        struct stat owner;
        if (stat(folder.c_str(), &owner) != 0) continue;
        size_t looked = 0;
        for (const std::string& file : list_folder(folder).value) {
            const Maybe<Name> name = to_name(file);
            if (!name || name.value.first == static_cast<uint64_t>(getpid())) continue;
            if (looked++ >= kFilesMost) {
                ++models.left_out;
                continue;
            }
            const std::string path = fmt::format("{}/{}", folder, file);
            const File published(path, kReadOnly);
            struct stat info;
            // A link to another user's file must not count as that user's data.
            if (published.error() != 0 || fstat(published.fd(), &info) != 0 || info.st_uid != owner.st_uid) continue;
            if (holder(published)) found.emplace_back(name.value, std::make_shared<Model>(path, file));
        }
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& model : found) models.all.push_back(std::move(model.second));
    return models;
}

}  // namespace sidra::smi
