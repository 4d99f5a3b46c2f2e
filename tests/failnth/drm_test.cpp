// SPDX-License-Identifier: MIT
// The ioctls of the DRM core that lead to the driver: handles, DMA buffers, syncobjs.
#include "peer.h"
#include "sweep.h"

namespace sidra::test {
namespace {

uint64_t address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

TEST_F(FailNth, GemClose) {
    sweep([](Attempt& attempt) {
        Bench bench;
        sidra_ioctl_buffer_create create{SIDRA_PAGE_SIZE, 0, 0, 0};
        ASSERT_EQ(bench.node.call(SIDRA_IOCTL_BUFFER_CREATE, create), 0);
        Buffer::bind(bench.context, create.handle);
        attempt(
            [&] {
                drm_gem_close close{create.handle, 0};
                return bench.node.call(DRM_IOCTL_GEM_CLOSE, close);
            },
            {.afterwards = {-EINVAL}});
        expect_works(bench);
    });
}

TEST_F(FailNth, PrimeExport) {
    sweep([](Attempt& attempt) {
        Bench bench;
        drm_prime_handle args{};
        attempt([&] {
            args = {bench.buffer.handle, DRM_CLOEXEC | DRM_RDWR, -1};
            return bench.node.call(DRM_IOCTL_PRIME_HANDLE_TO_FD, args);
        });
        close(args.fd);
        expect_works(bench);
    });
}

// A buffer comes in as a file, and is bound and used.
void import(Attempt& attempt, int fd) {
    Bench bench;
    drm_prime_handle args{};
    attempt([&] {
        args = {0, 0, fd};
        return bench.node.call(DRM_IOCTL_PRIME_FD_TO_HANDLE, args);
    });
    const uint64_t va = Buffer::bind(bench.context, args.handle);
    EXPECT_EQ(bench.user.wait(bench.user.push(copy(va + 8, va, 8))), 0);
    expect_works(bench);
}

TEST_F(FailNth, PrimeImportOfAnotherDriver) {
    sweep([](Attempt& attempt) {
        const int fd = foreign_buffer(2 * SIDRA_PAGE_SIZE);
        ASSERT_GE(fd, 0);
        import(attempt, fd);
        close(fd);
    });
}

TEST_F(FailNth, PrimeImportOfAnotherFile) {
    sweep([](Attempt& attempt) {
        Bench other;
        drm_prime_handle exported{other.buffer.handle, DRM_CLOEXEC | DRM_RDWR, -1};
        ASSERT_EQ(other.node.call(DRM_IOCTL_PRIME_HANDLE_TO_FD, exported), 0);
        import(attempt, exported.fd);
        close(exported.fd);
    });
}

// Of a second card: it attaches to a buffer of the first one.
TEST_F(FailNth, PrimeImportOfAnotherCard) {
    sweep([](Attempt& attempt) {
        const Node other("/dev/sidra1");
        Bench bench;
        const int fd = export_buffer(bench.node, bench.buffer.handle);
        ASSERT_GE(fd, 0);
        uint32_t handle = 0;
        attempt([&] { return import_buffer(other, fd, &handle); });
        close(fd);
        expect_works(bench);
    });
}

// L3 is exported by one card, imported by another one, and bound there.
TEST_F(FailNth, PrimeExportOfL3) {
    sweep([](Attempt& attempt) {
        Bench bench;
        const Buffer local(bench.context, SIDRA_PAGE_SIZE, SIDRA_BUFFER_LOCAL);
        int fd = -1;
        attempt([&] { return fd = export_buffer(bench.node, local.handle); });
        close(fd);
        expect_works(bench);
    });
}

TEST_F(FailNth, PrimeImportOfL3) {
    const Parameter trust("trust_peer_path", "1");
    ASSERT_TRUE(trust.good);
    sweep([](Attempt& attempt) {
        const Node other("/dev/sidra1");
        const Context its_context(other);
        Bench bench;
        const Buffer local(its_context, SIDRA_PAGE_SIZE, SIDRA_BUFFER_LOCAL);
        const int fd = export_buffer(other, local.handle);
        ASSERT_GE(fd, 0);
        uint32_t handle = 0;
        attempt([&] { return import_buffer(bench.node, fd, &handle); });
        close(fd);
        const uint64_t va = Buffer::bind(bench.context, handle);
        local.words[0] = 3;
        EXPECT_EQ(bench.user.wait(bench.user.push(copy(va + 8, va, 8))), 0);
        EXPECT_EQ(local.words[1], 3u);
        expect_works(bench);
    });
}

// The first use of an import: it is bound while allocations fail.
TEST_F(FailNth, BindImport) {
    sweep([](Attempt& attempt) {
        Bench bench;
        drm_prime_handle args{0, 0, foreign_buffer(2 * SIDRA_PAGE_SIZE)};
        ASSERT_EQ(bench.node.call(DRM_IOCTL_PRIME_FD_TO_HANDLE, args), 0);
        close(args.fd);
        attempt([&] {
            sidra_ioctl_buffer_bind bind{bench.context.vm, args.handle, SIDRA_BIND_READ | SIDRA_BIND_WRITE, 0, 0};
            return bench.node.call(SIDRA_IOCTL_BUFFER_BIND, bind);
        });
        expect_works(bench);
    });
}

// ---- Syncobjs ------------------------------------------------------------------------------------------------------

// One with a point that a job has signalled.
struct Timeline : Bench {
    Timeline() : handle(create()) {
        sidra_syncobj_point out{handle, 0, 1};
        const std::vector<sidra_cmd> packets = {nop()};
        sidra_ioctl_submit submit = kernel.request(packets);
        submit.out_points = address(&out);
        submit.out_count = 1;
        EXPECT_EQ(node.call(SIDRA_IOCTL_SUBMIT, submit), 0);
        EXPECT_EQ(kernel.wait(submit.value), 0);
    }
    uint32_t create() const {
        drm_syncobj_create args{};
        EXPECT_EQ(node.call(DRM_IOCTL_SYNCOBJ_CREATE, args), 0);
        return args.handle;
    }
    uint32_t handle;
    uint64_t point = 1;
};

// A call that can be made as often as one likes.
template <class Argument>
std::function<void(Attempt&)> on_timeline(unsigned long request, const std::function<Argument(Timeline&)>& make,
                                          const Answers& answers = {}) {
    return [=](Attempt& attempt) {
        Timeline timeline;
        attempt(
            [&] {
                Argument argument = make(timeline);
                return timeline.node.call(request, argument);
            },
            answers);
        expect_works(timeline);
    };
}

TEST_F(FailNth, SyncobjCreate) {
    sweep(on_timeline<drm_syncobj_create>(DRM_IOCTL_SYNCOBJ_CREATE, [](Timeline&) {
        return drm_syncobj_create{0, DRM_SYNCOBJ_CREATE_SIGNALED};
    }));
}

TEST_F(FailNth, SyncobjDestroy) {
    sweep(on_timeline<drm_syncobj_destroy>(DRM_IOCTL_SYNCOBJ_DESTROY,
                                           [](Timeline& timeline) {
                                               return drm_syncobj_destroy{timeline.handle, 0};
                                           },
                                           {.afterwards = {-EINVAL}}));
}

void give_out_syncobj(Attempt& attempt, uint32_t flags, const Answers& answers = {}) {
    Timeline timeline;
    drm_syncobj_handle args{};
    attempt(
        [&] {
            args = {};
            args.handle = timeline.handle;
            args.flags = flags;
            args.fd = -1;
            return timeline.node.call(DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, args);
        },
        answers);
    close(args.fd);
    expect_works(timeline);
}

TEST_F(FailNth, SyncobjToFile) {
    sweep([](Attempt& attempt) { give_out_syncobj(attempt, 0); });
}

// The DRM core says -EINVAL when there is no memory for the file.
TEST_F(FailNth, SyncobjToSyncFile) {
    sweep([](Attempt& attempt) {
        give_out_syncobj(attempt, DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE, {.refused = {-EINVAL}});
    });
}

void take_in_syncobj(Attempt& attempt, uint32_t out_flags, uint32_t in_flags) {
    Timeline timeline;
    drm_syncobj_handle out{};
    out.handle = timeline.handle;
    out.flags = out_flags;
    ASSERT_EQ(timeline.node.call(DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, out), 0);
    const uint32_t target = timeline.create();
    attempt([&] {
        drm_syncobj_handle in{};
        in.handle = in_flags ? target : 0;
        in.flags = in_flags;
        in.fd = out.fd;
        return timeline.node.call(DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, in);
    });
    close(out.fd);
    expect_works(timeline);
}

TEST_F(FailNth, SyncobjFromFile) {
    sweep([](Attempt& attempt) { take_in_syncobj(attempt, 0, 0); });
}

TEST_F(FailNth, SyncobjFromSyncFile) {
    sweep([](Attempt& attempt) {
        take_in_syncobj(attempt, DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
                        DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE);
    });
}

TEST_F(FailNth, SyncobjWait) {
    sweep(on_timeline<drm_syncobj_wait>(DRM_IOCTL_SYNCOBJ_WAIT, [](Timeline& timeline) {
        drm_syncobj_wait wait{};
        wait.handles = address(&timeline.handle);
        wait.count_handles = 1;
        wait.timeout_nsec = static_cast<int64_t>(in_ms(kPatienceMs));
        return wait;
    }));
}

TEST_F(FailNth, SyncobjTimelineWait) {
    sweep(on_timeline<drm_syncobj_timeline_wait>(DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, [](Timeline& timeline) {
        drm_syncobj_timeline_wait wait{};
        wait.handles = address(&timeline.handle);
        wait.points = address(&timeline.point);
        wait.count_handles = 1;
        wait.timeout_nsec = static_cast<int64_t>(in_ms(kPatienceMs));
        wait.flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT;
        return wait;
    }));
}

template <unsigned long request>
std::function<void(Attempt&)> on_array() {
    return on_timeline<drm_syncobj_array>(request, [](Timeline& timeline) {
        return drm_syncobj_array{address(&timeline.handle), 1, 0};
    });
}

TEST_F(FailNth, SyncobjReset) { sweep(on_array<DRM_IOCTL_SYNCOBJ_RESET>()); }

TEST_F(FailNth, SyncobjSignal) { sweep(on_array<DRM_IOCTL_SYNCOBJ_SIGNAL>()); }

TEST_F(FailNth, SyncobjTimelineSignal) {
    sweep(on_timeline<drm_syncobj_timeline_array>(DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, [](Timeline& timeline) {
        timeline.point++;
        return drm_syncobj_timeline_array{address(&timeline.handle), address(&timeline.point), 1, 0};
    }));
}

TEST_F(FailNth, SyncobjQuery) {
    sweep(on_timeline<drm_syncobj_timeline_array>(DRM_IOCTL_SYNCOBJ_QUERY, [](Timeline& timeline) {
        return drm_syncobj_timeline_array{address(&timeline.handle), address(&timeline.point), 1, 0};
    }));
}

TEST_F(FailNth, SyncobjTransfer) {
    sweep([](Attempt& attempt) {
        Timeline timeline;
        const uint32_t target = timeline.create();
        attempt([&] {
            drm_syncobj_transfer transfer{timeline.handle, target, 1, 1, 0, 0};
            return timeline.node.call(DRM_IOCTL_SYNCOBJ_TRANSFER, transfer);
        });
        expect_works(timeline);
    });
}

// As newer headers than those of Debian 12 have it.
struct SyncobjEventfd {
    uint32_t handle, flags;
    uint64_t point;
    int32_t fd;
    uint32_t pad;
};
constexpr unsigned long kSyncobjEventfd = DRM_IOWR(0xCF, SyncobjEventfd);

TEST_F(FailNth, SyncobjEventfd) {
    sweep([](Attempt& attempt) {
        Timeline timeline;
        const int event = eventfd(0, EFD_CLOEXEC);
        attempt([&] {
            SyncobjEventfd args{timeline.handle, 0, 1, event, 0};
            return timeline.node.call(kSyncobjEventfd, args);
        });
        pollfd fired{event, POLLIN, 0};
        EXPECT_EQ(poll(&fired, 1, static_cast<int>(kPatienceMs)), 1);
        close(event);
        expect_works(timeline);
    });
}

}  // namespace
}  // namespace sidra::test
