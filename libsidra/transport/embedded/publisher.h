// SPDX-License-Identifier: MIT
// Publishes a chip for monitors, in the format of uapi/sidra_publish.h. The application never notices: if publishing is
// not possible (no folder, a folder that others can change, a full disk), nothing is published.
//
// The file is written, never mapped, so truncating it does not harm this process.
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
    // Reads the current environment. `known`: the constant data; fields that this class sets may be zero. Returns
    // nullptr if nothing is published. May throw std::bad_alloc.
    static std::unique_ptr<Publisher> create(sidra_chip* chip, const sidra_publish& known);
    ~Publisher();  // removes the file
    Publisher(const Publisher&) = delete;
    Publisher& operator=(const Publisher&) = delete;

    // The driver's data about its users.
    struct Users {
        uint32_t firmware_version = 0;  // as in struct sidra_fw_header
        uint32_t contexts = 0, queues = 0, buffers = 0;
        uint64_t l3_used = 0, memory = 0;
    };
    // One thread at a time. `now_ns`: CLOCK_MONOTONIC.
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
    const pid_t pid_;  // a child of fork() does not publish
    sidra_publish header_;
    sidra_telemetry telemetry_{};  // as written last
    uint64_t xbars_changes_ = 0, xbars_written_ns_ = 0;
    std::unique_ptr<Folder> folder_;
    std::string name_;
    int file_ = -1;
};

}  // namespace sidra::embedded

#endif
