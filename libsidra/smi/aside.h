// SPDX-License-Identifier: MIT
// Work that the kernel may keep for as long as it likes (a card that is stuck), done on a thread of its own: who wants
// its result waits until a deadline, and goes on without it.
#ifndef SIDRA_SMI_ASIDE_H
#define SIDRA_SMI_ASIDE_H

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

namespace sidra::smi {

class Aside {
   public:
    // 0, EBUSY: the work before is not done, ENOMEM: the system gives no thread. The work owns what it uses: it may
    // outlive this object. It must not throw.
    int start(std::function<void()> work);
    // Whether it is done, by `deadline_ns` (of now_ns()) at the latest.
    bool wait_until(uint64_t deadline_ns);

   private:
    struct State {
        std::mutex lock;
        std::condition_variable changed;
        bool busy = false;
    };
    std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace sidra::smi

#endif
