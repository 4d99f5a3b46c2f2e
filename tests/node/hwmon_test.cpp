// SPDX-License-Identifier: MIT
// Sensors in hwmon, for generic tools: the chip's telemetry in other units.
#include "attributes.h"

namespace sidra::test {
namespace {

class Hwmon : public NodeTest {
   protected:
    std::string folder;

    void SetUp() override {
        NodeTest::SetUp();
        for (const auto& entry : std::filesystem::directory_iterator(kClass + "device/hwmon"))
            folder = entry.path().string() + '/';
        ASSERT_NE(folder, "");
        ASSERT_TRUE(eventually([] { return (telemetry().valid & kSensors) == kSensors; }));
    }
    static constexpr uint64_t kSensors = SIDRA_TELEMETRY_HAS_THERMAL | SIDRA_TELEMETRY_HAS_POWER;
    static sidra_telemetry telemetry() {
        sidra_telemetry page{};
        const Answer answer = attribute("telemetry");
        EXPECT_EQ(answer.bytes.size(), sizeof page);
        std::memcpy(&page, answer.bytes.data(), std::min(answer.bytes.size(), sizeof page));
        return page;
    }
    Answer sensor(const std::string& name) const { return read_file(folder + name); }

    // For fields that change by themselves: repeats until one reading lies between two equal ones.
    template <class Field>
    void expect(const std::string& name, uint64_t valid, Field field) const {
        if (!(telemetry().valid & valid)) {
            EXPECT_EQ(sensor(name).error, -ENODATA) << name;
            return;
        }
        EXPECT_TRUE(eventually([&] {
            const int64_t before = field(telemetry());
            const std::string told = sensor(name).line();
            return field(telemetry()) == before && told == std::to_string(before);
        })) << name;
    }
};

TEST_F(Hwmon, IsDocumented) { EXPECT_EQ(files_in(folder), documented("sysfs-class-sidra-hwmon")); }

TEST_F(Hwmon, IsTheTelemetryPage) {
    EXPECT_EQ(sensor("name").line(), "sidra");
    EXPECT_EQ(sensor("temp1_label").line(), "die");
    EXPECT_EQ(sensor("power1_label").line(), "chip");
    EXPECT_EQ(sensor("freq1_label").line(), "clock");
    using Page = const sidra_telemetry&;
    expect("temp1_input", SIDRA_TELEMETRY_HAS_THERMAL, [](Page page) { return int64_t{page.temperature_mc}; });
    expect("power1_input", SIDRA_TELEMETRY_HAS_POWER, [](Page page) { return page.power_mw * int64_t{1000}; });
    expect("freq1_input", SIDRA_TELEMETRY_HAS_POWER, [](Page page) { return page.clock_khz * int64_t{1000}; });
    constexpr uint64_t kLimits = SIDRA_TELEMETRY_HAS_LIMITS;
    expect("temp1_max", kLimits, [](Page page) { return int64_t{page.temperature_max_mc}; });
    expect("temp1_crit", kLimits, [](Page page) { return int64_t{page.temperature_crit_mc}; });
    expect("power1_cap", kLimits, [](Page page) { return page.power_limit_mw * int64_t{1000}; });
    expect("power1_cap_min", kLimits, [](Page page) { return page.power_limit_min_mw * int64_t{1000}; });
    expect("power1_cap_max", kLimits, [](Page page) { return page.power_limit_max_mw * int64_t{1000}; });
    expect("temp1_max_alarm", kLimits,
           [](Page page) { return int64_t{page.temperature_mc >= page.temperature_max_mc}; });
    expect("temp1_crit_alarm", kLimits,
           [](Page page) { return int64_t{page.temperature_mc >= page.temperature_crit_mc}; });
    expect("power1_cap_alarm", kLimits, [](Page page) { return int64_t{page.power_mw > page.power_limit_mw}; });
}

// The lowest limit is the lowest level of the clock.
TEST_F(Hwmon, PowerCap) {
    const std::vector<uint64_t> khz = attribute("clock_khz_levels").numbers();
    ASSERT_FALSE(khz.empty());
    EXPECT_FALSE(write_text(folder + "power1_cap", "1000")) << "a milliwatt: out of range";
    EXPECT_FALSE(write_text(folder + "power1_cap", "much"));
    EXPECT_FALSE(write_text(folder + "power1_cap", "-1000"));
    EXPECT_FALSE(write_text(folder + "power1_cap", "999"));
    EXPECT_FALSE(write_text(folder + "power1_cap", "9000000000000000"));
    EXPECT_TRUE(write_text(folder + "power1_cap", "100000"));
    EXPECT_EQ(sensor("power1_cap").line(), "100000") << "at once";
    EXPECT_TRUE(eventually([&] { return telemetry().clock_khz == khz.front(); }));
    EXPECT_TRUE(write_text(folder + "power1_cap", "0"));
    EXPECT_EQ(sensor("power1_cap").line(), sensor("power1_cap_max").line());
    EXPECT_TRUE(eventually([&] { return telemetry().clock_khz == khz.back(); }));
}

TEST_F(Hwmon, OrdinaryUsersReadAndDoNotWrite) {
    const OrdinaryUser user;
    for (const std::string& name : files_in(folder)) {
        EXPECT_NE(sensor(name).error, -EACCES) << name;
        EXPECT_LT(open((folder + name).c_str(), O_WRONLY | O_CLOEXEC), 0) << name;
    }
}

}  // namespace
}  // namespace sidra::test
