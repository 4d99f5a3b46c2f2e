// SPDX-License-Identifier: MIT
// The Grafana dashboard queries only existing metrics, each according to its type.
#include <gtest/gtest.h>
#include <sidra/smi.h>

#include <fstream>
#include <iterator>
#include <map>
#include <string>

namespace sidra::exporter {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz_0123456789";

// Whether each metric is a counter.
std::map<std::string, bool> exported() {
    std::map<std::string, bool> names = {{"sidra_chips", false}, {"sidra_up", false}, {"sidra_info", false}};
    for (uint32_t i = 0; i < sidra_smi_field_count(); ++i) {
        const sidra_smi_field* field = sidra_smi_field_at(i);
        if (field->metric != nullptr) names[field->metric] = field->role == SIDRA_SMI_COUNTER;
    }
    return names;
}

TEST(Dashboard, AsksForWhatIsExported) {
    std::ifstream file(SIDRA_SOURCE_DIR "/tools/sidra-smi/grafana/sidra.json");
    const std::string text(std::istreambuf_iterator<char>(file), {});
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
