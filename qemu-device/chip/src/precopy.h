// SPDX-License-Identifier: MIT
// Which crossbars a stream of cells already has, while the chip that is saved goes on: Chip::precopy().
#ifndef SIDRA_CHIP_PRECOPY_H
#define SIDRA_CHIP_PRECOPY_H

#include <atomic>
#include <cstdint>
#include <vector>

namespace sidra::chip {

// One thread sends; any thread reports changes. The sender marks a crossbar before it copies it, and whoever changes a
// crossbar takes the mark away afterwards: so a mark says that the stream has what the crossbar holds.
class Precopy {
   public:
    explicit Precopy(uint32_t xbars) : sent_(xbars) {}

    void begin() {
        for (std::atomic<bool>& each : sent_) each.store(false);
        parts_ = cursor_ = 0;
    }
    void end() { begin(); }

    void changed(uint32_t xbar) { sent_[xbar].store(false); }
    void mark(uint32_t xbar) { sent_[xbar].store(true); }
    bool sent(uint32_t xbar) const { return sent_[xbar].load(); }

    // How many parts the stream has.
    uint32_t parts() const { return parts_; }
    void add_part() { parts_++; }
    // The crossbars in turn: changed ones come again after all others.
    uint32_t next() { return cursor_ = (cursor_ + 1) % static_cast<uint32_t>(sent_.size()); }

   private:
    std::vector<std::atomic<bool>> sent_;
    uint32_t parts_ = 0, cursor_ = 0;
};

}  // namespace sidra::chip

#endif
