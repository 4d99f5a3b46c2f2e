// SPDX-License-Identifier: MIT
// `sidra-smi top`: from the first reading to the last key.
#ifndef SIDRA_SMI_TOP_LOOP_H
#define SIDRA_SMI_TOP_LOOP_H

#include <sidra/smi.h>

#include <vector>

namespace sidra::top {

// Shows these chips, at least one, of a session that was refreshed, and with `others` those that come later. `interval`
// is in seconds; the nearest of kIntervals is taken. Returns when somebody has quit, or the session has failed. A
// signal that ends it ends the program, after the terminal is as it was. Throws NoTerminal (terminal.h) where there is
// no terminal to show them on.
sidra_smi_status run(sidra_smi* session, std::vector<sidra_smi_chip*> chips, bool others, double interval);

}  // namespace sidra::top

#endif
