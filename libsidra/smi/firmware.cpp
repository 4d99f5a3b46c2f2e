// SPDX-License-Identifier: MIT
// Firmware of a card: slots, updates, the log.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "file.h"
#include "reach.h"
#include "text.h"

namespace sidra::smi {
namespace {

constexpr uint64_t kTimeoutNs = 2'000'000'000;
constexpr size_t kLogLimit = 1 << 20;

char slot(std::string_view line, std::string_view key) {
    const std::string_view value = word(line, key);
    constexpr std::string_view kSlots = "ABR-";
    if (value.size() != 1 || kSlots.find(value[0]) == std::string_view::npos)
        throw Unreachable{EPROTO, fmt::format("cannot parse '{}' in the firmware_slots that the driver reports: {}",
                                              key, clean(line))};
    return value[0];
}

// Why an image was refused (docs/driver.md has the same table for the kernel log); nullptr: it was not refused.
const char* refusal(int error) {
    switch (error) {
        case EBADMSG:
            return "the image is damaged";
        case EKEYREJECTED:
            return "the image is not signed with a key that the chip trusts";
        case EKEYREVOKED:
            return "its security version is too old: the chip does not go back to an older image";
        case EINVAL:
            return "the image does not fit this chip or its driver";
        case EREMOTEIO:
            return "the hash and signature unit of the chip failed";
        case EFBIG:
            return "the image is larger than a slot";
        case ENOENT:
            return "there is no image: the driver expects sidra/y1-runtime.fw in /lib/firmware";
        default:
            return nullptr;
    }
}

sidra_smi_status change(sidra_smi_chip* chip, const char* attribute, uint64_t timeout_ns) {
    return reaching(chip, [&]() -> sidra_smi_status {
        const std::string path = card_of(*chip).attribute(attribute);
        const bool known = File(path, O_PATH).error() == 0;  // else ENOENT refers to the sysfs file
        try {
            write_slowly(*chip, path, "1", timeout_ns);
        } catch (const Unreachable& u) {
            const char* const why = known ? refusal(u.error) : nullptr;
            if (why == nullptr) throw;
            return fail(chip->session, SIDRA_SMI_REFUSED,
                        fmt::format("{}: refused: {} (see the kernel log)", chip->name, why));
        }
        return SIDRA_SMI_OK;
    });
}

}  // namespace
}  // namespace sidra::smi

using namespace sidra::smi;

sidra_smi_status sidra_smi_firmware_info(sidra_smi_chip* chip, sidra_smi_firmware* info) {
    if (info == nullptr) return SIDRA_SMI_USAGE;
    *info = {};
    return reaching(chip, [&] {
        const std::string line = read_slowly(*chip, "firmware_slots", 4096, kTimeoutNs);
        info->running = slot(line, "running");
        info->active = slot(line, "active");
        info->trial = slot(line, "trial");
        info->failed = slot(line, "failed");
        info->starts = static_cast<uint32_t>(std::min<uint64_t>(to_number(word(line, "starts")).value, UINT32_MAX));
        info->security_version =
            static_cast<uint32_t>(std::min<uint64_t>(to_number(word(line, "security")).value, UINT32_MAX));
        const Maybe<std::string> version = to_line(read_file(card_of(*chip).attribute("firmware_version"), 4096));
        if (version && version.value != "none")
            std::memcpy(info->version, version.value.data(), std::min(version.value.size(), sizeof info->version - 1));
        return SIDRA_SMI_OK;
    });
}

sidra_smi_status sidra_smi_firmware_update(sidra_smi_chip* chip, uint64_t timeout_ns) {
    return change(chip, "firmware_update", timeout_ns);
}

sidra_smi_status sidra_smi_firmware_activate(sidra_smi_chip* chip, uint64_t timeout_ns) {
    return change(chip, "firmware_activate", timeout_ns);
}

sidra_smi_status sidra_smi_log(sidra_smi_chip* chip, uint64_t timeout_ns, const char** text) {
    if (text == nullptr) return SIDRA_SMI_USAGE;
    *text = "";
    return reaching(chip, [&] {
        chip->log = read_slowly(*chip, "firmware_log", kLogLimit, timeout_ns);
        // Keeps line breaks; removes everything else that a terminal would interpret.
        for (char& c : chip->log)
            if ((c < ' ' || c > '~') && c != '\n' && c != '\t') c = '?';
        *text = chip->log.c_str();
        return SIDRA_SMI_OK;
    });
}
