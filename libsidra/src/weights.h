// SPDX-License-Identifier: MIT
// Weights: a matrix on crossbars, its per-column factors in device memory, and the values until they are programmed.
#ifndef SIDRA_WEIGHTS_H
#define SIDRA_WEIGHTS_H

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "context.h"
#include "handle.h"
#include "memory.h"
#include "queue.h"
#include "uses.h"
#include "weights_values.h"

namespace sidra {

// Identifies the named object of a handle, by the UUID of the entry (published) or the number of the object (opened),
// as returned by the driver. Only the device's list shows whether it still has a name: any user may unlink it.
struct NamedEntry {
    bool known = false;
    uint64_t uid = 0;
    std::array<uint8_t, 16> uuid{};
};

}  // namespace sidra

struct sidra_weights : sidra::Handle {
    static constexpr sidra::Kind kKind = sidra::Kind::kWeights;

    sidra_context* context = nullptr;
    uint32_t index = 0;  // in the context's weights table
    uint32_t k = 0, n = 0;
    uint64_t scale_address = 0;               // 0: all factors are 1
    std::atomic<bool> program_queued{false};  // or programmed by another user
    std::atomic<bool> label_due{false};       // the chip writes a trace, and does not have the label yet

    sidra_weights_encoding encoding = SIDRA_WEIGHTS_OFFSET;  // never AUTO
    sidra_encoding_reason encoding_reason = SIDRA_ENCODING_GIVEN;
    uint32_t rights = 0;
    uint32_t crossbars = 0;
    std::unique_ptr<sidra::DeviceMemory> on_device;  // see WeightsLayout
    // n factors, as the device has them.
    const float* scale() const { return reinterpret_cast<const float*>(on_device->host()); }

    std::mutex mutex;                         // protects the members below
    std::shared_ptr<sidra::Staging> staging;  // the values; null for opened and imported weights
    bool queueing = false;                    // a call is queueing the programming
    sidra::Point program_point;               // end of the programming while it is in progress
    sidra::Uses updates;                      // of cells and factors together, which are queued or in progress
    bool shared = false;                      // other handles have copies of the factors
    bool programmed = false;                  // completely; never becomes false again
    uint64_t program_device_ps = 0, program_energy_pj = 0;
    sidra::NamedEntry named;
    std::string label;  // "": none
};

namespace sidra {

// Layout of a weights object in device memory: factors, then the packets that program it, then two timestamps.
struct WeightsLayout {
    explicit WeightsLayout(uint32_t n)
        : packets((n * sizeof(float) + 63) & ~uint64_t{63}), timestamps(packets + 3 * 64) {}
    uint64_t packets;
    uint64_t timestamps;
    uint64_t size() const { return timestamps + 2 * 32; }
};

// The common part of creating, opening and importing: `grant` is the driver's answer, `scale` has n factors (none: all
// 1). Drops the driver's handle on failure.
struct WeightsGrant {
    uint32_t index;
    uint32_t k, n;
    uint32_t encoding;  // enum sidra_encoding
    uint32_t rights;
    uint32_t crossbars;
};
struct WeightsOrigin {
    std::shared_ptr<Staging> staging{};  // the values; null: another user has programmed them, and has the factors, too
    sidra_encoding_reason reason = SIDRA_ENCODING_GIVEN;
    NamedEntry named{};
    std::string_view label{};
};
sidra_status adopt_weights(const char* call, sidra_context* context, const WeightsGrant& grant,
                           std::vector<float> scale, const WeightsOrigin& origin, sidra_weights** weights);
void drop_grant(const sidra_context& context, uint32_t index);

// The values of weights, dense, in the memory that they are programmed from.
struct StagedValues {
    std::shared_ptr<Staging> memory;
    Position minus_128;  // the first -128, which differential encoding cannot represent
};
sidra_status stage_memory(const char* call, sidra_context* context, uint32_t k, uint32_t n, StagedValues* values);
// Weights of staged values. scale: n factors. weights: the new handle of the C interface.
sidra_status create_weights(const char* call, sidra_context* context, uint32_t k, uint32_t n,
                            const StagedValues& values, std::vector<float> scale, const sidra_weights_options& options,
                            sidra_weights** weights);

// Checks that the caller's rows, `stride` elements apart, do not overflow the address space. rows > 0.
sidra_status check_extent(const char* call, const void* data, uint64_t rows, uint64_t cols, size_t stride,
                          size_t element);

// Checks the rights of this handle; verb: for the message.
inline sidra_status check_right(const char* call, const sidra_weights& weights, uint32_t right, const char* verb) {
    if ((weights.rights & right) != 0) return SIDRA_OK;
    return fail(SIDRA_ERROR_PERMISSION, call,
                "this handle of weights {} has no right to {} them; ask their owner for it", weights.id, verb);
}

// Checks that programming was at least queued; the chip checks each tile.
inline sidra_status check_programmed(const char* call, const sidra_weights& weights) {
    if (weights.program_queued.load(std::memory_order_relaxed)) [[likely]]
        return SIDRA_OK;
    return fail(SIDRA_ERROR_UNPROGRAMMED, call,
                "weights {} are not programmed; queue sidra_weights_program_async() first", weights.id);
}

// The first programming of a whole object: to be queued, also again after it was dropped or its stream has stopped;
// queued; or done.
enum class Programming { kNeeded, kQueued, kDone };
Programming programming_of(sidra_weights* weights);

// As sidra_weights_calibrate_async(), for handles of the C interface. Cannot be recorded. point: the end of it.
sidra_status queue_calibration(const char* call, sidra_stream* stream, sidra_weights* weights, const sidra_mvm& mvm,
                               Point* point);

// Gets the progress of programming; queries the driver only while programming is in progress, or if another user may
// have programmed. On completion, stores the cost, frees the staged copy and releases the queue.
sidra_status query_progress(const char* call, sidra_weights* weights, uint32_t* done, uint32_t* total);

// Gets the current name of the object; "" if it has none.
sidra_status query_name(const char* call, sidra_weights* weights, std::string* name);

}  // namespace sidra

#endif
