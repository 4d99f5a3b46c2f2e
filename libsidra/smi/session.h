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
#include "sidra/smi.h"

struct sidra_smi {
    std::string root, runtime, error;
    std::vector<std::unique_ptr<sidra_smi_chip>> chips;
    sidra::smi::Findings findings;
    uint64_t left_out = 0;
};

namespace sidra::smi {

// Keeps the sentence for sidra_smi_error().
sidra_smi_status fail(sidra_smi* session, sidra_smi_status status, std::string_view sentence);
// Status of an errno of a file of sysfs.
sidra_smi_status status_of(int error);
// No exception crosses the C interface: the only one that is expected is a lack of memory.
template <typename Body>
sidra_smi_status guarded(sidra_smi* session, const Body& body) {
    try {
        if (session != nullptr) session->error.clear();
        return body();
    } catch (const std::bad_alloc&) {
        return fail(session, SIDRA_SMI_INTERNAL, "out of memory");
    }
}

// Copies the options of a caller, who may have been built with another version of the structure: what the caller does
// not know is zero. False: struct_size makes no sense. A null pointer leaves all options zero.
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
