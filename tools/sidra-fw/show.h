// SPDX-License-Identifier: MIT
// Everything that can be said about an image, also about one that is damaged.
#ifndef SIDRA_FW_SHOW_H
#define SIDRA_FW_SHOW_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/json.h"
#include "key.h"

namespace sidra::fw {

struct Shown {
    std::string text;
    tools::Json json;
    bool recognised = false;   // it begins as an image does
    bool development = false;  // it names the development key
};

// `keys`: public keys that its signature may be by, beside the development key.
Shown show(const std::string& path, std::span<const uint8_t> bytes, std::vector<Key> keys);

}  // namespace sidra::fw

#endif
