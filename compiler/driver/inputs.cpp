// SPDX-License-Identifier: MIT
#include "inputs.h"

#include <fmt/format.h>
#include <llvm/Support/MemoryBuffer.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>

#include "identity.h"
#include "onnx/external_files.h"
#include "store.h"

namespace sidra::compiler {
namespace {

std::unique_ptr<llvm::MemoryBuffer> map(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return nullptr;
    auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    return file ? std::move(*file) : nullptr;
}

Bytes bytes_of(const llvm::MemoryBuffer& file) {
    return std::as_bytes(std::span(file.getBufferStart(), file.getBufferSize()));
}

// Strings one behind another, each with its length, so that no two lists look alike.
class List {
   public:
    void add(std::string_view text) { all_ += fmt::format("{}:{}\n", text.size(), text); }
    std::string hash() const { return hash_of(std::as_bytes(std::span(all_))); }

   private:
    std::string all_;
};

}  // namespace

std::optional<std::string> Inputs::hash(const std::string& path) {
    auto seen = see(path);
    const auto file = map(path);
    if (!seen || !file) return std::nullopt;
    seen_.push_back(std::move(*seen));
    return hash_of(bytes_of(*file));
}

bool Inputs::unchanged() const {
    for (const Seen& before : seen_)
        if (see(before.path) != before) return false;
    return true;
}

std::optional<Inputs::Seen> Inputs::see(const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return std::nullopt;
    return Seen{path, status.st_dev, status.st_ino, static_cast<uint64_t>(status.st_size),
                int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

std::optional<std::string> cache_key(Inputs& inputs, const std::string& network, const Options& options,
                                     const Provenance& provenance) {
    const std::optional<std::string> compiler = identity();
    const auto model = map(network);
    const auto beside = model ? external_files(bytes_of(*model)) : std::nullopt;
    if (!compiler || !beside) return std::nullopt;
    List list;
    for (const std::string& text : {*compiler, provenance.name, provenance.source, provenance.options}) list.add(text);
    const auto add_file = [&](const std::string& name, const std::string& path) {
        const std::optional<std::string> hash = inputs.hash(path);
        if (!hash) return false;
        list.add(name);
        list.add(*hash);
        return true;
    };
    const std::filesystem::path folder = std::filesystem::path(network).parent_path();
    for (const std::string& file : *beside)
        if (!add_file(file, folder / file)) return std::nullopt;
    for (const auto& [name, file] : options.values)
        if (!add_file(name, file)) return std::nullopt;
    return list.hash();
}

}  // namespace sidra::compiler
