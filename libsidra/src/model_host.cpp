// SPDX-License-Identifier: MIT
#include "model_host.h"

#include <algorithm>
#include <functional>
#include <shared_mutex>
#include <utility>

#include "buffer.h"
#include "callback.h"
#include "gate.h"
#include "submit.h"

namespace sidra {

struct HostSteps::Queued {
    std::shared_ptr<HostSteps> steps;
    size_t index;
    std::shared_ptr<Gates> gates;
    Point before;  // of its gate
};

HostSteps::HostSteps(const format::Variant& variant, const sidra_buffer* constants, const sidra_buffer& work)
    : lives_{constants != nullptr ? constants->memory->life() : nullptr, work.memory->life()} {
    const auto address = [&](const format::Place& place) {
        // An array without elements may be at the beginning of constants that there are not: any address will do.
        const bool in_constants = place.memory() == format::Memory::Constants && constants != nullptr;
        return (in_constants ? constants->host : work.host) + place.offset();
    };
    for (uint32_t i = 0; i < variant.calls()->size(); ++i) {
        const format::Host* const host = variant.calls()->Get(i)->step_as_Host();
        if (host == nullptr) continue;
        Step& step = steps_.emplace_back();
        step.number = i;
        step.function = format::find_host_function(host->function()->string_view());
        step.call = format::host_call(*host);
        for (const format::Array* input : *host->inputs()) step.inputs.push_back(address(*input->at()));
        step.output = address(*host->output()->at());
    }
}

bool HostSteps::run(const Step& step, const Point& before) noexcept {
    // The memory stays until this is over; two locks of one class are taken in one order.
    MemoryLife *first = lives_[0].get(), *second = lives_[1].get();
    if (std::less<>()(second, first)) std::swap(first, second);
    std::shared_lock<std::shared_mutex> lock, other_lock;
    if (first != nullptr) lock = std::shared_lock(first->mutex);
    if (second != nullptr) other_lock = std::shared_lock(second->mutex);
    bool done = false;
    try {
        std::string text;
        if ((first == nullptr || !first->gone) && (second == nullptr || !second->gone)) {
            text = step.function->run(step.call, step.inputs, step.output);
            done = text.empty();
        }
        if (done) return true;
        const std::lock_guard guard(mutex_);
        failure_ = {step.number, std::move(text), before};
    } catch (...) {  // there is no memory for its work, or for the text
        const std::lock_guard guard(mutex_);
        failure_.call = step.number;
        failure_.text.clear();
        failure_.before = before;
    }
    return false;
}

void HostSteps::came(sidra_status status, void* user) {
    const std::unique_ptr<Queued> queued(static_cast<Queued*>(user));
    const Point& before = queued->before;
    if (status != SIDRA_OK || queued->steps->run(queued->steps->steps_[queued->index], before)) queued->gates->open();
    else queued->gates->fail({before.queue->stream_id, true, before.value, SIDRA_FAULT_VALUE});
}

sidra_status HostSteps::queue(const char* call, sidra_stream* stream, const std::shared_ptr<HostSteps>& steps,
                              size_t index, uint64_t latest, Point* point) {
    auto queued = std::make_unique<Queued>(Queued{steps, index, {}, {}});
    std::shared_ptr<CallbackThread> callbacks;
    SIDRA_TRY(find_callbacks(call, stream->context, &callbacks));
    CallbackThread::Room room;
    SIDRA_TRY(Gates::of(call, stream, &queued->gates));
    sidra_stream* streams[] = {stream};
    SIDRA_TRY(lock_with_room(call, streams, latest));
    queued->gates->close(stream, &queued->before);
    stream->lock.unlock();
    // From here on the stream waits, so nothing may leave this function before somebody opens the gate.
    const Point before = queued->before;
    *point = {before.queue, before.epoch, before.value + 1};
    const auto held = callbacks->hold();
    callbacks->add(std::move(room), before, came, queued.release(), CallbackThread::Of::kLibrary);
    return SIDRA_OK;
}

HostSteps::Failure HostSteps::failure() {
    const std::lock_guard lock(mutex_);
    return failure_;
}

}  // namespace sidra
