// SPDX-License-Identifier: MIT
// The main loop of `sidra-smi top`.
#ifndef SIDRA_SMI_TOP_LOOP_H
#define SIDRA_SMI_TOP_LOOP_H

#include <sidra/smi.h>

#include <vector>

namespace sidra::top {

// Shows these chips (at least one) of a refreshed session and, with `others`, also later ones. `interval` is in
// seconds; the nearest of kIntervals is used. Returns when the user quits or the session fails. If a signal ends it,
// restores the terminal and ends the program with the signal. Throws NoTerminal (terminal.h) if there is no suitable
// terminal.
sidra_smi_status run(sidra_smi* session, std::vector<sidra_smi_chip*> chips, bool others, double interval);

}  // namespace sidra::top

#endif
