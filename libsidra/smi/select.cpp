// SPDX-License-Identifier: MIT
// Selection of chips by the names that a person uses.
#include <fmt/format.h>

#include <algorithm>

#include "session.h"
#include "text.h"

namespace sidra::smi {
namespace {

constexpr size_t kUuidDigits = 8;  // fewer digits may be an index or a process
constexpr size_t kUuidLength = 36;

bool is_uuid_beginning(std::string_view selector, const std::string& uuid) {
    if (uuid.size() != kUuidLength || selector.size() > uuid.size()) return false;
    size_t digits = 0;
    for (size_t n = 0; n < selector.size(); ++n) {
        const char c =
            selector[n] >= 'A' && selector[n] <= 'F' ? static_cast<char>(selector[n] + 'a' - 'A') : selector[n];
        if (c != uuid[n]) return false;
        digits += c != '-';
    }
    return digits >= kUuidDigits;
}

// The strongest meaning that a selector has for a chip: an index is never mistaken for a process ID.
enum Meaning { kIndex, kName, kProcess, kUuid, kNothing };

Meaning meaning(const sidra_smi_chip& chip, std::string_view selector) {
    const Maybe<uint64_t> number = to_number(selector);
    if (number && number.value == chip.index) return kIndex;
    std::string_view name = selector;
    if (name.starts_with("/dev/")) name.remove_prefix(5);
    if (name == chip.name) return kName;
    if (chip.card != nullptr) {
        const Maybe<std::string> bdf = to_bdf(selector);
        if (bdf && bdf.value == chip.card->bdf()) return kName;
    }
    if (chip.model != nullptr && number &&
        (chip.model->name().starts_with(std::string(selector) + "-") ||
         (chip.now.pid && chip.now.pid.value == number.value)))
        return kProcess;
    if (chip.now.uuid && is_uuid_beginning(selector, chip.now.uuid.value)) return kUuid;
    return kNothing;
}

}  // namespace
}  // namespace sidra::smi

using namespace sidra::smi;

sidra_smi_status sidra_smi_select(sidra_smi* session, const char* selectors, sidra_smi_chip** chips, uint32_t room,
                                  uint32_t* count) {
    if (session == nullptr || count == nullptr || (chips == nullptr && room > 0)) return SIDRA_SMI_USAGE;
    *count = 0;
    return guarded(session, [&] {
        std::vector<bool> wanted(session->chips.size(), selectors == nullptr);
        if (selectors == nullptr)
            for (const auto& chip : session->chips) wanted[chip->index] = !chip->gone;
        // An empty text is a variable that was not set, not a wish for all chips.
        else if (trim(selectors).empty())
            return fail(session, SIDRA_SMI_USAGE, "the selector is empty: without a selector, all chips are selected");
        std::string_view rest = selectors == nullptr ? "" : selectors;
        while (!rest.empty()) {
            const std::string_view selector = trim(rest.substr(0, rest.find(',')));
            const bool last = rest.find(',') == std::string_view::npos;
            rest.remove_prefix(last ? rest.size() : rest.find(',') + 1);
            if (selector.empty() || (!last && rest.empty()))
                return fail(session, SIDRA_SMI_USAGE,
                            fmt::format("'{}' has an empty selector beside a comma", clean(selectors)));
            Meaning best = kNothing;
            for (const auto& chip : session->chips) best = std::min(best, meaning(*chip, selector));
            std::vector<const sidra_smi_chip*> found;
            for (const auto& chip : session->chips)
                if (best != kNothing && meaning(*chip, selector) == best) found.push_back(chip.get());
            // Among chips with the same name, one that is present is meant.
            if (found.size() > 1) std::erase_if(found, [](const sidra_smi_chip* chip) { return chip->gone; });
            if (found.empty())
                return fail(session, SIDRA_SMI_NO_DEVICE,
                            fmt::format("no such chip: '{}' (see sidra-smi list)", clean(selector)));
            if (found.size() > 1)
                return fail(session, SIDRA_SMI_USAGE,
                            fmt::format("'{}' matches both {} and {}: select one by its {} or its index",
                                        clean(selector), found[0]->name, found[1]->name,
                                        best == kUuid && selector.size() < kUuidLength ? "whole UUID" : "name"));
            wanted[found[0]->index] = true;
        }
        for (const auto& chip : session->chips) {
            if (!wanted[chip->index]) continue;
            if (*count < room) chips[*count] = chip.get();
            ++*count;
        }
        return SIDRA_SMI_OK;
    });
}
