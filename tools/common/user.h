// SPDX-License-Identifier: MIT
// Names of users.
#ifndef SIDRA_COMMON_USER_H
#define SIDRA_COMMON_USER_H

#include <cstdint>
#include <string>

namespace sidra::tools {

// Name of the user, or the number if there is none. Cached, because the name service may be slow.
const std::string& user_name(uint32_t uid);

}  // namespace sidra::tools

#endif
