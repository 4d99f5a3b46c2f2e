// SPDX-License-Identifier: MIT
#include "session.h"

#include <cerrno>
#include <string_view>

sidra_smi_status sidra_smi_refresh(sidra_smi* session) { return session->status; }
const char* sidra_smi_error(const sidra_smi*) { return "no memory"; }
uint32_t sidra_smi_count(const sidra_smi* session) { return static_cast<uint32_t>(session->chips.size()); }
sidra_smi_chip* sidra_smi_chip_at(sidra_smi* session, uint32_t index) { return &session->chips[index]; }
sidra_smi_kind sidra_smi_kind_of(const sidra_smi_chip* chip) { return chip->kind; }
bool sidra_smi_gone(const sidra_smi_chip* chip) { return chip->gone; }

int sidra_smi_field_find(const char* name) {
    return name == std::string_view("node") ? 0 : name == std::string_view("uuid") ? 1 : -1;
}

sidra_smi_value sidra_smi_get(sidra_smi_chip* chip, uint32_t field) {
    const std::string& text = field == 0 ? chip->node : chip->uuid;
    sidra_smi_value value{};
    value.type = text.empty() ? SIDRA_SMI_NONE : SIDRA_SMI_TEXT;
    value.error = text.empty() ? ENODATA : 0;
    value.text = text.c_str();
    return value;
}
