// SPDX-License-Identifier: MIT
#include "runtime/error.h"

#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <string>

#include "compiled/regions.h"
#include "distributed/context.h"
#include "runtime/device.h"
#include "runtime/rethrow.h"

namespace sidra::pytorch {
namespace {

// Those of the thread are usable afterwards.
std::string about_stopped_streams() {
    const std::vector<std::string> stopped = reset_stopped_streams();
    if (stopped.empty()) return stopped_regions() + "\ntorch.sidra.synchronize() makes the stream usable again.";
    std::string lines;
    for (const std::string& of : stopped) {
        // With several chips, which one it was: the text knows its stream only. A second line has the region.
        const bool whole = stopped.size() > 1 || device_count() > 1;
        lines += whole ? "\n" + of : of.substr(std::min(of.find('\n'), of.size()));
    }
    return lines +
           "\nThe stream goes on with what is queued from now on; results of operations behind the one that "
           "failed are lost.";
}

std::string about_lost_devices() {
    const std::string lost = c10::Join(", ", lost_devices());
    if (lost.empty()) return "";
    return "\nLost devices: " + lost +
           ". torch.sidra.recover(device) makes one usable again if it is still there; tensors and weights stay.";
}

// In the output of many processes, which one it was.
std::string about_rank() {
    const int64_t rank = own_rank;
    return rank < 0 ? "" : "\nThis process is rank " + std::to_string(rank) + " of torch.distributed.";
}

}  // namespace

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
        case SIDRA_ERROR_FAULT:
            TORCH_CHECK(false, text, about_stopped_streams(), about_lost_devices(), about_rank());
        case SIDRA_ERROR_CONTEXT_LOST:
        case SIDRA_ERROR_DEVICE_LOST:
            forget_lost_work();
            TORCH_CHECK(false, text, "\nResults of queued work are lost.", lost_regions(), about_lost_devices(),
                        about_rank());
        case SIDRA_ERROR_WRONG_CONTEXT:
            TORCH_CHECK(false,
                        "Expected all tensors to be on the same device, but they are on two chips; move one with "
                        ".to() (",
                        text, ")");
        default:
            TORCH_CHECK(false, text);
    }
}

void rethrow_behind(const std::string& text) {
    try {
        throw;
    } catch (const c10::OutOfMemoryError& error) {
        TORCH_CHECK_WITH(OutOfMemoryError, false, text, error.what_without_backtrace());
    } catch (const c10::NotImplementedError& error) {
        TORCH_CHECK_NOT_IMPLEMENTED(false, text, error.what_without_backtrace());
    } catch (const c10::Error& error) {
        TORCH_CHECK(false, text, error.what_without_backtrace());
    }
}

}  // namespace sidra::pytorch
