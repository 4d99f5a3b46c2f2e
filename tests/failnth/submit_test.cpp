// SPDX-License-Identifier: MIT
// SUBMIT with each combination of packets and fences, signalled and not.
#include <libdrm/drm.h>
#include <linux/sync_file.h>

#include <memory>

#include "sweep.h"

namespace sidra::test {
namespace {

struct Flavour {
    const char* name;
    uint32_t packets;
    uint32_t in_points, out_points;
    bool in_file, out_file;
    bool pending;  // the fences waited for have not signalled when SUBMIT is called
};

void PrintTo(const Flavour& flavour, std::ostream* to) { *to << flavour.name; }

const Flavour kFlavours[] = {
    {"Plain", 1, 0, 0, false, false, false},
    {"ManyPackets", 40, 0, 0, false, false, false},
    {"InPoint", 1, 1, 0, false, false, false},
    {"OutPoint", 1, 0, 1, false, false, false},
    {"InFile", 1, 0, 0, true, false, false},
    {"OutFile", 1, 0, 0, false, true, false},
    {"InPointAndOutFile", 1, 1, 0, false, true, false},
    {"InFileAndOutPoint", 1, 0, 1, true, false, false},
    {"ManyPoints", 40, 5, 5, true, true, false},
    {"ManyPointsPending", 30, 5, 5, true, true, true},  // if its answer is lost, the ring has them twice
};

uint32_t create_syncobj(const Node& node) {
    drm_syncobj_create a{};
    EXPECT_EQ(node.call(DRM_IOCTL_SYNCOBJ_CREATE, a), 0);
    return a.handle;
}

// The chip executes nothing while it lives.
class Stall {
   public:
    Stall() { EXPECT_TRUE(knob("stall", 1)); }
    ~Stall() { EXPECT_TRUE(knob("stall", 0)); }
    Stall(const Stall&) = delete;
    Stall& operator=(const Stall&) = delete;
};

class FailNthSubmit : public FailNth, public testing::WithParamInterface<Flavour> {};

TEST_P(FailNthSubmit, Flavour) {
    const Flavour& flavour = GetParam();
    const Parameter timeout("job_timeout_ms", "3600000");  // a job that waits is not late, however slow the machine
    ASSERT_TRUE(timeout.good);
    sweep([&](Attempt& attempt) {
        Bench bench;
        const Node& node = bench.node;
        Queue before(bench.context, SIDRA_QUEUE_KERNEL);
        // What it waits for is a job of another queue: as points of a timeline, and as a file.
        const uint32_t in = create_syncobj(node), timeline = create_syncobj(node), binary = create_syncobj(node);
        std::unique_ptr<Stall> stall;
        if (flavour.pending) stall = std::make_unique<Stall>();
        std::vector<sidra_syncobj_point> in_points, out_points;
        const std::vector<sidra_cmd> one = {nop()};
        sidra_ioctl_submit first = before.request(one);
        for (uint32_t i = 1; i <= flavour.in_points; i++) in_points.push_back({in, 0, i});
        first.out_points = reinterpret_cast<uintptr_t>(in_points.data());
        first.out_count = flavour.in_points;
        first.flags = flavour.in_file ? SIDRA_SUBMIT_OUT_FENCE : 0;
        ASSERT_EQ(node.call(SIDRA_IOCTL_SUBMIT, first), 0);
        if (!flavour.in_points) first.out_points = 0;
        if (!flavour.pending) ASSERT_EQ(before.wait(first.value), 0);
        for (uint32_t i = 1; i <= flavour.out_points; i++)
            out_points.push_back(i == 2 ? sidra_syncobj_point{binary, 0, 0} : sidra_syncobj_point{timeline, 0, i});

        const std::vector<sidra_cmd> packets(flavour.packets, nop());
        sidra_ioctl_submit args{};
        attempt([&] {
            args = bench.kernel.request(packets);
            args.in_points = flavour.in_points ? reinterpret_cast<uintptr_t>(in_points.data()) : 0;
            args.in_count = flavour.in_points;
            args.out_points = flavour.out_points ? reinterpret_cast<uintptr_t>(out_points.data()) : 0;
            args.out_count = flavour.out_points;
            if (flavour.in_file) args.in_fence_fd = first.out_fence_fd;
            if (flavour.out_file) args.flags = SIDRA_SUBMIT_OUT_FENCE;
            return node.call(SIDRA_IOCTL_SUBMIT, args);
        });
        // All of the packets are in the queue, or none: a call whose answer was lost has left them there.
        EXPECT_TRUE(args.value == flavour.packets || (attempt.first == -EFAULT && args.value == 2 * flavour.packets))
            << args.value;
        stall.reset();
        EXPECT_EQ(bench.kernel.wait(args.value), 0);
        if (flavour.out_file) {
            pollfd signalled{args.out_fence_fd, POLLIN, 0};
            EXPECT_EQ(poll(&signalled, 1, static_cast<int>(kPatienceMs)), 1);
            sync_file_info info{};
            EXPECT_EQ(ioctl(args.out_fence_fd, SYNC_IOC_FILE_INFO, &info), 0);
            EXPECT_EQ(info.status, 1);
            close(args.out_fence_fd);
        }
        for (const sidra_syncobj_point& point : out_points) {
            drm_syncobj_timeline_wait wait{};
            wait.handles = reinterpret_cast<uintptr_t>(&point.handle);
            wait.points = reinterpret_cast<uintptr_t>(&point.point);
            wait.timeout_nsec = static_cast<int64_t>(in_ms(kPatienceMs));
            wait.count_handles = 1;
            EXPECT_EQ(node.call(DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, wait), 0) << point.point;
        }
        if (flavour.in_file) close(first.out_fence_fd);
        expect_works(bench);
    });
}

INSTANTIATE_TEST_SUITE_P(All, FailNthSubmit, testing::ValuesIn(kFlavours),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace sidra::test
