// SPDX-License-Identifier: MIT
// Findings about chips, one at a time.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "session.h"
#include "tree.h"

namespace sidra::test {
namespace {

std::string severity(const sidra_smi_finding* findings, uint32_t count, const std::string& check) {
    for (uint32_t n = 0; n < count; ++n)
        if (check == findings[n].check) return std::to_string(findings[n].severity);
    return "none";
}

constexpr uint64_t kDayNs = uint64_t{24} * 3600 * 1'000'000'000;

struct Case {
    const char* check;
    sidra_smi_status severity;
    std::function<void(sidra_telemetry&)> change;
};

TEST(Health, FindsEachThing) {
    const Case cases[] = {
        {"presence", SIDRA_SMI_OK, [](sidra_telemetry&) {}},
        {"presence", SIDRA_SMI_CRITICAL, [](sidra_telemetry& t) { t.magic = 0; }},
        {"state", SIDRA_SMI_OK, [](sidra_telemetry&) {}},
        {"state", SIDRA_SMI_CRITICAL, [](sidra_telemetry& t) { t.status |= SIDRA_STATUS_FATAL; }},
        {"state", SIDRA_SMI_CRITICAL, [](sidra_telemetry& t) { t.status = SIDRA_STAGE_PANIC | SIDRA_STATUS_READY; }},
        {"state", SIDRA_SMI_WARNING, [](sidra_telemetry& t) { t.status = SIDRA_STAGE_VERIFY; }},
        {"state", SIDRA_SMI_WARNING, [](sidra_telemetry& t) { t.status = SIDRA_STAGE_RECOVERY | SIDRA_STATUS_READY; }},
        {"firmware", SIDRA_SMI_OK, [](sidra_telemetry&) {}},
        {"firmware", SIDRA_SMI_WARNING, [](sidra_telemetry& t) { t.status &= ~SIDRA_STATUS_FIRMWARE_ALIVE; }},
        {"temperature", SIDRA_SMI_OK, [](sidra_telemetry& t) { t.temperature_mc = 94'999; }},
        {"temperature", SIDRA_SMI_WARNING, [](sidra_telemetry& t) { t.temperature_mc = 95'000; }},
        {"temperature", SIDRA_SMI_CRITICAL, [](sidra_telemetry& t) { t.temperature_mc = 105'000; }},
        {"temperature", SIDRA_SMI_OK,
         [](sidra_telemetry& t) { t.valid = SIDRA_TELEMETRY_HAS_COUNTERS, t.temperature_mc = 200'000; }},
        {"power", SIDRA_SMI_OK, [](sidra_telemetry&) {}},
        {"power", SIDRA_SMI_WARNING, [](sidra_telemetry& t) { t.status |= SIDRA_STATUS_THROTTLED; }},
        {"cells", SIDRA_SMI_OK, [](sidra_telemetry& t) { t.xbars_total = 100, t.stuck_cells = 65'535; }},
        {"cells", SIDRA_SMI_WARNING, [](sidra_telemetry& t) { t.xbars_total = 100, t.stuck_cells = 65'536; }},
        {"cells", SIDRA_SMI_CRITICAL, [](sidra_telemetry& t) { t.xbars_total = 100, t.stuck_cells = 327'680; }},
        {"cells", SIDRA_SMI_WARNING, [](sidra_telemetry& t) { t.xbars_total = 0; }},
        {"converters", SIDRA_SMI_OK, [](sidra_telemetry&) {}},
        {"converters", SIDRA_SMI_OK, [](sidra_telemetry& t) { t.calibrated_ns = 0; }},
        {"converters", SIDRA_SMI_WARNING, [](sidra_telemetry& t) { t.untrimmed_xbars = 1; }},
        {"converters", SIDRA_SMI_OK, [](sidra_telemetry& t) { t.clock_ns = t.calibrated_ns + 6 * kDayNs; }},
        {"converters", SIDRA_SMI_WARNING, [](sidra_telemetry& t) { t.clock_ns = t.calibrated_ns + 8 * kDayNs; }},
        {"converters", SIDRA_SMI_OK,  // exact cells do not drift
         [](sidra_telemetry& t) { t.clock_ns = t.calibrated_ns + 8 * kDayNs, t.pulses = 0; }},
        {"endurance", SIDRA_SMI_OK, [](sidra_telemetry& t) { t.programmed_cells = 1'000'000, t.failed_cells = 999; }},
        {"endurance", SIDRA_SMI_WARNING,
         [](sidra_telemetry& t) { t.programmed_cells = 1'000'000, t.failed_cells = 1'000; }},
        {"endurance", SIDRA_SMI_OK,  // too few for a verdict
         [](sidra_telemetry& t) { t.programmed_cells = 500, t.failed_cells = 99; }},
        {"dma", SIDRA_SMI_OK, [](sidra_telemetry& t) { t.dma_errors = 0; }},
        {"dma", SIDRA_SMI_WARNING, [](sidra_telemetry& t) { t.dma_errors = 1; }},
        {"link", SIDRA_SMI_WARNING, [](sidra_telemetry&) {}},
    };
    for (const Case& each : cases) {
        const Tree tree;
        tree.card(0, "0000:01:00.0");
        sidra_telemetry page = telemetry(1);
        each.change(page);
        tree.write(tree.node(0, "telemetry"), bytes_of(page));
        Session session(tree);
        const sidra_smi_finding* findings = nullptr;
        uint32_t count = 0;
        const sidra_smi_status worst = sidra_smi_health(session.chip(0), nullptr, &findings, &count);
        EXPECT_EQ(severity(findings, count, each.check), std::to_string(each.severity))
            << each.check << " " << (&each - cases);
        EXPECT_GE(worst, each.severity);
        for (uint32_t n = 0; n < count; ++n)
            EXPECT_EQ(findings[n].severity == SIDRA_SMI_OK, findings[n].advice == nullptr) << findings[n].check;
    }
}

// Errors that a person has examined and accepted are no warning any more; a new one is.
TEST(Health, DmaErrorsCanBeAccepted) {
    const Tree tree;
    tree.card(0, "0000:01:00.0");
    sidra_telemetry page = telemetry(1);
    page.dma_errors = 3;
    tree.write(tree.node(0, "telemetry"), bytes_of(page));
    Session session(tree);
    const auto with = [&](uint64_t accepted) {
        sidra_smi_health_options options = {};
        options.struct_size = sizeof options;
        options.accepted_dma_errors = accepted;
        const sidra_smi_finding* findings = nullptr;
        uint32_t count = 0;
        sidra_smi_health(session.chip(0), &options, &findings, &count);
        return severity(findings, count, "dma");
    };
    EXPECT_EQ(with(2), std::to_string(SIDRA_SMI_WARNING));
    EXPECT_EQ(with(3), std::to_string(SIDRA_SMI_OK));
    EXPECT_EQ(with(UINT64_MAX), std::to_string(SIDRA_SMI_OK));
    sidra_smi_health_options none = {};
    const sidra_smi_finding* findings = nullptr;
    uint32_t count = 0;
    EXPECT_EQ(sidra_smi_health(session.chip(0), &none, &findings, &count), SIDRA_SMI_USAGE) << "no size";
}

TEST(Health, OfChipsThatAreNotThere) {
    const Tree tree;
    tree.function("0000:05:00.0");
    Publisher publisher(tree, 0);
    Session session(tree);
    publisher.die();
    session.refresh();
    const sidra_smi_finding* findings = nullptr;
    uint32_t count = 0;
    for (uint32_t chip = 0; chip < 2; ++chip) {
        EXPECT_EQ(sidra_smi_health(session.chip(chip), nullptr, &findings, &count), SIDRA_SMI_CRITICAL);
        ASSERT_EQ(count, 1u);
        EXPECT_STREQ(findings[0].check, "presence");
    }
    EXPECT_EQ(sidra_smi_health(nullptr, nullptr, &findings, &count), SIDRA_SMI_USAGE);
}

TEST(Doctor, SaysWhatIsMissing) {
    const sidra_smi_finding* findings = nullptr;
    uint32_t count = 0;
    const auto severity_of = [&](const Tree& tree, const char* check) {
        Session session(tree);
        sidra_smi_doctor(session.get(), &findings, &count);
        return severity(findings, count, check);
    };
    const std::string ok = std::to_string(SIDRA_SMI_OK), warning = std::to_string(SIDRA_SMI_WARNING),
                      critical = std::to_string(SIDRA_SMI_CRITICAL);
    const Tree none;
    EXPECT_EQ(severity_of(none, "card"), warning);
    const Tree bare;
    bare.function("0000:01:00.0");
    EXPECT_EQ(severity_of(bare, "driver"), critical);
    const Tree tree;
    tree.card(0, "0000:01:00.0");
    EXPECT_EQ(severity_of(tree, "driver"), ok);
    EXPECT_EQ(severity_of(tree, "node"), critical);
    tree.write("dev/sidra0", "");
    EXPECT_EQ(severity_of(tree, "node"), ok);
    EXPECT_EQ(severity_of(tree, "version"), ok);
    EXPECT_EQ(severity_of(tree, "firmware"), ok);
    tree.write(tree.node(0, "hw_version"), "3.0\n");
    tree.write(tree.node(0, "firmware_version"), "none\n");
    EXPECT_EQ(severity_of(tree, "version"), critical);
    EXPECT_EQ(severity_of(tree, "firmware"), warning);
}

}  // namespace
}  // namespace sidra::test
