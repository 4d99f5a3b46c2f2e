// SPDX-License-Identifier: MIT
// What an operator sets: the limit of power, the clock, campaigns.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "file.h"
#include "reach.h"
#include "text.h"

namespace sidra::smi {
namespace {

constexpr uint64_t kTimeoutNs = 2'000'000'000;

// The hwmon folder of the card, which the kernel numbers in the order of registration.
std::string sensors(sidra_smi_chip& chip) {
    const std::string parent = card_of(chip).function("hwmon");
    const std::vector<std::string> found = list_folder(parent).value;
    if (found.empty())
        throw Unreachable{ENOENT, fmt::format("{} has no sensors in {}: the driver or the kernel does not support them",
                                              chip.name, parent)};
    return parent + "/" + found[0];
}

uint32_t small(const Maybe<uint64_t>& number) {
    return static_cast<uint32_t>(std::min<uint64_t>(number.value, UINT32_MAX));
}

}  // namespace
}  // namespace sidra::smi

using namespace sidra::smi;

sidra_smi_status sidra_smi_set_power_limit(sidra_smi_chip* chip, double watts, uint64_t timeout_ns) {
    return reaching(chip, [&]() -> sidra_smi_status {
        if (!std::isfinite(watts) || watts < 0 || watts > 1e6)
            return fail(chip->session, SIDRA_SMI_USAGE, fmt::format("{} W is not a valid power limit", watts));
        write_slowly(*chip, sensors(*chip) + "/power1_cap", fmt::format("{:.0f}", watts * 1e6), timeout_ns);
        return SIDRA_SMI_OK;
    });
}

sidra_smi_status sidra_smi_clock_info(sidra_smi_chip* chip, sidra_smi_clock* info) {
    if (info == nullptr) return SIDRA_SMI_USAGE;
    *info = {};
    return reaching(chip, [&] {
        const std::string levels = read_slowly(*chip, "clock_khz_levels", 4096, kTimeoutNs);
        for (const std::string_view level : words(levels))
            if (info->count < std::size(info->khz)) info->khz[info->count++] = small(to_number(level));
        const Maybe<uint64_t> level =
            to_number(Maybe<std::string>(read_slowly(*chip, "clock_level", 4096, kTimeoutNs)));
        if (!level || level.value >= info->count)
            throw Unreachable{
                EPROTO, fmt::format("{}: the clock_level that the driver reports is not one of its clock_khz_levels",
                                    chip->name)};
        info->level = small(level);
        return SIDRA_SMI_OK;
    });
}

sidra_smi_status sidra_smi_set_clock(sidra_smi_chip* chip, uint32_t level, uint64_t timeout_ns) {
    return reaching(chip, [&] {
        write_slowly(*chip, card_of(*chip).attribute("clock_level"), fmt::format("{}", level), timeout_ns);
        return SIDRA_SMI_OK;
    });
}

sidra_smi_status sidra_smi_campaign_start(sidra_smi_chip* chip, sidra_smi_campaign_kind kind, uint32_t first,
                                          uint32_t count, uint32_t ppm, uint64_t timeout_ns) {
    return reaching(chip, [&]() -> sidra_smi_status {
        std::string line;
        switch (kind) {
            case SIDRA_SMI_VERIFY:
                line = fmt::format("verify {} {} {}", first, count, ppm);
                break;
            case SIDRA_SMI_REFRESH:
                line = fmt::format("refresh {} {} {}", first, count, ppm);
                break;
            case SIDRA_SMI_CALIBRATE:
                if (ppm != 0)
                    return fail(chip->session, SIDRA_SMI_USAGE,
                                fmt::format("calibration takes no tolerance, but {} ppm was given", ppm));
                line = fmt::format("calibrate {} {}", first, count);
                break;
            default:
                return fail(chip->session, SIDRA_SMI_USAGE,
                            fmt::format("{} is not a kind of campaign", static_cast<int>(kind)));
        }
        write_slowly(*chip, card_of(*chip).attribute("campaign"), line, timeout_ns);
        return SIDRA_SMI_OK;
    });
}

sidra_smi_status sidra_smi_campaign_abort(sidra_smi_chip* chip, uint64_t timeout_ns) {
    return reaching(chip, [&] {
        write_slowly(*chip, card_of(*chip).attribute("campaign"), "abort", timeout_ns);
        return SIDRA_SMI_OK;
    });
}

sidra_smi_status sidra_smi_campaign_info(sidra_smi_chip* chip, uint64_t timeout_ns, sidra_smi_campaign* info) {
    if (info == nullptr) return SIDRA_SMI_USAGE;
    *info = {};
    return reaching(chip, [&] {
        const std::string line = read_slowly(*chip, "campaign", 4096, timeout_ns);
        const std::string state = clean(word(line, "state"));
        if (state.empty() || state.size() >= sizeof info->state)
            throw Unreachable{EPROTO, fmt::format("{}: cannot parse the campaign that the driver reports: {}",
                                                  chip->name, clean(line))};
        std::memcpy(info->state, state.data(), state.size());
        info->number = small(to_number(word(line, "number")));
        info->percent = std::min(small(to_number(word(line, "percent"))), 100u);
        info->off = to_number(word(line, "off")).value;
        return SIDRA_SMI_OK;
    });
}
