// SPDX-License-Identifier: MIT
#include "model_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <system_error>

#include "file_kind.h"
#include "file_reader.h"
#include "hash.h"

namespace sidra {
namespace {

using format::FileHeader;

// The hash of a piece is computed while the piece is in the processor's cache, and the kernel reads what follows. Many
// concurrent reads of a whole section, by io_uring, took more processor time, and were no faster from a disk.
constexpr uint64_t kPiece = uint64_t{1} << 20;

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
    posix_fadvise(fd_, 0, 0, POSIX_FADV_SEQUENTIAL);  // the kernel reads further ahead

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

sidra_status ModelFile::read(const char* call, const format::Section& section, std::string_view what,
                             std::byte* memory) const {
    format::Hash hash;
    for (uint64_t at = 0; at < section.size(); at += kPiece) {
        const uint64_t offset = section.offset() + at, size = std::min(kPiece, section.size() - at);
        SIDRA_TRY(read_bytes(call, offset, memory + at, size));
        hash.add(memory + at, size);
    }
    if (hash.value() == section.hash()) return SIDRA_OK;
    return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                "{}: {}: the hash of its {} bytes is wrong, so the file is damaged, or was changed since it was "
                "loaded; copy or compile the model again, and load it anew",
                path_, what, section.size());
}

sidra_status ModelFile::read_bytes(const char* call, uint64_t offset, std::byte* memory, size_t size) const {
    const int64_t got = read_file(fd_, offset, memory, size, FileReads::kPread);
    if (got < 0)
        return fail(status_of_errno(static_cast<int>(got)) == SIDRA_ERROR_OUT_OF_MEMORY ? SIDRA_ERROR_OUT_OF_MEMORY
                                                                                        : SIDRA_ERROR_INVALID_ARGUMENT,
                    call, "{}: {} bytes from {} on cannot be read: {} (errno {}); check the storage", path_, size,
                    offset, std::generic_category().message(static_cast<int>(-got)), -got);
    if (static_cast<uint64_t>(got) == size) return SIDRA_OK;
    return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                "{} ends after {} of {} bytes from {} on, so it was cut off after it was opened; load it anew", path_,
                got, size, offset);
}

}  // namespace sidra
