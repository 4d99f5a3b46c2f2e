// SPDX-License-Identifier: MIT
// Work that may block in the kernel without limit (a hung card), done on a separate thread. A caller waits for the
// result until a deadline, and continues without it.
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
    // Returns 0, EBUSY (the previous work is not done), or ENOMEM (no thread can be created). The work must own
    // everything that it uses, because it may outlive this object. It must not throw.
    int start(std::function<void()> work);
    // Returns whether the work is done, at `deadline_ns` (of now_ns()) at the latest.
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
