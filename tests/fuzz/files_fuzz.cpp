// SPDX-License-Identifier: MIT
// Small files that programs are given: programs and keys for sidra-fw, dumps for sidra-dump, what a kernel and other
// processes tell sidra-smi, and networks for the demo. An input is a byte that says what it is, then the file.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string>

#include "acknowledgement.h"
#include "card.h"
#include "check.h"
#include "clients.h"
#include "common/elf32.h"
#include "convnet/model.h"
#include "digits_model.h"
#include "dump.h"
#include "elf.h"
#include "error.h"
#include "history.h"
#include "input.h"
#include "key.h"
#include "memory_file.h"
#include "model.h"
#include "policy.h"
#include "sentence/model_file.h"
#include "sentence/wordpiece.h"
#include "text.h"
#include "uevent.h"

namespace sidra::fuzz {
namespace {

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

// With the lock by which a monitor knows that the writer lives.
void published(std::span<const uint8_t> bytes) {
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_len = 1;
    const File file;
    file.put({bytes.begin(), bytes.end()});
    const int writer = file.open_it(O_WRONLY);
    if (fcntl(writer, F_OFD_SETLK, &lock) != 0) fail("the file has no lock");
    const smi::Model model(file.path(), "1-0");
    const auto sample = model.read();
    if (sample) shown(sample.value.process);
    else if (sample.error != EPROTO && sample.error != EAGAIN)
        fail("the monitor has not read the file: %d", sample.error);
    model.read_crossbars();
    close(writer);
}

// The health policy, and the files that keep what it needs: all are TOML. What is written can be read again.
void policy(const std::string& text) {
    try {
        const smi::Policy rules = smi::parse_policy(text, "file");
        for (const smi::Check& check : smi::checks()) {
            const smi::Rule& rule = rules.rule(check.name);
            if (rule.warning && rule.critical && *rule.warning > *rule.critical)
                fail("a warning is above its critical");
        }
    } catch (const smi::BadPolicy& e) {
        shown(std::string(e.what()));
    }
    std::string error;
    const auto known = smi::parse_acknowledgements(text, error);
    for (const smi::Acknowledgement& each : known) shown(each.note);
    if (smi::parse_acknowledgements(smi::acknowledgements_text(known), error).size() != known.size())
        fail("acknowledgements are lost when they are written");
    const File file;
    file.put({text.begin(), text.end()});
    const smi::Histories histories = smi::read_histories(file.path());
    smi::histories_text(histories);
}

void sentence_model(std::span<const uint8_t> bytes) {
    const File file;
    file.put({bytes.begin(), bytes.end()});
    const sentence::ModelFile model(file.path());
    const sentence::Sizes& sizes = model.sizes();
    const auto sum = [](auto values) {
        int64_t total = 0;
        for (const auto value : values) total += value != 0;
        return total;
    };
    sum(model.floats("words", sizes.vocabulary, sizes.width));
    sum(model.codes("layer0.out.codes", sizes.width, sizes.width));
    sum(model.integers("layer0.out.sums", 1, sizes.width));
    const sentence::WordPiece tokenizer(model.vocabulary());
    for (const int32_t token : tokenizer.encode(model.text("list"), sizes.tokens_max)) {
        if (token < 0 || static_cast<uint32_t>(token) >= sizes.vocabulary)
            fail("the tokenizer gives %d of %u pieces", token, sizes.vocabulary);
    }
}

void play(Input in) {
    const uint8_t what = in.u8();
    const std::span<const uint8_t> rest = in.rest();
    const std::unique_ptr<uint8_t[]> bytes(new uint8_t[rest.size()]);
    std::copy(rest.begin(), rest.end(), bytes.get());
    const std::span<const uint8_t> file(bytes.get(), rest.size());
    const std::string_view text(reinterpret_cast<const char*>(bytes.get()), rest.size());
    switch (what % 12) {
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
            published(file);
            break;
        case 8:
            try {
                sentence_model(file);
            } catch (const std::runtime_error&) {
            }
            break;
        case 9:
            try {
                const File model_file;
                model_file.put({file.begin(), file.end()});
                convnet::load_model(model_file.path());
            } catch (const std::runtime_error&) {
            }
            break;
        case 10:
            if (const auto event = smi::parse_uevent(text)) {
                shown(event->node);
                shown(event->event);
            }
            break;
        case 11:
            policy(std::string(text));
            break;
        default:
            try {
                const File model_file;
                model_file.put({file.begin(), file.end()});
                const digits::Model model = digits::load_model(model_file.path());
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
