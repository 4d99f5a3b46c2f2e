// SPDX-License-Identifier: MIT
#include "campaign.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string_view>

#include "output.h"
#include "session.h"

namespace sidra::smi_tool {
namespace {

constexpr long kBetweenNs = 200'000'000;
constexpr int kBarWidth = 40;

// A progress bar on a terminal (standard output is for the result). Its line is always completed.
class Bar {
   public:
    Bar() = default;
    ~Bar() {
        if (drawn_) std::fputc('\n', stderr);
    }
    Bar(const Bar&) = delete;
    Bar& operator=(const Bar&) = delete;

    void show(uint32_t percent) {
        if (!isatty(STDERR_FILENO)) return;
        const int full = static_cast<int>(percent) * kBarWidth / 100;
        std::fprintf(stderr, "\r[%s%s] %3u %%", std::string(static_cast<size_t>(full), '#').c_str(),
                     std::string(static_cast<size_t>(kBarWidth - full), '.').c_str(), percent);
        drawn_ = true;
    }

   private:
    bool drawn_ = false;
};

// Waits until the campaign has ended. It is the one that was started, because a start makes the driver forget what it
// has read; but a later reading may be of another one, or of none after the card was without power.
void wait_for(sidra_smi_campaign& campaign, const Session& session, sidra_smi_chip* chip, uint64_t timeout_ns) {
    const uint32_t number = campaign.number;
    Bar bar;
    while (campaign.number == number && std::strcmp(campaign.state, "running") == 0) {
        bar.show(campaign.percent);
        const struct timespec between = {0, kBetweenNs};
        nanosleep(&between, nullptr);
        session.check(sidra_smi_campaign_info(chip, timeout_ns, &campaign));
    }
    if (campaign.number != number)
        throw Failure(
            SIDRA_SMI_WARNING,
            fmt::format("{}: how campaign {} ended is unknown: the firmware now reports {}", text_of(chip, "name"),
                        number, campaign.number == 0 ? "none" : fmt::format("campaign {}", campaign.number)));
    bar.show(campaign.percent);
}

std::string text(const char* command, Format format, sidra_smi_chip* chip, const sidra_smi_campaign& campaign,
                 const char* found) {
    if (format == Format::kJson) {
        tools::Json::Object whole = json_head(command);
        whole.emplace_back("name", text_of(chip, "name"));
        whole.emplace_back("state", campaign.state);
        whole.emplace_back("number", campaign.number);
        whole.emplace_back("percent", campaign.percent);
        whole.emplace_back("found", campaign.off);
        return tools::Json(whole).text() + '\n';
    }
    if (std::strcmp(campaign.state, "none") == 0)
        return fmt::format("{}: no campaign since the firmware started\n", text_of(chip, "name"));
    return fmt::format("{}: campaign {} {}, {} %, {} {}\n", text_of(chip, "name"), campaign.number, campaign.state,
                       campaign.percent, campaign.off, found);
}

}  // namespace

void add_campaign(CLI::App& app, Campaign& campaign) {
    app.add_option("--first", campaign.first, "first crossbar")->capture_default_str();
    app.add_option("--count", campaign.count, "number of crossbars; 0: all from the first on")->capture_default_str();
    app.add_flag("--no-wait", campaign.no_wait, "do not wait until the campaign has ended");
    add_format(app, campaign.format, Formats::kTextJson);
    add_timeout(app, campaign.timeout);
}

sidra_smi_status run_campaign(const char* command, const Campaign& options, sidra_smi_campaign_kind kind, uint32_t ppm,
                              const char* found, const Context& context) {
    Session session(context.root, context.runtime);
    session.refresh();
    sidra_smi_chip* const chip = session.select_card(context.selectors);
    sidra_smi_campaign campaign;
    if (options.abort) {
        session.check(sidra_smi_campaign_abort(chip, options.timeout.ns()));
    } else if (!options.show) {
        const sidra_smi_value total = value_of(chip, "crossbars.total");
        const uint64_t all = total.type == SIDRA_SMI_UINT ? total.u : 0;
        if (all != 0 && (options.first >= all || options.count > all - options.first))
            throw Failure(SIDRA_SMI_USAGE, fmt::format("{} has crossbars 0 to {}: the range exceeds them",
                                                       text_of(chip, "name"), all - 1));
        if (all == 0 && options.count == 0)
            throw Failure(SIDRA_SMI_USAGE, fmt::format("the number of crossbars of {} cannot be read: give --count",
                                                       text_of(chip, "name")));
        const uint32_t count = options.count != 0 ? options.count : static_cast<uint32_t>(all - options.first);
        session.check(sidra_smi_campaign_start(chip, kind, options.first, count, ppm, options.timeout.ns()));
    }
    session.check(sidra_smi_campaign_info(chip, options.timeout.ns(), &campaign));
    const bool started = !options.abort && !options.show;
    if (started && !options.no_wait) wait_for(campaign, session, chip, options.timeout.ns());
    print(text(command, options.format, chip, campaign, started ? found : "found"));
    const std::string_view state = campaign.state;
    const bool good = started ? state == "done" || (options.no_wait && state == "running") : state != "failed";
    return good ? SIDRA_SMI_OK : SIDRA_SMI_WARNING;
}

}  // namespace sidra::smi_tool
