// SPDX-License-Identifier: MIT
// Values by name.
#include <cerrno>
#include <iterator>

#include "sidra/smi.h"
#include "sidra_hw.h"

sidra_smi_value sidra_smi_get_by_name(sidra_smi_chip* chip, const char* name) {
    if (const int field = sidra_smi_field_find(name); field >= 0)
        return sidra_smi_get(chip, static_cast<uint32_t>(field));
    sidra_smi_value absent = {};
    absent.error = ENOENT;
    return absent;
}

const char* sidra_smi_text_of(sidra_smi_chip* chip, const char* name) {
    const sidra_smi_value value = sidra_smi_get_by_name(chip, name);
    return value.type == SIDRA_SMI_TEXT ? value.text : "";
}

bool sidra_smi_number_of(const sidra_smi_value* value, double* number) {
    if (value == nullptr || number == nullptr) return false;
    switch (value->type) {
        case SIDRA_SMI_UINT:
            *number = static_cast<double>(value->u);
            return true;
        case SIDRA_SMI_INT:
            *number = static_cast<double>(value->i);
            return true;
        case SIDRA_SMI_REAL:
            *number = value->real;
            return true;
        case SIDRA_SMI_BOOL:
            *number = value->yes ? 1 : 0;
            return true;
        default:
            return false;
    }
}

const char* sidra_smi_engine_name(uint32_t engine) {
    constexpr const char* kNames[SIDRA_HW_ENGINE_COUNT] = {"mvm", "vec", "copy", "program"};
    return engine < std::size(kNames) ? kNames[engine] : nullptr;
}
