// SPDX-License-Identifier: MIT
// A shortage of system resources is reported as such, not as a problem of a chip; afterwards everything works again.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <cstring>

#include "../chip/failing_new.h"
#include "aside.h"
#include "file.h"
#include "session.h"

namespace sidra::test {
namespace {

// New threads ask for more stack than there is address space.
class NoThreads {
   public:
    NoThreads() {
        EXPECT_EQ(pthread_getattr_default_np(&before_), 0);
        pthread_attr_t huge;
        EXPECT_EQ(pthread_attr_init(&huge), 0);
        EXPECT_EQ(pthread_attr_setstacksize(&huge, size_t{1} << 48), 0);
        EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
        EXPECT_EQ(pthread_attr_destroy(&huge), 0);
    }
    ~NoThreads() {
        EXPECT_EQ(pthread_setattr_default_np(&before_), 0);
        EXPECT_EQ(pthread_attr_destroy(&before_), 0);
    }
    NoThreads(const NoThreads&) = delete;
    NoThreads& operator=(const NoThreads&) = delete;

   private:
    pthread_attr_t before_;
};

bool signals_are_blocked() {
    sigset_t now;
    EXPECT_EQ(pthread_sigmask(SIG_SETMASK, nullptr, &now), 0);
    return sigismember(&now, SIGTERM) == 1;
}

TEST(Shortage, OfThreads) {
    const Tree tree;
    tree.card(0, "0000:01:00.0");
    const Publisher publisher(tree, 0);
    Session session(tree);
    {
        const NoThreads none;
        EXPECT_EQ(sidra_smi_refresh(session.get()), SIDRA_SMI_INTERNAL);
        EXPECT_NE(std::strstr(sidra_smi_error(session.get()),
                              "cannot read sidra0: the system is out of memory or threads (ulimit -u)"),
                  nullptr)
            << sidra_smi_error(session.get());
        EXPECT_EQ(session.text(0, "status"), "ready") << "as it was last";
        EXPECT_FALSE(signals_are_blocked());
        const char* log = nullptr;
        EXPECT_EQ(sidra_smi_log(session.chip(0), 1'000'000'000, &log), SIDRA_SMI_INTERNAL);
        EXPECT_NE(std::strstr(sidra_smi_error(session.get()), "threads"), nullptr) << sidra_smi_error(session.get());
    }
    session.refresh();
    EXPECT_EQ(session.text(0, "status"), "ready");
}

TEST(Shortage, OfMemoryForAThread) {
    smi::Aside aside;
    uint64_t failures = 0;
    for (;; ++failures) {
        int error = 0;
        uint64_t failed = 0;
        {
            const FailingNew failing(failures, 1, FailingNew::Of::kThisThread);
            error = aside.start([] {});
            failed = failing.failed();
        }
        EXPECT_FALSE(signals_are_blocked());
        if (failed == 0) break;
        EXPECT_EQ(error, ENOMEM);
        EXPECT_TRUE(aside.wait_until(smi::now_ns())) << "it has nothing to do";
    }
    EXPECT_GT(failures, 0u);
}

// Whichever allocation fails.
TEST(Shortage, OfMemory) {
    const Tree tree;
    tree.card(0, "0000:01:00.0");
    const Publisher publisher(tree, 0);
    Session session(tree);
    uint64_t failures = 0, told = 0;
    for (;; ++failures) {
        sidra_smi_status status = SIDRA_SMI_OK;
        uint64_t failed = 0;
        {
            const FailingNew failing(failures, 1, FailingNew::Of::kThisThread);
            status = sidra_smi_refresh(session.get());
            failed = failing.failed();
        }
        EXPECT_FALSE(signals_are_blocked());
        if (failed == 0) break;
        // std::stable_sort() works without its extra memory.
        ASSERT_TRUE(status == SIDRA_SMI_INTERNAL || status == SIDRA_SMI_OK) << failures;
        told += status == SIDRA_SMI_INTERNAL;
        session.refresh();
        ASSERT_EQ(session.text(0, "status"), "ready") << failures;
        ASSERT_EQ(session.text(1, "packets"), "9001") << failures;
        ASSERT_EQ(sidra_smi_count(session.get()), 2u) << failures;
    }
    EXPECT_GT(told, 10u);
    EXPECT_LE(failures - told, 1u);
}

}  // namespace
}  // namespace sidra::test
