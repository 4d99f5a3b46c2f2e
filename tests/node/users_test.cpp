// SPDX-License-Identifier: MIT
// Several users of one card: each has names of its own, sees only what it may use, and has limits.
#include <grp.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <map>
#include <memory>

#include "trace.h"
#include "users.h"

namespace sidra::test {
namespace {

constexpr uid_t kAlice = 64'001, kBob = 64'002;
constexpr char kName[] = "users-test";

// Anybody may open the node while it lives.
class Users : public NodeTest {
   protected:
    void SetUp() override {
        NodeTest::SetUp();
        ASSERT_EQ(geteuid(), 0u) << "only root can become somebody else";
        ASSERT_EQ(stat(node_path().c_str(), &before_), 0);
        ASSERT_EQ(chmod(node_path().c_str(), 0666), 0);
    }
    void TearDown() override { chmod(node_path().c_str(), before_.st_mode & 07777); }

    // Runs `body` in a child as that user; what it expects is expected here, too.
    template <class Body>
    static void as(uid_t user, Body body) {
        const pid_t child = fork();
        if (child == 0) {
            if (setgroups(0, nullptr) != 0 || setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0)
                _exit(2);
            body();
            _exit(HasFailure() ? 1 : 0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0) << "as user " << user;
    }

   private:
    struct stat before_ {};
};

int open_named(const Node& node, const Context& context, uint32_t owner, uint32_t rights) {
    sidra_ioctl_weights_open a{};
    a.context = context.handle;
    a.rights = rights;
    a.name = reinterpret_cast<uintptr_t>(kName);
    a.owner = owner;
    return node.call(SIDRA_IOCTL_WEIGHTS_OPEN, a);
}

int unlink_named(const Node& node, uint32_t owner) {
    sidra_ioctl_weights_unlink a{reinterpret_cast<uintptr_t>(kName), 0, owner};
    return node.call(SIDRA_IOCTL_WEIGHTS_UNLINK, a);
}

// Rights by owner, of the objects of this name that the caller sees.
std::map<uint32_t, uint32_t> listed(const Node& node) {
    std::map<uint32_t, uint32_t> seen;
    std::vector<sidra_weights_entry> entries(3);
    sidra_ioctl_weights_list list{reinterpret_cast<uintptr_t>(entries.data()), 3, sizeof entries[0], 0, 0};
    for (; node.call(SIDRA_IOCTL_WEIGHTS_LIST, list) == 0 && list.count != 0; list.count = 3)
        for (uint32_t i = 0; i < list.count; i++)
            if (std::string(entries[i].name) == kName) seen[entries[i].owner] = entries[i].rights;
    return seen;
}

using Rights = std::map<uint32_t, uint32_t>;

TEST_F(Users, DataThatDoesNotFitIsNotCut) {
    const Node node;
    const Context context(node);
    const Programmed weights(node);
    sidra_ioctl_weights_publish publish{};
    publish.context = weights.context.handle;
    publish.index = weights.index;
    publish.name = reinterpret_cast<uintptr_t>(kName);
    publish.data = reinterpret_cast<uintptr_t>("sixteen bytes...");
    publish.data_size = 16;
    publish.mode = 0600;
    ASSERT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_PUBLISH, publish), 0);
    char data[17] = {};
    sidra_ioctl_weights_open open{};
    open.context = context.handle;
    open.rights = SIDRA_WEIGHTS_COMPUTE;
    open.name = publish.name;
    open.owner = SIDRA_OWNER_CALLER;
    open.data = reinterpret_cast<uintptr_t>(data);
    open.data_size = 15;
    EXPECT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_OPEN, open), -ENOSPC);
    EXPECT_EQ(open.data_size, 16u);
    EXPECT_STREQ(data, "");
    EXPECT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_OPEN, open), 0) << "with the size that it said";
    EXPECT_STREQ(data, "sixteen bytes...");
    EXPECT_EQ(unlink_named(node, SIDRA_OWNER_CALLER), 0);
}

