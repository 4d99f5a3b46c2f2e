// SPDX-License-Identifier: MIT
// Weights: objects, names, descriptors, and protection against other users' reads.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <set>

#include "../chip/failing_new.h"
#include "fixture.h"
#include "sidra_chip.h"

namespace sidra::test {
namespace {

constexpr uint32_t kAll = SIDRA_WEIGHTS_RIGHTS;

struct Weights {
    explicit Weights(const sidra_device_options& options = small_chip(), uint32_t index = 0) : client(options, index) {
        context = client.create_context(&doorbells);
        queue = std::make_unique<Queue>(client, context, doorbells);
        memory = std::make_unique<Buffer>(client, context, 1 << 20);
    }
    int create(uint32_t rows, uint32_t cols, uint32_t* number, uint32_t rights = kAll,
               uint32_t encoding = SIDRA_ENCODING_OFFSET) {
        sidra_ioctl_weights_create a{};
        a.context = context;
        a.encoding = encoding;
        a.rows = rows;
        a.cols = cols;
        a.rights = rights;
        const int error = client.call(SIDRA_IOCTL_WEIGHTS_CREATE, a);
        *number = a.index;
        last = a;
        return error;
    }
    int destroy(uint32_t number) {
        sidra_ioctl_weights a{context, number, 0, 0};
        return client.call(SIDRA_IOCTL_WEIGHTS_DESTROY, a);
    }
    int fill(uint32_t number, uint32_t rows, uint32_t cols, uint8_t seed) {
        for (size_t i = 0; i < size_t{rows} * cols; i++) memory->data[i] = static_cast<uint8_t>(i * 31 + seed);
        return queue->run(program(number, rows, cols, memory->va));
    }
    bool holds(uint32_t number, uint32_t rows, uint32_t cols, uint8_t seed) {
        const size_t size = size_t{rows} * cols;
        std::memset(memory->data + size, 0, size);
        if (queue->run(readback(number, rows, cols, memory->va + size)) != 0) return false;
        for (size_t i = 0; i < size; i++)
            if (memory->data[size + i] != static_cast<uint8_t>(i * 31 + seed)) return false;
        return true;
    }
    int publish(uint32_t number, const char* name, uint32_t mode = 0600, const std::string& data = "") {
        sidra_ioctl_weights_publish a{};
        a.context = context;
        a.index = number;
        a.name = reinterpret_cast<uintptr_t>(name);
        a.data = reinterpret_cast<uintptr_t>(data.data());
        a.data_size = data.size();
        a.mode = mode;
        return client.call(SIDRA_IOCTL_WEIGHTS_PUBLISH, a);
    }
    int open(const char* name, uint32_t rights, uint32_t* number, std::string* data = nullptr, size_t room = 0,
             uint32_t owner = SIDRA_OWNER_CALLER) {
        std::string buffer(room, '\0');
        sidra_ioctl_weights_open a{};
        a.context = context;
        a.rights = rights;
        a.name = reinterpret_cast<uintptr_t>(name);
        a.data = reinterpret_cast<uintptr_t>(buffer.data());
        a.data_size = room;
        a.owner = owner;
        const int error = client.call(SIDRA_IOCTL_WEIGHTS_OPEN, a);
        *number = a.index;
        opened = a;
        if (data) *data = buffer.substr(0, a.data_size);
        return error;
    }
    int unlink(const char* name, uint32_t flags = 0, uint32_t owner = SIDRA_OWNER_CALLER) {
        sidra_ioctl_weights_unlink a{reinterpret_cast<uintptr_t>(name), flags, owner};
        return client.call(SIDRA_IOCTL_WEIGHTS_UNLINK, a);
    }
    int share(uint32_t number, uint32_t rights, int* fd) {
        sidra_ioctl_weights_share a{};
        a.context = context;
        a.index = number;
        a.rights = rights;
        const int error = client.call(SIDRA_IOCTL_WEIGHTS_SHARE, a);
        *fd = a.fd;
        return error;
    }
    int import(int fd, uint32_t* number, uint32_t* rights = nullptr) {
        sidra_ioctl_weights_import a{};
        a.context = context;
        a.fd = fd;
        const int error = client.call(SIDRA_IOCTL_WEIGHTS_IMPORT, a);
        *number = a.index;
        if (rights) *rights = a.rights;
        return error;
    }
    sidra_ioctl_weights_query progress(uint32_t number) {
        sidra_ioctl_weights_query a{};
        a.context = context;
        a.index = number;
        EXPECT_EQ(client.call(SIDRA_IOCTL_WEIGHTS_QUERY, a), 0) << client.detail;
        return a;
    }
    uint32_t fault_of(const sidra_cmd& cmd) {
        EXPECT_EQ(queue->run(cmd), -EIO);
        const uint32_t cause = queue->fault();
        EXPECT_EQ(queue->reset(), 0);
        return cause;
    }

