// SPDX-License-Identifier: MIT
// Resets a card, waits until it is ready, and checks it.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>

#include "file.h"
#include "reach.h"
#include "text.h"

namespace sidra::smi {
namespace {

constexpr uint64_t kLookNs = 1'000'000'000;  // for a chip that may not answer, before its reset

class Phases {
   public:
    Phases(uint64_t timeout_ns, sidra_smi_progress progress, void* user)
        : start_ns_(now_ns()), timeout_ns_(timeout_ns), progress_(progress), user_(user) {}
    void begin(const char* phase) {
        phase_ = phase;
        if (progress_ != nullptr) progress_(user_, phase, -1, now_ns() - start_ns_);
    }
    uint64_t left() const {
        const uint64_t passed = now_ns() - start_ns_;
        if (passed >= timeout_ns_) throw Unreachable{ETIMEDOUT, fmt::format("timeout in phase '{}'", phase_)};
        return timeout_ns_ - passed;
    }

   private:
    const uint64_t start_ns_, timeout_ns_;
    const char* phase_ = "";
    sidra_smi_progress progress_;
    void* user_;
};

void wait_a_moment() {
    const struct timespec moment = {0, 20'000'000};
    nanosleep(&moment, nullptr);
}

sidra_telemetry telemetry_now(sidra_smi_chip& chip, uint64_t timeout_ns) {
    const Maybe<sidra_telemetry> page = to_telemetry(read_slowly(chip, "telemetry", 4096, timeout_ns));
    if (!page) throw Unreachable{page.error, fmt::format("{} reports invalid telemetry", chip.name)};
    return page.value;
}

// Waits until the generation differs from `before`, queues can run, and the firmware runs if the chip has one.
sidra_telemetry wait_ready(sidra_smi_chip& chip, const Maybe<uint32_t>& before, const Phases& phases) {
    for (;;) {
        try {
            const sidra_telemetry now = telemetry_now(chip, phases.left());
            const uint32_t status = now.status;
            if ((status & SIDRA_STATUS_FATAL) != 0)
                throw Unreachable{EIO,
                                  fmt::format("{} reports a fatal error after the reset (status {:#x}): reset it again",
                                              chip.name, status)};
            const bool firmware = (chip.now.features.value & SIDRA_FEATURE_FIRMWARE) != 0;
            const bool another = !before || now.generation != before.value;
            if (another && (status & SIDRA_STATUS_READY) != 0 &&
                (!firmware || (status & SIDRA_STATUS_FIRMWARE_ALIVE) != 0))
                return now;
        } catch (const Unreachable& u) {
            if (u.error != ENODEV && u.error != EAGAIN) throw;  // the card is absent during the reset
        }
        phases.left();
        wait_a_moment();
    }
}

}  // namespace
}  // namespace sidra::smi

using namespace sidra::smi;

sidra_smi_status sidra_smi_reset(sidra_smi_chip* chip, bool force, uint64_t timeout_ns, sidra_smi_progress progress,
                                 void* user) {
    return reaching(chip, [&] {
        Phases phases(timeout_ns, progress, user);
        phases.begin("holders");
        const Card& card = card_of(*chip);
        const std::string reset = card.function("reset");
        // A chip that does not answer needs a reset most of all; whether it is in use is then unknown.
        Maybe<uint32_t> generation;
        try {
            const sidra_telemetry before = telemetry_now(*chip, std::min(phases.left(), kLookNs));
            generation = before.generation;
            if (before.contexts > 0 && !force)
                throw Unreachable{EBUSY,
                                  fmt::format("{} is in use: {} contexts would be lost (use --force to reset anyway)",
                                              chip->name, before.contexts)};
        } catch (const Unreachable& u) {
            if (u.error == EBUSY) throw;
            // The thread that waits for the chip keeps its resources; the reset must not wait for it.
            if (u.error == ETIMEDOUT) chip->asking = Aside();
        }
        phases.begin("reset");
        write_slowly(*chip, reset, "1", phases.left());
        phases.begin("ready");
        const sidra_telemetry after = wait_ready(*chip, generation, phases);
        phases.begin("self-test");
        const Maybe<std::string> uuid = to_line(read_slowly(*chip, "uuid", 4096, phases.left()));
        if (chip->now.uuid && (!uuid || uuid.value != chip->now.uuid.value))
            throw Unreachable{EIO, fmt::format("{} has another UUID after the reset: {}", chip->name, uuid.value)};
        if ((after.status & SIDRA_STATUS_FIRMWARE_ALIVE) != 0)
            while (telemetry_now(*chip, phases.left()).heartbeat == after.heartbeat) wait_a_moment();
        return SIDRA_SMI_OK;
    });
}
