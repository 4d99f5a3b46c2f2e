// SPDX-License-Identifier: MIT
// libsidra-smi's view of files: every field of a card and of a chip in a process, compared with the written values.
#include <gtest/gtest.h>
#include <sidra/smi.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "session.h"
#include "tree.h"

namespace sidra::test {
namespace {

// An independent list: the counters of telemetry(1), in the order of its list.
const std::map<std::string, std::string> kCounters = {
    {"packets", "1001"},
    {"packets.called", "1002"},
    {"faults", "1003"},
    {"doorbells", "1004"},
    {"arms", "1005"},
    {"mmio.reads", "1006"},
    {"mmio.writes", "1007"},
    {"interrupts", "1008"},
    {"mvms", "1009"},
    {"macs", "1010"},
    {"vec.elements", "1011"},
    {"copy.bytes", "1012"},
    {"program.cells", "1013"},
    {"device_time", "1014"},
    {"energy", "1015"},
    {"busy.time", "1016"},
    {"dma.errors", "1017"},
    {"program.pulses", "1018"},
    {"program.reads", "1019"},
    {"program.failed", "1020"},
    {"clipped", "1021"},
    {"cells.stuck", "1022"},
    {"columns.spare", "1023"},
    {"mvm.time", "1024"},
    {"vec.time", "1025"},
    {"copy.time", "1026"},
    {"program.time", "1027"},
    {"clock.device", "1000000000"},
    {"heartbeat", "99"},
    {"throttles", "4"},
    {"crossbars.untrimmed", "0"},
    {"calibration.age", "750000000"},
};

const std::map<std::string, std::string> kCard = {
    {"index", "0"},
    {"kind", "card"},
    {"name", "sidra0"},
    {"node", "/dev/sidra0"},
    {"bdf", "0000:01:00.0"},
    {"uuid", "c0ffee00-0000-4000-8000-000000000000"},
    {"pid", "-"},
    {"process", "-"},
    {"uid", "-"},
    {"level", "-"},
    {"persistent", "-"},
    {"memory.host", "-"},
    {"version.hardware", "2.0"},
    {"version.driver", "1.1"},
    {"version.firmware", "1.0.3"},
    {"features", "firmware,state-file"},
    {"geometry.clusters", "10"},
    {"geometry.cus", "32"},
    {"geometry.crossbars", "20"},
    {"status", "ready"},
    {"stage", "runtime"},
    {"stale", "no"},
    {"ready", "yes"},
    {"fatal", "no"},
    {"stopped", "no"},
    {"throttled", "no"},
    {"firmware.alive", "yes"},
    {"firmware.panic", "0"},
    {"boot.reason", "reset"},
    {"generation", "7"},
    {"resets", "6"},
    {"temperature", "45.5"},
    {"temperature.max", "95"},
    {"temperature.crit", "105"},
    {"power", "12.25"},
    {"power.limit", "60"},
    {"power.limit.min", "10"},
    {"power.limit.max", "75"},
    {"clock", "1000"},
    {"clock.max", "1200"},
    {"crossbars.total", "6400"},
    {"crossbars.programmed", "128"},
    {"l3.size", "16777216"},
    {"l3.used", "4096"},
    {"nvm.size", "1048576"},
    {"contexts", "2"},
    {"queues", "3"},
    {"processes", "0"},
    {"pci.speed", "16.0 GT/s PCIe"},
    {"pci.speed.max", "32.0 GT/s PCIe"},
    {"pci.width", "8"},
    {"pci.width.max", "16"},
    {"pci.bridge", "0000:00:03.0"},
    {"numa.node", "0"},
    {"numa.cpus", "0-3"},
};

const std::set<std::string> kMoving = {"heartbeat.age", "data.age"};
const std::set<std::string> kRates = {"utilization",      "mvm.utilization",     "vec.utilization",
                                      "copy.utilization", "program.utilization", "packets.rate",
                                      "macs.rate",        "copy.rate",           "program.rate"};

TEST(Fields, CardWhole) {
    const Tree tree;
    tree.card(0, "0000:01:00.0");
    Session session(tree);
    std::set<std::string> rest;
    for (uint32_t n = 0; n < sidra_smi_field_count(); ++n) rest.insert(sidra_smi_field_at(n)->name);
    for (const auto* const expected : {&kCard, &kCounters})
        for (const auto& [name, text] : *expected) {
            EXPECT_EQ(session.text(0, name), text) << name;
            rest.erase(name);
        }
    for (const std::string& name : kRates) {
        EXPECT_EQ(session.value(0, name).error, EAGAIN) << name;
        rest.erase(name);
    }
    for (const std::string& name : kMoving) rest.erase(name);
    EXPECT_EQ(rest, std::set<std::string>());  // a new field needs its line here
}

TEST(Fields, ModelWhole) {
    const Tree tree;
    const Publisher publisher(tree, 1);
    Session session(tree);
    const std::map<std::string, std::string> expected = {{"kind", "model"},
                                                         {"name", publisher.name()},
                                                         {"node", "-"},
                                                         {"bdf", "-"},
                                                         {"pid", std::to_string(publisher.pid())},
                                                         {"process", "worker"},
                                                         {"uid", std::to_string(geteuid())},
                                                         {"level", "fast"},
                                                         {"persistent", "no"},
                                                         {"memory.host", "65536"},
                                                         {"uuid", "e0e1e2e3-e4e5-e6e7-e8e9-eaebecedeeef"},
                                                         {"version.hardware", "2.0"},
                                                         {"version.driver", "1.1"},
                                                         {"version.firmware", "1.0.3"},
                                                         {"features", "firmware"},
                                                         {"l3.size", "16777216"},
                                                         {"l3.used", "4096"},
                                                         {"packets", "9001"},
                                                         {"program.time", "9027"},
                                                         {"status", "ready"},
                                                         {"processes", "1"},
                                                         {"pci.speed", "-"},
                                                         {"resets", "-"}};
    for (const auto& [name, text] : expected) EXPECT_EQ(session.text(0, name), text) << name;
}

TEST(Fields, AreNamedOnceAndWell) {
    std::set<std::string> names, metrics;
    for (uint32_t n = 0; n < sidra_smi_field_count(); ++n) {
        const sidra_smi_field& field = *sidra_smi_field_at(n);
        EXPECT_TRUE(names.insert(field.name).second) << field.name;
        EXPECT_EQ(sidra_smi_field_find(field.name), static_cast<int>(n));
        EXPECT_EQ(std::string(field.name).find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._"),
                  std::string::npos)
            << field.name;
        // A description is the HELP of a metric: it must be understood without the name of the field.
        const std::string description = field.description;
        EXPECT_TRUE(description[0] >= 'A' && description[0] <= 'Z' && description.ends_with('.')) << description;
        EXPECT_GE(std::count(description.begin(), description.end(), ' '), 3) << description;
        if (field.metric == nullptr) continue;
        EXPECT_TRUE(metrics.insert(field.metric).second) << field.metric;
        EXPECT_TRUE(std::string(field.metric).starts_with("sidra_")) << field.metric;
        EXPECT_EQ(std::string(field.metric).ends_with("_total"), field.role == SIDRA_SMI_COUNTER) << field.metric;
        EXPECT_NE(field.type, SIDRA_SMI_TEXT) << field.name;
    }
    EXPECT_EQ(sidra_smi_field_at(sidra_smi_field_count()), nullptr);
    EXPECT_EQ(sidra_smi_field_find("nothing"), -1);
    EXPECT_EQ(sidra_smi_field_find(nullptr), -1);
}

// The page's value of an invalid field is not a measurement.
TEST(Fields, AbsentIsNotZero) {
    const Tree tree;
    tree.card(0, "0000:01:00.0");
    sidra_telemetry page = telemetry(1);
    page.valid = SIDRA_TELEMETRY_HAS_COUNTERS;
    tree.write(tree.node(0, "telemetry"), bytes_of(page));
    tree.remove(tree.node(0, "resets"));
    Session session(tree);
    for (const char* name : {"temperature", "power", "clock", "power.limit", "throttles"}) {
        EXPECT_EQ(session.value(0, name).type, SIDRA_SMI_NONE) << name;
        EXPECT_EQ(session.value(0, name).error, ENODATA) << name;
    }
    EXPECT_EQ(session.text(0, "packets"), "1001");
    EXPECT_EQ(session.value(0, "resets").error, ENOENT);
}

TEST(Fields, OfDamagedFiles) {
    const Tree tree;
    tree.card(0, "0000:01:00.0");
    const auto telemetry_error = [&](const std::string& bytes) {
        tree.write(tree.node(0, "telemetry"), bytes);
        return Session(tree).value(0, "packets").error;
    };
    sidra_telemetry page = telemetry(1);
    EXPECT_EQ(telemetry_error(""), EPROTO);
    EXPECT_EQ(telemetry_error(bytes_of(page)), 0);
    EXPECT_EQ(telemetry_error(bytes_of(page).substr(0, sizeof page - 1)), EPROTO);
    page.size = sizeof page - 8;
    EXPECT_EQ(telemetry_error(bytes_of(page)), EPROTO);
    page.size = sizeof page;
    EXPECT_EQ(telemetry_error(bytes_of(page) + std::string(5000, 'x')), EFBIG);
    page.magic ^= 1;
    EXPECT_EQ(telemetry_error(bytes_of(page)), EPROTO);

    tree.write(tree.node(0, "geometry"), "10 32\n");
    tree.write(tree.node(0, "l3_free"), "99999999\n");
    tree.write(tree.node(0, "uuid"), "\x1b[31mred\xff\n");
    tree.write(tree.node(0, "resets"), "-3\n");
    tree.write(tree.node(0, "features"), "99999999999999999999\n");
    tree.remove(tree.node(0, "nvm_size"));
    tree.link("/dev/zero", tree.node(0, "nvm_size"));
    Session session(tree);
    EXPECT_EQ(session.value(0, "geometry.crossbars").error, EINVAL);
    EXPECT_EQ(session.value(0, "l3.used").error, EPROTO);
    EXPECT_EQ(session.text(0, "uuid"), "?[31mred?");
    EXPECT_EQ(session.value(0, "resets").error, EINVAL);
    EXPECT_EQ(session.value(0, "features").error, EINVAL);
    EXPECT_EQ(session.value(0, "nvm.size").error, EINVAL);
}

TEST(Fields, OfAChipThatIsNotThere) {
    EXPECT_EQ(sidra_smi_get(nullptr, 0).error, EINVAL);
    const Tree tree;
    tree.function("0000:01:00.0");
    Session session(tree);
    EXPECT_EQ(sidra_smi_get(session.chip(0), sidra_smi_field_count()).error, EINVAL);
    EXPECT_EQ(session.text(0, "status"), "no-driver");
    EXPECT_EQ(session.text(0, "bdf"), "0000:01:00.0");
    EXPECT_EQ(session.value(0, "node").error, ENODEV);
    EXPECT_EQ(session.value(0, "packets").error, ENODEV);
    EXPECT_EQ(session.value(0, "utilization").error, ENODEV);
    EXPECT_EQ(session.text(0, "pci.width"), "8");
}

}  // namespace
}  // namespace sidra::test
