// SPDX-License-Identifier: MIT
// The server, with clients that behave and clients that do not.
#include "server.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace sidra::exporter {
namespace {

constexpr std::string_view kGet = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";

class Folder {
   public:
    Folder() {
        char name[] = "/tmp/sidra-exporter.XXXXXX";
        path = mkdtemp(name);
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string path;
};

class Connection {
   public:
    explicit Connection(const Address& to) : socket_(socket(to.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        connected = connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to.bytes), to.size) == 0;
    }
    bool send(std::string_view text) {
        return ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
    }
    // All until the server ends the connection.
    std::string receive() {
        std::string all;
        char bytes[65536];
        ssize_t got;
        while ((got = recv(socket_.get(), bytes, sizeof bytes, 0)) > 0) all.append(bytes, static_cast<size_t>(got));
        return all;
    }
    bool connected = false;

   private:
    Descriptor socket_;
};

class Running {
   public:
    Running(const std::string& where, Limits limits, std::string body = "body\n") : stop_(eventfd(0, EFD_CLOEXEC)) {
        std::vector<std::unique_ptr<Listener>> listeners;
        listeners.push_back(std::make_unique<Listener>(parse_address(where)));
        address = parse_address(listeners[0]->text());
        auto metrics = [this, body]() -> std::optional<std::string> {
            ++scrapes;
            return body;
        };
        server_ = std::make_unique<Server>(std::move(listeners), std::move(metrics), limits);
        thread_ = std::thread([this] { server_->run(stop_.get()); });
    }
    ~Running() {
        eventfd_write(stop_.get(), 1);
        thread_.join();
    }
    Address address;
    std::atomic<int> scrapes{0};

   private:
    Descriptor stop_;
    std::unique_ptr<Server> server_;
    std::thread thread_;
};

std::string get(const Address& from) {
    Connection client(from);
    client.send(kGet);
    return client.receive();
}

TEST(Server, AnswersOnEveryKindOfSocket) {
    const Folder folder;
    for (const std::string& where :
         {std::string("127.0.0.1:0"), std::string("[::1]:0"), "unix:" + folder.path + "/socket"}) {
        if (where[0] == '[' && !Connection(parse_address("[::1]:1")).connected && errno == EADDRNOTAVAIL) continue;
        Running server(where, {});
        for (int i = 1; i <= 3; ++i) {
            EXPECT_TRUE(get(server.address).ends_with("\r\n\r\nbody\n")) << where;
            EXPECT_EQ(server.scrapes, i);
        }
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder.path));
}

TEST(Server, ALongAnswerToASlowReader) {
    std::string body(8 << 20, 'x');
    body += "end\n";
    Running server("127.0.0.1:0", {}, body);
    Connection slow(server.address);
    slow.send(kGet);
    EXPECT_TRUE(get(server.address).ends_with("end\n"));  // others are served meanwhile
    EXPECT_TRUE(slow.receive().ends_with("end\n"));
}

TEST(Server, ARequestByteByByteHasADeadline) {
    Running server("127.0.0.1:0", {32, 50, 10000});
    Connection slow(server.address);
    slow.send("GET /metr");
    EXPECT_EQ(slow.receive().substr(0, 12), "HTTP/1.1 408");
    EXPECT_EQ(server.scrapes, 0);
}

TEST(Server, AHeadWithoutAnEnd) {
    Running server("127.0.0.1:0", {});
    Connection client(server.address);
    client.send("GET /metrics HTTP/1.1\r\n");
    const std::string header = "A: " + std::string(997, 'a') + "\r\n";
    for (int i = 0; i < 20 && client.send(header); ++i) {
    }
    EXPECT_EQ(client.receive().substr(0, 12), "HTTP/1.1 431");
}

