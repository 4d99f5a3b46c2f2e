// SPDX-License-Identifier: MIT
#include "model_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <system_error>
#include <vector>

#include "file_kind.h"
#include "file_reader.h"
#include "hash.h"

namespace sidra {
namespace {

using format::FileHeader;

sidra_status bad_path(const char* call, const std::string& path, int error) {
    const std::string reason = std::generic_category().message(error);
    const sidra_status known = status_of_errno(-error);
    const bool usual = known == SIDRA_ERROR_NOT_FOUND || known == SIDRA_ERROR_PERMISSION ||
                       known == SIDRA_ERROR_LIMIT || known == SIDRA_ERROR_OUT_OF_MEMORY;
    return fail(usual ? known : SIDRA_ERROR_INVALID_ARGUMENT, call,
                "{} cannot be opened: {} (errno {}); name a compiled model (.sidra) that this process may read", path,
                reason, error);
}

sidra_status refuse(const char* call, const std::string& path, const format::Finding& finding) {
    return fail(finding.version ? SIDRA_ERROR_VERSION : SIDRA_ERROR_INVALID_ARGUMENT, call, "{}{}", path, finding.text);
}

sidra_status unreadable(const char* call, const std::string& path, int error, uint64_t size, uint64_t offset) {
    const bool memory = status_of_errno(error) == SIDRA_ERROR_OUT_OF_MEMORY;
    return fail(memory ? SIDRA_ERROR_OUT_OF_MEMORY : SIDRA_ERROR_INVALID_ARGUMENT, call,
                "{}: {} bytes from {} on cannot be read: {} (errno {}); check the storage", path, size, offset,
                std::generic_category().message(-error), -error);
}

sidra_status cut_off(const char* call, const std::string& path, uint64_t got, uint64_t size, uint64_t offset) {
    return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                "{} ends after {} of {} bytes from {} on, so it was cut off after it was opened; load it anew", path,
                got, size, offset);
}

}  // namespace

void ModelFile::close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
}

sidra_status ModelFile::open(const char* call, const char* path) {
    path_ = path;
    fd_ = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // not blocking: a pipe would wait for a writer
    if (fd_ < 0) return bad_path(call, path_, errno);
    struct stat status {};
    if (fstat(fd_, &status) != 0) return bad_path(call, path_, errno);
    if (!S_ISREG(status.st_mode))
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "{} is {}; a compiled model is a regular file", path_,
                    file_kind(status.st_mode));
    const auto size = static_cast<uint64_t>(status.st_size);
    posix_fadvise(fd_, 0, 0, POSIX_FADV_RANDOM);  // read() decides how to read what is behind the manifest

    FileHeader header{};
    if (size < sizeof header) return refuse(call, path_, format::too_short(size));
    SIDRA_TRY(read_bytes(call, 0, reinterpret_cast<std::byte*>(&header), sizeof header));
    if (const format::Finding finding = format::check_header(header, size)) return refuse(call, path_, finding);
    manifest_ = format::Manifest(header);
    SIDRA_TRY(read_bytes(call, header.manifest_offset, manifest_.bytes(), header.manifest_size));
    if (const format::Finding finding = manifest_.check(header)) return refuse(call, path_, finding);
    size_ = size;
    return SIDRA_OK;
}

sidra_status ModelFile::choose_stage(const char* call, uint32_t stage) {
    const format::Section place = *manifest().stages()->Get(stage);
    format::Manifest manifest(place);
    SIDRA_TRY(read_bytes(call, place.offset(), manifest.bytes(), place.size()));
    if (format::Finding finding = manifest.check_stage(place, size_)) {
        finding.text = fmt::format(": stage {}", stage) + finding.text;
        return refuse(call, path_, finding);
    }
    manifest_ = std::move(manifest);
    return SIDRA_OK;
}

// Whether the kernel has the ends of the parts in its memory.
bool ModelFile::in_memory(std::span<const SectionRead> parts) const {
    return std::all_of(parts.begin(), parts.end(), [this](const SectionRead& part) {
        char byte = 0;
        const iovec last = {&byte, 1};
        const auto at = static_cast<off_t>(part.section->offset() + part.section->size() - 1);
        return preadv2(fd_, &last, 1, at, RWF_NOWAIT) == 1 || errno != EAGAIN;
    });
}

sidra_status ModelFile::read(const char* call, std::span<const SectionRead> parts, const Seen& seen) const {
    if (parts.empty()) return SIDRA_OK;
    std::vector<FileRange> ranges;
    uint64_t all = 0;
    for (const SectionRead& part : parts) {
        ranges.push_back({part.section->offset(), part.memory, part.section->size()});
        all += part.section->size();
    }
    format::Hash hash;
    const SectionRead* damaged = nullptr;
    const auto check = [&](size_t i, size_t at, size_t size) {
        if (at == 0) hash = {};
        hash.add(ranges[i].memory + at, size);
        if (seen) seen(i, at, size);
        if (at + size == ranges[i].size && hash.value() != parts[i].section->hash()) damaged = &parts[i];
        return damaged == nullptr;
    };

    // What the kernel has already is copied at once. The rest goes from the storage into the memory of its reader
    // without a copy, and many reads are under way while the processor looks at what came before.
    int direct = -1;
    if (!in_memory(parts))
        direct = ::open(fmt::format("/proc/self/fd/{}", fd_).c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
    posix_fadvise(fd_, 0, 0, direct >= 0 ? POSIX_FADV_RANDOM : POSIX_FADV_SEQUENTIAL);
    const int64_t got = read_file(fd_, ranges, check, direct >= 0 ? FileReads::kUring : FileReads::kPread, direct);
    if (direct >= 0) ::close(direct);

    if (damaged != nullptr)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "{}: {}: the hash of its {} bytes is wrong, so the file is damaged, or was changed since it was "
                    "loaded; copy or compile the model again, and load it anew",
                    path_, damaged->what, damaged->section->size());
    if (got < 0) return unreadable(call, path_, static_cast<int>(got), all, parts.front().section->offset());
    if (static_cast<uint64_t>(got) == all) return SIDRA_OK;
    return cut_off(call, path_, static_cast<uint64_t>(got), all, parts.front().section->offset());
}

sidra_status ModelFile::read_bytes(const char* call, uint64_t offset, std::byte* memory, size_t size) const {
    const FileRange range{offset, memory, size};
    const int64_t got = read_file(fd_, {&range, 1}, {}, FileReads::kPread);
    if (got < 0) return unreadable(call, path_, static_cast<int>(got), size, offset);
    if (static_cast<uint64_t>(got) == size) return SIDRA_OK;
    return cut_off(call, path_, static_cast<uint64_t>(got), size, offset);
}

}  // namespace sidra
