// SPDX-License-Identifier: MIT
#include "identity.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <mlir/IR/Verifier.h>

#include <cstring>

namespace sidra::compiler {
namespace {

constexpr char kOwner[] = "GNU";  // of the note with the build ID

struct Search {
    uintptr_t address;  // in the program or library that is meant
    std::string found;  // its build ID in hexadecimal
};

bool contains(const dl_phdr_info& object, uintptr_t address) {
    for (int i = 0; i < object.dlpi_phnum; i++) {
        const ElfW(Phdr)& part = object.dlpi_phdr[i];
        if (part.p_type == PT_LOAD && address - object.dlpi_addr - part.p_vaddr < part.p_memsz) return true;
    }
    return false;
}

// The build ID among the notes of one part; "": none.
std::string build_id(const char* note, size_t size, size_t alignment) {
    const auto rounded = [&](size_t n) { return (n + alignment - 1) / alignment * alignment; };
    while (size >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) header;
        std::memcpy(&header, note, sizeof header);
        const size_t owner = sizeof header, content = rounded(owner + header.n_namesz);
        const size_t all = rounded(content + header.n_descsz);
        if (all > size) break;
        if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == sizeof kOwner &&
            std::memcmp(note + owner, kOwner, sizeof kOwner) == 0) {
            std::string text;
            for (size_t i = 0; i < header.n_descsz; i++)
                text += fmt::format("{:02x}", static_cast<unsigned char>(note[content + i]));
            return text;
        }
        note += all, size -= all;
    }
    return {};
}

int visit(dl_phdr_info* object, size_t, void* data) {
    Search& search = *static_cast<Search*>(data);
    if (!contains(*object, search.address)) return 0;
    for (int i = 0; i < object->dlpi_phnum && search.found.empty(); i++) {
        const ElfW(Phdr)& part = object->dlpi_phdr[i];
        if (part.p_type == PT_NOTE)
            search.found = build_id(reinterpret_cast<const char*>(object->dlpi_addr + part.p_vaddr), part.p_memsz,
                                    part.p_align == 8 ? 8 : 4);
    }
    return 1;
}

std::string build_id_of(const void* address) {
    Search search{reinterpret_cast<uintptr_t>(address), {}};
    dl_iterate_phdr(visit, &search);
    return search.found;
}

}  // namespace

std::optional<std::string> identity() {
    const std::string own = build_id_of(kOwner);
    const std::string mlir = build_id_of(reinterpret_cast<const void*>(&mlir::verify));
    if (own.empty() || mlir.empty()) return std::nullopt;
    return fmt::format("sidra-compile " SIDRA_VERSION " {} {}", own, mlir);
}

}  // namespace sidra::compiler