    Client client;
    uint64_t doorbells = 0;
    uint32_t context;
    std::unique_ptr<Queue> queue;
    std::unique_ptr<Buffer> memory;
    sidra_ioctl_weights_create last{};
    sidra_ioctl_weights_open opened{};
};

TEST(Weights, CreateProgramReadBack) {
    Weights w;
    uint32_t a;
    ASSERT_EQ(w.create(300, 130, &a, kAll, SIDRA_ENCODING_DIFFERENTIAL), 0) << w.client.detail;
    EXPECT_NE(a, 0u) << "0 is what a forgotten field holds";
    EXPECT_EQ(w.last.xbars, 4u);
    EXPECT_EQ(w.client.status().xbars_free, 4u);
    EXPECT_EQ(w.progress(a).programmed_rows, 0u);
    EXPECT_EQ(w.progress(a).total_rows, 2 * (256u + 44u));
    for (size_t i = 0; i < 300 * 130; i++) w.memory->data[i] = static_cast<uint8_t>(i % 255 - 127);
    ASSERT_EQ(w.queue->run(program(a, 300, 130, w.memory->va)), 0) << w.queue->fault();
    EXPECT_EQ(w.progress(a).programmed_rows, 600u);
    ASSERT_EQ(w.queue->run(readback(a, 300, 130, w.memory->va + 65536)), 0);
    EXPECT_EQ(std::memcmp(w.memory->data, w.memory->data + 65536, 300 * 130), 0);
    EXPECT_EQ(w.destroy(a), 0);
    EXPECT_EQ(w.client.status().xbars_free, 8u);
    EXPECT_EQ(w.fault_of(readback(a, 300, 130, w.memory->va)), SIDRA_FAULT_WEIGHTS);
}

TEST(Weights, CreateRefusesBadRequests) {
    Weights w;
    uint32_t number;
    EXPECT_EQ(w.create(0, 4, &number), -EINVAL);
    EXPECT_EQ(w.create(4, 0, &number), -EINVAL);
    EXPECT_EQ(w.create(4, 4, &number, 0), -EINVAL);
    EXPECT_EQ(w.create(4, 4, &number, 8), -EINVAL);
    EXPECT_EQ(w.create(4, 4, &number, kAll, 2), -EINVAL);
    EXPECT_EQ(w.create(~0u, ~0u, &number), -ENOSPC);
    EXPECT_EQ(w.create(256 * 9, 1, &number), -ENOSPC);
    uint32_t first;
    ASSERT_EQ(w.create(256 * 5, 1, &first), 0);
    EXPECT_EQ(w.create(256 * 4, 1, &number), -ENOSPC);
    EXPECT_NE(w.client.detail.find("4 crossbars, 3 of 8"), std::string::npos) << w.client.detail;
    sidra_ioctl_weights_create flagged{w.context, 1, 4, 4, kAll, 1, 0, 0, 0, 0, 0, 0};
    EXPECT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_CREATE, flagged), -EINVAL);
    flagged.flags = 0;
    flagged.context += 5;
    EXPECT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_CREATE, flagged), -ENOENT);
    EXPECT_EQ(w.client.status().xbars_free, 3u);
}

