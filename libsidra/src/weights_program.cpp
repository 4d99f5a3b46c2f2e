// SPDX-License-Identifier: MIT
// Transfer of values to and from cells: program, update, read back.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "label.h"
#include "program.h"
#include "submit.h"
#include "wait.h"
#include "weights.h"
#include "weights_values.h"

namespace sidra {
namespace {

sidra_cmd rectangle(sidra_cmd_opcode opcode, const sidra_weights& weights, uint32_t row0, uint32_t rows, uint32_t col0,
                    uint32_t cols, uint64_t address) {
    sidra_cmd packet = make_packet(opcode);
    packet.weights.weights = weights.index;
    packet.weights.row0 = row0;
    packet.weights.rows = rows;
    packet.weights.col0 = col0;
    packet.weights.cols = cols;
    packet.weights.addr = address;
    packet.weights.stride = cols;  // staged copies are dense
    return packet;
}

// Checks that the object is not programmed, and that no programming is queued.
sidra_status check_not_programmed(const char* call, const sidra_weights& weights) {
    constexpr const char* kUpdate = "sidra_weights_update_async() changes programmed weights";
    if (!weights.staging || weights.staging->released())
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "weights {} are programmed already; {}", weights.id, kUpdate);
    const auto in_work = [&] {
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "weights {} are being programmed already; {}", weights.id,
                    kUpdate);
    };
    if (weights.queueing) return in_work();
    if (!weights.program_point.queue) return SIDRA_OK;
    switch (weights.program_point.state()) {
        case Point::State::kDropped:
            return SIDRA_OK;  // its stream was reset before the programming
        case Point::State::kStopped:
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                        "the programming of weights {} is queued on stream {}, which has stopped; sidra_stream_reset() "
                        "drops it",
                        weights.id, weights.program_point.queue->stream_id);
        default:
            return in_work();
    }
}

// Writes the packets that program the whole object into its device memory.
void write_program(const sidra_weights& weights) {
    const WeightsLayout layout(weights.n);
    const uint64_t times = weights.on_device->address() + layout.timestamps;
    sidra_cmd packets[kProgramPackets];
    packets[0] = make_packet(SIDRA_CMD_TIMESTAMP);
    packets[0].timestamp.addr = times;
    packets[1] = rectangle(SIDRA_CMD_PROGRAM, weights, 0, weights.k, 0, weights.n, weights.staging->address());
    packets[2] = make_packet(SIDRA_CMD_TIMESTAMP);
    packets[2].timestamp.addr = times + sizeof(sidra_timestamp);
    std::memcpy(weights.on_device->host() + layout.packets, packets, sizeof packets);
}

sidra_status check_rectangle(const char* call, const sidra_weights& weights, uint32_t row0, uint32_t rows,
                             uint32_t col0, uint32_t cols) {
    if (rows == 0 || cols == 0)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "a rectangle of {} x {} has no weights", rows, cols);
    if (row0 > weights.k || rows > weights.k - row0 || col0 > weights.n || cols > weights.n - col0)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "rows {} .. {} and columns {} .. {} are not inside weights {}, which are {} x {}", row0,
                    uint64_t{row0} + rows - 1, col0, uint64_t{col0} + cols - 1, weights.id, weights.k, weights.n);
    return SIDRA_OK;
}

// Queues the packet and keeps its staged data until it is done; while recording, both go into the recording.
sidra_status submit_with_data(const char* call, sidra_stream* stream, const sidra_cmd& packet,
                              std::shared_ptr<Staging> staging) {
    {
        const std::lock_guard lock(stream->lock);
        if (stream->recording) {
            SIDRA_TRY(record(call, stream, packet));
            stream->recording->packets.back().kept = std::move(staging);
            return SIDRA_OK;
        }
    }
    std::list<Deferred> wrapped = wrap(std::move(staging));
    Point point;
    SIDRA_TRY(submit(call, stream, packet, Recordable::kNo, &point));
    defer(stream, point, std::move(wrapped));
    return SIDRA_OK;
}

