// SPDX-License-Identifier: MIT
// The choice of cards that belong together; and the protocol, whose numbers are written down here a second time.
#include "devices.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "deviceplugin.pb.h"

namespace sidra::device_plugin {
namespace {

using Ids = std::vector<std::string>;

// Two NUMA nodes; a and d are below one port.
const Devices kDevices = {
    {"a", {"/dev/sidra0", "0000:00:01.0", 0, true}}, {"b", {"/dev/sidra1", "0000:00:02.0", 1, true}},
    {"c", {"/dev/sidra2", "0000:00:03.0", 0, true}}, {"d", {"/dev/sidra3", "0000:00:01.0", 0, true}},
    {"e", {"/dev/sidra4", "", std::nullopt, true}},  {"f", {"/dev/sidra5", "0000:00:05.0", 1, true}}};

TEST(Prefer, CardsThatAreNear) {
    const Ids all = {"a", "b", "c", "d", "e", "f"};
    EXPECT_EQ(prefer(kDevices, all, {}, 2), (Ids{"a", "d"}));
    EXPECT_EQ(prefer(kDevices, all, {}, 3), (Ids{"a", "d", "c"}));
    EXPECT_EQ(prefer(kDevices, all, {"b"}, 2), (Ids{"b", "f"}));
    EXPECT_EQ(prefer(kDevices, all, {"c"}, 3), (Ids{"c", "a", "d"}));
    EXPECT_EQ(prefer(kDevices, {"b", "c", "f"}, {}, 2), (Ids{"b", "f"}));
}

TEST(Prefer, WhatIsNotThere) {
    EXPECT_EQ(prefer(kDevices, {"a", "x"}, {}, 5), Ids{"a"});
    EXPECT_EQ(prefer(kDevices, {}, {"x"}, 1), Ids{"x"}) << "the kubelet insists on it";
    EXPECT_EQ(prefer(kDevices, {"a", "b"}, {}, 0), Ids());
    EXPECT_EQ(prefer(kDevices, {"a", "a", "b"}, {"a"}, 2), (Ids{"a", "b"}));
}

TEST(Protocol, NumbersOfTheFields) {
    struct Field {
        const char* message;
        const char* name;
        int number;
    };
    constexpr Field kFields[] = {
        {"RegisterRequest", "version", 1},
        {"RegisterRequest", "endpoint", 2},
        {"RegisterRequest", "resource_name", 3},
        {"RegisterRequest", "options", 4},
        {"DevicePluginOptions", "pre_start_required", 1},
        {"DevicePluginOptions", "get_preferred_allocation_available", 2},
        {"ListAndWatchResponse", "devices", 1},
        {"Device", "ID", 1},
        {"Device", "health", 2},
        {"Device", "topology", 3},
        {"TopologyInfo", "nodes", 1},
        {"NUMANode", "ID", 1},
        {"PreferredAllocationRequest", "container_requests", 1},
        {"ContainerPreferredAllocationRequest", "available_deviceIDs", 1},
        {"ContainerPreferredAllocationRequest", "must_include_deviceIDs", 2},
        {"ContainerPreferredAllocationRequest", "allocation_size", 3},
        {"PreferredAllocationResponse", "container_responses", 1},
        {"ContainerPreferredAllocationResponse", "deviceIDs", 1},
        {"AllocateRequest", "container_requests", 1},
        {"ContainerAllocateRequest", "devices_ids", 1},
        {"AllocateResponse", "container_responses", 1},
        {"ContainerAllocateResponse", "envs", 1},
        {"ContainerAllocateResponse", "mounts", 2},
        {"ContainerAllocateResponse", "devices", 3},
        {"ContainerAllocateResponse", "annotations", 4},
        {"ContainerAllocateResponse", "cdi_devices", 5},
        {"Mount", "container_path", 1},
        {"Mount", "host_path", 2},
        {"Mount", "read_only", 3},
        {"DeviceSpec", "container_path", 1},
        {"DeviceSpec", "host_path", 2},
        {"DeviceSpec", "permissions", 3},
        {"CDIDevice", "name", 1},
        {"PreStartContainerRequest", "devices_ids", 1},
    };
    const auto* const file = v1beta1::Device::descriptor()->file();
    EXPECT_EQ(file->package(), "v1beta1");
    int fields = 0;
    for (int n = 0; n < file->message_type_count(); ++n) fields += file->message_type(n)->field_count();
    EXPECT_EQ(fields, static_cast<int>(std::size(kFields)));
    for (const Field& each : kFields) {
        const auto* const message = file->FindMessageTypeByName(each.message);
        ASSERT_NE(message, nullptr) << each.message;
        const auto* const field = message->FindFieldByName(each.name);
        ASSERT_NE(field, nullptr) << each.message << "." << each.name;
        EXPECT_EQ(field->number(), each.number) << each.message << "." << each.name;
    }
}

}  // namespace
}  // namespace sidra::device_plugin
