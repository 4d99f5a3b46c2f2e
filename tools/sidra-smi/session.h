// SPDX-License-Identifier: MIT
// A session of libsidra-smi that throws exceptions.
#ifndef SIDRA_SMI_TOOL_SESSION_H
#define SIDRA_SMI_TOOL_SESSION_H

#include <sidra/smi.h>

#include <optional>
#include <string>
#include <vector>

#include "failure.h"

namespace sidra::smi_tool {

using Selectors = std::optional<std::string>;  // value of --chip; absent: all chips

class Session {
   public:
    // An empty text means the default of struct sidra_smi_options.
    Session(const std::string& root, const std::string& runtime);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    sidra_smi* get() const { return session_; }
    // Prints on standard error how many files were ignored.
    void refresh();
    // At least one chip; throws if there is none.
    std::vector<sidra_smi_chip*> select(const Selectors& selectors);
    // As select(), after two readings with this interval, which are needed for rates and the heartbeat.
    std::vector<sidra_smi_chip*> select_read_twice(const Selectors& selectors, long between_ns);
    // Selects the card for a management command. Throws if the selection is ambiguous or a model.
    sidra_smi_chip* select_card(const Selectors& selectors);
    // Throws the failure of the session if the status is not OK.
    void check(sidra_smi_status status) const;

   private:
    sidra_smi* session_ = nullptr;
    uint64_t left_out_ = 0;
};

// Value of a field by its name.
inline sidra_smi_value value_of(sidra_smi_chip* chip, const char* field) { return sidra_smi_get_by_name(chip, field); }
inline std::string text_of(sidra_smi_chip* chip, const char* field) { return sidra_smi_text_of(chip, field); }

}  // namespace sidra::smi_tool

#endif
