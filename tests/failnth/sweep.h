// SPDX-License-Identifier: MIT
// The sweep of error paths: a call is made again and again, and each time the next thing that the driver asks the
// kernel for (memory, a copy from or to the caller) is refused, until the call passes without a refusal.
// docs/vm.md, "The sweep of error paths", tells how it is run and what else it looks at.
#ifndef SIDRA_TESTS_SWEEP_H
#define SIDRA_TESTS_SWEEP_H

#include <functional>
#include <map>
#include <set>
#include <string>

#include "node.h"

namespace sidra::test {

// What the kernel refused to the driver during one call.
struct Refusal {
    unsigned count = 0;      // 0: nothing
    bool memory = false;     // of the last one: memory (-ENOMEM), or a copy from or to the caller (-EFAULT)
    std::string kind = "";   // failslab, fail_page_alloc or fail_usercopy
    std::string where = "";  // the driver's function and offset that asked; "?" where the kernel does not say
};

// The kernel's fault injection (Documentation/fault-injection/fault-injection.rst), set up so that it refuses only what
// the driver asks for. There is one in a process: it takes a second to set up.
class FaultInjection {
   public:
    static bool available();
    static FaultInjection& get();
    ~FaultInjection();
    FaultInjection(const FaultInjection&) = delete;
    FaultInjection& operator=(const FaultInjection&) = delete;

    // What to refuse: the n-th request of this thread; or whatever is asked for at one place of the driver, always,
    // whose address SIDRA_FAIL_SITE is.
    bool has_site() const { return !site_.empty(); }
    void begin(unsigned n);
    Refusal end();

   private:
    FaultInjection();
    void read_log(Refusal* refusal);
    int nth_ = -1, log_ = -1;
    std::string site_;
};

// What a call may answer, besides 0.
struct Answers {
    std::set<int> refused = {};     // while something is refused: besides -ENOMEM for memory and -EFAULT for a copy
    std::set<int> afterwards = {};  // the next time, where the first call did its work though its answer was lost
    bool never_fails = false;       // it does its work whatever is refused
};

// One round of a sweep.
class Attempt {
   public:
    Attempt(FaultInjection& injection, unsigned n) : injection_(injection), n_(n) {}
    // Makes the call, which returns 0 or more, or -errno, while the n-th request is refused. If it fails, makes it once
    // more with nothing refused, which must work. What it returned in the end.
    int operator()(const std::function<int()>& call, const Answers& answers = {});
    unsigned number() const { return n_; }

    Refusal refusal;
    int first = 0;  // what the first of the calls returned

   private:
    FaultInjection& injection_;
    const unsigned n_;
};

class FailNth : public NodeTest {
   protected:
    void SetUp() override;
    // Each round from the beginning, with everything that the call needs made anew, and gone in the end.
    void sweep(const std::function<void(Attempt&)>& round);
};

// ---- What calls are made on --------------------------------------------------------------------------------------

// A context with a queue of each kind and a buffer that it has mapped.
struct Bench {
    Bench()
        : context(node), user(context, SIDRA_QUEUE_USER), kernel(context, SIDRA_QUEUE_KERNEL), buffer(context, 8192) {}
    Node node;
    Context context;
    Queue user, kernel;
    Buffer buffer;
};

// The chip executes what it is given, by either kind of queue.
void expect_works(Bench& bench);

}  // namespace sidra::test

#endif