// The crossbars that an object has.
std::vector<uint32_t> crossbars_of(Weights& w, uint32_t number, uint32_t count) {
    std::vector<uint32_t> ids(count);
    sidra_ioctl_weights_query a{};
    a.context = w.context;
    a.index = number;
    a.xbar_ids = reinterpret_cast<uintptr_t>(ids.data());
    a.xbars = count;
    a.xbar_stride = sizeof ids[0];
    EXPECT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_QUERY, a), 0) << w.client.detail;
    return ids;
}

TEST(Weights, CreateTakesTheWantedCrossbars) {
    Weights w;
    const auto create = [&](std::vector<uint32_t> wanted, uint32_t rows, uint32_t cols) {
        sidra_ioctl_weights_create a{w.context, SIDRA_ENCODING_OFFSET, rows, cols, kAll, 0, 7, 0, 7,
                                     0,         sizeof wanted[0],      0};
        a.xbars = static_cast<uint32_t>(wanted.size());
        a.xbar_ids = reinterpret_cast<uintptr_t>(wanted.data());
        const int error = w.client.call(SIDRA_IOCTL_WEIGHTS_CREATE, a);
        w.last = a;
        return error;
    };
    ASSERT_EQ(create({6, 1, 3, 4}, 512, 512), 0) << w.client.detail;
    const uint32_t a = w.last.index;
    EXPECT_EQ(w.last.xbars, 4u);
    EXPECT_EQ(crossbars_of(w, a, 4), (std::vector<uint32_t>{6, 1, 3, 4})) << "tile by tile";
    EXPECT_EQ(w.fill(a, 512, 512, 5), 0);
    EXPECT_TRUE(w.holds(a, 512, 512, 5));

    const std::vector<std::pair<std::vector<uint32_t>, int>> refused = {
        {{0, 1}, -EBUSY},   {{1, 0}, -EBUSY}, {{0, 0}, -EBUSY},     {{0, 8}, -EBUSY},
        {{0, ~0u}, -EBUSY}, {{0}, -EINVAL},   {{0, 2, 5}, -EINVAL},
    };
    for (const auto& [wanted, error] : refused) {
        EXPECT_EQ(create(wanted, 512, 1), error) << wanted.back();
        EXPECT_EQ(w.last.index, 0u);
        EXPECT_EQ(w.last.xbars, 0u);
        EXPECT_EQ(w.last.uid, 0u);
        EXPECT_EQ(w.client.status().xbars_free, 4u);
    }
    EXPECT_EQ(create({0, 2, 5, 7, 1}, 1280, 1), -ENOSPC);
    sidra_ioctl_weights_create nowhere{w.context, SIDRA_ENCODING_OFFSET, 512, 1, kAll, 0, 0, 2, 0, 8, 4, 0};
    EXPECT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_CREATE, nowhere), -EFAULT);
    nowhere.rows = nowhere.cols = ~0u;
    EXPECT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_CREATE, nowhere), -EINVAL);
    // What was refused is free, and the driver's own choice goes around the others.
    ASSERT_EQ(create({7, 0}, 512, 1), 0) << w.client.detail;
    uint32_t rest;
    ASSERT_EQ(w.create(512, 1, &rest), 0);
    EXPECT_EQ(crossbars_of(w, rest, 2), (std::vector<uint32_t>{2, 5}));
    EXPECT_EQ(w.destroy(a), 0);
    EXPECT_EQ(create({4, 1, 3, 6}, 1024, 1), 0) << "those of a destroyed object are free: " << w.client.detail;
}

TEST(Weights, CreateTakesNoCrossbarsWhenItFails) {
    Weights w;
    const uint32_t free = w.client.status().xbars_free;
    uint64_t first = 0;
    for (; first < 200; first++) {
        sidra_ioctl_weights_create a{w.context, SIDRA_ENCODING_OFFSET, 600, 300, kAll, 0, 0, 0, 0, 0, 0, 0};
        int error;
        {
            FailingNew failing(first, 1, FailingNew::Of::kThisThread);
            error = w.client->ioctl(SIDRA_IOCTL_WEIGHTS_CREATE, &a);
        }
        if (error == 0) break;
        EXPECT_TRUE(error == -ENOMEM || error == -EIO) << error << " (the chip's own memory may be what ran out)";
        ASSERT_EQ(w.client.status().xbars_free, free) << first;
    }
    EXPECT_GT(first, 3u);
    EXPECT_LT(first, 200u);
    EXPECT_EQ(w.client.status().xbars_free, free - 6);
}

