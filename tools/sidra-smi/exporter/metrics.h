// SPDX-License-Identifier: MIT
// All chips of a session as metrics: every field of libsidra-smi that has a metric.
#ifndef SIDRA_SMI_EXPORTER_METRICS_H
#define SIDRA_SMI_EXPORTER_METRICS_H

#include <sidra/smi.h>

#include <string>

namespace sidra::exporter {

// Values of the last refresh of the session. Rates are omitted: they would depend on other readers, and Prometheus
// computes them from counters. A card that is gone has only sidra_up 0, and a chip whose process has ended has no
// samples. A stale chip has sidra_up 0 and only constant values.
std::string metrics_text(sidra_smi* session);

// One line for each metric: its name, type and description.
std::string help_text();

}  // namespace sidra::exporter

#endif