// In a user namespace without a mapping, no number is a user.
TEST_F(Users, OwnersAreThoseOfTheNamespace) {
    const Node node;
    const Context context(node);
    as(kAlice, [&] {
        ASSERT_EQ(unshare(CLONE_NEWUSER), 0);
        EXPECT_EQ(open_named(node, context, kBob, SIDRA_WEIGHTS_COMPUTE), -EINVAL);
        EXPECT_EQ(unlink_named(node, kBob), -EINVAL);
    });
}

TEST_F(Users, LostContextsPublishAndArmNothing) {
    const Node node;
    const Programmed weights(node);
    sidra_ioctl_weights_share share{weights.context.handle, weights.index, SIDRA_WEIGHTS_COMPUTE, 0, 0, 0, 0};
    ASSERT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_SHARE, share), 0);
    Queue queue(weights.context, SIDRA_QUEUE_USER);
    const int event = eventfd(0, EFD_CLOEXEC);
    sidra_ioctl_device_reset reset{};
    ASSERT_EQ(node.call(SIDRA_IOCTL_DEVICE_RESET, reset), 0);
    EXPECT_EQ(weights.publish(kName, 0600), -ESTALE);
    EXPECT_EQ(open_named(node, weights.context, SIDRA_OWNER_CALLER, SIDRA_WEIGHTS_COMPUTE), -ESTALE);
    sidra_ioctl_weights_import import{};
    import.context = weights.context.handle;
    import.fd = share.fd;
    EXPECT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_IMPORT, import), -ESTALE);
    close(share.fd);
    sidra_ioctl_arm arm{weights.context.handle, queue.create.queue, 1, event, 0, queue.epoch(), 0};
    EXPECT_EQ(node.call(SIDRA_IOCTL_ARM, arm), -ESTALE);
    close(event);
}

TEST_F(Users, HaveNamesOfTheirOwn) {
    as(kAlice, [] {
        Node node;
        Programmed weights(node);
        EXPECT_EQ(weights.publish(kName, 0600), 0);
        Programmed more(node);
        EXPECT_EQ(more.publish(kName, 0600), -EEXIST) << "her own";
    });
    as(kBob, [] {
        Node node;
        const Context context(node);
        EXPECT_EQ(listed(node), Rights{}) << "what he may not use, he does not see";
        EXPECT_EQ(open_named(node, context, kAlice, SIDRA_WEIGHTS_COMPUTE), -ENOENT);
        EXPECT_EQ(open_named(node, context, SIDRA_OWNER_CALLER, SIDRA_WEIGHTS_COMPUTE), -ENOENT);
        EXPECT_EQ(unlink_named(node, kAlice), -ENOENT);
        Programmed weights(node);
        EXPECT_EQ(weights.publish(kName, 0604), 0) << "hers does not stand in his way";
    });
    as(kAlice, [] {
        Node node;
        const Context context(node);
        EXPECT_EQ(listed(node), (Rights{{kAlice, SIDRA_WEIGHTS_RIGHTS}, {kBob, SIDRA_WEIGHTS_COMPUTE}}));
        EXPECT_EQ(open_named(node, context, kBob, SIDRA_WEIGHTS_COMPUTE), 0);
        EXPECT_EQ(open_named(node, context, kBob, SIDRA_WEIGHTS_COMPUTE | SIDRA_WEIGHTS_PROGRAM), -EACCES);
        EXPECT_EQ(open_named(node, context, SIDRA_OWNER_CALLER, SIDRA_WEIGHTS_RIGHTS), 0);
        EXPECT_EQ(open_named(node, context, kAlice, SIDRA_WEIGHTS_RIGHTS), 0);
        EXPECT_EQ(unlink_named(node, kBob), -EACCES);
        EXPECT_EQ(unlink_named(node, SIDRA_OWNER_CALLER), 0);
        EXPECT_EQ(unlink_named(node, SIDRA_OWNER_CALLER), -ENOENT);
    });
    // Root sees all of them, and may remove them.
    Node node;
    EXPECT_EQ(listed(node), (Rights{{kBob, SIDRA_WEIGHTS_RIGHTS}}));
    EXPECT_EQ(unlink_named(node, kBob), 0);
    EXPECT_EQ(unlink_named(node, kBob), -ENOENT);
}

