// SPDX-License-Identifier: MIT
// A session: its chips, and the last failure.
#ifndef SIDRA_SMI_SESSION_H
#define SIDRA_SMI_SESSION_H

#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "chip.h"
#include "events.h"
#include "sidra/smi.h"
#include "state.h"

struct sidra_smi {
    std::string root, runtime, error;
    std::vector<std::unique_ptr<sidra_smi_chip>> chips;
    sidra::smi::Findings findings;
    uint64_t left_out = 0;
    sidra::smi::HealthState health;
    std::unique_ptr<sidra::smi::Events> events;  // none before they are asked for
};

namespace sidra::smi {

// Stores the message for sidra_smi_error().
sidra_smi_status fail(sidra_smi* session, sidra_smi_status status, std::string_view sentence);
// Maps the errno of a sysfs file to a status.
sidra_smi_status status_of(int error);
// No exception may cross the C interface; the only expected one is std::bad_alloc.
template <typename Body>
sidra_smi_status guarded(sidra_smi* session, const Body& body) {
    try {
        if (session != nullptr) session->error.clear();
        return body();
    } catch (const std::bad_alloc&) {
        return fail(session, SIDRA_SMI_INTERNAL, "out of memory");
    }
}

// Copies the options of a caller that may have been built with another version of the structure: missing fields are
// zero. Returns false if struct_size is invalid. A null pointer leaves all options zero.
template <typename Options>
bool take_options(const Options* from, Options& to) {
    if (from == nullptr) return true;
    if (from->struct_size < sizeof from->struct_size || from->struct_size > sizeof to) return false;
    std::memcpy(&to, from, from->struct_size);
    return true;
}

// Finds chips that are new, and marks those that are gone.
void find_chips(sidra_smi& session);

}  // namespace sidra::smi

#endif
