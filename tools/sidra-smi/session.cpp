// SPDX-License-Identifier: MIT
#include "session.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>

#include "output.h"

namespace sidra::smi_tool {

Session::Session(const std::string& root, const std::string& runtime) {
    sidra_smi_options options = {};
    options.struct_size = sizeof options;
    options.root = root.empty() ? nullptr : root.c_str();
    options.runtime = runtime.empty() ? nullptr : runtime.c_str();
    const sidra_smi_status status = sidra_smi_open(&options, &session_);
    if (status != SIDRA_SMI_OK) throw Failure(status, "out of memory");
}

Session::~Session() { sidra_smi_close(session_); }

void Session::check(sidra_smi_status status) const {
    if (status != SIDRA_SMI_OK) throw Failure(status, sidra_smi_error(session_));
}

void Session::refresh() {
    check(sidra_smi_refresh(session_));
    const uint64_t left_out = sidra_smi_left_out(session_);
    // Only once, not at each refresh.
    if (left_out != 0 && left_out_ == 0)
        say(fmt::format("{} files of embedded models were skipped: there are too many in one folder", left_out));
    left_out_ = left_out;
}

std::vector<sidra_smi_chip*> Session::select(const Selectors& selectors) {
    std::vector<sidra_smi_chip*> chips(sidra_smi_count(session_));
    uint32_t count = 0;
    check(sidra_smi_select(session_, selectors ? selectors->c_str() : nullptr, chips.data(),
                           static_cast<uint32_t>(chips.size()), &count));
    chips.resize(count);
    if (chips.empty())
        throw Failure(SIDRA_SMI_NO_DEVICE,
                      "no SIDRA card found, and no embedded model in a process that you may see (sidra-smi doctor)");
    return chips;
}

std::vector<sidra_smi_chip*> Session::select_read_twice(const Selectors& selectors, long between_ns) {
    refresh();
    std::vector<sidra_smi_chip*> chips = select(selectors);  // throws before the wait
    const struct timespec between = {0, between_ns};
    nanosleep(&between, nullptr);
    refresh();
    return chips;
}

sidra_smi_chip* Session::select_card(const Selectors& selectors) {
    std::vector<sidra_smi_chip*> chips = select(selectors);
    const auto model = [](const sidra_smi_chip* chip) { return sidra_smi_kind_of(chip) == SIDRA_SMI_MODEL; };
    if (!selectors) std::erase_if(chips, model);
    if (chips.empty())
        throw Failure(SIDRA_SMI_NO_DEVICE, "no SIDRA card found; embedded models can be monitored but not managed");
    if (const auto found = std::ranges::find_if(chips, model); found != chips.end())
        throw Failure(SIDRA_SMI_USAGE, fmt::format("{} is an embedded model: it can be monitored but not managed",
                                                   text_of(*found, "name")));
    if (chips.size() > 1)
        throw Failure(SIDRA_SMI_USAGE, fmt::format("{} cards match: select one of them with --chip", chips.size()));
    return chips[0];
}

}  // namespace sidra::smi_tool
