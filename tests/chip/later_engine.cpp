// SPDX-License-Identifier: MIT
#include "later_engine.h"

#include <cstring>

namespace sidra::chip_test {

namespace {

constexpr uint32_t kThreads = 2;
constexpr size_t kCopiesMax = 1024;

// Of all engines: protects their pieces.
std::mutex lock;
std::condition_variable changed;
bool is_held = false;
size_t pieces_waiting = 0;

engine::Capabilities later(engine::Capabilities can, uint32_t threads) {
    can.later = true;
    can.threads = threads;
    can.pieces = engine::Capabilities::kPiecesMax;
    return can;
}

}  // namespace

LaterEngine::LaterEngine(const engine::Kernels& kernels, uint32_t threads)
    : Engine(later(kernels.can, threads), kernels) {
    for (uint32_t i = 0; i < kThreads; i++) {
        threads_.emplace_back([this] { serve(); });
    }
}

LaterEngine::~LaterEngine() {
    {
        const std::lock_guard guard(lock);
        stop_ = true;
    }
    changed.notify_all();
    for (std::thread& thread : threads_) {
        thread.join();
    }
}

std::unique_ptr<engine::Engine> LaterEngine::make(sidra_chip_engine id, uint32_t threads) {
    const engine::Kernels* const kernels = engine::find(id);
    return kernels != nullptr ? std::make_unique<LaterEngine>(*kernels, threads) : nullptr;
}

bool LaterEngine::submit(const engine::Work& work, const engine::Completion& completion) {
    {
        const std::lock_guard guard(lock);
        pieces_.push_back({work, completion});
        pieces_waiting++;
    }
    changed.notify_all();
    return false;
}

void LaterEngine::serve() {
    std::unique_lock guard(lock);
    for (;;) {
        changed.wait(guard, [this] { return stop_ || (!pieces_.empty() && !is_held); });
        if (pieces_.empty()) {
            return;
        }
        const Piece piece = pieces_.front();
        pieces_.pop_front();
        pieces_waiting--;
        guard.unlock();
        {
            const engine::Stagings::Lease staging(stagings_);
            piece.work.run(piece.work.self, *staging);
        }
        piece.completion.done(piece.completion.self);
        guard.lock();
    }
}

size_t LaterEngine::Hold::waiting() const {
    const std::lock_guard guard(lock);
    return pieces_waiting;
}

LaterEngine::Hold::Hold() {
    const std::lock_guard guard(lock);
    is_held = true;
}

LaterEngine::Hold::~Hold() {
    {
        const std::lock_guard guard(lock);
        is_held = false;
    }
    changed.notify_all();
}

// Another thread may program the plane meanwhile, as it may while an engine of the host reads it.
#if defined(__clang__) || defined(__GNUC__)
__attribute__((no_sanitize("thread"), noinline))
#endif
static void
copy_plane(int8_t* to, const int8_t* from, size_t size) {
    using Word = uint64_t __attribute__((may_alias));
    for (size_t i = 0; i < size / 8; i++) {
        reinterpret_cast<Word*>(to)[i] = reinterpret_cast<const Word*>(from)[i];
    }
}

std::shared_ptr<const LaterEngine::Copy> LaterEngine::copy_of(const int8_t* plane, const engine::PlaneVersion& version,
                                                              size_t size) {
    const uint64_t number = version.load();
    const std::lock_guard guard(copies_lock_);
    if (const auto found = by_version_.find(number); found != by_version_.end()) {
        if ((*found->second)->size >= size) {
            return *found->second;
        }
        copies_.erase(found->second);
        by_version_.erase(found);
    }
    constexpr size_t kAlignment = 64;
    auto copy = std::make_shared<Copy>(Copy{number, std::vector<int8_t>(size + kAlignment), nullptr, size});
    const auto at = reinterpret_cast<uintptr_t>(copy->bytes.data());
    int8_t* const to = copy->bytes.data() + (kAlignment - at % kAlignment) % kAlignment;
    copy_plane(to, plane, size);
    copy->plane = to;
    copies_.push_front(copy);
    by_version_[number] = copies_.begin();
    if (copies_.size() > kCopiesMax) {
        by_version_.erase(copies_.back()->version);
        copies_.pop_back();
    }
    return copy;
}

void LaterEngine::multiply(const engine::ColumnMvm& m) {
    const size_t panels = (m.cols + engine::kPanelCols - 1) / engine::kPanelCols;
    std::vector<std::shared_ptr<const Copy>> copies;
    std::vector<const int8_t*> planes;
    for (uint32_t i = 0; i < m.tiles; i++) {
        copies.push_back(copy_of(m.packed[i], *m.versions[i], panels * engine::kPanelCols * size_t{engine::kTileRows}));
        planes.push_back(copies.back()->plane);
    }
    engine::ColumnMvm on_copies = m;
    on_copies.packed = planes.data();
    Engine::multiply(on_copies);
}

}  // namespace sidra::chip_test
