// SPDX-License-Identifier: MIT
// A folder with the files of the driver and of running processes, for libsidra-smi.
#ifndef SIDRA_TEST_SMI_TREE_H
#define SIDRA_TEST_SMI_TREE_H

#include <sidra_hw.h>
#include <sidra_publish.h>
#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sidra::test {

// Telemetry of a busy chip; every counter has its own value, from `seed` and its place in the struct.
sidra_telemetry telemetry(uint64_t seed);
std::string bytes_of(const sidra_telemetry& page);

class Tree {
   public:
    Tree();
    ~Tree();
    Tree(const Tree&) = delete;
    Tree& operator=(const Tree&) = delete;

    const std::string& root() const { return root_; }
    std::string path(const std::string& name) const { return root_ + "/" + name; }
    void write(const std::string& name, std::string_view text) const;
    void link(const std::string& target, const std::string& name) const;
    void remove(const std::string& name) const;

    // A PCI function of a SIDRA card, without a driver.
    void function(const std::string& bdf) const;
    // The same with one: its node, with all that the driver shows.
    void card(unsigned node, const std::string& bdf) const;
    std::string node(unsigned number, const std::string& attribute) const;
    // A file of a process that uses a card.
    void fdinfo(unsigned node, pid_t pid, unsigned fd, const std::string& name, std::string_view text) const;

    // Where chips inside of processes are published.
    std::string runtime() const;

   private:
    std::string root_;
};

// A process that publishes a chip, as libsidra does, until it is destroyed.
class Publisher {
   public:
    // `change` may alter the contents of the file; `extra` bytes follow them.
    Publisher(const Tree& tree, unsigned number,
              const std::function<void(sidra_publish&, sidra_telemetry&)>& change = {},
              const std::vector<sidra_hw_xbar>& xbars = {});
    ~Publisher();
    Publisher(const Publisher&) = delete;
    Publisher& operator=(const Publisher&) = delete;

    pid_t pid() const { return pid_; }
    const std::string& path() const { return path_; }
    std::string name() const;
    // Changes the contents of the file.
    void update(const std::function<void(sidra_publish&, sidra_telemetry&)>& change);
    // Sets the earlier values, for single readers.
    void before(const sidra_telemetry& page);
    void die();

   private:
    pid_t pid_ = -1;
    unsigned number_;
    std::string path_;
};

}  // namespace sidra::test

#endif