// New values of whole columns in device memory: values, factors, and the packets that write both.
struct ColumnsLayout {
    ColumnsLayout(uint32_t k, uint32_t cols)
        : factors(align(uint64_t{k} * cols)), packets(align(factors + cols * sizeof(float))) {}
    static constexpr uint32_t kPackets = 2;
    uint64_t factors, packets;
    uint64_t size() const { return packets + kPackets * sizeof(sidra_cmd); }

   private:
    static uint64_t align(uint64_t offset) { return (offset + 63) & ~uint64_t{63}; }
};

// Counts a call that queues new factors, so that nobody hands out the old ones meanwhile.
class Updating {
   public:
    explicit Updating(sidra_weights* weights) : weights_(weights) {}
    Updating(const Updating&) = delete;
    Updating& operator=(const Updating&) = delete;
    ~Updating() {
        if (!begun_) return;
        const std::lock_guard lock(weights_->mutex);
        weights_->updates.end(point.queue ? &point : nullptr);
    }
    sidra_status begin(const char* call) {
        const std::lock_guard lock(weights_->mutex);
        if (weights_->shared)
            return fail(
                SIDRA_ERROR_NOT_SUPPORTED, call,
                "weights {} are shared by a name or a file descriptor, and the others have the present factors; "
                "create new weights, or update values with sidra_weights_update_async()",
                weights_->id);
        weights_->updates.begin();
        begun_ = true;
        return SIDRA_OK;
    }
    Point point;  // the end of the update, once it is queued

   private:
    sidra_weights* const weights_;
    bool begun_ = false;
};

}  // namespace

Programming programming_of(sidra_weights* weights) {
    const std::lock_guard lock(weights->mutex);
    if (weights->programmed) return Programming::kDone;
    if (weights->queueing) return Programming::kQueued;
    if (!weights->program_point.queue) return Programming::kNeeded;
    switch (weights->program_point.state()) {
        case Point::State::kReached:
            return Programming::kDone;
        case Point::State::kPending:
            return Programming::kQueued;
        default:
            return Programming::kNeeded;
    }
}

}  // namespace sidra

using namespace sidra;

sidra_status sidra_weights_program_async(sidra_stream* stream, sidra_weights* weights) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "stream", stream));
        SIDRA_TRY(check(call, "weights", weights));
        SIDRA_TRY(check_context(call, "weights", weights, stream->context));
        SIDRA_TRY(check_right(call, *weights, SIDRA_WEIGHTS_PROGRAM, "program"));
        reap(stream);
        SIDRA_TRY(announce(call, stream, weights, Recordable::kNo));
        std::list<Deferred> wrapped;
        {
            const std::lock_guard lock(weights->mutex);
            SIDRA_TRY(check_not_programmed(call, *weights));
            wrapped = wrap(weights->staging);
            write_program(*weights);
            weights->queueing = true;
        }
        // Without the mutex: while the ring is full, queries of the weights must not wait for it.
        sidra_cmd packet = make_packet(SIDRA_CMD_CALL, kProgramCookie);
        packet.call.addr = weights->on_device->address() + WeightsLayout(weights->n).packets;
        packet.call.count = kProgramPackets;
        Point point;
        const sidra_status status = submit(call, stream, packet, Recordable::kNo, &point);
        const std::lock_guard lock(weights->mutex);
        weights->queueing = false;
        SIDRA_TRY(status);
        weights->program_point = point;
        weights->program_queued.store(true, std::memory_order_relaxed);
        defer(stream, point, std::move(wrapped));
        return SIDRA_OK;
    });
}

