// SPDX-License-Identifier: MIT
// An engine computes for one chip. It is an object with threads and memory of its own, and gets whole jobs: submit()
// may return before the work is done. The engines of this library run on the host's processor (make()); one for another
// processor would keep copies of planes by their versions, and complete later.
//
// All engines return identical bits.
#ifndef SIDRA_CHIP_ENGINE_H
#define SIDRA_CHIP_ENGINE_H

#include <cstdint>
#include <memory>

#include "kernels.h"
#include "staging.h"

namespace sidra::engine {

// Units of a job. The engine calls run() on one of its threads, or on several if the work is `parallel`, and each call
// takes units until none is left: the work is done when all calls have returned. run() throws nothing.
struct Work {
    void (*run)(void* self, Staging& staging);
    void* self;
    bool parallel;  // worth several threads
};

// What the engine calls once, on any thread, when work is done that it has not done in submit().
struct Completion {
    void (*done)(void* self);
    void* self;
};

class Engine {
   public:
    Engine(const Capabilities& can, const Kernels& kernels) : can_(can), kernels_(kernels) {}
    // Waits for all work, and completes it.
    virtual ~Engine() = default;
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    const Capabilities& can() const { return can_; }
    const Kernels& kernels() const { return kernels_; }

    // Any thread. Returns true if the work is done, and then never calls done(). Otherwise `work` and what it points to
    // stay valid until done(); only an engine that `can` do so completes later. Allocates nothing and waits for no
    // other work once all threads have memory. Throws std::bad_alloc if there is none: then the work has not begun.
    virtual bool submit(const Work& work, const Completion& completion) = 0;

    // Products with planes, whose copies an engine may use. Called by work, with the memory of its units. Also for the
    // planes of level `accurate`.
    virtual void multiply(const ColumnMvm& m) { kernels_.mvm(m); }

   private:
    const Capabilities can_;
    const Kernels& kernels_;
};

// An engine for the host's processor, with `threads` threads, which include that of submit(). Null as find().
std::unique_ptr<Engine> make(sidra_chip_engine id, uint32_t threads);
// The same with these kernels, which must exist as long as the process.
std::unique_ptr<Engine> make(const Kernels& kernels, uint32_t threads);

}  // namespace sidra::engine

#endif
