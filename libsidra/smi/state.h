// SPDX-License-Identifier: MIT
// What a session keeps about health beyond one reading: the policy, acknowledgements and histories, with their files.
#ifndef SIDRA_SMI_STATE_H
#define SIDRA_SMI_STATE_H

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "acknowledgement.h"
#include "history.h"
#include "policy.h"

namespace sidra::smi {

// Seconds since the epoch.
uint64_t time_s();

// Tells whether a file is another one than before.
struct Stamp {
    ino_t inode = 0;
    off_t size = -1;  // -1: there is no file
    int64_t changed_ns = 0;
    bool operator==(const Stamp&) const = default;
};
Stamp stamp_of(const std::string& path);

// A file of the state that cannot be used, with an errno.
struct BadState {
    int error;
    std::string sentence;
};

class HealthState {
   public:
    // `policy` and `folder`: from the options of the session; empty: the places of the system, below `root`.
    void locate(const std::string& root, const std::string& policy, const std::string& folder);

    // Reads the policy if its file has changed. On failure the policy stays as it was. Throws BadPolicy or BadState.
    void load_policy();
    bool has_policy() const { return policy_read_; }
    const Policy& policy() const { return policy_; }

    // Reads the acknowledgements if a file has changed.
    void load_acknowledgements();
    const Acknowledgement* acknowledgement(const std::string& chip, std::string_view check) const;
    // Throw BadState. `end` returns whether there was one.
    void acknowledge(Acknowledgement what);
    bool end(const std::string& chip, std::string_view check);
    // Ends one whose problem is gone. If the file cannot be written, this session ignores it from now on.
    void forget(const Acknowledgement& gone);

    History& history(const std::string& chip);
    void load_histories();
    // Throws BadState.
    void save_histories();

   private:
    std::string file(const std::string& folder, const char* name) const { return folder + "/" + name; }
    // Changes the file of acknowledgements of our folder under a lock. Throws BadState.
    template <typename Change>
    void change_acknowledgements(const Change& change);

    std::string policy_path_;
    std::vector<std::string> folders_;  // where acknowledgements are read; the last one is written
    bool writable_ = false;             // there is a folder to write
    Policy policy_;
    bool policy_read_ = false;
    Stamp policy_stamp_;
    std::vector<Acknowledgement> acknowledged_, ended_;
    std::vector<Stamp> stamps_;  // of the files of acknowledgements
    Histories histories_;
};

}  // namespace sidra::smi

#endif
