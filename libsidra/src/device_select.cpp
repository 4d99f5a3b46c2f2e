// SPDX-License-Identifier: MIT
#include "device_select.h"

#include <dirent.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "report_line.h"
#include "sidra_chip.h"
#include "sidra_hw.h"
#include "structs.h"

namespace sidra {
namespace {

constexpr uint32_t kStuckMost = 1'000'000;
static_assert(SIDRA_STUCK_NONE == SIDRA_CHIP_STUCK_NONE);
constexpr uint32_t kChipsMax = 64;  // a chip has threads and memory
constexpr uint32_t kWorkersMax = SIDRA_CHIP_WORKERS_MAX;

struct NamedValue {
    std::string_view name;
    uint32_t value;
};
constexpr std::array<NamedValue, 2> kProfiles = {{{"y1", SIDRA_PROFILE_Y1}, {"small", SIDRA_PROFILE_SMALL}}};
constexpr std::array<NamedValue, 2> kLevels = {{{"fast", SIDRA_LEVEL_FAST}, {"accurate", SIDRA_LEVEL_ACCURATE}}};
constexpr std::array<NamedValue, 7> kEngines = {{{"auto", SIDRA_ENGINE_AUTO},
                                                 {"scalar", SIDRA_ENGINE_SCALAR},
                                                 {"avx2", SIDRA_ENGINE_AVX2},
                                                 {"avx-vnni", SIDRA_ENGINE_AVX_VNNI},
                                                 {"avx512", SIDRA_ENGINE_AVX512},
                                                 {"amx", SIDRA_ENGINE_AMX},
                                                 {"neon", SIDRA_ENGINE_NEON}}};

std::string_view environment(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : std::string_view{};
}

// Parses all of `text` as a decimal number.
bool parse_number(std::string_view text, uint32_t* number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
    return error == std::errc{} && end == text.data() + text.size();
}

template <size_t N>
sidra_status named_environment(const char* call, const char* variable, const std::array<NamedValue, N>& values,
                               uint32_t* result) {
    const std::string_view text = environment(variable);
    if (text.empty()) return SIDRA_OK;
    std::string all;
    for (const NamedValue& value : values) {
        if (value.name == text) {
            *result = value.value;
            return SIDRA_OK;
        }
        all += all.empty() ? "" : ", ";
        all += value.name;
    }
    return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "environment variable {}=\"{}\": must be one of {}", variable, text,
                all);
}

// Reads the number in a sysfs attribute such as "0x5349"; 0 if it cannot be read.
uint32_t attribute(const std::string& path) {
    const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
    unsigned value = 0;
    return file && std::fscanf(file.get(), "%x", &value) == 1 ? value : 0;
}

// The PCI address of a SIDRA function; "" if there is none.
std::string find_function(const std::string& directory) {
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(directory.c_str()), closedir);
    while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
        const std::string function = fmt::format("{}/{}", directory, entry->d_name);
        if (entry->d_name[0] != '.' && attribute(function + "/vendor") == SIDRA_PCI_VENDOR_ID &&
            attribute(function + "/device") == SIDRA_PCI_DEVICE_ID)
            return entry->d_name;
    }
    return {};
}

constexpr std::string_view kEmbedded = "embedded";

// Reads "embedded", "embedded:N" or "embedded:N-M", and adds the numbers of its chips.
bool parse_chips(std::string_view text, std::vector<uint32_t>* chips) {
    if (!text.starts_with(kEmbedded)) return false;
    text.remove_prefix(kEmbedded.size());
    uint32_t first = 0, last = 0;
    if (!text.empty()) {
        if (text.front() != ':') return false;
        text.remove_prefix(1);
        const size_t dash = text.find('-');
        if (!parse_number(text.substr(0, dash), &first)) return false;
        last = first;
        if (dash != text.npos && !parse_number(text.substr(dash + 1), &last)) return false;
    }
    if (last < first || last >= kChipsMax) return false;
    for (uint32_t chip = first; chip <= last; ++chip) {
        if (std::find(chips->begin(), chips->end(), chip) != chips->end()) return false;
        chips->push_back(chip);
    }
    return true;
}

sidra_status read_chips(const char* call, std::string_view wanted, std::vector<uint32_t>* chips) {
    for (std::string_view rest = wanted;;) {
        const size_t comma = rest.find(',');
        if (!parse_chips(rest.substr(0, comma), chips))
            return fail(
                SIDRA_ERROR_INVALID_ARGUMENT, call,
                "environment variable SIDRA_DEVICE=\"{}\": must be a node such as /dev/sidra0, or \"embedded\", "
                "or chips such as \"embedded:0,embedded:1\" or \"embedded:0-3\", with different numbers up to {}",
                wanted, kChipsMax - 1);
        if (comma == rest.npos) return SIDRA_OK;
        rest.remove_prefix(comma + 1);
    }
}

// Chips must not share a file or a debugger's address. A port (only digits) counts up, a path gets the chip's number.
std::string of_chip(const std::string& text, uint32_t chip) {
    uint32_t port = 0;
    return parse_number(text, &port) ? fmt::format("{}", port + chip) : fmt::format("{}.{}", text, chip);
}

}  // namespace

