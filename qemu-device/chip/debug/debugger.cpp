// SPDX-License-Identifier: MIT
#include "debugger.h"

#include <utility>

namespace sidra::chip {

void Debugger::tell(std::function<void()> changed) {
    const std::lock_guard guard(lock_);
    changed_ = std::move(changed);
}

void Debugger::come() {
    const std::lock_guard guard(lock_);
    visit_++;
    connected_ = true;
    in_.clear();
    out_.clear();
    there_ = true;
}

void Debugger::bring(std::string_view bytes) {
    const std::lock_guard guard(lock_);
    in_ += bytes;
}

void Debugger::go() {
    const std::lock_guard guard(lock_);
    visit_++;
    connected_ = false;
    in_.clear();
    out_.clear();
}

std::string Debugger::take() {
    const std::lock_guard guard(lock_);
    return std::exchange(out_, {});
}

bool Debugger::heard() {
    const std::lock_guard guard(lock_);
    return in_.empty() && !busy_;
}

bool Debugger::lets_run() {
    uint64_t visit;
    bool connected;
    std::string bytes;
    {
        const std::lock_guard guard(lock_);
        visit = visit_;
        connected = connected_;
        bytes = std::exchange(in_, {});
        busy_ = !bytes.empty();
        if (!connected) there_ = false;
    }
    if (served_ != visit) {
        server_.detach();
        if (connected) server_.attach();
        served_ = visit;
    }
    if (!bytes.empty()) answer(visit, server_.receive(bytes));
    return server_.running();
}

void Debugger::stopped() { answer(served_, server_.stopped()); }

void Debugger::answer(uint64_t visit, const std::string& bytes) {
    const std::lock_guard guard(lock_);
    busy_ = false;
    if (visit == visit_) out_ += bytes;
    if (changed_) changed_();
}

}  // namespace sidra::chip
