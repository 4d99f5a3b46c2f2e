// SPDX-License-Identifier: MIT
// sidra-device-plugin with a kubelet: registration, devices and their health, requests, and restarts on both sides.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "kubelet.h"
#include "paths.h"

namespace sidra::test {
namespace {

using Health = std::map<std::string, std::string>;
constexpr const char* kFirst = "c0ffee00-0000-4000-8000-000000000000";
constexpr const char* kSecond = "c0ffee03-0000-4000-8000-000000000003";

class PluginTest : public testing::Test {
   protected:
    PluginTest() {
        std::filesystem::create_directory(folder_);
        policy("");
    }
    // The heartbeats of these cards never move.
    void policy(const std::string& text) const {
        tree_.write("policy.new", "[firmware]\ncritical = 1_000_000\n" + text);
        std::filesystem::create_directories(tree_.path("etc/sidra"));
        std::filesystem::rename(tree_.path("policy.new"), tree_.path("etc/sidra/health.conf"));
    }
    void card(unsigned node, const std::string& bdf) const {
        tree_.card(node, bdf);
        temperature(node, 45'500);
    }
    void temperature(unsigned node, int32_t millidegrees) const {
        sidra_telemetry page = telemetry(1);
        page.temperature_mc = millidegrees;
        // As the driver's file: a reader sees all of it, or what was there before.
        tree_.write("telemetry.new", bytes_of(page));
        std::filesystem::rename(tree_.path("telemetry.new"), tree_.path(tree_.node(node, "telemetry")));
    }
    void remove(unsigned node, const std::string& bdf) const {
        tree_.remove(fmt::format("sys/class/sidra/sidra{}", node));
        tree_.remove("sys/bus/pci/devices/" + bdf);
    }
    bool in_cdi_file(const std::string& uuid) const {
        std::ifstream stream(tree_.path("cdi/sidra.json"));
        return std::string(std::istreambuf_iterator<char>(stream), {}).find(uuid) != std::string::npos;
    }
    std::string socket() const { return folder_ + "/sidra.sock"; }

    const Tree tree_;
    const std::string folder_ = tree_.path("kubelet");
};

TEST_F(PluginTest, RegistersAndLists) {
    card(0, "0000:01:00.0");
    card(3, "0000:02:00.0");
    tree_.function("0000:04:00.0");  // without a driver
    Kubelet kubelet(folder_);
    const Program program(tree_, folder_);
    const auto request = kubelet.registration();
    ASSERT_TRUE(request) << program.said();
    EXPECT_EQ(request->version(), "v1beta1");
    EXPECT_EQ(request->endpoint(), "sidra.sock");
    EXPECT_EQ(request->resource_name(), "sidra/card");
    EXPECT_TRUE(request->options().get_preferred_allocation_available());
    EXPECT_FALSE(request->options().pre_start_required());
    Connection connection(socket());
    EXPECT_EQ(connection.list(), (Health{{kFirst, "Healthy"}, {kSecond, "Healthy"}})) << program.said();
    grpc::ClientContext context;
    v1beta1::DevicePluginOptions options;
    ASSERT_TRUE(connection.stub().GetDevicePluginOptions(&context, {}, &options).ok());
    EXPECT_EQ(options.SerializeAsString(), request->options().SerializeAsString());
}

TEST_F(PluginTest, HealthFollowsThePolicy) {
    card(0, "0000:01:00.0");
    Kubelet kubelet(folder_);
    const Program program(tree_, folder_);
    ASSERT_TRUE(kubelet.registration());
    Connection connection(socket());
    ASSERT_EQ(connection.list(), (Health{{kFirst, "Healthy"}}));
    temperature(0, 105'000);
    EXPECT_EQ(connection.list(), (Health{{kFirst, "Unhealthy"}}));
    v1beta1::AllocateResponse answer;
    const grpc::Status refused = connection.allocate({kFirst}, &answer);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_NE(refused.error_message().find(kFirst), std::string::npos) << refused.error_message();
    EXPECT_TRUE(program.says("temperature: 105.0 C")) << program.said();
    temperature(0, 100'000);  // a warning
    EXPECT_EQ(connection.list(), (Health{{kFirst, "Healthy"}}));
    // A policy of the operator, while the program runs.
    policy("[temperature]\ncritical = 99.5\n");
    EXPECT_EQ(connection.list(), (Health{{kFirst, "Unhealthy"}}));
    // A mistake in it leaves the former one in force.
    policy("[temperature]\nkritical = 200\n");
    EXPECT_TRUE(program.says("health.conf:4: the check 'temperature' has no 'kritical'")) << program.said();
    policy("");
    EXPECT_EQ(connection.list(), (Health{{kFirst, "Healthy"}}));
}

TEST_F(PluginTest, ACardGoesAndReturns) {
    card(0, "0000:01:00.0");
    card(3, "0000:02:00.0");
    Kubelet kubelet(folder_);
    const Program program(tree_, folder_);
    ASSERT_TRUE(kubelet.registration());
    Connection connection(socket());
    ASSERT_TRUE(connection.list());
    remove(3, "0000:02:00.0");
    EXPECT_EQ(connection.list(), (Health{{kFirst, "Healthy"}, {kSecond, "Unhealthy"}}));
    EXPECT_TRUE(program.says("sidra3: the card is gone")) << program.said();
    card(3, "0000:02:00.0");
    std::optional<Health> last;
    do last = connection.list();
    while (last && *last != Health{{kFirst, "Healthy"}, {kSecond, "Healthy"}});
    EXPECT_TRUE(last) << program.said();
}

TEST_F(PluginTest, NoCard) {
    Kubelet kubelet(folder_);
    const Program program(tree_, folder_);
    ASSERT_TRUE(kubelet.registration());
    Connection connection(socket());
    EXPECT_EQ(connection.list(), Health()) << program.said();
    EXPECT_FALSE(std::filesystem::exists(tree_.path("cdi/sidra.json")));
}

TEST_F(PluginTest, GivesNamesOfTheCdiFile) {
    card(0, "0000:01:00.0");
    card(3, "0000:02:00.0");
    Kubelet kubelet(folder_);
    const Program program(tree_, folder_);
    ASSERT_TRUE(kubelet.registration());
    Connection connection(socket());
    ASSERT_TRUE(connection.list());
    v1beta1::AllocateResponse answer;
    const grpc::Status status = connection.allocate({kSecond}, &answer);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ASSERT_EQ(answer.container_responses_size(), 1);
    const auto& container = answer.container_responses(0);
    ASSERT_EQ(container.cdi_devices_size(), 1);
    EXPECT_EQ(container.cdi_devices(0).name(), fmt::format("sidra/card={}", kSecond));
    EXPECT_EQ(container.devices_size() + container.mounts_size(), 0);
    EXPECT_TRUE(container.envs().empty());
    // The file has a device of this name, with the node.
    const std::string check = fmt::format("python3 -B {} <{} | grep -x '{} /dev/sidra3' >/dev/null",
                                          source_file("tests/cdi/schema.py"), tree_.path("cdi/sidra.json"), kSecond);
    EXPECT_EQ(system(check.c_str()), 0) << check;
}

TEST_F(PluginTest, GivesNodesWithoutCdi) {
    card(3, "0000:02:00.0");
    Kubelet kubelet(folder_);
    const Program program(tree_, folder_, {"--no-cdi"});
    ASSERT_TRUE(kubelet.registration());
    Connection connection(socket());
    ASSERT_TRUE(connection.list());
    v1beta1::AllocateResponse answer;
    ASSERT_TRUE(connection.allocate({kSecond}, &answer).ok());
    ASSERT_EQ(answer.container_responses(0).devices_size(), 1);
    const auto& device = answer.container_responses(0).devices(0);
    EXPECT_EQ(device.host_path(), "/dev/sidra3");
    EXPECT_EQ(device.container_path(), "/dev/sidra3");
    EXPECT_EQ(device.permissions(), "rw");
    EXPECT_EQ(answer.container_responses(0).cdi_devices_size(), 0);
    EXPECT_FALSE(std::filesystem::exists(tree_.path("cdi")));
}

TEST_F(PluginTest, UnknownDevices) {
    card(0, "0000:01:00.0");
    Kubelet kubelet(folder_);
    const Program program(tree_, folder_);
    ASSERT_TRUE(kubelet.registration());
    Connection connection(socket());
    ASSERT_TRUE(connection.list());
    for (const std::string id : {"nope", "", "/dev/sidra0"}) {
        v1beta1::AllocateResponse answer;
        const grpc::Status status = connection.allocate({kFirst, id}, &answer);
        EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND) << id;
        EXPECT_NE(status.error_message().find("'" + id + "'"), std::string::npos) << status.error_message();
    }
    v1beta1::AllocateResponse answer;
    EXPECT_TRUE(connection.allocate({}, &answer).ok());
    grpc::ClientContext context;
    v1beta1::PreferredAllocationRequest request;
    request.add_container_requests()->set_allocation_size(-1);
    v1beta1::PreferredAllocationResponse preferred;
    EXPECT_EQ(connection.stub().GetPreferredAllocation(&context, request, &preferred).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(PluginTest, CardsWithOneUuidAreNoDevices) {
    card(0, "0000:01:00.0");
    card(3, "0000:02:00.0");
    tree_.write(tree_.node(3, "uuid"), fmt::format("{}\n", kFirst));
    Kubelet kubelet(folder_);
    const Program program(tree_, folder_);
    ASSERT_TRUE(kubelet.registration());
    Connection connection(socket());
    EXPECT_EQ(connection.list(), Health());
    EXPECT_TRUE(program.says("cards with the same UUID are no devices: /dev/sidra0, /dev/sidra3")) << program.said();
}

// As the kubelet does when it starts: it removes all sockets in its folder, and has a new one.
TEST_F(PluginTest, TheKubeletRestarts) {
    card(0, "0000:01:00.0");
    auto kubelet = std::make_unique<Kubelet>(folder_);
    const Program program(tree_, folder_);
    ASSERT_TRUE(kubelet->registration());
    for (int n = 0; n < 2; ++n) {
        kubelet.reset();
        std::error_code ignored;
        for (const char* name : {"/kubelet.sock", "/sidra.sock"}) std::filesystem::remove(folder_ + name, ignored);
        kubelet = std::make_unique<Kubelet>(folder_);
        ASSERT_TRUE(kubelet->registration()) << program.said();
        Connection connection(socket());
        EXPECT_EQ(connection.list(), (Health{{kFirst, "Healthy"}}));
    }
}

TEST_F(PluginTest, TheKubeletComesLater) {
    card(0, "0000:01:00.0");
    const Program program(tree_, folder_);
    EXPECT_TRUE(program.says("waiting for the kubelet: there is no " + folder_ + "/kubelet.sock")) << program.said();
    {
        Kubelet refuses(folder_, true);
        ASSERT_TRUE(refuses.registration());
        EXPECT_TRUE(program.says("the kubelet refuses to register sidra/card: no such version")) << program.said();
        ASSERT_TRUE(refuses.registration()) << "it does not try again";
    }
    std::filesystem::remove(folder_ + "/kubelet.sock");
    Kubelet kubelet(folder_);
    EXPECT_TRUE(kubelet.registration());
}

TEST_F(PluginTest, EndsBySignals) {
    card(0, "0000:01:00.0");
    for (const int signal : {SIGTERM, SIGINT}) {
        Kubelet kubelet(folder_);
        Program program(tree_, folder_);
        ASSERT_TRUE(kubelet.registration()) << program.said();
        Connection connection(socket());
        ASSERT_TRUE(connection.list());
        EXPECT_EQ(program.end(signal), 0);
        EXPECT_FALSE(connection.list()) << "the stream goes on";
        EXPECT_FALSE(std::filesystem::exists(socket()));
    }
}

TEST_F(PluginTest, TakesThePlaceOfOneThatWasKilled) {
    card(0, "0000:01:00.0");
    Kubelet kubelet(folder_);
    {
        Program program(tree_, folder_);
        ASSERT_TRUE(kubelet.registration());
        EXPECT_EQ(program.end(SIGKILL), -1);
        EXPECT_TRUE(std::filesystem::exists(socket()));
    }
    const Program program(tree_, folder_);
    ASSERT_TRUE(kubelet.registration()) << program.said();
    Connection connection(socket());
    EXPECT_EQ(connection.list(), (Health{{kFirst, "Healthy"}}));
}

TEST_F(PluginTest, WhatCannotStart) {
    Program nowhere(tree_, tree_.path("nowhere"));
    EXPECT_EQ(nowhere.wait(), 1);
    EXPECT_NE(nowhere.said().find("there is no folder " + tree_.path("nowhere")), std::string::npos) << nowhere.said();
    policy("[temperature]\ncritical = \"hot\"\n");
    Program policy(tree_, folder_);
    EXPECT_EQ(policy.wait(), 1);
    EXPECT_NE(policy.said().find("health.conf:4: 'critical' is not a number above 0"), std::string::npos)
        << policy.said();
    Program usage(tree_, folder_, {"--interval", "0"});
    EXPECT_EQ(usage.wait(), 2);
}

TEST_F(PluginTest, ACdiFolderThatCannotBeMade) {
    card(0, "0000:01:00.0");
    tree_.write("cdi", "a file");
    Kubelet kubelet(folder_);
    const Program program(tree_, folder_);
    ASSERT_TRUE(kubelet.registration()) << program.said();
    EXPECT_TRUE(program.says("containers get no cards (--no-cdi gives them nodes instead)")) << program.said();
    Connection connection(socket());
    EXPECT_EQ(connection.list(), (Health{{kFirst, "Unhealthy"}})) << "offered, but described nowhere";
    v1beta1::AllocateResponse answer;
    EXPECT_EQ(connection.allocate({kFirst}, &answer).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    // It tries again.
    tree_.remove("cdi");
    EXPECT_EQ(connection.list(), (Health{{kFirst, "Healthy"}})) << program.said();
    EXPECT_TRUE(in_cdi_file(kFirst));
    // A card that comes is described before it is offered.
    card(3, "0000:02:00.0");
    std::optional<Health> last;
    do last = connection.list();
    while (last && last->contains(kSecond) && last->at(kSecond) != "Healthy");
    ASSERT_TRUE(last && last->contains(kSecond)) << program.said();
    EXPECT_TRUE(in_cdi_file(kSecond));
}

}  // namespace
}  // namespace sidra::test
