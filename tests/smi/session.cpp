// SPDX-License-Identifier: MIT
#include "session.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sidra::test {

Session::Session(const Tree& tree) {
    sidra_smi_options options = {};
    options.struct_size = sizeof options;
    options.root = tree.root().c_str();
    EXPECT_EQ(sidra_smi_open(&options, &session_), SIDRA_SMI_OK);
    refresh();
}

Session::~Session() { sidra_smi_close(session_); }

void Session::refresh() { EXPECT_EQ(sidra_smi_refresh(session_), SIDRA_SMI_OK) << sidra_smi_error(session_); }

sidra_smi_value Session::value(uint32_t index, const std::string& field) const {
    const int number = sidra_smi_field_find(field.c_str());
    EXPECT_GE(number, 0) << field;
    return sidra_smi_get(chip(index), static_cast<uint32_t>(number));
}

std::string Session::text(uint32_t index, const std::string& field) const {
    const sidra_smi_value value = this->value(index, field);
    switch (value.type) {
        case SIDRA_SMI_UINT:
            return fmt::format("{}", value.u);
        case SIDRA_SMI_INT:
            return fmt::format("{}", value.i);
        case SIDRA_SMI_REAL:
            return fmt::format("{}", value.real);
        case SIDRA_SMI_TEXT:
            return value.text;
        case SIDRA_SMI_BOOL:
            return value.yes ? "yes" : "no";
        case SIDRA_SMI_NONE:
            break;
    }
    return "-";
}

std::vector<std::string> Session::names() const {
    std::vector<std::string> names;
    for (uint32_t n = 0; n < sidra_smi_count(session_); ++n) names.push_back(text(n, "name"));
    return names;
}

std::vector<std::string> Session::select(const char* selectors, sidra_smi_status wanted) const {
    sidra_smi_chip* chips[64];
    uint32_t count = 0;
    const sidra_smi_status status = sidra_smi_select(session_, selectors, chips, 64, &count);
    EXPECT_EQ(status, wanted) << sidra_smi_error(session_);
    if (status != SIDRA_SMI_OK) return {sidra_smi_error(session_)};
    std::vector<std::string> names;
    for (uint32_t n = 0; n < count; ++n)
        names.push_back(sidra_smi_get(chips[n], static_cast<uint32_t>(sidra_smi_field_find("name"))).text);
    return names;
}

}  // namespace sidra::test
