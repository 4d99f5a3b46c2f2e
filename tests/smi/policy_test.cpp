// SPDX-License-Identifier: MIT
// The health policy: its text, what it changes, hold times and windows, and acknowledgements.
#include "policy.h"
#include "paths.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "history.h"
#include "sidra/smi.h"
#include "state.h"
#include "tree.h"

namespace sidra::test {
namespace {

using smi::BadPolicy;
using smi::parse_policy;
using smi::Past;

std::string mistake(const std::string& text) {
    try {
        parse_policy(text, "file");
    } catch (const BadPolicy& e) {
        return e.what();
    }
    return "none";
}

TEST(Policy, HasWhatIsWritten) {
    const smi::Policy policy = parse_policy(
        "# comment\n[temperature]\nwarning = 80\ncritical = 90.5\nhold = 30\n\n[dma]\nwarning = 3\nwindow = "
        "3600\n[link]\n",
        "file");
    EXPECT_EQ(policy.rule("temperature").warning, 80.0);
    EXPECT_EQ(policy.rule("temperature").critical, 90.5);
    EXPECT_EQ(policy.rule("temperature").hold_s, 30u);
    EXPECT_EQ(policy.rule("dma").window_s, 3600u);
    EXPECT_FALSE(policy.rule("dma").critical);
    EXPECT_FALSE(policy.rule("cells").warning);
    EXPECT_TRUE(policy.looks_back());
    EXPECT_FALSE(parse_policy("[temperature]\nwarning = 80\n", "file").looks_back());
    EXPECT_FALSE(parse_policy("", "file").looks_back());
    EXPECT_EQ(smi::checks().size(), 10u);
}

// The installed file with the defaults: as it is, and with all lines in force, which changes no verdict.
TEST(Policy, TheInstalledFile) {
    std::ifstream file(source_file("tools/sidra-smi/sidra-health.conf"));
    std::string text, active;
    for (std::string line; std::getline(file, line);) {
        text += line + '\n';
        active += (line.size() > 1 && line[0] == '#' && line[1] != ' ' ? line.substr(1) : line) + '\n';
    }
    for (const smi::Check& check : smi::checks()) {
        EXPECT_NE(text.find(fmt::format("\n[{}]\n", check.name)), text.npos) << check.name;
        const smi::Rule rule = parse_policy(active, "file").rule(check.name);
        EXPECT_EQ(rule.warning || rule.critical, check.unit != nullptr) << check.name;
        const smi::Rule none = parse_policy(text, "file").rule(check.name);
        EXPECT_FALSE(none.warning || none.critical || none.hold_s || none.window_s) << check.name;
    }
    EXPECT_EQ(parse_policy(active, "file").rule("cells").critical, 5.0);
}

TEST(Policy, MistakesHaveALine) {
    EXPECT_EQ(mistake("[dma]\nwarning = 0\n"), "file:2: 'warning' is not a number above 0");
    EXPECT_EQ(mistake("[dma]\nwarning = -1\n"), "file:2: 'warning' is not a number above 0");
    EXPECT_EQ(mistake("[dma]\n\nwarning = 'a'\n"), "file:3: 'warning' is not a number above 0");
    EXPECT_EQ(mistake("[dma]\nwarning = nan\n"), "file:2: 'warning' is not a number above 0");
    EXPECT_EQ(mistake("[dma]\ncritical = inf\n"), "file:2: 'critical' is not a number above 0");
    EXPECT_EQ(mistake("[dma]\nhold = 1.5\n"), "file:2: 'hold' is not a whole number of seconds from 0 to 2592000");
    EXPECT_EQ(mistake("[dma]\nhold = -1\n"), "file:2: 'hold' is not a whole number of seconds from 0 to 2592000");
    EXPECT_EQ(mistake("[dma]\nwindow = 2592001\n"),
              "file:2: 'window' is not a whole number of seconds from 0 to 2592000");
    EXPECT_EQ(mistake("\n[cells]\nwindow = 1\n"),
              "file:3: the check 'cells' has no 'window'; it has warning, critical, hold");
    EXPECT_EQ(mistake("[link]\nwarning = 1\n"), "file:2: the check 'link' has no 'warning'; it has hold");
    EXPECT_EQ(mistake("[temperature]\nwarning = 90\ncritical = 80\n"),
              "file:1: the warning of 'temperature' (90) is above its critical (80)");
    EXPECT_EQ(mistake("hold = 1\n").substr(0, 30), "file:1: no such check: 'hold';");
    EXPECT_EQ(mistake("[a]\n[temprature]\n").substr(0, 27), "file:1: no such check: 'a';");
    EXPECT_EQ(mistake("link = 1\n"), "file:1: 'link' is not a table: begin it with a line [link]");
    EXPECT_EQ(mistake("[[link]]\n"), "file:1: 'link' is not a table: begin it with a line [link]");
    // What toml++ takes for impossible.
    for (const char* text : {"[!link]\n", "[[!link]]\n", "\317\231 = 1\n", "\n\n\342\200\251x = 1\n"})
        EXPECT_NE(mistake(text), "none") << text;
    for (const char* text :
         {"[dma\n", "[dma]\nwarning\n", "[dma]\nwarning = \n", "[dma]\n[dma]\n", "\xff\n", "[dma]\nx = \"\n"})
        EXPECT_EQ(mistake(text).substr(0, 5), "file:") << text;
}

TEST(Past, AProblemIsReportedWhenItHasLasted) {
    Past past;
    EXPECT_EQ(past.lasting(SIDRA_SMI_CRITICAL, 1000, 0), SIDRA_SMI_CRITICAL) << "no hold time";
    past = {};
    EXPECT_EQ(past.lasting(SIDRA_SMI_WARNING, 1000, 30), SIDRA_SMI_OK);
    EXPECT_EQ(past.lasted_s(1010), 10u);
    EXPECT_EQ(past.lasting(SIDRA_SMI_CRITICAL, 1020, 30), SIDRA_SMI_OK);
    EXPECT_EQ(past.lasting(SIDRA_SMI_CRITICAL, 1030, 30), SIDRA_SMI_WARNING) << "critical for 10 s only";
    EXPECT_EQ(past.lasting(SIDRA_SMI_CRITICAL, 1050, 30), SIDRA_SMI_CRITICAL);
    EXPECT_EQ(past.lasting(SIDRA_SMI_WARNING, 1051, 30), SIDRA_SMI_WARNING);
    EXPECT_EQ(past.lasting(SIDRA_SMI_OK, 1052, 30), SIDRA_SMI_OK);
    EXPECT_EQ(past.lasting(SIDRA_SMI_WARNING, 1053, 30), SIDRA_SMI_OK) << "it begins again";
    EXPECT_EQ(past.lasting(SIDRA_SMI_WARNING, 500, 30), SIDRA_SMI_OK) << "the clock was set back";
    EXPECT_EQ(past.lasting(SIDRA_SMI_WARNING, 530, 30), SIDRA_SMI_WARNING);
}

TEST(Past, ErrorsWithinAWindow) {
    Past past;
    EXPECT_EQ(past.grown(0, 1000, 60), 0u);
    EXPECT_EQ(past.grown(3, 1010, 60), 3u);
    EXPECT_EQ(past.grown(5, 1060, 60), 5u);
    EXPECT_EQ(past.grown(5, 1070, 60), 2u) << "the first three are too old";
    EXPECT_EQ(past.grown(5, 1120, 60), 0u);
    EXPECT_EQ(past.grown(6, 1121, 60), 1u);
    EXPECT_EQ(past.grown(2, 1122, 60), 2u) << "the counter began again";
    Past many;
    for (uint64_t n = 1; n <= 10'000; ++n) EXPECT_EQ(many.grown(n, 1000 + n % 2, 60), n);
    EXPECT_LE(many.growths.size(), 257u);
}

// A card whose state is kept in the tree, also for a user who is not root.
class PolicyTest : public testing::Test {
   protected:
    PolicyTest() {
        tree_.card(0, "0000:01:00.0");
        change([](sidra_telemetry&) {});
    }
    void change(const std::function<void(sidra_telemetry&)>& what) {
        page_.dma_errors = 0;
        what(page_);
        tree_.write(tree_.node(0, "telemetry"), bytes_of(page_));
    }
    // A session with this folder of state.
    sidra_smi* open() {
        sidra_smi_options options = {};
        options.struct_size = sizeof options;
        options.root = tree_.root().c_str();
        options.state = state_.c_str();
        sidra_smi* session = nullptr;
        EXPECT_EQ(sidra_smi_open(&options, &session), SIDRA_SMI_OK);
        EXPECT_EQ(sidra_smi_refresh(session), SIDRA_SMI_OK);
        return session;
    }
    static sidra_smi_finding finding(sidra_smi* session, const std::string& check) {
        const sidra_smi_finding* findings = nullptr;
        uint32_t count = 0;
        sidra_smi_health(sidra_smi_chip_at(session, 0), nullptr, &findings, &count);
        for (uint32_t n = 0; n < count; ++n)
            if (check == findings[n].check) return findings[n];
        return {SIDRA_SMI_INTERNAL, "", "no such finding", nullptr};
    }
    // Of a session of its own.
    sidra_smi_status severity(const std::string& check) {
        sidra_smi* const session = open();
        const sidra_smi_status found = finding(session, check).severity;
        sidra_smi_close(session);
        return found;
    }
    void policy(const std::string& text) const { tree_.write("etc/sidra/health.conf", text); }

    const Tree tree_;
    const std::string state_ = tree_.path("state/sidra");
    sidra_telemetry page_ = telemetry(1);
};

TEST_F(PolicyTest, ThresholdsOfEachCheck) {
    struct Case {
        const char* policy;
        const char* check;
        sidra_smi_status severity;
        std::function<void(sidra_telemetry&)> change;
    };
    const Case cases[] = {
        {"[temperature]\nwarning = 45\n", "temperature", SIDRA_SMI_WARNING, [](auto&) {}},
        {"[temperature]\nwarning = 46\n", "temperature", SIDRA_SMI_OK, [](auto&) {}},
        {"[temperature]\ncritical = 45.5\n", "temperature", SIDRA_SMI_CRITICAL, [](auto&) {}},
        {"[temperature]\nwarning = 200\ncritical = 300\n", "temperature", SIDRA_SMI_OK,
         [](auto& t) { t.temperature_mc = 150'000; }},
        {"[cells]\nwarning = 2\n", "cells", SIDRA_SMI_OK, [](auto& t) { t.xbars_total = 100, t.stuck_cells = 65'536; }},
        {"[cells]\ncritical = 1\n", "cells", SIDRA_SMI_CRITICAL,
         [](auto& t) { t.xbars_total = 100, t.stuck_cells = 65'536; }},
        {"[endurance]\nwarning = 1\n", "endurance", SIDRA_SMI_OK,
         [](auto& t) { t.programmed_cells = 1'000'000, t.failed_cells = 9'999; }},
        {"[endurance]\ncritical = 1\n", "endurance", SIDRA_SMI_CRITICAL,
         [](auto& t) { t.programmed_cells = 1'000'000, t.failed_cells = 10'000; }},
        {"[converters]\nwarning = 2\n", "converters", SIDRA_SMI_WARNING,
         [](auto& t) { t.clock_ns = t.calibrated_ns + 3 * uint64_t{86'400'000'000'000}; }},
        {"[dma]\nwarning = 4\n", "dma", SIDRA_SMI_OK, [](auto& t) { t.dma_errors = 3; }},
        {"[dma]\nwarning = 4\ncritical = 9\n", "dma", SIDRA_SMI_CRITICAL, [](auto& t) { t.dma_errors = 9; }},
        {"[link]\nhold = 60\n", "link", SIDRA_SMI_OK, [](auto&) {}},
        {"[power]\nhold = 60\n", "power", SIDRA_SMI_OK, [](auto& t) { t.status |= SIDRA_STATUS_THROTTLED; }},
    };
    for (const Case& each : cases) {
        page_ = telemetry(1);
        policy(each.policy);
        change(each.change);
        EXPECT_EQ(severity(each.check), each.severity) << each.policy;
    }
}

TEST_F(PolicyTest, AHeartbeatThatIsLate) {
    policy("[firmware]\nwarning = 0.05\n");
    sidra_smi* const session = open();
    for (int n = 0; n < 20 && finding(session, "firmware").severity == SIDRA_SMI_OK; ++n) {
        usleep(20'000);
        sidra_smi_refresh(session);
    }
    EXPECT_EQ(finding(session, "firmware").severity, SIDRA_SMI_WARNING);
    sidra_smi_close(session);
}

// A run that ends remembers for the next one, if the policy looks back.
TEST_F(PolicyTest, HistoryOfSeveralRuns) {
    policy("[dma]\nwindow = 3600\n[link]\nhold = 1\n");
    const auto run = [this](const char* check) {
        sidra_smi* const session = open();
        EXPECT_EQ(sidra_smi_history_load(session), SIDRA_SMI_OK);
        const sidra_smi_status found = finding(session, check).severity;
        EXPECT_EQ(sidra_smi_history_save(session), SIDRA_SMI_OK) << sidra_smi_error(session);
        sidra_smi_close(session);
        return found;
    };
    EXPECT_EQ(run("link"), SIDRA_SMI_OK) << "the link is slow, but since when?";
    sleep(2);
    EXPECT_EQ(run("link"), SIDRA_SMI_WARNING);
    change([](auto& t) { t.dma_errors = 3; });
    EXPECT_EQ(run("dma"), SIDRA_SMI_WARNING);
    // An hour later, by changing the time in the file.
    const std::string path = state_ + "/health-history.toml";
    const smi::Histories histories = smi::read_histories(path);
    ASSERT_EQ(histories.size(), 1u);
    smi::Histories later = histories;
    for (smi::Growth& growth : later.begin()->second.checks["dma"].growths) growth.time_s -= 3600;
    tree_.write("state/sidra/health-history.toml", smi::histories_text(later));
    EXPECT_EQ(run("dma"), SIDRA_SMI_OK);
    // A file that is damaged is an empty one: what it has is reported as new.
    tree_.write("state/sidra/health-history.toml", "[[[");
    EXPECT_EQ(run("dma"), SIDRA_SMI_WARNING);
    // What was not seen for a day begins anew.
    later = smi::read_histories(path);
    later.begin()->second.seen_s -= 90'000;
    tree_.write("state/sidra/health-history.toml", smi::histories_text(later));
    EXPECT_EQ(run("link"), SIDRA_SMI_OK);
}

TEST_F(PolicyTest, WithoutAPolicyNothingIsKept) {
    sidra_smi* const session = open();
    finding(session, "dma");
    EXPECT_EQ(sidra_smi_history_save(session), SIDRA_SMI_OK);
    sidra_smi_close(session);
    EXPECT_FALSE(std::filesystem::exists(state_));
}

TEST_F(PolicyTest, APolicyThatChanges) {
    sidra_smi* const session = open();
    EXPECT_EQ(sidra_smi_policy_load(session), SIDRA_SMI_OK);
    EXPECT_EQ(finding(session, "temperature").severity, SIDRA_SMI_OK);
    policy("[temperature]\nwarning = 45\n");
    EXPECT_EQ(finding(session, "temperature").severity, SIDRA_SMI_OK) << "before it is loaded";
    EXPECT_EQ(sidra_smi_policy_load(session), SIDRA_SMI_OK);
    EXPECT_EQ(finding(session, "temperature").severity, SIDRA_SMI_WARNING);
    policy("[temperature]\nwarning = 45\nnope = 1\n");
    EXPECT_EQ(sidra_smi_policy_load(session), SIDRA_SMI_USAGE);
    EXPECT_NE(std::string(sidra_smi_error(session)).find("/etc/sidra/health.conf:3: "), std::string::npos);
    EXPECT_EQ(finding(session, "temperature").severity, SIDRA_SMI_WARNING) << "the former one is in force";
    std::filesystem::remove(tree_.path("etc/sidra/health.conf"));
    EXPECT_EQ(sidra_smi_policy_load(session), SIDRA_SMI_OK);
    EXPECT_EQ(finding(session, "temperature").severity, SIDRA_SMI_OK);
    sidra_smi_close(session);
    // A session that never loaded it does so at its first check.
    policy("nope");
    sidra_smi* const other = open();
    const sidra_smi_finding* findings = nullptr;
    uint32_t count = 0;
    EXPECT_EQ(sidra_smi_health(sidra_smi_chip_at(other, 0), nullptr, &findings, &count), SIDRA_SMI_USAGE);
    EXPECT_EQ(count, 0u);
    sidra_smi_close(other);
    EXPECT_EQ(sidra_smi_policy_load(nullptr), SIDRA_SMI_USAGE);
}

TEST_F(PolicyTest, AcknowledgedUntilItGetsWorse) {
    change([](auto& t) { t.dma_errors = 3; });
    sidra_smi* const session = open();
    sidra_smi_chip* const chip = sidra_smi_chip_at(session, 0);
    EXPECT_FALSE(sidra_smi_acknowledged(chip, "dma", nullptr));
    ASSERT_EQ(sidra_smi_acknowledge(chip, "dma", 0, "alice", "known \"cable\"\n"), SIDRA_SMI_OK)
        << sidra_smi_error(session);
    const sidra_smi_finding found = finding(session, "dma");
    EXPECT_EQ(found.severity, SIDRA_SMI_OK);
    EXPECT_EQ(found.advice, nullptr);
    EXPECT_STREQ(found.text, "3 DMA errors (acknowledged by alice: known \"cable\"?)");
    sidra_smi_acknowledgement known = {};
    ASSERT_TRUE(sidra_smi_acknowledged(chip, "dma", &known));
    EXPECT_STREQ(known.by, "alice");
    EXPECT_EQ(known.until_s, 0u);
    EXPECT_FALSE(sidra_smi_acknowledged(chip, "link", nullptr));
    EXPECT_EQ(severity("dma"), SIDRA_SMI_OK) << "another session";
    EXPECT_EQ(severity("link"), SIDRA_SMI_WARNING) << "another check";
    change([](auto& t) { t.dma_errors = 4; });
    EXPECT_EQ(severity("dma"), SIDRA_SMI_WARNING);
    change([](auto& t) { t.dma_errors = 3; });
    EXPECT_EQ(severity("dma"), SIDRA_SMI_OK);
    // When the problem has gone, the acknowledgement has, too: the counter begins again at power-on.
    change([](auto& t) { t.dma_errors = 0; });
    EXPECT_EQ(severity("dma"), SIDRA_SMI_OK);
    change([](auto& t) { t.dma_errors = 1; });
    EXPECT_EQ(severity("dma"), SIDRA_SMI_WARNING);
    sidra_smi_close(session);
}

TEST_F(PolicyTest, AcknowledgedUntilATime) {
    change([](auto& t) { t.dma_errors = 3; });
    sidra_smi* const session = open();
    sidra_smi_chip* const chip = sidra_smi_chip_at(session, 0);
    ASSERT_EQ(sidra_smi_acknowledge(chip, "dma", smi::time_s() + 3600, "alice", nullptr), SIDRA_SMI_OK);
    EXPECT_NE(std::string(finding(session, "dma").text).find("acknowledged by alice until 2"), std::string::npos);
    ASSERT_EQ(sidra_smi_acknowledge(chip, "dma", smi::time_s() - 1, "alice", nullptr), SIDRA_SMI_OK);
    EXPECT_EQ(finding(session, "dma").severity, SIDRA_SMI_WARNING);
    sidra_smi_close(session);
}

TEST_F(PolicyTest, WithdrawnAndRefused) {
    change([](auto& t) { t.dma_errors = 3; });
    sidra_smi* const session = open();
    sidra_smi_chip* const chip = sidra_smi_chip_at(session, 0);
    EXPECT_EQ(sidra_smi_withdraw(chip, "dma"), SIDRA_SMI_USAGE);
    EXPECT_EQ(sidra_smi_acknowledge(chip, "dma", 0, nullptr, nullptr), SIDRA_SMI_OK);
    EXPECT_EQ(finding(session, "dma").severity, SIDRA_SMI_OK);
    EXPECT_EQ(sidra_smi_withdraw(chip, "dma"), SIDRA_SMI_OK);
    EXPECT_EQ(finding(session, "dma").severity, SIDRA_SMI_WARNING);
    EXPECT_EQ(sidra_smi_acknowledge(chip, "cells", 0, nullptr, nullptr), SIDRA_SMI_USAGE) << "it is ok";
    EXPECT_EQ(sidra_smi_acknowledge(chip, "nope", 0, nullptr, nullptr), SIDRA_SMI_USAGE);
    EXPECT_EQ(sidra_smi_acknowledge(nullptr, "dma", 0, nullptr, nullptr), SIDRA_SMI_USAGE);
    EXPECT_EQ(sidra_smi_acknowledge(chip, nullptr, 0, nullptr, nullptr), SIDRA_SMI_USAGE);
    EXPECT_EQ(sidra_smi_withdraw(nullptr, "dma"), SIDRA_SMI_USAGE);
    EXPECT_FALSE(sidra_smi_acknowledged(nullptr, "dma", nullptr));
    // A file that is damaged is not overwritten.
    tree_.write("state/sidra/acknowledged.toml", "[[[\n");
    EXPECT_EQ(sidra_smi_acknowledge(chip, "dma", 0, nullptr, nullptr), SIDRA_SMI_INTERNAL);
    EXPECT_NE(std::string(sidra_smi_error(session)).find("acknowledged.toml is damaged (line 1"), std::string::npos)
        << sidra_smi_error(session);
    sidra_smi_close(session);
}

TEST_F(PolicyTest, AFolderThatCannotBeWritten) {
    tree_.write("state", "a file\n");
    change([](auto& t) { t.dma_errors = 3; });
    sidra_smi* const session = open();
    EXPECT_EQ(sidra_smi_acknowledge(sidra_smi_chip_at(session, 0), "dma", 0, nullptr, nullptr), SIDRA_SMI_INTERNAL);
    EXPECT_NE(std::string(sidra_smi_error(session)).find(state_), std::string::npos) << sidra_smi_error(session);
    policy("[link]\nhold = 1\n");
    EXPECT_EQ(sidra_smi_policy_load(session), SIDRA_SMI_OK);
    finding(session, "link");
    EXPECT_EQ(sidra_smi_history_save(session), SIDRA_SMI_INTERNAL);
    sidra_smi_close(session);
}

}  // namespace
}  // namespace sidra::test
