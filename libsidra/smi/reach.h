// SPDX-License-Identifier: MIT
// Access with a deadline to files of a card for which the driver needs an answer of the chip.
#ifndef SIDRA_SMI_REACH_H
#define SIDRA_SMI_REACH_H

#include <cstdint>
#include <string>
#include <string_view>

#include "chip.h"

namespace sidra::smi {

// Throws Unreachable. ETIMEDOUT: the driver still works on the request. EBUSY: it still works on the previous one.
// ENOENT: this driver has no such file.
std::string read_slowly(sidra_smi_chip& chip, const std::string& attribute, size_t limit, uint64_t timeout_ns);
void write_slowly(sidra_smi_chip& chip, const std::string& path, const std::string& text, uint64_t timeout_ns);

struct Unreachable {
    int error;
    std::string sentence;
};

// A card with a driver; else throws Unreachable.
Card& card_of(sidra_smi_chip& chip);

// Runs `body` and turns an Unreachable into the failure of the session.
template <typename Body>
sidra_smi_status reaching(sidra_smi_chip* chip, const Body& body);

}  // namespace sidra::smi

#include "session.h"

template <typename Body>
sidra_smi_status sidra::smi::reaching(sidra_smi_chip* chip, const Body& body) {
    if (chip == nullptr) return SIDRA_SMI_USAGE;
    return guarded(chip->session, [&]() -> sidra_smi_status {
        try {
            return body();
        } catch (const Unreachable& u) {
            return fail(chip->session, status_of(u.error), u.sentence);
        }
    });
}

#endif
