// SPDX-License-Identifier: MIT
// Shows a chip to monitors, as uapi/sidra_publish.h has it. The application never notices: where nothing can be
// published (no folder, one that others may change, a full disk) nothing is.
//
// The file is written, never mapped: whoever cuts it short does no harm to this process.
#ifndef SIDRA_EMBEDDED_PUBLISHER_H
#define SIDRA_EMBEDDED_PUBLISHER_H

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "sidra_chip.h"
#include "sidra_publish.h"

namespace sidra::embedded {

class Publisher {
   public:
    // By the environment as it is now. `known`: what does not change; what is this class's to know may be zero.
    // nullptr: nothing is published. May throw std::bad_alloc.
    static std::unique_ptr<Publisher> create(sidra_chip* chip, const sidra_publish& known);
    ~Publisher();  // the file goes
    Publisher(const Publisher&) = delete;
    Publisher& operator=(const Publisher&) = delete;

    // What the driver knows about its users.
    struct Users {
        uint32_t firmware_version = 0;  // as struct sidra_fw_header has it
        uint32_t contexts = 0, queues = 0, buffers = 0;
        uint64_t l3_used = 0, memory = 0;
    };
    // One thread at a time. `now_ns` of CLOCK_MONOTONIC.
    void update(const Users& users, uint64_t now_ns) noexcept;

   private:
    class Folder;
    Publisher(sidra_chip* chip, const sidra_publish& known);
    bool make_file(uint64_t now_ns);
    bool own(bool is_ours) const;
    int give_name(const std::string& part, uint64_t now_ns);
    bool write(const void* from, size_t bytes, uint64_t offset) noexcept;
    void write_xbars(uint64_t now_ns) noexcept;

    sidra_chip* const chip_;
    const pid_t pid_;  // a child of fork() is not who publishes
    sidra_publish header_;
    sidra_telemetry telemetry_{};  // as it was written last
    uint64_t xbars_changes_ = 0, xbars_written_ns_ = 0;
    std::unique_ptr<Folder> folder_;
    std::string name_;
    int file_ = -1;
};

}  // namespace sidra::embedded

#endif