sidra_query_limits limits_of(const Node& node) { return query_device<sidra_query_limits>(node, SIDRA_QUERY_LIMITS); }

int try_context(const Node& node, uint32_t vm, uint32_t* handle) {
    sidra_ioctl_context_create create{};
    create.vm = vm;
    const int error = node.call(SIDRA_IOCTL_CONTEXT_CREATE, create);
    *handle = create.context;
    return error;
}
int try_queue(const Node& node, uint32_t context) {
    sidra_ioctl_queue_create create{};
    create.context = context;
    create.ring_log2 = 6;
    return node.call(SIDRA_IOCTL_QUEUE_CREATE, create);
}
int try_weights(const Node& node, uint32_t context, uint32_t rows, uint32_t* index) {
    sidra_ioctl_weights_create create{};
    create.context = context;
    create.encoding = SIDRA_ENCODING_OFFSET;
    create.rows = rows;
    create.cols = 1;
    create.rights = SIDRA_WEIGHTS_RIGHTS;
    const int error = node.call(SIDRA_IOCTL_WEIGHTS_CREATE, create);
    *index = create.index;
    return error;
}
int try_local(const Node& node, uint64_t bytes, uint32_t* handle) {
    sidra_ioctl_buffer_create create{bytes, SIDRA_BUFFER_LOCAL, 0, 0};
    const int error = node.call(SIDRA_IOCTL_BUFFER_CREATE, create);
    *handle = create.handle;
    return error;
}

TEST_F(Users, NamesBelongToWhoGivesThem) {
    const Node node;
    const Programmed weights(node);
    as(kAlice, [&] {
        EXPECT_EQ(weights.publish(kName, 0600), 0);
        EXPECT_EQ(open_named(node, weights.context, SIDRA_OWNER_CALLER, SIDRA_WEIGHTS_COMPUTE), 0);
    });
    EXPECT_EQ(unlink_named(node, SIDRA_OWNER_CALLER), -ENOENT) << "root opened the file, but has no such name";
    as(kAlice, [&] {
        EXPECT_EQ(limits_of(Node()).names, 1u);
        EXPECT_EQ(unlink_named(node, SIDRA_OWNER_CALLER), 0);
        EXPECT_EQ(limits_of(Node()).names, 0u);
    });
}

TEST_F(Users, HaveLimitsForAllOfTheirFilesTogether) {
    const Limit contexts("contexts", 2), queues("queues", 3), names("names", 1), crossbars("crossbars", 2),
        l3("l3", 8192);
    ASSERT_TRUE(contexts.good && queues.good && names.good && crossbars.good && l3.good);
    as(kAlice, [] {
        Node one, two;
        const uint32_t vms[] = {create_vm(one), create_vm(two)};
        uint32_t first, second, third;
        ASSERT_EQ(try_context(one, vms[0], &first), 0);
        ASSERT_EQ(try_context(two, vms[1], &second), 0);
        EXPECT_EQ(try_context(two, vms[1], &third), -EDQUOT);
        for (int i = 0; i < 2; i++) EXPECT_EQ(try_queue(one, first), 0);
        EXPECT_EQ(try_queue(two, second), 0);
        EXPECT_EQ(try_queue(one, first), -EDQUOT);
        uint32_t index, other;
        EXPECT_EQ(try_weights(one, first, 3 * SIDRA_XBAR_ROWS, &index), -EDQUOT);
        EXPECT_EQ(try_weights(one, first, 2 * SIDRA_XBAR_ROWS, &index), 0);
        EXPECT_EQ(try_weights(two, second, 1, &other), -EDQUOT);
        uint32_t local, more;
        EXPECT_EQ(try_local(one, 8192, &local), 0);
        EXPECT_EQ(try_local(two, 4096, &more), -EDQUOT);
        const sidra_query_limits held = limits_of(one);
        EXPECT_EQ(held.contexts, 2u);
        EXPECT_EQ(held.contexts_max, 2u);
        EXPECT_EQ(held.queues, 3u);
        EXPECT_EQ(held.queues_max, 3u);
        EXPECT_EQ(held.xbars, 2u);
        EXPECT_EQ(held.xbars_max, 2u);
        EXPECT_EQ(held.l3, 8192u);
        EXPECT_EQ(held.l3_max, 8192u);
        // What she gives back, she may have again.
        sidra_ioctl_weights destroy{first, index, 0, 0};
        EXPECT_EQ(one.call(SIDRA_IOCTL_WEIGHTS_DESTROY, destroy), 0);
        EXPECT_EQ(try_weights(two, second, 1, &other), 0);
        sidra_ioctl_buffer_close close{local, 0};
        EXPECT_EQ(one.call(SIDRA_IOCTL_BUFFER_CLOSE, close), 0);
        EXPECT_EQ(try_local(two, 4096, &more), 0);
        one.close();
        EXPECT_EQ(limits_of(two).contexts, 1u);
        EXPECT_EQ(limits_of(two).queues, 1u);
        EXPECT_EQ(try_context(two, vms[1], &third), 0);
    });
    as(kBob, [] {
        Node node;
        const uint32_t vm = create_vm(node);
        uint32_t context;
        EXPECT_EQ(try_context(node, vm, &context), 0) << "her limits are not his";
        const sidra_query_limits held = limits_of(node);
        EXPECT_EQ(held.contexts, 1u);
        EXPECT_EQ(held.queues + held.xbars + held.names + held.l3, 0u);
    });
    Node node;
    const uint32_t vm = create_vm(node);
    for (int i = 0; i < 4; i++) {
        uint32_t context;
        EXPECT_EQ(try_context(node, vm, &context), 0) << "CAP_SYS_RESOURCE has none";
    }
}

