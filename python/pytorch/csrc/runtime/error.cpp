// SPDX-License-Identifier: MIT
#include "runtime/error.h"

#include <c10/util/Exception.h>

#include <string>

namespace sidra::pytorch {

void fail(sidra_status status) {
    const std::string text = std::string(sidra_status_string(status)) + ": " + sidra_last_error();
    switch (status) {
        case SIDRA_ERROR_OUT_OF_MEMORY:
        case SIDRA_ERROR_OUT_OF_DEVICE_MEMORY:
        case SIDRA_ERROR_MEMLOCK:
            TORCH_CHECK_WITH(OutOfMemoryError, false, text);
        case SIDRA_ERROR_NOT_SUPPORTED:
            TORCH_CHECK_NOT_IMPLEMENTED(false, text);
        case SIDRA_ERROR_FORKED:
            TORCH_CHECK(false, text,
                        "\nThis process was forked from one that used a SIDRA device. Start workers with "
                        "torch.multiprocessing.set_start_method('spawn'), or use the device only in them.");
        default:
            TORCH_CHECK(false, text);
    }
}

}  // namespace sidra::pytorch
