// SPDX-License-Identifier: MIT
// The engine on the host's processor: the thread that submits works at once, and helpers join it.
#include <new>

#include "engine.h"
#include "helpers.h"

namespace sidra::engine {
namespace {

class HostEngine final : public Engine {
   public:
    HostEngine(const Kernels& kernels, uint32_t threads)
        : Engine(with(kernels.can, threads), kernels), helpers_(threads) {}

    bool submit(const Work& work, const Completion&) override {
        const Stagings::Lease staging(stagings_);
        if (!work.parallel) {
            work.run(work.self, *staging);
            return true;
        }
        Call call{work, *staging, stagings_};
        helpers_.run(take_part, &call);
        return true;
    }

   private:
    struct Call {
        const Work& work;
        Staging& own;
        Stagings& others;
    };
    static Capabilities with(Capabilities can, uint32_t threads) {
        can.threads = threads;
        return can;
    }
    static void take_part(void* argument, bool helps) {
        const Call& call = *static_cast<const Call*>(argument);
        if (!helps) return call.work.run(call.work.self, call.own);
        try {
            const Stagings::Lease staging(call.others);
            call.work.run(call.work.self, *staging);
        } catch (const std::bad_alloc&) {  // the others do the work
        }
    }

    Stagings stagings_;
    Helpers helpers_;  // last: its threads end first
};

}  // namespace

std::unique_ptr<Engine> make(const Kernels& kernels, uint32_t threads) {
    return std::make_unique<HostEngine>(kernels, threads);
}

std::unique_ptr<Engine> make(sidra_chip_engine id, uint32_t threads) {
    const Kernels* const kernels = find(id);
    return kernels != nullptr ? make(*kernels, threads) : nullptr;
}

}  // namespace sidra::engine
