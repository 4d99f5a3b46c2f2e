// SPDX-License-Identifier: MIT
// Which device the tests of whole devices run on: the embedded chip, or the node that SIDRA_TEST_DEVICE names (in a VM,
// where that chip is a small one too). A test that may run on either wants a private chip only without a node, because
// that is never a card.
#ifndef SIDRA_TESTS_TEST_DEVICE_H
#define SIDRA_TESTS_TEST_DEVICE_H

#include <cstdlib>
#include <string>

#include "expect.h"

namespace sidra::test {

inline bool on_a_node() { return std::getenv("SIDRA_TEST_DEVICE") != nullptr; }

// Of /dev/sidraN: sidraN.
inline std::string node_name() {
    const std::string node = std::getenv("SIDRA_TEST_DEVICE");
    return node.substr(node.rfind('/') + 1);
}

inline void choose_test_device() {
    const char* node = std::getenv("SIDRA_TEST_DEVICE");
    setenv("SIDRA_DEVICE", node != nullptr ? node : "embedded", 1);
}

// Sets a fault knob of the chip; for a chip in QEMU by asking QEMU, where /dev/sidraN is the device sidraN.
inline void turn_knob(sidra_device* device, const std::string& name, uint64_t value) {
    if (!on_a_node()) {
        ASSERT_OK(sidra_device_set_fault_knob(device, name.c_str(), value));
        return;
    }
    const std::string command = "qmp qom-set path=/machine/peripheral/" + node_name() + " property=" + name +
                                " value=" + std::to_string(value) + " >/dev/null";
    ASSERT_EQ(0, std::system(command.c_str())) << command;
}

}  // namespace sidra::test

#endif