TEST(Weights, NameRefusals) {
    Weights w;
    uint32_t number;
    ASSERT_EQ(w.create(4, 4, &number), 0);
    sidra_ioctl_weights wrong{w.context, number + 1, 0, 0}, flagged{w.context, number, 1, 0},
        padded{w.context, number, 0, 1};
    EXPECT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_DESTROY, wrong), -ENOENT);
    EXPECT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_DESTROY, flagged), -EINVAL);
    EXPECT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_DESTROY, padded), -EINVAL);
    Client stranger;
    sidra_ioctl_weights foreign{stranger.create_context(), number, 0, 0};
    EXPECT_EQ(stranger.call(SIDRA_IOCTL_WEIGHTS_DESTROY, foreign), -ENOENT);

    sidra_ioctl_weights_query query{};
    query.context = w.context;
    query.index = number + 1;
    EXPECT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_QUERY, query), -ENOENT);
    query.index = number;
    query.flags = 1;
    EXPECT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_QUERY, query), -EINVAL);
    query.flags = 0;
    uint32_t id = ~0u;
    query.xbar_ids = reinterpret_cast<uintptr_t>(&id);
    query.xbars = 0;
    EXPECT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_QUERY, query), -EINVAL) << "an array has a stride";
    query.xbar_stride = sizeof id;
    EXPECT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_QUERY, query), -ENOSPC);
    EXPECT_EQ(query.xbars, 1u) << "says how much room it needs";
    EXPECT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_QUERY, query), 0);
    EXPECT_LT(id, 8u);
    query.xbar_ids = 16;
    EXPECT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_QUERY, query), -EFAULT);
}

TEST(Weights, ReportsOfItsTilesAndNoOthers) {
    Weights w;
    uint32_t number;
    ASSERT_EQ(w.create(300, 300, &number), 0);  // 2 x 2 tiles
    sidra_weights_tile report;
    const auto ask = [&](uint32_t index, uint32_t tile, Client* client = nullptr, uint32_t context = 0) {
        sidra_ioctl_weights_report a{client ? context : w.context,         index,         tile, 0,
                                     reinterpret_cast<uintptr_t>(&report), sizeof report, 0};
        return (client ? *client : w.client).call(SIDRA_IOCTL_WEIGHTS_REPORT, a);
    };
    sidra_weights_tile nothing{};
    for (uint32_t tile = 0; tile < 4; tile++) {
        ASSERT_EQ(ask(number, tile), 0);
        EXPECT_EQ(std::memcmp(&report, &nothing, sizeof report), 0) << "not programmed";
    }
    ASSERT_EQ(w.fill(number, 300, 300, 3), 0);
    for (uint32_t tile = 0; tile < 4; tile++) {
        ASSERT_EQ(ask(number, tile), 0);
        EXPECT_EQ(report.programs, 1u);
        EXPECT_EQ(report.programmed_rows, tile < 2 ? 256u : 44u);
        EXPECT_EQ(report.level, SIDRA_CELLS_EXACT);
        EXPECT_EQ(report.reads, 0u);
    }
    EXPECT_EQ(ask(number, 4), -EINVAL);
    EXPECT_EQ(ask(number, UINT32_MAX), -EINVAL);
    EXPECT_EQ(ask(number + 1, 0), -ENOENT);
    Client stranger;
    EXPECT_EQ(ask(number, 0, &stranger, stranger.create_context()), -ENOENT);
    sidra_ioctl_weights_report bad{w.context, number, 0, 1, reinterpret_cast<uintptr_t>(&report), sizeof report, 0};
    EXPECT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_REPORT, bad), -EINVAL);
    bad.flags = 0;
    bad.report = 16;
    bad.size = sizeof report;
    EXPECT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_REPORT, bad), -EFAULT);
    for (const auto& [lie, error] : {std::pair{SIDRA_LIE_XBAR_HEADERS, -EIO}, {SIDRA_LIE_SHORT_READ, 0}}) {
        ASSERT_EQ(w.client.knob("lie", lie), 0);
        report = nothing;
        EXPECT_EQ(ask(number, 0), error);
        EXPECT_EQ(report.programs, 0u) << "not what was there before";
    }

    // The handle's rights do not matter: every handle may query this.
    int fd;
    ASSERT_EQ(w.share(number, SIDRA_WEIGHTS_COMPUTE, &fd), 0);
    uint32_t shared;
    ASSERT_EQ(w.import(fd, &shared), 0);
    close(fd);
    EXPECT_EQ(ask(shared, 3), 0);
    EXPECT_EQ(report.programs, 1u);
}

