// SPDX-License-Identifier: MIT
// What a failed check means for the image at hand, and what to do about it.
#ifndef SIDRA_FW_DIAGNOSIS_H
#define SIDRA_FW_DIAGNOSIS_H

#include <span>
#include <string>

#include "error.h"
#include "image/image.h"
#include "key.h"

namespace sidra::fw {

Status status_of(sidra_image_result result);

// "family: what is wrong (numbers); what to do". `keys`: those of the policy, for their names.
std::string explain(sidra_image_result result, const sidra_image& image, const sidra_image_policy& policy,
                    std::span<const Key> keys);

std::string version_text(uint32_t version);
std::string type_text(uint32_t type);
// nullptr: one that is not known.
const char* api_name(size_t index);

}  // namespace sidra::fw

#endif
