// SPDX-License-Identifier: MIT
// Device and context requests, opens and their isolation.
#include "device_select.h"
#include "fixture.h"
#include "sidra_chip.h"

namespace sidra::test {
namespace {

TEST(Device, QueryDescribesTheChip) {
    Client client;
    const auto info = client.device();
    const auto status = client.status();
    EXPECT_EQ(info.kind, SIDRA_DEVICE_MODEL | SIDRA_DEVICE_EMBEDDED);
    EXPECT_EQ(info.uapi_version >> 16, SIDRA_UAPI_VERSION_MAJOR);
    EXPECT_EQ(info.clusters, 1u);
    EXPECT_EQ(info.cus_per_cluster, 2u);
    EXPECT_EQ(info.xbars_per_cu, 4u);
    EXPECT_EQ(info.xbars_total, 8u);
    EXPECT_EQ(status.xbars_free, 8u);
    EXPECT_EQ(info.l3_size, 1u << 20);
    EXPECT_EQ(status.l3_free, info.l3_size);
    EXPECT_EQ(info.contexts_max, SIDRA_CONTEXTS_MAX);
    EXPECT_EQ(info.va_bits, SIDRA_VA_BITS);
    EXPECT_STREQ(client->kind(), "embedded");
    EXPECT_FALSE(client->engine().empty());
    sidra_telemetry telemetry{};
    EXPECT_EQ(client->telemetry(&telemetry), 0);
    EXPECT_EQ(telemetry.size, sizeof telemetry);
}

TEST(Device, UnknownRequestsAndFlagsAreRefused) {
    Client client;
    sidra_ioctl_device_query query{};
    query.flags = 1;
    query.size = 99;
    EXPECT_EQ(client.call(SIDRA_IOCTL_DEVICE_QUERY, query), -EINVAL);
    EXPECT_EQ(query.size, 0u) << "outputs are zeroed on failure";
    query = {SIDRA_QUERY_REFUSAL + 1, 0, 0, 0, 0};
    EXPECT_EQ(client.call(SIDRA_IOCTL_DEVICE_QUERY, query), -EINVAL);
    query = {SIDRA_QUERY_DEVICE, 0, 8, 8, 0};
    EXPECT_EQ(client.call(SIDRA_IOCTL_DEVICE_QUERY, query), -EFAULT);
    query = {SIDRA_QUERY_DEVICE, 0, 0, SIDRA_STRIDE_MAX + 1, 0};
    EXPECT_EQ(client.call(SIDRA_IOCTL_DEVICE_QUERY, query), -EINVAL);
    EXPECT_EQ(client.call(SIDRA_IOCTL(0x7f, sidra_ioctl_device_query), query), -ENOTTY);
    // The number alone is not the request: size and direction count.
    EXPECT_EQ(client.call(SIDRA_IOCTL(0x00, sidra_ioctl_device_reset), query), -ENOTTY);
    EXPECT_EQ(client->ioctl(SIDRA_IOCTL_DEVICE_QUERY, nullptr), -EFAULT);
    sidra_ioctl_device_reset reset{1};
    EXPECT_EQ(client.call(SIDRA_IOCTL_DEVICE_RESET, reset), -EINVAL);
    EXPECT_EQ(client.status().generation, 0u) << "a refused reset resets nothing";
    EXPECT_EQ(client.knob("no-such-knob", 1), -ENOENT);
    EXPECT_EQ(client.knob("stall", 2), -EINVAL);
}

TEST(Device, ClockRunsWithMonotonicTime) {
    Client client;
    const auto first = client.query<sidra_query_clock>(SIDRA_QUERY_CLOCK);
    sleep_ms(5);
    const auto second = client.query<sidra_query_clock>(SIDRA_QUERY_CLOCK);
    const auto device = static_cast<int64_t>(second.device_ns - first.device_ns);
    const auto host = static_cast<int64_t>(second.monotonic_ns - first.monotonic_ns);
    EXPECT_GE(host, 5'000'000);
    EXPECT_LE(std::abs(device - host), static_cast<int64_t>(first.error_ns + second.error_ns));
}

TEST(Context, LimitIsTheChips) {
    Client client;
    std::vector<uint32_t> contexts;
    for (uint32_t i = 0; i < SIDRA_CONTEXTS_MAX; i++) contexts.push_back(client.create_context());
    sidra_ioctl_context_create more{};
    more.vm = client.create_vm();
    EXPECT_EQ(client.call(SIDRA_IOCTL_CONTEXT_CREATE, more), -EMFILE);
    EXPECT_EQ(more.context, 0u);
    EXPECT_EQ(client.destroy_context(contexts[17]), 0);
    EXPECT_EQ(client.destroy_context(contexts[17]), -ENOENT);
    const uint32_t again = client.create_context();
    EXPECT_NE(again, contexts[17]) << "a stale handle does not name a new object";
    more.flags = 4;
    EXPECT_EQ(client.call(SIDRA_IOCTL_CONTEXT_CREATE, more), -EINVAL);
}

TEST(Context, BadHandlesAndFlags) {
    Client client;
    const uint32_t context = client.create_context();
    for (unsigned long request : {SIDRA_IOCTL_CONTEXT_DESTROY, SIDRA_IOCTL_CONTEXT_RECOVER}) {
        sidra_ioctl_context flagged{context, 1}, none{0, 0}, wrong{context + 1, 0};
        EXPECT_EQ(client.call(request, flagged), -EINVAL);
        EXPECT_EQ(client.call(request, none), -ENOENT);
        EXPECT_EQ(client.call(request, wrong), -ENOENT);
    }
    sidra_ioctl_context_query query{};
    EXPECT_EQ(client.call(SIDRA_IOCTL_CONTEXT_QUERY, query), -ENOENT);
    query.context = context;
    query.flags = 8;
    EXPECT_EQ(client.call(SIDRA_IOCTL_CONTEXT_QUERY, query), -EINVAL);
    EXPECT_EQ(client.query_context(context).state, SIDRA_CONTEXT_OK);
    EXPECT_EQ(client.recover(context), 0) << "nothing was lost";
    EXPECT_EQ(client.query_context(context).generation, 1u);
}

TEST(Opens, ShareAChipButNotHandles) {
    Client a(small_chip(false), 5), b(small_chip(false), 5);
    uint64_t doorbells;
    const uint32_t context = a.create_context(&doorbells);
    Queue queue(a, context, doorbells);
    Buffer buffer(a, context, 4096);

    EXPECT_EQ(b.destroy_context(context), -ENOENT);
    sidra_ioctl_queue name{context, queue.number, 0, 0};
    EXPECT_EQ(b.call(SIDRA_IOCTL_QUEUE_DESTROY, name), -ENOENT);
    EXPECT_EQ(b.close_buffer(buffer.handle), -ENOENT);
    uint64_t va;
    const uint32_t other = b.create_context();
    EXPECT_EQ(b.bind(other, buffer.handle, SIDRA_BIND_READ, &va), -ENOENT);
    EXPECT_EQ(b->map(buffer.offset, 4096, true), nullptr);
    EXPECT_EQ(b->map(queue.create.ring_offset, queue.create.ring_size, true), nullptr);
    EXPECT_EQ(b->map(queue.create.state_offset, SIDRA_PAGE_SIZE, false), nullptr);
    // (Its own context may have the same handle, so a doorbell offset may be valid for it; but it is of another slot.)
    EXPECT_NE(b->doorbell(doorbells, 0), a->doorbell(doorbells, 0));
    EXPECT_EQ(b->doorbell(doorbells + SIDRA_PAGE_SIZE * 16, 0), 0u);
    EXPECT_EQ(a->doorbell(doorbells, SIDRA_QUEUES_PER_CONTEXT_MAX), 0u);

    // Closing one handle releases its resources and does not affect the other.
    b.close();
    EXPECT_EQ(queue.run(nop()), 0) << a.detail;
}

TEST(Opens, OtherOptionsAreRefusedWhileOpen) {
    Client first(small_chip(false), 6);
    sidra_device_options y1 = small_chip(false);
    y1.profile = SIDRA_PROFILE_Y1;
    std::unique_ptr<Transport> transport;
    std::string detail;
    EXPECT_EQ(open_embedded(6, y1, &transport, &detail), -EBUSY);
    EXPECT_NE(detail.find("chip 6"), std::string::npos) << detail;
    first.close();
    EXPECT_EQ(open_embedded(6, y1, &transport, &detail), 0) << "without names a closed chip is switched off";
}

TEST(Opens, PrivateChipsAreApart) {
    Client a, b;
    Buffer buffer(a, a.create_context(), 4096, SIDRA_BUFFER_LOCAL);
    EXPECT_LT(a.status().l3_free, b.status().l3_free);
}

TEST(Opens, BadProfileSaysWhy) {
    sidra_device_options options = small_chip();
    const uint32_t unknown = 77;
    std::memcpy(&options.profile, &unknown, sizeof unknown);
    std::unique_ptr<Transport> transport;
    std::string detail;
    EXPECT_LT(open_embedded(0, options, &transport, &detail), 0);
    EXPECT_FALSE(detail.empty());
}

TEST(Opens, WorkersHaveOneLimit) {
    sidra_device_options options = small_chip(), whole;
    options.workers = SIDRA_CHIP_WORKERS_MAX;
    ChipEnvironment environment;
    ASSERT_EQ(complete_options("test", &options, &whole, &environment), SIDRA_OK);
    std::string why;
    std::unique_ptr<Transport> transport;
    EXPECT_EQ(open_embedded(0, whole, &transport, &why), 0) << why;
    options.workers++;
    EXPECT_EQ(complete_options("test", &options, &whole, &environment), SIDRA_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace sidra::test