TEST(Weights, RightsHoldOnTheChip) {
    Weights w;
    uint32_t mute;
    ASSERT_EQ(w.create(8, 8, &mute, SIDRA_WEIGHTS_PROGRAM), 0);
    ASSERT_EQ(w.fill(mute, 8, 8, 3), 0);
    EXPECT_EQ(w.fault_of(readback(mute, 8, 8, w.memory->va)), SIDRA_FAULT_WEIGHTS_RIGHTS);
    uint32_t fixed;
    ASSERT_EQ(w.create(8, 8, &fixed, SIDRA_WEIGHTS_COMPUTE), 0);
    EXPECT_EQ(w.fault_of(program(fixed, 8, 8, w.memory->va)), SIDRA_FAULT_WEIGHTS_RIGHTS);
}

TEST(Weights, AFormerTenantCannotBeRead) {
    Weights w;
    uint32_t secret;
    ASSERT_EQ(w.create(256, 256 * 8, &secret), 0);
    ASSERT_EQ(w.fill(secret, 256, 256 * 8, 99), 0);
    EXPECT_EQ(w.destroy(secret), 0);
    uint32_t next;
    ASSERT_EQ(w.create(256, 256 * 8, &next), 0);
    EXPECT_EQ(w.fault_of(readback(next, 256, 256, w.memory->va)), SIDRA_FAULT_UNPROGRAMMED);
    EXPECT_EQ(w.progress(next).programmed_rows, 0u);
}

TEST(Weights, DestroyStopsTheirUseFirst) {
    Weights w;
    for (int round = 0; round < 20; round++) {
        uint32_t number;
        ASSERT_EQ(w.create(256, 256, &number), 0);
        ASSERT_EQ(w.fill(number, 256, 256, 1), 0);
        for (int i = 0; i < 50; i++) w.queue->push(readback(number, 256, 256, w.memory->va));
        w.queue->kick();
        EXPECT_EQ(w.destroy(number), 0);
        if (w.queue->wait(w.queue->next) != 0) {
            EXPECT_EQ(w.queue->fault(), SIDRA_FAULT_WEIGHTS);
            EXPECT_EQ(w.queue->reset(), 0);
        }
    }
    EXPECT_EQ(w.client.status().xbars_free, 8u);
}

