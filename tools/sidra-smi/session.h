// SPDX-License-Identifier: MIT
// A session of libsidra-smi, with failures as exceptions.
#ifndef SIDRA_SMI_TOOL_SESSION_H
#define SIDRA_SMI_TOOL_SESSION_H

#include <sidra/smi.h>

#include <string>
#include <vector>

#include "failure.h"

namespace sidra::smi_tool {

class Session {
   public:
    // Empty: as in struct sidra_smi_options.
    Session(const std::string& root, const std::string& runtime);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    sidra_smi* get() const { return session_; }
    // What was left out is told on standard error.
    void refresh();
    // At least one, else it throws.
    std::vector<sidra_smi_chip*> select(const std::string& selectors);
    // The same, when all were read twice with that between the readings: what rates, and a heart that beats, are seen
    // by.
    std::vector<sidra_smi_chip*> select_read_twice(const std::string& selectors, long between_ns);
    // The one card that is meant, for what is done to one: with several of them a selector must say which.
    sidra_smi_chip* select_card(const std::string& selectors);
    // Throws what the library says of it.
    void check(sidra_smi_status status) const;

   private:
    sidra_smi* session_ = nullptr;
    uint64_t left_out_ = 0;
};

// Of a field by its name.
inline sidra_smi_value value_of(sidra_smi_chip* chip, const char* field) { return sidra_smi_get_by_name(chip, field); }
inline std::string text_of(sidra_smi_chip* chip, const char* field) { return sidra_smi_text_of(chip, field); }

}  // namespace sidra::smi_tool

#endif
