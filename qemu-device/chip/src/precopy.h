// SPDX-License-Identifier: MIT
// Which crossbars a stream of cells already has, while the chip that is saved still runs: Chip::precopy().
#ifndef SIDRA_CHIP_PRECOPY_H
#define SIDRA_CHIP_PRECOPY_H

#include <atomic>
#include <cstdint>
#include <vector>

namespace sidra::chip {

// One thread sends; any thread reports changes. The sender marks a crossbar as sent before it copies it, and whoever
// changes a crossbar marks it as stale afterwards: so a crossbar that is marked as sent is in the stream as it is.
class Precopy {
   public:
    explicit Precopy(uint32_t xbars) : marks_(xbars) {}

    void begin() {
        for (std::atomic<Mark>& each : marks_) each.store(Mark::kNever);
        parts_ = cursor_ = 0;
        active_ = true;
    }
    void end() {
        active_ = false;
        parts_ = 0;
    }
    bool active() const { return active_; }

    void changed(uint32_t xbar) {
        Mark sent = Mark::kSent;
        marks_[xbar].compare_exchange_strong(sent, Mark::kStale);
    }
    void mark(uint32_t xbar) { marks_[xbar].store(Mark::kSent); }
    bool sent(uint32_t xbar) const { return active_ && marks_[xbar].load() == Mark::kSent; }
    // The stream has former content of the crossbar.
    bool stale(uint32_t xbar) const { return active_ && marks_[xbar].load() == Mark::kStale; }

    // Number of parts of the stream.
    uint32_t parts() const { return parts_; }
    void add_part() { parts_++; }
    // Returns the crossbars in turn, so a changed one is sent again after all others.
    uint32_t next() { return cursor_ = (cursor_ + 1) % static_cast<uint32_t>(marks_.size()); }

   private:
    enum class Mark : uint8_t { kNever, kSent, kStale };
    std::vector<std::atomic<Mark>> marks_;
    uint32_t parts_ = 0, cursor_ = 0;  // of the sender, as is `active_`
    bool active_ = false;
};

}  // namespace sidra::chip

#endif