sidra_status choose_device(const char* call, const DeviceFolders& folders, bool private_chip, DeviceChoice* choice) {
    constexpr std::string_view kNode = "sidra";
    if (private_chip) {
        *choice = {.embedded = true, .chips = {0}};
        return SIDRA_OK;
    }
    DeviceChoice found;
    const std::string_view wanted = environment("SIDRA_DEVICE");
    if (!wanted.empty() && wanted.front() == '/') {
        found.nodes.emplace_back(wanted);
    } else if (!wanted.empty()) {
        SIDRA_TRY(read_chips(call, wanted, &found.chips));
        found.embedded = true;
    } else {
        const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(folders.nodes.c_str()), closedir);
        std::vector<uint32_t> numbers;
        while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
            std::string_view name = entry->d_name;
            uint32_t number = 0;
            if (name.starts_with(kNode) && parse_number(name.substr(kNode.size()), &number)) numbers.push_back(number);
        }
        std::sort(numbers.begin(), numbers.end());
        for (const uint32_t number : numbers)
            found.nodes.push_back(fmt::format("{}/{}{}", folders.nodes, kNode, number));
        if (numbers.empty()) {
            if (const std::string function = find_function(folders.pci); !function.empty())
                return fail(
                    SIDRA_ERROR_NO_DEVICE, call,
                    "PCI device {} is a SIDRA chip, but no driver has made a node for it in {}; load the driver "
                    "(modprobe sidra) and look into the kernel log. SIDRA_DEVICE=embedded uses a chip model in "
                    "this process",
                    function, folders.nodes);
            found.embedded = found.by_default = true;
            found.chips = {0};
        }
    }
    *choice = std::move(found);
    return SIDRA_OK;
}

sidra_status read_options(const char* call, const sidra_device_options* options, sidra_device_options* result) {
    sidra_device_options whole{};
    if (options != nullptr) {
        constexpr size_t kFirst = offsetof(sidra_device_options, gdb);  // size of the struct in version 1.0
        if (options->struct_size == kFirst) {
            std::memcpy(&whole, options, kFirst);
        } else {
            SIDRA_TRY(check_struct(call, "sidra_device_options", options));
            whole = *options;
        }
    }
    whole.struct_size = sizeof whole;
    *result = whole;
    return SIDRA_OK;
}

sidra_status complete_options(const char* call, const sidra_device_options* options, sidra_device_options* result,
                              ChipEnvironment* environment_of_chip) {
    sidra_device_options whole;
    SIDRA_TRY(read_options(call, options, &whole));
    const bool shared = !whole.private_chip;
    auto profile = raw_value(whole.profile);
    auto engine = raw_value(whole.engine);
    auto level = raw_value(whole.level);
    if (shared && profile == SIDRA_PROFILE_Y1) SIDRA_TRY(named_environment(call, "SIDRA_PROFILE", kProfiles, &profile));
    if (engine == SIDRA_ENGINE_AUTO) SIDRA_TRY(named_environment(call, "SIDRA_ENGINE", kEngines, &engine));
    if (shared && level == SIDRA_LEVEL_FAST) SIDRA_TRY(named_environment(call, "SIDRA_LEVEL", kLevels, &level));
    if (profile >= kProfiles.size())
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "options.profile is {}: not a sidra_profile", profile);
    if (engine >= kEngines.size())
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "options.engine is {}: not a sidra_engine", engine);
    if (level >= kLevels.size())
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "options.level is {}: not a sidra_level", level);
    if (whole.stuck_ppm > kStuckMost && whole.stuck_ppm != SIDRA_STUCK_NONE)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "options.stuck_ppm is {}, but a share of a million is at most {} (none: SIDRA_STUCK_NONE)",
                    whole.stuck_ppm, kStuckMost);
    whole.level = static_cast<sidra_level>(level);
    whole.profile = static_cast<sidra_profile>(profile);
    whole.engine = static_cast<sidra_engine>(engine);

    const std::string_view workers = environment("SIDRA_WORKERS");
    if (whole.workers == 0 && !workers.empty() &&
        (!parse_number(workers, &whole.workers) || whole.workers > kWorkersMax))
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "environment variable SIDRA_WORKERS=\"{}\": must be a number 0..{} (0: one a CPU)", workers,
                    kWorkersMax);
    if (whole.workers > kWorkersMax)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "options.workers is {}, but at most {} are allowed",
                    whole.workers, kWorkersMax);
    for (const auto& [text, name] :
         {std::pair{&whole.state_file, "SIDRA_STATE"}, {&whole.gdb, "SIDRA_GDB"}, {&whole.trace_file, "SIDRA_TRACE"}}) {
        const bool given = *text != nullptr;
        if (shared && !given) *text = std::getenv(name);
        if (*text != nullptr && **text == '\0') *text = nullptr;
        if (given || *text == nullptr) continue;
        environment_of_chip->variables.emplace_back(name);
        if (const uint32_t chip = environment_of_chip->chip; chip != 0)
            *text = environment_of_chip->strings.emplace_back(of_chip(*text, chip)).c_str();
    }
    *result = whole;
    return SIDRA_OK;
}

void announce_embedded() {
    static std::atomic<bool> said{false};
    if (!said.exchange(true)) report_line("no /dev/sidra* found; using the embedded chip model");
}

}  // namespace sidra
