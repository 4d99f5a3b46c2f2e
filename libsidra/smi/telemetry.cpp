// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>

#include "sample.h"

namespace sidra::smi {

Maybe<Telemetry> to_telemetry(std::string_view bytes) {
    constexpr size_t kFirst = offsetof(sidra_telemetry, engine_ns);  // the fields of version 1.0
    Telemetry all;
    if (bytes.size() < kFirst) return Maybe<Telemetry>::none(EPROTO);
    std::memcpy(&all.page, bytes.data(), std::min(bytes.size(), sizeof all.page));
    if (all.page.magic != SIDRA_TELEMETRY_MAGIC || all.page.version != SIDRA_TELEMETRY_VERSION ||
        all.page.size < kFirst)
        return Maybe<Telemetry>::none(EPROTO);
    all.since_1_2 = all.page.size >= sizeof all.page && bytes.size() >= sizeof all.page;
    return all;
}

}  // namespace sidra::smi
