// SPDX-License-Identifier: MIT
#include <cstring>

#include "sample.h"

namespace sidra::smi {

Maybe<sidra_telemetry> to_telemetry(std::string_view bytes) {
    sidra_telemetry page;
    if (bytes.size() < sizeof page) return Maybe<sidra_telemetry>::none(EPROTO);
    std::memcpy(&page, bytes.data(), sizeof page);
    if (page.magic != SIDRA_TELEMETRY_MAGIC || page.version != SIDRA_TELEMETRY_VERSION || page.size < sizeof page)
        return Maybe<sidra_telemetry>::none(EPROTO);
    return page;
}

}  // namespace sidra::smi
