// SPDX-License-Identifier: MIT
// All chips of a session as metrics: every field of libsidra-smi that has a metric's name.
#ifndef SIDRA_SMI_EXPORTER_METRICS_H
#define SIDRA_SMI_EXPORTER_METRICS_H

#include <sidra/smi.h>

#include <string>

namespace sidra::exporter {

// As of the session's last refresh. Fields that are rates are left out: they would depend on who else asks and when;
// Prometheus makes them of counters. Of a card that is gone there is sidra_up 0 and no more, of a chip whose process
// has ended nothing.
std::string metrics_text(sidra_smi* session);

}  // namespace sidra::exporter

#endif