TEST(Names, PublishOpenUnlink) {
    Weights w;
    uint32_t number, again;
    ASSERT_EQ(w.create(20, 30, &number), 0);
    EXPECT_EQ(w.publish(number, "layer"), -ENODATA) << "not programmed";
    ASSERT_EQ(w.fill(number, 20, 30, 5), 0);
    ASSERT_EQ(w.publish(number, "layer", 0640, "scales"), 0) << w.client.detail;
    EXPECT_EQ(w.publish(number, "second"), -EEXIST) << "one name an object";
    EXPECT_EQ(w.destroy(number), 0);
    EXPECT_EQ(w.client.status().xbars_free, 7u) << "the name keeps it";

    std::string data;
    EXPECT_EQ(w.open("layer", kAll, &again), -ENOSPC);
    EXPECT_EQ(w.opened.data_size, 6u) << "the needed size";
    ASSERT_EQ(w.open("layer", kAll, &again, &data, 100), 0) << w.client.detail;
    EXPECT_EQ(data, "scales");
    EXPECT_EQ(w.opened.rows, 20u);
    EXPECT_EQ(w.opened.cols, 30u);
    EXPECT_EQ(w.opened.uid, w.last.uid);
    EXPECT_TRUE(w.holds(again, 20, 30, 5));

    EXPECT_EQ(w.unlink("layer", SIDRA_UNLINK_EVICT), -EBUSY);
    EXPECT_EQ(w.unlink("layer"), 0);
    EXPECT_EQ(w.unlink("layer"), -ENOENT);
    EXPECT_TRUE(w.holds(again, 20, 30, 5)) << "goes with its last handle";
    EXPECT_EQ(w.destroy(again), 0);
    EXPECT_EQ(w.client.status().xbars_free, 8u);
    EXPECT_EQ(w.open("layer", kAll, &again), -ENOENT);
}

TEST(Names, RefuseBadRequests) {
    Weights w;
    uint32_t number;
    ASSERT_EQ(w.create(4, 4, &number), 0);
    ASSERT_EQ(w.fill(number, 4, 4, 0), 0);
    const std::string longest(63, 'n'), too_long(64, 'n');
    EXPECT_EQ(w.publish(number, too_long.c_str()), -EINVAL);
    EXPECT_EQ(w.publish(number, ""), -EINVAL);
    EXPECT_EQ(w.publish(number, nullptr), -EFAULT);
    EXPECT_EQ(w.publish(number, "a", 01000), -EINVAL);
    EXPECT_EQ(w.publish(number + 1, "a"), -ENOENT);
    EXPECT_EQ(w.publish(number, "a", 0600, std::string((1 << 20) + 1, 'x')), -EINVAL);
    sidra_ioctl_weights_publish publish{};
    publish.context = w.context;
    publish.index = number;
    publish.name = reinterpret_cast<uintptr_t>("a");
    publish.data = 8;
    publish.data_size = 8;
    EXPECT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_PUBLISH, publish), -EFAULT);
    publish.data_size = 0;
    publish.flags = 1;
    EXPECT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_PUBLISH, publish), -EINVAL);
    EXPECT_EQ(w.publish(number, longest.c_str()), 0);
    EXPECT_EQ(w.unlink(longest.c_str(), 2), -EINVAL);
    EXPECT_EQ(w.unlink(nullptr), -EFAULT);
    uint32_t opened;
    EXPECT_EQ(w.open(longest.c_str(), 0, &opened), -EINVAL);
    EXPECT_EQ(w.open("unknown", kAll, &opened), -ENOENT);
    // A name that ends just before unreadable memory.
    auto* pages = static_cast<char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_EQ(mprotect(pages + 4096, 4096, PROT_NONE), 0);
    std::strcpy(pages + 4094, "z");
    EXPECT_EQ(w.open(pages + 4094, kAll, &opened), -ENOENT);
    pages[4095] = 'z';
    EXPECT_EQ(w.open(pages + 4094, kAll, &opened), -EFAULT);
    munmap(pages, 8192);
    uint32_t reader;
    ASSERT_EQ(w.open(longest.c_str(), SIDRA_WEIGHTS_COMPUTE, &reader), 0);
    EXPECT_EQ(w.publish(reader, "mine"), -EACCES);
}

