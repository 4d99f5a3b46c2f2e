// SPDX-License-Identifier: MIT
// A call that waits for a chip that does not acknowledge a command.
#ifndef SIDRA_TESTS_STUCK_CALL_H
#define SIDRA_TESTS_STUCK_CALL_H

#include "fence_waiters.h"

namespace sidra::test {

// The chip does not acknowledge that a buffer is unbound before end(), or the driver's patience ends: what comes to an
// end before this call did not wait for it. So the order counts, not the time.
class StuckCall {
    const unsigned card_;

   public:
    // Its neighbour may have been lost before.
    explicit StuckCall(bool loses = false, unsigned card = 0)
        : card_(card), lost_(loses && lose_neighbour()), holder_("BUFFER_UNBIND", [this] {
              sidra_ioctl_buffer_unbind unbind{context.vm, unused_.handle, unused_.va};
              return node.call(SIDRA_IOCTL_BUFFER_UNBIND, unbind);
          }) {
        EXPECT_TRUE(stays_asleep([&] { return holder_.state() == 'D'; }));
    }
    ~StuckCall() {
        if (!removed_) end();
    }
    StuckCall(const StuckCall&) = delete;
    StuckCall& operator=(const StuckCall&) = delete;
    bool ended() const { return holder_.done(); }
    // The driver still waits, if nothing else has ended the call.
    bool patient() const { return in_ms(0) < patience_ends_; }
    void end() {
        EXPECT_TRUE(knob("no-quiesce-ack", 0, card_));
        EXPECT_EQ(holder_.result(), 0);
        EXPECT_EQ(state_of(context), SIDRA_CONTEXT_OK);
    }
    // The card was removed, which has ended it.
    void expect_removed() {
        removed_ = true;
        knob("no-quiesce-ack", 0, card_);  // of the card that stays in its slot
        EXPECT_EQ(holder_.result(), 0) << "nothing uses the buffer any more";
    }

    const Node node{card_ == 0 ? node_path() : "/dev/sidra" + std::to_string(card_)};
    const Context context{node}, neighbour{node, context.vm};

   private:
    bool lose_neighbour() const {
        sidra_ioctl_device_reset reset{};
        EXPECT_EQ(node.call(SIDRA_IOCTL_DEVICE_RESET, reset), 0);
        sidra_ioctl_context recover{context.handle, 0};
        EXPECT_EQ(node.call(SIDRA_IOCTL_CONTEXT_RECOVER, recover), 0);
        return true;
    }
    // The driver is more patient than any machine is slow.
    static constexpr uint64_t kDriverPatienceMs = 60'000;
    const Parameter patient_{"admin_timeout_ms", std::to_string(kDriverPatienceMs)};
    const Buffer unused_{context, SIDRA_PAGE_SIZE};
    const Queue queue_{neighbour, SIDRA_QUEUE_USER};
    const bool lost_;
    bool removed_ = false;
    const bool armed_ = knob("no-quiesce-ack", 1, card_);
    const uint64_t patience_ends_ = in_ms(kDriverPatienceMs);
    Caller holder_;
};

}  // namespace sidra::test

#endif
