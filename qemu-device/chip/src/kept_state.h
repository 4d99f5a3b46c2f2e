// SPDX-License-Identifier: MIT
// What of a chip survives power-off: cells, NVM, flash, the security version. The stream of a saved chip and the state
// file have the same chunks of it (chunks.h). Loading does not trust them: each is checked as if an attacker had
// written it.
#ifndef SIDRA_CHIP_KEPT_STATE_H
#define SIDRA_CHIP_KEPT_STATE_H

#include <cstdint>
#include <functional>
#include <vector>

#include "array.h"
#include "chip_clock.h"
#include "chunks.h"
#include "identity.h"
#include "management.h"
#include "record.h"

namespace sidra::chip {

// No other call of the chip may run, except for head() and save_crossbar().
class KeptState {
   public:
    KeptState(Identity& identity, const ChipClock& clock, Array& array, Management& management)
        : identity_(identity), clock_(clock), array_(array), management_(management) {}

    using Put = std::function<void(const Record&)>;
    using PutCrossbar = std::function<void(uint32_t, const Put&)>;
    SavedHead head(uint32_t version, uint32_t part = 0) const;
    // All chunks but the head; put_crossbar() has those of one crossbar.
    void save(const Put& put, const PutCrossbar& put_crossbar) const;
    void save_crossbar(uint32_t xbar, const Put& put) const;

    // Return nullptr, or what is wrong with the chunk.
    const char* load_head(uint32_t version, const std::vector<uint8_t>& data);
    const char* load(uint32_t tag, const std::vector<uint8_t>& data);  // is_kept(tag)

    // Returns to factory state.
    void clear();

   private:
    uint32_t level() const { return array_.analog() ? SIDRA_CHIP_ACCURATE : SIDRA_CHIP_FAST; }

    Identity& identity_;
    const ChipClock& clock_;
    Array& array_;
    Management& management_;
};

}  // namespace sidra::chip

#endif
