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
    // Once, also if it is looked at again and again.
    if (left_out != 0 && left_out_ == 0)
        say(fmt::format("{} files of chips in processes were not looked at: there are too many in one folder",
                        left_out));
    left_out_ = left_out;
}

std::vector<sidra_smi_chip*> Session::select(const std::string& selectors) {
    std::vector<sidra_smi_chip*> chips(sidra_smi_count(session_));
    uint32_t count = 0;
    check(sidra_smi_select(session_, selectors.c_str(), chips.data(), static_cast<uint32_t>(chips.size()), &count));
    chips.resize(count);
    if (chips.empty())
        throw Failure(SIDRA_SMI_NO_DEVICE,
                      "no SIDRA card is here, and no running process has a chip of its own (sidra-smi doctor)");
    return chips;
}

std::vector<sidra_smi_chip*> Session::select_read_twice(const std::string& selectors, long between_ns) {
    refresh();
    std::vector<sidra_smi_chip*> chips = select(selectors);  // who names none need not wait to be told
    const struct timespec between = {0, between_ns};
    nanosleep(&between, nullptr);
    refresh();
    return chips;
}

sidra_smi_chip* Session::select_card(const std::string& selectors) {
    std::vector<sidra_smi_chip*> chips = select(selectors);
    if (selectors.empty())
        std::erase_if(chips, [](const sidra_smi_chip* chip) { return sidra_smi_kind_of(chip) != SIDRA_SMI_CARD; });
    if (chips.empty())
        throw Failure(SIDRA_SMI_NO_DEVICE,
                      "there is no SIDRA card here, and a chip inside of a process can only be looked at");
    if (chips.size() > 1)
        throw Failure(SIDRA_SMI_USAGE, fmt::format("there are {} cards: say which one by --chip", chips.size()));
    if (sidra_smi_kind_of(chips[0]) != SIDRA_SMI_CARD)
        throw Failure(SIDRA_SMI_USAGE, fmt::format("{} is a chip inside of a process: it can only be looked at",
                                                   text_of(chips[0], "name")));
    return chips[0];
}

}  // namespace sidra::smi_tool
