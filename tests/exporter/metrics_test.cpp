// SPDX-License-Identifier: MIT
// Metrics of a session: whatever processes publish, no series appears twice, because Prometheus rejects the whole text
// otherwise.
#include "metrics.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <sstream>

#include "session.h"

namespace sidra::test {
namespace {

namespace fs = std::filesystem;

// A process in another container whose chip has the same name and identity.
class Twin {
   public:
    Twin(const Publisher& original, const std::string& folder, uid_t owner) {
        fs::create_directories(folder);
        EXPECT_EQ(chmod(folder.c_str(), 0700), 0);
        const std::string path = folder + "/" + original.name();
        fs::copy_file(original.path(), path);
        for (const std::string& each : {path, folder}) EXPECT_EQ(chown(each.c_str(), owner, owner), 0);
        int ready[2];
        EXPECT_EQ(pipe(ready), 0);
        pid_ = fork();
        if (pid_ == 0) {
            struct flock lock = {};
            lock.l_type = F_WRLCK;
            lock.l_whence = SEEK_SET;
            lock.l_len = 1;
            if (fcntl(open(path.c_str(), O_RDWR), F_SETLK, &lock) != 0 || ::write(ready[1], "", 1) != 1) _exit(1);
            for (;;) pause();
        }
        char go;
        EXPECT_EQ(read(ready[0], &go, 1), 1);
        close(ready[0]);
        close(ready[1]);
    }
    ~Twin() {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    Twin(const Twin&) = delete;
    Twin& operator=(const Twin&) = delete;

   private:
    pid_t pid_;
};

// Number of occurrences of each series.
std::map<std::string, int> series(const Session& session) {
    std::map<std::string, int> found;
    std::istringstream text(exporter::metrics_text(session.get()));
    for (std::string line; std::getline(text, line);)
        if (!line.starts_with('#')) ++found[line.substr(0, line.rfind(' '))];
    return found;
}

std::string packets(const Publisher& publisher, uid_t user) {
    return fmt::format("sidra_packets_total{{device=\"{}\",uuid=\"e0e1e2e3-e4e5-e6e7-e8e9-eaebecedeeef\",user=\"{}\"}}",
                       publisher.name(), user);
}

TEST(Metrics, ChipsOfTwoUsersAreTwo) {
    if (geteuid() != 0) GTEST_SKIP() << "makes files of another user";
    constexpr uid_t kOther = 12'345;
    const Tree tree;
    const Publisher publisher(tree, 0);
    const Twin twin(publisher, tree.path(fmt::format("tmp/sidra-{}", kOther)), kOther);
    const Session session(tree);
    ASSERT_EQ(session.names(), (std::vector<std::string>{publisher.name(), publisher.name()}));
    const auto found = series(session);
    EXPECT_EQ(found.count(packets(publisher, 0)), 1u);
    EXPECT_EQ(found.count(packets(publisher, kOther)), 1u);
    for (const auto& [name, times] : found) EXPECT_EQ(times, 1) << name;
}

TEST(Metrics, ChipsOfOneUserWithOneNameAreOne) {
    const Tree tree;
    const Publisher publisher(tree, 0);
    const Twin twin(publisher, tree.path(fmt::format("run/user/{}/sidra", geteuid())), geteuid());
    const Session session(tree);
    ASSERT_EQ(sidra_smi_count(session.get()), 2u);
    const auto found = series(session);
    EXPECT_EQ(found.count(packets(publisher, geteuid())), 1u);
    EXPECT_EQ(found.count("sidra_chips"), 1u);
    for (const auto& [name, times] : found) EXPECT_EQ(times, 1) << name;
}

TEST(Metrics, CardsHaveNoUser) {
    const Tree tree;
    tree.card(0, "0000:01:00.0");
    const Session session(tree);
    EXPECT_EQ(series(session).count("sidra_packets_total{device=\"sidra0\",bdf=\"0000:01:00.0\",uuid=\"c0ffee00-0000-"
                                    "4000-8000-000000000000\"}"),
              1u);
}

}  // namespace
}  // namespace sidra::test
