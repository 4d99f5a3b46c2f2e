// SPDX-License-Identifier: MIT
// Connects the chip and its state file: at power-on the kept state is loaded from the file; afterwards each change of
// it is written there.
#ifndef SIDRA_CHIP_STATE_KEEPER_H
#define SIDRA_CHIP_STATE_KEEPER_H

#include <memory>
#include <vector>

#include "array.h"
#include "chip_clock.h"
#include "kept_state.h"
#include "management.h"
#include "sidra_chip.h"
#include "state_file.h"

namespace sidra::chip {

class StateKeeper {
   public:
    StateKeeper(const sidra_chip_host& host, const ChipClock& clock, Array& array, Management& management,
                KeptState& kept)
        : host_(host), clock_(clock), array_(array), management_(management), kept_(kept) {}

    // ---- No other call may run.

    // Called once, before anything else. Throws StateFileError.
    void open(const char* path);
    void close();
    // While a saved chip is loaded, its changes are not those of the file.
    void detach() { array_.keep_in(nullptr); }
    void attach() { array_.keep_in(file_.get()); }
    // Makes the content of the file that of the chip. Throws StateFileError.
    void fill();
    // The opposite, for a chip as after power-on. If that fails, reports it, gives the file up, and returns false.
    bool reload();

    // ---- Any thread.

    bool has_file() const { return file_ != nullptr; }
    // Makes everything durable. `loading`: the cells are not yet those of the file.
    bool sync(bool loading);
    // Reports a failure of the file to the host.
    void tell_failure();

   private:
    void load();
    bool save_counts();

    const sidra_chip_host& host_;
    const ChipClock& clock_;
    Array& array_;
    Management& management_;
    KeptState& kept_;
    std::unique_ptr<StateFile> file_;  // null: nothing survives power-off
};

}  // namespace sidra::chip

#endif