TEST_F(Users, RootOfANamespaceIsWhoMadeIt) {
    const Limit limit("contexts", 2);
    ASSERT_TRUE(limit.good);
    as(kAlice, [] {
        const Node outside;
        const Context one(outside);
        ASSERT_EQ(prctl(PR_SET_DUMPABLE, 1), 0) << "or its files in /proc belong to root";
        ASSERT_EQ(unshare(CLONE_NEWUSER), 0);
        ASSERT_TRUE(write_text("/proc/self/uid_map", "0 " + std::to_string(kAlice) + " 1"));
        ASSERT_EQ(geteuid(), 0u);
        const Node inside;
        const Context two(inside);
        sidra_ioctl_context_create third{};
        third.vm = two.vm;
        EXPECT_EQ(inside.call(SIDRA_IOCTL_CONTEXT_CREATE, third), -EDQUOT);
        sidra_ioctl_device_reset reset{};
        EXPECT_EQ(inside.call(SIDRA_IOCTL_DEVICE_RESET, reset), -EPERM);
    });
}

TEST_F(Users, NamesCountUntilTheyAreUnlinked) {
    const Limit names("names", 1);
    ASSERT_TRUE(names.good);
    as(kAlice, [] {
        Node node;
        Programmed first(node), second(node);
        EXPECT_EQ(first.publish(kName, 0600), 0);
        EXPECT_EQ(second.publish("users-test-2", 0600), -EDQUOT);
    });
    as(kAlice, [] {
        Node node;
        EXPECT_EQ(limits_of(node).names, 1u) << "it outlives her files";
        EXPECT_EQ(limits_of(node).xbars, 1u);
        EXPECT_EQ(unlink_named(node, SIDRA_OWNER_CALLER), 0);
        EXPECT_EQ(limits_of(node).names, 0u);
        EXPECT_EQ(limits_of(node).xbars, 0u);
        Programmed again(node);
        EXPECT_EQ(again.publish(kName, 0600), 0);
        EXPECT_EQ(unlink_named(node, SIDRA_OWNER_CALLER), 0);
    });
}