TEST(Server, AnAnswerThatNobodyTakesHasADeadline) {
    constexpr size_t kSize = size_t{64} << 20;  // more than the socket buffers hold
    Running server("127.0.0.1:0", {8, 60000, 0}, std::string(kSize, 'x'));
    Connection first(server.address), second(server.address);
    first.send(kGet);
    while (server.scrapes < 1) std::this_thread::yield();
    second.send(kGet);
    EXPECT_LT(second.receive().size(), kSize);  // the first connection was abandoned while it was served
    EXPECT_LT(first.receive().size(), kSize);
}

TEST(Server, ThoseWhoSayNothingLoseTheirPlaces) {
    Running server("127.0.0.1:0", {4, 60000, 60000});
    std::vector<std::unique_ptr<Connection>> silent;
    for (int i = 0; i < 40; ++i) silent.push_back(std::make_unique<Connection>(server.address));
    EXPECT_TRUE(get(server.address).ends_with("body\n"));
    // The oldest connections are closed before the deadline of a minute.
    EXPECT_EQ(silent[0]->receive(), "");
    silent.back()->send(kGet);
    EXPECT_TRUE(silent.back()->receive().ends_with("body\n"));
}

TEST(Server, ManyAtOnceAndThoseWhoLeave) {
    Running server("127.0.0.1:0", {8, 60000, 60000});
    for (int i = 0; i < 100; ++i) {
        Connection leaves(server.address);
        if (i % 2 == 0) leaves.send(kGet);
    }
    EXPECT_TRUE(get(server.address).ends_with("body\n"));
}

TEST(Server, MoreThanARequestIsIgnored) {
    Running server("127.0.0.1:0", {});
    Connection client(server.address);
    client.send(std::string(kGet) + std::string(30000, 'x'));
    EXPECT_TRUE(client.receive().ends_with("body\n"));
    EXPECT_EQ(server.scrapes, 1);
}

std::string refusal(const std::string& where) {
    try {
        const Listener listener(parse_address(where));
        return "";
    } catch (const std::runtime_error& e) {
        return e.what();
    }
}

TEST(Listener, InUse) {
    const Folder folder;
    const Listener port(parse_address("127.0.0.1:0")), path(parse_address("unix:" + folder.path + "/socket"));
    EXPECT_NE(refusal(port.text()).find("cannot listen on " + port.text() + ": the address is in use"),
              std::string::npos);
    EXPECT_NE(refusal(path.text()).find("the address is in use"), std::string::npos);
    EXPECT_TRUE(Connection(parse_address(path.text())).connected);  // and still does
}

TEST(Listener, TakesOverWhatIsStale) {
    const Folder folder;
    const Address address = parse_address("unix:" + folder.path + "/socket");
    {
        const Descriptor killed(socket(AF_UNIX, SOCK_STREAM, 0));
        ASSERT_EQ(bind(killed.get(), reinterpret_cast<const sockaddr*>(&address.bytes), address.size), 0);
    }
    ASSERT_TRUE(std::filesystem::exists(address.path));
    const Listener listener(address);
    EXPECT_TRUE(Connection(address).connected);
}

TEST(Listener, LeavesOthersFilesAlone) {
    const Folder folder;
    const std::string path = folder.path + "/file", link = folder.path + "/link";
    std::ofstream(path) << "mine";
    std::filesystem::create_symlink(folder.path + "/elsewhere", link);
    EXPECT_NE(refusal("unix:" + path).find("is not a socket"), std::string::npos);
    EXPECT_NE(refusal("unix:" + link).find("is not a socket"), std::string::npos);
    EXPECT_EQ(std::filesystem::file_size(path), 4U);
    EXPECT_NE(refusal("unix:" + folder.path + "/none/socket").find("No such file"), std::string::npos);
    {
        const Listener first(parse_address("unix:" + folder.path + "/socket"));
        std::filesystem::remove(folder.path + "/socket");
        std::ofstream(folder.path + "/socket") << "another one";
    }
    EXPECT_TRUE(std::filesystem::exists(folder.path + "/socket"));
}

}  // namespace
}  // namespace sidra::exporter
