// SPDX-License-Identifier: MIT
// Commands by io_uring.
#include <sys/uio.h>

#include "ring.h"
#include "sweep.h"

namespace sidra::test {
namespace {

TEST_F(FailNth, UringSubmit) {
    sweep([](Attempt& attempt) {
        Bench bench;
        Ring ring;
        const sidra_cmd one = nop();
        attempt([&] {
            ring.add(bench.node.fd, SIDRA_URING_SUBMIT, bench.kernel, 0, 1, &one);
            return ring.reap(1).at(1);
        });
        expect_works(bench);
    });
}

// io_uring plugs a batch: the driver asks for a note of that.
TEST_F(FailNth, UringSubmitBatch) {
    sweep([](Attempt& attempt) {
        constexpr unsigned kBatch = 8;
        Bench bench;
        Ring ring;
        const sidra_cmd one = nop();
        attempt([&] {
            for (uint64_t i = 0; i < kBatch; i++) ring.add(bench.node.fd, SIDRA_URING_SUBMIT, bench.kernel, 0, i, &one);
            int failed = 0;
            for (const auto& [user, result] : ring.reap(kBatch)) failed = result < 0 ? result : failed;
            return failed;
        });
        expect_works(bench);
    });
}

void submit_fixed(Attempt& attempt, size_t count) {
    Bench bench;
    Ring ring;
    const std::vector<sidra_cmd> packets(count, nop());
    iovec memory{const_cast<sidra_cmd*>(packets.data()), packets.size() * sizeof packets[0]};
    ASSERT_EQ(syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_BUFFERS, &memory, 1), 0);
    attempt([&] {
        io_uring_sqe* sqe = ring.add(bench.node.fd, SIDRA_URING_SUBMIT, bench.kernel, 0, 1);
        sqe->uring_cmd_flags = IORING_URING_CMD_FIXED;
        sqe->addr = reinterpret_cast<uintptr_t>(packets.data());
        sqe->len = static_cast<uint32_t>(memory.iov_len);
        return ring.reap(1).at(1);
    });
    expect_works(bench);
}

TEST_F(FailNth, UringSubmitFixed) {
    sweep([](Attempt& attempt) { submit_fixed(attempt, 2); });
}

TEST_F(FailNth, UringSubmitFixedMany) {
    sweep([](Attempt& attempt) { submit_fixed(attempt, 40); });
}

TEST_F(FailNth, UringWaitValue) {
    sweep([](Attempt& attempt) {
        Bench bench;
        Ring ring;
        const uint64_t value = bench.user.push(nop());
        attempt([&] {
            ring.add(bench.node.fd, SIDRA_URING_WAIT_VALUE, bench.user, value, 1)->len = bench.user.epoch();
            return ring.reap(1).at(1);
        });
        expect_works(bench);
    });
}

TEST_F(FailNth, UringCancel) {
    sweep([](Attempt& attempt) {
        Bench bench;
        Ring ring;
        const sidra_uring_cmd cmd{bench.context.handle, static_cast<uint16_t>(bench.user.create.queue), 0, 1000};
        ring.add(bench.node.fd, SIDRA_URING_WAIT_VALUE, cmd, 1)->len = bench.user.epoch();
        ASSERT_EQ(ring.enter(), 1);
        attempt([&] {
            ring.add(bench.node.fd, SIDRA_URING_CANCEL, cmd, 2);
            const auto results = ring.reap(2);
            EXPECT_EQ(results.at(1), -ECANCELED);
            return results.at(2);
        });
        expect_works(bench);
    });
}

}  // namespace
}  // namespace sidra::test