sidra_status sidra_weights_update_async(sidra_stream* stream, sidra_weights* weights, uint32_t row0, uint32_t rows,
                                        uint32_t col0, uint32_t cols, const int8_t* data, size_t stride) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "stream", stream));
        SIDRA_TRY(check(call, "weights", weights));
        SIDRA_TRY(check_context(call, "weights", weights, stream->context));
        SIDRA_TRY(check_rectangle(call, *weights, row0, rows, col0, cols));
        if (data == nullptr || stride < cols)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                        "`data` must be {} x {} values with a stride of at least {} (it is {})", rows, cols, cols,
                        data == nullptr ? "NULL" : fmt::format("{}", stride));
        SIDRA_TRY(check_extent(call, data, rows, cols, stride, sizeof *data));
        SIDRA_TRY(check_right(call, *weights, SIDRA_WEIGHTS_PROGRAM, "program"));
        SIDRA_TRY(check_programmed(call, *weights));
        const Matrix<int8_t> values{data, rows, cols, stride};
        if (weights->encoding == SIDRA_WEIGHTS_DIFFERENTIAL)
            if (const Position bad = find_minus_128(values); bad.found)
                return fail(SIDRA_ERROR_NOT_REPRESENTABLE, call,
                            "value -128 in row {}, column {}: weights {} are differential and hold -127..127", bad.row,
                            bad.col, weights->id);
        reap(stream);
        std::unique_ptr<DeviceMemory> memory;
        SIDRA_TRY(DeviceMemory::create(call, stream->context, uint64_t{rows} * cols, false, &memory));
        for (uint32_t r = 0; r < rows; ++r) std::memcpy(memory->host() + uint64_t{r} * cols, values.row(r), cols);
        const sidra_cmd packet = rectangle(SIDRA_CMD_PROGRAM, *weights, row0, rows, col0, cols, memory->address());
        SIDRA_TRY(announce(call, stream, weights));
        return submit_with_data(call, stream, packet, std::make_shared<Staging>(std::move(memory)));
    });
}

sidra_status sidra_weights_update_f32_async(sidra_stream* stream, sidra_weights* weights, uint32_t col0, uint32_t cols,
                                            const float* data, size_t stride) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "stream", stream));
        SIDRA_TRY(check(call, "weights", weights));
        SIDRA_TRY(check_context(call, "weights", weights, stream->context));
        const uint32_t k = weights->k;
        SIDRA_TRY(check_rectangle(call, *weights, 0, k, col0, cols));
        if (data == nullptr || stride < cols)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                        "`data` must be {} x {} values with a stride of at least {} (it is {})", k, cols, cols,
                        data == nullptr ? "NULL" : fmt::format("{}", stride));
        SIDRA_TRY(check_extent(call, data, k, cols, stride, sizeof *data));
        SIDRA_TRY(check_right(call, *weights, SIDRA_WEIGHTS_PROGRAM, "program"));
        SIDRA_TRY(check_programmed(call, *weights));
        if (const std::lock_guard lock(stream->lock); stream->recording) return not_recordable(call, stream);
        std::vector<float> factors;
        std::vector<int8_t> values;
        SIDRA_TRY(quantise(call, {data, k, cols, stride}, &factors, &values));
        reap(stream);
        const ColumnsLayout layout(k, cols);
        std::unique_ptr<DeviceMemory> memory;
        SIDRA_TRY(DeviceMemory::create(call, stream->context, layout.size(), false, &memory));
        // Cells first: sidra.h promises that an update that is cut short leaves the old factors.
        sidra_cmd packets[ColumnsLayout::kPackets];
        packets[0] = rectangle(SIDRA_CMD_PROGRAM, *weights, 0, k, col0, cols, memory->address());
        packets[1] = make_packet(SIDRA_CMD_COPY);
        packets[1].copy.dst = weights->on_device->address() + col0 * sizeof(float);
        packets[1].copy.src = memory->address() + layout.factors;
        packets[1].copy.row_bytes = cols * sizeof(float);
        packets[1].copy.rows = 1;
        std::memcpy(memory->host(), values.data(), values.size());
        std::memcpy(memory->host() + layout.factors, factors.data(), cols * sizeof(float));
        std::memcpy(memory->host() + layout.packets, packets, sizeof packets);
        sidra_cmd packet = make_packet(SIDRA_CMD_CALL, kProgramCookie);
        packet.call.addr = memory->address() + layout.packets;
        packet.call.count = ColumnsLayout::kPackets;
        std::list<Deferred> wrapped = wrap(std::make_shared<Staging>(std::move(memory)));
        SIDRA_TRY(announce(call, stream, weights, Recordable::kNo));
        Updating updating(weights);
        SIDRA_TRY(updating.begin(call));
        SIDRA_TRY(submit(call, stream, packet, Recordable::kNo, &updating.point));
        defer(stream, updating.point, std::move(wrapped));
        return SIDRA_OK;
    });
}

