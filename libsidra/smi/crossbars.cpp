// SPDX-License-Identifier: MIT
// Contents and wear of the crossbars of a chip.
#include <cstring>

#include "file.h"
#include "reach.h"

namespace sidra::smi {
namespace {

constexpr size_t kMost = 1 << 20;  // limit for the number of crossbars
constexpr uint64_t kTimeoutNs = 1'000'000'000, kKeptNs = 1'000'000'000;

std::vector<sidra_hw_xbar> read(sidra_smi_chip& chip) {
    if (chip.model != nullptr) {
        Maybe<std::vector<sidra_hw_xbar>> all = chip.model->read_crossbars();
        if (!all)
            throw Unreachable{all.error, "cannot read the crossbars of " + chip.name + ": " + std::strerror(all.error)};
        return std::move(all.value);
    }
    const std::string bytes = read_slowly(chip, "crossbars", kMost * sizeof(sidra_hw_xbar), kTimeoutNs);
    std::vector<sidra_hw_xbar> all(bytes.size() / sizeof(sidra_hw_xbar));
    if (!all.empty()) std::memcpy(all.data(), bytes.data(), all.size() * sizeof all[0]);
    return all;
}

}  // namespace
}  // namespace sidra::smi

using namespace sidra::smi;

sidra_smi_status sidra_smi_crossbars(sidra_smi_chip* chip, const sidra_smi_crossbar** crossbars, uint32_t* count) {
    if (crossbars == nullptr || count == nullptr) return SIDRA_SMI_USAGE;
    *crossbars = nullptr;
    *count = 0;
    return reaching(chip, [&] {
        if (chip->crossbars_ns == 0 || now_ns() - chip->crossbars_ns >= kKeptNs) {
            const std::vector<sidra_hw_xbar> headers = read(*chip);
            chip->crossbars.clear();
            for (const sidra_hw_xbar& header : headers)
                chip->crossbars.push_back({header.uid, header.programs, header.stuck_cells, header.programmed_rows, 0});
            chip->crossbars_ns = now_ns();
        }
        *crossbars = chip->crossbars.data();
        *count = static_cast<uint32_t>(chip->crossbars.size());
        return SIDRA_SMI_OK;
    });
}
