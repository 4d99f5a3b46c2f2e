// SPDX-License-Identifier: MIT
#include "file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "file_kind.h"
#include "hash.h"

namespace sidra::objdump {
namespace {

constexpr size_t kPiece = size_t{1} << 20;

}  // namespace

ModelFile::ModelFile(std::string path, uint32_t stage) : path_(std::move(path)) {
    fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // not blocking: a pipe would wait for a writer
    struct stat status {};
    if (fd_ < 0 || fstat(fd_, &status) != 0)
        throw std::runtime_error(fmt::format("cannot read {}: {}", path_, std::strerror(errno)));
    try {
        if (!S_ISREG(status.st_mode))
            throw std::runtime_error(
                fmt::format("{} is {}; a compiled model is a regular file", path_, file_kind(status.st_mode)));
        const auto require = [&](const format::Finding& finding) {
            if (finding) throw std::runtime_error(path_ + finding.text);
        };
        const auto size = static_cast<uint64_t>(status.st_size);
        if (size < sizeof header_) require(format::too_short(size));
        read_bytes(0, std::as_writable_bytes(std::span(&header_, 1)));
        require(format::check_header(header_, size));
        manifest_ = format::Manifest(header_);
        read_bytes(header_.manifest_offset, {manifest_.bytes(), header_.manifest_size});
        require(manifest_.check(header_));
        place_ = {header_.manifest_offset, header_.manifest_size, header_.manifest_hash};
        if (model().stages() != nullptr) stages_ = model().stages()->size();
        if (stage >= std::max(stages_, 1u))
            throw std::runtime_error(
                fmt::format("--stage is {}, but {} has {}, which count from 0", stage, path_, std::max(stages_, 1u)));
        if (stages_ != 0) {
            place_ = *model().stages()->Get(stage);
            format::Manifest part(place_);
            read_bytes(place_.offset(), {part.bytes(), place_.size()});
            require(part.check_stage(place_, size));
            manifest_ = std::move(part);
        }
    } catch (...) {
        close(fd_);
        throw;
    }
}

ModelFile::~ModelFile() { close(fd_); }

void ModelFile::read_bytes(uint64_t offset, std::span<std::byte> memory) const {
    while (!memory.empty()) {
        const ssize_t got = pread(fd_, memory.data(), memory.size(), static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw std::runtime_error(fmt::format("cannot read {}: {}", path_, std::strerror(errno)));
        if (got == 0) throw std::runtime_error(fmt::format("{} was cut off while it was read", path_));
        memory = memory.subspan(static_cast<size_t>(got));
        offset += static_cast<uint64_t>(got);
    }
}

uint64_t ModelFile::read(const format::Section& section,
                         const std::function<void(std::span<const std::byte>)>& take) const {
    format::Hash hash;
    std::vector<std::byte> piece(std::min<uint64_t>(section.size(), kPiece));
    for (uint64_t done = 0; done < section.size();) {
        const std::span now(piece.data(), std::min<uint64_t>(section.size() - done, kPiece));
        read_bytes(section.offset() + done, now);
        hash.add(now.data(), now.size());
        if (take) take(now);
        done += now.size();
    }
    return hash.value();
}

}  // namespace sidra::objdump
