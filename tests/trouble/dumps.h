// SPDX-License-Identifier: MIT
// The driver's dumps of one device in /sys/class/devcoredump.
#ifndef SIDRA_TESTS_DUMPS_H
#define SIDRA_TESTS_DUMPS_H

#include <dirent.h>

#include <iterator>

#include "node.h"

namespace sidra::test {

class Dumps {
   public:
    // The card, or its node.
    explicit Dumps(std::string device) : device_(std::move(device)) {}

    // The folder of the pending dump; empty if there is none.
    std::string pending() const {
        const std::string parent = "/sys/class/devcoredump/";
        std::string found;
        DIR* folder = opendir(parent.c_str());
        while (const dirent* entry = folder ? readdir(folder) : nullptr) {
            char target[512] = {};
            const std::string path = parent + entry->d_name;
            if (readlink((path + "/failing_device").c_str(), target, sizeof target - 1) < 0) continue;
            const std::string device = target;
            if (device.substr(device.rfind('/') + 1) == device_) found = path;
        }
        if (folder) closedir(folder);
        return found;
    }
    void release() const {
        EXPECT_TRUE(write_text(pending() + "/data", "1"));
        EXPECT_TRUE(eventually([this] { return pending().empty(); }));
    }
    void release_all() const {
        while (!pending().empty()) release();
    }
    // Waits for a dump, reads and releases it.
    std::string take() const {
        if (!eventually([this] { return !pending().empty(); })) {
            ADD_FAILURE() << "no dump of " << device_;
            return "";
        }
        std::ifstream file(pending() + "/data", std::ios::binary);
        const std::string all{std::istreambuf_iterator<char>(file), {}};
        release();
        return all;
    }

   private:
    const std::string device_;
};

}  // namespace sidra::test

#endif
