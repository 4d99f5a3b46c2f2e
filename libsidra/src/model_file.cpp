// SPDX-License-Identifier: MIT
#include "model_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>

#include "file_header.h"
#include "file_kind.h"
#include "file_reader.h"
#include "hash.h"
#include "model_check.h"

namespace sidra {
namespace {

using format::FileHeader;

constexpr size_t kNameShown = 80;  // bytes of a name in a message
constexpr uint32_t kDepthMax = 8;  // of tables in tables; the schema has five
constexpr uint32_t kTablesMax = 1 << 20;

sidra_status bad_path(const char* call, const std::string& path, int error) {
    const std::string reason = std::generic_category().message(error);
    const sidra_status known = status_of_errno(-error);
    const bool usual = known == SIDRA_ERROR_NOT_FOUND || known == SIDRA_ERROR_PERMISSION ||
                       known == SIDRA_ERROR_LIMIT || known == SIDRA_ERROR_OUT_OF_MEMORY;
    return fail(usual ? known : SIDRA_ERROR_INVALID_ARGUMENT, call,
                "{} cannot be opened: {} (errno {}); name a compiled model (.sidra) that this process may read", path,
                reason, error);
}

// Checks the header by itself, and against the file's size.
sidra_status check_header(const char* call, const std::string& path, const FileHeader& header, uint64_t size) {
    const auto damaged = [&](const std::string& what) {
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "{}: header: {}; copy or compile the model again", path, what);
    };
    if (std::memcmp(header.magic, format::kMagic, sizeof header.magic) != 0)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "{} is not a compiled model: its first bytes are not those of a .sidra file; compile the network "
                    "first",
                    path);
    const uint32_t major = header.version >> 16, minor = header.version & 0xffff;
    if (major != format::kVersionMajor || minor > format::kVersionMinor)
        return fail(SIDRA_ERROR_VERSION, call,
                    "{} has version {}.{} of the format, but this libsidra reads {}.0 to {}.{}; use a libsidra of the "
                    "same age as the compiler, or compile the model again",
                    path, major, minor, format::kVersionMajor, format::kVersionMajor, format::kVersionMinor);
    if (header.header_hash != format::hash_of(&header, offsetof(FileHeader, header_hash)))
        return damaged("its hash is wrong, so the file is damaged");
    if (header.header_size != sizeof header)
        return damaged(fmt::format("header_size is {}, must be {}", header.header_size, sizeof header));
    if (header.file_size != size)
        return damaged(fmt::format("the file has {} bytes, but file_size is {}: {}", size, header.file_size,
                                   size < header.file_size ? "it was cut off" : "something was added to it"));
    if (header.reserved != 0) return damaged(fmt::format("reserved is {:#x}, must be 0", header.reserved));
    if (header.manifest_offset % format::kManifestAlignment != 0 || header.manifest_offset < sizeof header ||
        header.manifest_offset > size || header.manifest_size > size - header.manifest_offset)
        return damaged(
            fmt::format("the manifest has {} bytes from {} on; it must lie between the header and the end of the "
                        "file, at a multiple of {}",
                        header.manifest_size, header.manifest_offset, format::kManifestAlignment));
    if (header.manifest_size > format::kManifestBytesMax)
        return damaged(fmt::format("manifest_size is {}, at most {} are allowed", header.manifest_size,
                                   format::kManifestBytesMax));
    return SIDRA_OK;
}

}  // namespace

std::string quoted(std::string_view name) {
    std::string text = "'";
    text += name.substr(0, kNameShown);
    std::ranges::replace_if(
        text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
    if (name.size() > kNameShown) text += "...";
    return text + "'";
}

std::string matrix_name(const format::Model& model, uint32_t index) {
    return fmt::format("matrix {} {}", index, quoted(model.matrices()->Get(index)->name()));
}

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

    FileHeader header{};
    if (size < sizeof header)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "{} is not a compiled model: it has {} bytes, and the header alone has {}", path_, size,
                    sizeof header);
    SIDRA_TRY(read_bytes(call, 0, reinterpret_cast<std::byte*>(&header), sizeof header));
    SIDRA_TRY(check_header(call, path_, header, size));

    manifest_ = std::make_unique_for_overwrite<uint64_t[]>(header.manifest_size / sizeof(uint64_t) + 1);
    auto* const bytes = reinterpret_cast<std::byte*>(manifest_.get());
    SIDRA_TRY(read_bytes(call, header.manifest_offset, bytes, header.manifest_size));
    if (format::hash_of(bytes, header.manifest_size) != header.manifest_hash)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "{}: manifest: its hash is wrong, so the file is damaged; copy or compile the model again", path_);
    flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes), header.manifest_size, kDepthMax,
                                   kTablesMax);
    if (!format::VerifyModelBuffer(verifier))
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "{}: manifest: it is not a valid FlatBuffer of the schema of compiled models (or has more than {} "
                    "tables); compile the model again",
                    path_, kTablesMax);
    const std::string finding =
        check_manifest(manifest(), size, {header.manifest_offset, header.manifest_offset + header.manifest_size});
    if (!finding.empty())
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "{}: {}; compile the model again", path_, finding);
    return SIDRA_OK;
}

sidra_status ModelFile::read(const char* call, const format::Section& section, std::string_view what,
                             std::byte* memory) const {
    SIDRA_TRY(read_bytes(call, section.offset(), memory, section.size()));
    if (format::hash_of(memory, section.size()) == section.hash()) return SIDRA_OK;
    return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                "{}: {}: the hash of its {} bytes is wrong, so the file is damaged, or was changed since it was "
                "loaded; copy or compile the model again, and load it anew",
                path_, what, section.size());
}

sidra_status ModelFile::read_bytes(const char* call, uint64_t offset, std::byte* memory, size_t size) const {
    const int64_t got = read_file(fd_, offset, memory, size);
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