TEST(Names, ListAndEvict) {
    Weights w;
    std::set<std::string> expected;
    for (const char* name : {"one", "two", "three"}) {
        uint32_t number;
        ASSERT_EQ(w.create(4, 4, &number), 0);
        ASSERT_EQ(w.fill(number, 4, 4, 0), 0);
        ASSERT_EQ(w.publish(number, name), 0);
        ASSERT_EQ(w.destroy(number), 0);
        expected.insert(name);
    }
    std::set<std::string> listed;
    std::vector<sidra_weights_entry> entries(2);
    sidra_ioctl_weights_list list{reinterpret_cast<uintptr_t>(entries.data()), 2, sizeof entries[0], 0, 0};
    for (; w.client.call(SIDRA_IOCTL_WEIGHTS_LIST, list) == 0 && list.count != 0; list.count = 2)
        for (uint32_t i = 0; i < list.count; i++) {
            EXPECT_TRUE(listed.insert(entries[i].name).second);
            EXPECT_EQ(entries[i].owner, geteuid());
            EXPECT_EQ(entries[i].rights, kAll);
            EXPECT_EQ(entries[i].rows, 4u);
        }
    EXPECT_EQ(listed, expected);
    list = {reinterpret_cast<uintptr_t>(entries.data()), 2, sizeof entries[0], 0, 1};
    EXPECT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_LIST, list), -EINVAL);
    list = {reinterpret_cast<uintptr_t>(entries.data()), 0, sizeof entries[0], 0, 0};
    EXPECT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_LIST, list), -EINVAL);
    list = {reinterpret_cast<uintptr_t>(entries.data()), 2, sizeof entries[0] - 8, 0, 0};
    EXPECT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_LIST, list), -EINVAL);
    list = {16, 1, sizeof entries[0], 0, 0};
    EXPECT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_LIST, list), -EFAULT);
    EXPECT_EQ(w.unlink("two", SIDRA_UNLINK_EVICT), 0);
    EXPECT_EQ(w.client.status().xbars_free, 6u);
}

TEST(Names, SurviveTheLastClose) {
    {
        Weights w(small_chip(false), 8);
        uint32_t number, anonymous;
        ASSERT_EQ(w.create(300, 20, &number), 0);
        ASSERT_EQ(w.fill(number, 300, 20, 9), 0);
        ASSERT_EQ(w.publish(number, "kept", 0600, "data"), 0);
        ASSERT_EQ(w.create(4, 4, &anonymous), 0);
        ASSERT_EQ(w.fill(anonymous, 4, 4, 0), 0);
    }
    sidra_device_options other = small_chip(false);
    other.workers = 2;
    std::unique_ptr<Transport> transport;
    std::string detail;
    EXPECT_EQ(open_embedded(8, other, &transport, &detail), -EBUSY) << "the chip with the names stays powered";
    {
        Weights w(small_chip(false), 8);
        EXPECT_EQ(w.client.status().xbars_free, 6u) << "the anonymous object died with its handle";
        uint32_t number;
        std::string data;
        ASSERT_EQ(w.open("kept", kAll, &number, &data, 10), 0) << w.client.detail;
        EXPECT_EQ(data, "data");
        EXPECT_TRUE(w.holds(number, 300, 20, 9));
        uint32_t fresh;
        ASSERT_EQ(w.create(4, 4, &fresh), 0);
        EXPECT_GT(w.last.uid, w.opened.uid) << "identities are never used again";
        EXPECT_EQ(w.unlink("kept"), 0);
    }
    EXPECT_EQ(open_embedded(8, other, &transport, &detail), 0) << "without names it is switched off";
}

TEST(Descriptors, PassOnRightsAndKeepTheObject) {
    Weights a(small_chip(false), 9), b(small_chip(false), 9);
    uint32_t number, theirs, rights;
    int fd;
    ASSERT_EQ(a.create(16, 16, &number), 0);
    ASSERT_EQ(a.fill(number, 16, 16, 2), 0);
    ASSERT_EQ(a.share(number, SIDRA_WEIGHTS_COMPUTE | SIDRA_WEIGHTS_READBACK, &fd), 0) << a.client.detail;
    EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    EXPECT_EQ(a.destroy(number), 0);
    EXPECT_EQ(a.client.status().xbars_free, 7u) << "the descriptor keeps it";
    ASSERT_EQ(b.import(fd, &theirs, &rights), 0) << b.client.detail;
    EXPECT_EQ(rights, SIDRA_WEIGHTS_COMPUTE | SIDRA_WEIGHTS_READBACK);
    for (size_t i = 0; i < 256; i++) b.memory->data[i] = static_cast<uint8_t>(i * 31 + 2);
    EXPECT_TRUE(b.holds(theirs, 16, 16, 2));
    EXPECT_EQ(b.fault_of(program(theirs, 16, 16, b.memory->va)), SIDRA_FAULT_WEIGHTS_RIGHTS);
    int more;
    EXPECT_EQ(b.share(theirs, kAll, &more), -EACCES) << "rights only shrink";
    EXPECT_EQ(more, -1);
    close(fd);
    EXPECT_EQ(a.client.status().xbars_free, 7u) << "b has a handle";
    EXPECT_EQ(b.destroy(theirs), 0);
    EXPECT_EQ(a.client.status().xbars_free, 8u);
}

