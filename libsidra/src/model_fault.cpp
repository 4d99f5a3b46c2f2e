// SPDX-License-Identifier: MIT
// Compiled models: the call at which a stream has stopped.
#include <fmt/format.h>

#include <algorithm>

#include "fault.h"
#include "graph.h"
#include "model.h"
#include "model_host.h"
#include "stream.h"
#include "structs.h"

namespace sidra {
namespace {

// The operation at which a stream has stopped.
struct Stop {
    Point before;
    sidra_fault fault;
    sidra_cmd packet;
};

std::optional<Stop> stop_of(sidra_stream* stream) {
    const std::lock_guard lock(stream->lock);  // no reset meanwhile
    const Queue& queue = *stream->current_queue;
    const sidra_fault fault = queue.fault_record();
    if (fault.cause == SIDRA_FAULT_NONE) return std::nullopt;
    // Its entry in the ring stays until a reset.
    return Stop{{stream->current_queue, queue.epoch, fault.sequence}, fault, queue.ring[fault.sequence & queue.mask]};
}

// Where the failure began: a stream that waited for another one may have stopped because of that.
std::optional<Stop> root_of_stop(sidra_stream* stream) {
    const std::optional<Stop> stop = stop_of(stream);
    if (!stop || stop->fault.cause != SIDRA_FAULT_PRODUCER) return stop;
    const EpochRoot root = fault_root(*stop->before.queue, stop->fault);
    const std::lock_guard lock(stream->context->mutex);
    const auto& streams = stream->context->streams;
    const auto at = std::ranges::find(streams, root.stream, &sidra_stream::id);
    if (at == streams.end()) return std::nullopt;
    std::optional<Stop> first = stop_of(*at);
    if (first && first->fault.sequence != root.sequence) first.reset();  // it was reset, and has stopped again
    return first;
}

std::optional<FailedCall> call_at(const Stop& stop, const ModelVariant& variant, uint32_t number, uint32_t calls) {
    if (stop.fault.cause == SIDRA_FAULT_PRODUCER) {  // at the gate of a function of the host
        HostSteps::Failure failure = variant.host->failure();
        const Point& before = failure.before;
        if (before.queue != stop.before.queue || before.epoch != stop.before.epoch || before.value != stop.before.value)
            return std::nullopt;
        if (failure.text.empty()) failure.text = "the host has not enough memory for the function";
        return FailedCall{number, failure.call, true, std::move(failure.text)};
    }
    const auto is_stopped = [&](const sidra_graph* graph) { return is_launch(graph, stop.packet); };
    if (stop.fault.in_call == 0 || stop.fault.cookie >= calls || std::ranges::none_of(variant.graphs, is_stopped))
        return std::nullopt;
    return FailedCall{number, stop.fault.cookie, false, describe_cause(fault_info(*stop.before.queue, stop.fault))};
}

}  // namespace

std::string call_name(const sidra_model& model, uint32_t variant, uint32_t number) {
    const format::Call& call = *variant_of(model, variant).calls()->Get(number);
    return fmt::format("variant {}, call {} {}", variant, number, quoted(call.name()));
}

std::optional<FailedCall> failed_call(const sidra_model& model, sidra_stream* stream) {
    const std::optional<Stop> stop = root_of_stop(stream);
    if (!stop) return std::nullopt;
    for (uint32_t i = 0; i < model.variants.size(); ++i) {
        ModelVariant& variant = *model.variants[i];
        const std::lock_guard lock(variant.mutex);
        if (variant.host == nullptr) continue;  // it never ran
        if (auto failed = call_at(*stop, variant, i, variant_of(model, i).calls()->size())) return failed;
    }
    return std::nullopt;
}

}  // namespace sidra

using namespace sidra;

sidra_status sidra_model_fault(sidra_model* model, sidra_stream* stream, sidra_model_fault_info* info) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "model", model));
        SIDRA_TRY(check(call, "stream", stream));
        SIDRA_TRY(check_context(call, "model", model, stream->context));
        SIDRA_TRY(check_struct(call, "sidra_model_fault_info", info));
        const std::optional<FailedCall> failed = failed_call(*model, stream);
        if (!failed)
            return fail(SIDRA_ERROR_NOT_FOUND, call,
                        "stream {} has not stopped at a call of model {}; "
                        "sidra_stream_fault() says where it has stopped, if it has",
                        stream->id, model->id);
        sidra_model_fault_info result{};
        result.variant = failed->variant % model->file.manifest().variants()->size();
        result.call = failed->number;
        result.name = variant_of(*model, failed->variant).calls()->Get(failed->number)->name()->c_str();
        *fmt::format_to_n(result.text, sizeof result.text - 1, "{}: {}", call_name(*model, result.variant, result.call),
                          failed->why)
             .out = '\0';
        fill_struct(info, result);
        return SIDRA_OK;
    });
}
