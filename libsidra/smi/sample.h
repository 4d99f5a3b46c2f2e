// SPDX-License-Identifier: MIT
// The result of reading a chip, from any source.
#ifndef SIDRA_SMI_SAMPLE_H
#define SIDRA_SMI_SAMPLE_H

#include <sidra_hw.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "maybe.h"
#include "sidra/smi.h"

namespace sidra::smi {

// EPROTO: malformed or truncated.
Maybe<sidra_telemetry> to_telemetry(std::string_view bytes);

struct Sample {
    uint64_t read_ns = 0;  // CLOCK_MONOTONIC; 0: never
    uint64_t data_ns = 0;  // time of the data
    Maybe<sidra_telemetry> telemetry;
    Maybe<sidra_telemetry> before;  // the previous sample, where it is published

    Maybe<std::string> uuid, hardware, driver, firmware, process;
    Maybe<uint64_t> pid, uid, generation, resets, features;
    Maybe<uint64_t> clusters, cus_per_cluster, xbars_per_cu;
    Maybe<uint64_t> l3_size, l3_used, nvm_size, memory;
    Maybe<std::string> level;
    Maybe<bool> persistent;

    Maybe<std::string> link_speed, link_speed_max, cpus, bridge;
    Maybe<uint64_t> link_width, link_width_max;
    Maybe<int64_t> numa_node;

    std::vector<sidra_smi_client> clients;
    int clients_error = ENODATA;  // 0: the list is complete
};

}  // namespace sidra::smi

#endif