TEST(Descriptors, ClosingTheLastCopyFrees) {
    Weights w;
    uint32_t number;
    int fd;
    ASSERT_EQ(w.create(16, 16, &number), 0);
    ASSERT_EQ(w.share(number, SIDRA_WEIGHTS_COMPUTE, &fd), 0);
    ASSERT_EQ(w.destroy(number), 0);
    const int copy = dup(fd);
    close(fd);
    EXPECT_EQ(w.client.status().xbars_free, 7u);
    close(copy);
    EXPECT_EQ(w.client.status().xbars_free, 8u);
}

TEST(Descriptors, KeepData) {
    Weights w;
    uint32_t number;
    ASSERT_EQ(w.create(16, 16, &number), 0);
    const std::string scales = "per-column scales";
    sidra_ioctl_weights_share share{};
    share.context = w.context;
    share.index = number;
    share.rights = SIDRA_WEIGHTS_COMPUTE;
    share.data = reinterpret_cast<uintptr_t>(scales.data());
    share.data_size = (1 << 20) + 1;
    EXPECT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_SHARE, share), -EINVAL);
    share.data_size = scales.size();
    ASSERT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_SHARE, share), 0) << w.client.detail;
    std::string got(100, '\0');
    sidra_ioctl_weights_import import{};
    import.context = w.context;
    import.fd = share.fd;
    import.data = reinterpret_cast<uintptr_t>(got.data());
    import.data_size = 3;
    EXPECT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_IMPORT, import), -ENOSPC);
    EXPECT_EQ(import.data_size, scales.size()) << "the needed size";
    EXPECT_EQ(import.index, 0u);
    import.data_size = got.size();
    ASSERT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_IMPORT, import), 0) << w.client.detail;
    EXPECT_EQ(got.substr(0, import.data_size), scales);
    close(share.fd);
    share.data = 8;
    EXPECT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_SHARE, share), -EFAULT);
    EXPECT_EQ(share.fd, -1);
}

TEST(Descriptors, RefuseBadRequests) {
    Weights w, other;
    uint32_t number, got;
    int fd, bad;
    ASSERT_EQ(w.create(16, 16, &number), 0);
    EXPECT_EQ(w.share(number, 0, &bad), -EINVAL);
    EXPECT_EQ(w.share(number, 16, &bad), -EINVAL);
    EXPECT_EQ(w.share(number + 1, 1, &bad), -ENOENT);
    ASSERT_EQ(w.share(number, 1, &fd), 0);
    EXPECT_EQ(w.import(-1, &got), -EBADF);
    EXPECT_EQ(w.import(99'999, &got), -EBADF);
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    EXPECT_EQ(w.import(ends[0], &got), -ENOENT) << "some pipe";
    const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(w.import(file, &got), -ENOENT);
    EXPECT_EQ(other.import(fd, &got), -ENOENT) << "another chip";
    sidra_ioctl_weights_import flagged{};
    flagged.context = w.context;
    flagged.fd = fd;
    flagged.flags = 1;
    EXPECT_EQ(w.client.call(SIDRA_IOCTL_WEIGHTS_IMPORT, flagged), -EINVAL);
    for (int each : {ends[0], ends[1], file, fd}) close(each);
}

}  // namespace
}  // namespace sidra::test