// Data takes whole blocks of 64 bytes.
TEST_F(Users, DataOfNamesHasALimit) {
    constexpr char kOther[] = "users-test-2";
    auto most = std::make_unique<Limit>("data", 192);
    ASSERT_TRUE(most->good);
    as(kAlice, [&] {
        const Node node;
        const Programmed first(node), second(node), third(node);
        EXPECT_EQ(first.publish(kName, 0600, 100), 0);
        EXPECT_EQ(limits_of(node).data, 128u);
        EXPECT_EQ(limits_of(node).data_max, 192u);
        EXPECT_EQ(second.publish(kOther, 0600, 65), -EDQUOT);
        EXPECT_EQ(limits_of(node).names, 1u) << "nor is the name charged";
        EXPECT_EQ(second.publish(kName, 0600, 64), -EEXIST);
        EXPECT_EQ(limits_of(node).data, 128u);
        EXPECT_EQ(second.publish(kOther, 0600, 64), 0);
        EXPECT_EQ(limits_of(node).data, 192u);
        EXPECT_EQ(third.publish("users-test-3", 0600), 0) << "a name without data";
        sidra_ioctl_weights_unlink unlink{reinterpret_cast<uintptr_t>("users-test-3"), 0, SIDRA_OWNER_CALLER};
        EXPECT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_UNLINK, unlink), 0);
        EXPECT_EQ(unlink_named(node, SIDRA_OWNER_CALLER), 0);
        EXPECT_EQ(limits_of(node).data, 64u);
    });
    as(kBob, [&] {
        const Node node;
        const Programmed weights(node);
        EXPECT_EQ(limits_of(node).data, 0u);
        EXPECT_EQ(weights.publish(kName, 0600, 192), 0) << "her data is not his";
        EXPECT_EQ(unlink_named(node, SIDRA_OWNER_CALLER), 0);
    });
    most.reset();
    most = std::make_unique<Limit>("data", 1);
    as(kAlice, [&] {
        const Node node;
        const Programmed more(node);
        EXPECT_EQ(more.publish(kName, 0600), 0) << "no data, so the limit that she exceeds does not matter";
        EXPECT_EQ(unlink_named(node, SIDRA_OWNER_CALLER), 0);
        sidra_ioctl_weights_unlink unlink{reinterpret_cast<uintptr_t>(kOther), 0, SIDRA_OWNER_CALLER};
        EXPECT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_UNLINK, unlink), 0);
        EXPECT_EQ(limits_of(node).data, 0u);
    });
}

TEST_F(Users, WhoMayHaveNoMoreNamesCostsTheChipNothing) {
    const Limit names("names", 1);
    ASSERT_TRUE(names.good);
    const Node node;
    const Programmed first(node), second(node);
    as(kAlice, [&] { EXPECT_EQ(first.publish(kName, 0600), 0); });
    {
        const Trace trace;
        ASSERT_TRUE(trace.good);
        as(kAlice, [&] { EXPECT_EQ(second.publish("users-test-2", 0600), -EDQUOT); });
        const std::string events = Trace::events();
        EXPECT_EQ(events.find("sidra_admin"), std::string::npos) << events;
    }
    as(kAlice, [&] { EXPECT_EQ(unlink_named(node, SIDRA_OWNER_CALLER), 0); });
}

TEST_F(Users, LargeLimitsAreNotCut) {
    constexpr uint64_t kMost = uint64_t{1} << 32;
    const Limit contexts("contexts", kMost), queues("queues", kMost + 1), names("names", kMost),
        crossbars("crossbars", kMost), l3("l3", kMost), data("data", kMost);
    ASSERT_TRUE(contexts.good && queues.good && names.good && crossbars.good && l3.good && data.good);
    const sidra_query_limits limits = limits_of(Node());
    for (const uint32_t most : {limits.contexts_max, limits.queues_max, limits.names_max, limits.xbars_max})
        EXPECT_EQ(most, UINT32_MAX);
    EXPECT_EQ(limits.l3_max, kMost);
    EXPECT_EQ(limits.data_max, kMost);
}

TEST_F(Users, OnlyRootSetsLimitsAndOnlyNumbers) {
    const std::string path = "/sys/class/sidra/sidra0/user_limits/contexts";
    for (const char* wrong : {"many", "-1", "99999999999999999999999"}) EXPECT_FALSE(write_text(path, wrong)) << wrong;
    as(kAlice, [&] { EXPECT_FALSE(write_text(path, "1")); });
}

}  // namespace
}  // namespace sidra::test
