// SPDX-License-Identifier: MIT
// A session on a tree of files.
#ifndef SIDRA_TEST_SMI_SESSION_H
#define SIDRA_TEST_SMI_SESSION_H

#include <sidra/smi.h>

#include <string>
#include <vector>

#include "tree.h"

namespace sidra::test {

class Session {
   public:
    explicit Session(const Tree& tree);  // reads once
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    sidra_smi* get() const { return session_; }
    void refresh();
    sidra_smi_chip* chip(uint32_t index) const { return sidra_smi_chip_at(session_, index); }
    sidra_smi_value value(uint32_t index, const std::string& field) const;
    std::string text(uint32_t index, const std::string& field) const;  // "-": absent
    std::vector<std::string> names() const;                            // of all chips
    // Names of the selected chips; on failure checks the status.
    std::vector<std::string> select(const char* selectors, sidra_smi_status wanted = SIDRA_SMI_OK) const;

   private:
    sidra_smi* session_ = nullptr;
};

}  // namespace sidra::test

#endif
