// SPDX-License-Identifier: MIT
// Small files that programs are given: programs and keys for sidra-fw, dumps for sidra-dump, what a kernel and other
// processes tell sidra-smi, and a network for the demo. An input is a byte that says what it is, then the file.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

#include "card.h"
#include "check.h"
#include "clients.h"
#include "common/elf32.h"
#include "digits_model.h"
#include "dump.h"
#include "elf.h"
#include "error.h"
#include "input.h"
#include "key.h"
#include "model.h"
#include "text.h"

namespace sidra::fuzz {
namespace {

// A file with a name, which goes with this.
class Named {
   public:
    explicit Named(std::string_view bytes) : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
        // With the lock by which a monitor knows that its writer lives.
        struct flock lock = {};
        lock.l_type = F_WRLCK;
        lock.l_len = 1;
        if (fd_ < 0 || write(fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
            fcntl(fd_, F_OFD_SETLK, &lock) != 0)
            fail("no file");
    }
    ~Named() { close(fd_); }
    Named(const Named&) = delete;
    Named& operator=(const Named&) = delete;
    std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

   private:
    int fd_;
};

void dump(std::span<const uint8_t> file, const tools::ElfSymbols* symbols) {
    try {
        const dump::Report report = dump::decode(file, symbols);
        // It may go to a terminal.
        if (!std::ranges::all_of(report.text, [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7f); }))
            fail("what is told of a dump has bytes that are no text");
    } catch (const dump::DumpError&) {
    }
}

void shown(const smi::Maybe<std::string>& text) {
    if (!std::ranges::all_of(text.value, [](char c) { return c >= 0x20 && c < 0x7f; }))
        fail("a line to be shown has bytes that are no text");
}

void published(std::string_view file) {
    const Named named(file);
    const smi::Model model(named.path(), "1-0");
    if (const auto sample = model.read()) shown(sample.value.process);
    model.read_crossbars();
}

void play(Input in) {
    const uint8_t what = in.u8();
    const std::span<const uint8_t> rest = in.rest();
    const std::unique_ptr<uint8_t[]> bytes(new uint8_t[rest.size()]);
    std::copy(rest.begin(), rest.end(), bytes.get());
    const std::span<const uint8_t> file(bytes.get(), rest.size());
    const std::string_view text(reinterpret_cast<const char*>(bytes.get()), rest.size());
    switch (what % 8) {
        case 0:
            try {
                const fw::Program program = fw::load_elf("file", file);
                if (program.payload.size() > fw::kProgramLimit || program.ram_size < program.payload.size())
                    fail("a program has %zu bytes in %u of RAM", program.payload.size(), program.ram_size);
            } catch (const fw::Error&) {
            }
            break;
        case 1:
            try {
                const tools::ElfSymbols symbols{tools::Elf32(file)};
                symbols.name_of(0x10000000);
                symbols.name_of_caller(0);
                dump(file, &symbols);
            } catch (const tools::ElfError&) {
            }
            break;
        case 2:
            try {
                const fw::Key key = fw::parse_key("file", text);
                if (!fw::valid_name(key.name)) fail("a key has a name that is none");
            } catch (const fw::Error&) {
            }
            break;
        case 3:
            dump(file, nullptr);
            break;
        case 4:
            if (const auto info = smi::to_fdinfo(text)) shown(info.value.pdev);
            shown(smi::to_line(std::string(text)));
            break;
        case 5:
            smi::to_telemetry(text);
            break;
        case 6:
            published(text);
            break;
        default:
            try {
                const Named named(text);
                const digits::Model model = digits::load_model(named.path());
                if (model.pixels.size() <= 64 * digits::kPixels) digits::float_answers(model);
            } catch (const std::runtime_error&) {
            }
            break;
    }
}

}  // namespace
}  // namespace sidra::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    sidra::fuzz::play(sidra::fuzz::Input({data, size}));
    return 0;
}
