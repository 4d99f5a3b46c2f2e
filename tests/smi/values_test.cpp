// SPDX-License-Identifier: MIT
// Values by field name, and as numbers.
#include <gtest/gtest.h>

#include <cerrno>
#include <optional>

#include "session.h"

namespace sidra::test {
namespace {

std::optional<double> number(const sidra_smi_value& value) {
    double found = -77;
    if (sidra_smi_number_of(&value, &found)) return found;
    EXPECT_EQ(found, -77) << "not left as it was";
    return std::nullopt;
}

TEST(Values, ByName) {
    const Tree tree;
    tree.card(0, "0000:01:00.0");
    const Session session(tree);
    sidra_smi_chip* const chip = session.chip(0);
    EXPECT_EQ(sidra_smi_get_by_name(chip, "packets").u, 1001u);
    EXPECT_EQ(sidra_smi_get_by_name(chip, "pid").error, ENODATA);
    for (const char* unknown : {"", "packet", "of tomorrow"}) {
        EXPECT_EQ(sidra_smi_get_by_name(chip, unknown).type, SIDRA_SMI_NONE) << unknown;
        EXPECT_EQ(sidra_smi_get_by_name(chip, unknown).error, ENOENT) << unknown;
        EXPECT_STREQ(sidra_smi_text_of(chip, unknown), "") << unknown;
    }
    EXPECT_EQ(sidra_smi_get_by_name(chip, nullptr).error, ENOENT);
    EXPECT_EQ(sidra_smi_get_by_name(nullptr, "packets").error, EINVAL);
    EXPECT_STREQ(sidra_smi_text_of(chip, "name"), "sidra0");
    EXPECT_STREQ(sidra_smi_text_of(chip, "packets"), "") << "a number is no text";
    EXPECT_STREQ(sidra_smi_text_of(chip, "process"), "") << "absent";
}

TEST(Values, AsNumbers) {
    const Tree tree;
    tree.card(0, "0000:01:00.0");
    const Session session(tree);
    sidra_smi_chip* const chip = session.chip(0);
    const auto field = [chip](const char* name) { return number(sidra_smi_get_by_name(chip, name)); };
    EXPECT_EQ(field("packets"), 1001);
    EXPECT_EQ(field("numa.node"), 0);
    EXPECT_EQ(field("temperature"), 45.5);
    EXPECT_EQ(field("ready"), 1);
    EXPECT_EQ(field("fatal"), 0);
    EXPECT_EQ(field("name"), std::nullopt);
    EXPECT_EQ(field("utilization"), std::nullopt) << "absent";
    const sidra_smi_value value = sidra_smi_get_by_name(chip, "packets");
    double nowhere = 0;
    EXPECT_FALSE(sidra_smi_number_of(&value, nullptr));
    EXPECT_FALSE(sidra_smi_number_of(nullptr, &nowhere));
}

// As in uapi/sidra_hw.h.
TEST(Values, NamesOfEngines) {
    EXPECT_STREQ(sidra_smi_engine_name(SIDRA_HW_ENGINE_MVM), "mvm");
    EXPECT_STREQ(sidra_smi_engine_name(SIDRA_HW_ENGINE_VEC), "vec");
    EXPECT_STREQ(sidra_smi_engine_name(SIDRA_HW_ENGINE_COPY), "copy");
    EXPECT_STREQ(sidra_smi_engine_name(SIDRA_HW_ENGINE_PROGRAM), "program");
    EXPECT_EQ(sidra_smi_engine_name(SIDRA_HW_ENGINE_COUNT), nullptr);
    EXPECT_EQ(sidra_smi_engine_name(UINT32_MAX), nullptr);
}

}  // namespace
}  // namespace sidra::test