sidra_status sidra_weights_refresh_async(sidra_stream* stream, sidra_weights* weights, float tolerance) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "stream", stream));
        SIDRA_TRY(check(call, "weights", weights));
        SIDRA_TRY(check_context(call, "weights", weights, stream->context));
        if (!(tolerance >= 0 && tolerance <= 1))
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`tolerance` is {}; it is a share of G_max, 0 to 1",
                        tolerance);
        SIDRA_TRY(check_right(call, *weights, SIDRA_WEIGHTS_PROGRAM, "program"));
        SIDRA_TRY(check_programmed(call, *weights));
        sidra_cmd packet = rectangle(SIDRA_CMD_PROGRAM, *weights, 0, weights->k, 0, weights->n, 0);
        packet.hdr.flags = SIDRA_CMD_PROGRAM_REFRESH;
        packet.weights.stride = 0;
        // A tolerance that rounds to 0 must not become 0, which means the default.
        if (tolerance > 0)
            packet.weights.tolerance_ppm = std::max(static_cast<uint32_t>(std::lround(double{tolerance} * 1e6)), 1u);
        SIDRA_TRY(announce(call, stream, weights));
        return submit(call, stream, packet);
    });
}

sidra_status sidra_weights_read(sidra_stream* stream, sidra_weights* weights, int8_t* data, size_t stride,
                                uint64_t deadline) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "stream", stream));
        SIDRA_TRY(check(call, "weights", weights));
        SIDRA_TRY(check_context(call, "weights", weights, stream->context));
        if (data == nullptr || stride < weights->n)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                        "`data` needs room for {} x {} values with a stride of at least {} (it is {})", weights->k,
                        weights->n, weights->n, data == nullptr ? "NULL" : fmt::format("{}", stride));
        SIDRA_TRY(check_extent(call, data, weights->k, weights->n, stride, sizeof *data));
        SIDRA_TRY(check_right(call, *weights, SIDRA_WEIGHTS_READBACK, "read back"));
        SIDRA_TRY(check_programmed(call, *weights));
        std::unique_ptr<DeviceMemory> memory;
        SIDRA_TRY(DeviceMemory::create(call, stream->context, uint64_t{weights->k} * weights->n, false, &memory));
        const sidra_cmd packet =
            rectangle(SIDRA_CMD_READBACK, *weights, 0, weights->k, 0, weights->n, memory->address());
        const std::byte* const read = memory->host();
        std::list<Deferred> wrapped = wrap(std::make_shared<Staging>(std::move(memory)));
        SIDRA_TRY(announce(call, stream, weights, Recordable::kNo, deadline));
        Point point;
        SIDRA_TRY(submit(call, stream, packet, Recordable::kNo, &point, {}, deadline));
        {
            const std::lock_guard lock(stream->lock);
            flush(stream);
        }
        if (const sidra_status status = wait_for(call, point, deadline); status != SIDRA_OK) {
            // The device may still write there. Not before: whoever finds the operation done frees what is deferred.
            defer(stream, point, std::move(wrapped));
            return status;
        }
        for (uint32_t r = 0; r < weights->k; ++r)
            std::memcpy(data + r * stride, read + uint64_t{r} * weights->n, weights->n);
        reap(stream);
        return SIDRA_OK;
    });
}
