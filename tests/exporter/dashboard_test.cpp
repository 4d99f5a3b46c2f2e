// SPDX-License-Identifier: MIT
// The Grafana dashboard and the alert rules query only existing metrics, each according to its type, and tell hosts
// apart.
#include <gtest/gtest.h>
#include <sidra/smi.h>

#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "paths.h"

namespace sidra::exporter {
namespace {

constexpr size_t kWithoutLegend = 3;  // the number of chips, and two tables, which have a column of instances
constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz_0123456789";

// Whether each metric is a counter.
std::map<std::string, bool> exported() {
    std::map<std::string, bool> names = {{"sidra_chips", false},
                                         {"sidra_up", false},
                                         {"sidra_info", false},
                                         {"sidra_health_status", false},
                                         {"sidra_health_acknowledged", false}};
    for (uint32_t i = 0; i < sidra_smi_field_count(); ++i) {
        const sidra_smi_field* field = sidra_smi_field_at(i);
        if (field->metric != nullptr) names[field->metric] = field->role == SIDRA_SMI_COUNTER;
    }
    return names;
}

std::string content(const std::string& name) {
    std::ifstream file(sidra::test::source_file(name));
    return {std::istreambuf_iterator<char>(file), {}};
}

// All places of a text.
std::vector<size_t> places(const std::string& text, const std::string& what) {
    std::vector<size_t> found;
    for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) found.push_back(at);
    return found;
}

std::string line_at(const std::string& text, size_t at) { return text.substr(at, text.find('\n', at) - at); }

// promtool tests when the rules alert (tests/exporter/rules.yml): each of them does, and each has a time when it does
// not.
TEST(Rules, EachIsTestedAndNamesTheHost) {
    const std::string rules = content("tools/sidra-smi/prometheus/sidra.rules.yml"),
                      tests = content("tests/exporter/rules.yml");
    const auto names = exported();
    const auto alerts = places(rules, "- alert: ");
    ASSERT_GE(alerts.size(), 8U);
    for (const size_t at : alerts) {
        const std::string name = line_at(rules, at).substr(9);
        const std::string rule = rules.substr(at, rules.find("- alert: ", at + 1) - at);
        EXPECT_NE(rule.find("{{ $labels.instance }}"), rule.npos) << name;
        EXPECT_FALSE(places(tests, "alertname: " + name + ", exp_alerts: []").empty()) << name;
        EXPECT_FALSE(places(tests, "alertname: " + name + "\n        exp_alerts:\n          - exp_labels:").empty())
            << name;
        const std::string expression = line_at(rule, rule.find("expr: "));
        for (const size_t from : places(expression, "sidra_")) {
            const std::string metric = expression.substr(from, expression.find_first_not_of(kLetters, from) - from);
            EXPECT_TRUE(names.contains(metric)) << "nobody exports " << metric << " in " << name;
        }
    }
}

TEST(Dashboard, TellsHostsApart) {
    const std::string text = content("tools/sidra-smi/grafana/sidra.json");
    EXPECT_EQ(places(text, "\"legendFormat\": \"\"").size(), kWithoutLegend);
    for (const size_t at : places(text, "\"expr\": \"")) {
        const std::string line = line_at(text, at);
        EXPECT_EQ(places(line, "sidra_").size(), places(line, "{instance=~\\\"$instance\\\"").size()) << line;
    }
    for (const size_t at : places(text, "\"legendFormat\": \""))
        EXPECT_TRUE(line_at(text, at).starts_with("\"legendFormat\": \"{{instance}} {{device}}") ||
                    line_at(text, at).starts_with("\"legendFormat\": \"\""))
            << line_at(text, at);
}

TEST(Dashboard, AsksForWhatIsExported) {
    const std::string text = content("tools/sidra-smi/grafana/sidra.json");
    const auto names = exported();
    size_t asked = 0;
    for (size_t at = text.find("\"expr\": \""); at != text.npos; at = text.find("\"expr\": \"", at + 1)) {
        const std::string line = text.substr(at, text.find('\n', at) - at);
        for (size_t name = line.find("sidra_"); name != line.npos; name = line.find("sidra_", name + 1)) {
            const std::string metric = line.substr(name, line.find_first_not_of(kLetters, name) - name);
            const auto found = names.find(metric);
            ASSERT_NE(found, names.end()) << "nobody exports " << metric << " in " << line;
            const std::string_view before = std::string_view(line).substr(0, name);
            EXPECT_EQ(before.ends_with("rate(") || before.ends_with("increase("), found->second) << line;
            ++asked;
        }
    }
    EXPECT_GE(asked, 30U);
}

}  // namespace
}  // namespace sidra::exporter
