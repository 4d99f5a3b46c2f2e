// SPDX-License-Identifier: MIT
// A session: its chips, and the last thing that went wrong.
#ifndef SIDRA_SMI_SESSION_H
#define SIDRA_SMI_SESSION_H

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
// No exception crosses the C interface: memory is all that can be wanting.
template <typename Body>
sidra_smi_status guarded(sidra_smi* session, const Body& body) {
    try {
        if (session != nullptr) session->error.clear();
        return body();
    } catch (const std::bad_alloc&) {
        return fail(session, SIDRA_SMI_INTERNAL, "out of memory");
    }
}

// Finds chips that are new, and marks those that are gone.
void find_chips(sidra_smi& session);

}  // namespace sidra::smi

#endif
