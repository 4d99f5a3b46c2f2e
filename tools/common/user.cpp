// SPDX-License-Identifier: MIT
#include "common/user.h"

#include <pwd.h>

#include <map>

namespace sidra::tools {

const std::string& user_name(uint32_t uid) {
    static std::map<uint32_t, std::string> known;
    const auto [at, is_new] = known.try_emplace(uid);
    if (is_new) {
        const passwd* const entry = getpwuid(uid);
        at->second = entry != nullptr ? entry->pw_name : std::to_string(uid);
    }
    return at->second;
}

}  // namespace sidra::tools
