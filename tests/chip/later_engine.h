// SPDX-License-Identifier: MIT
// An engine as one on another device would be: work waits, and is done later by threads of its own, several pieces at a
// time, on copies of the planes. The arithmetic is that of the host.
#ifndef SIDRA_TESTS_CHIP_LATER_ENGINE_H
#define SIDRA_TESTS_CHIP_LATER_ENGINE_H

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "engine.h"

namespace sidra::chip_test {

class LaterEngine final : public engine::Engine {
   public:
    explicit LaterEngine(const engine::Kernels& kernels, uint32_t threads);
    ~LaterEngine() override;
    static std::unique_ptr<engine::Engine> make(sidra_chip_engine id, uint32_t threads);

    bool submit(const engine::Work& work, const engine::Completion& completion) override;
    void multiply(const engine::ColumnMvm& m) override;

    // All engines of this process: work waits as long as there is a Hold.
    class Hold {
       public:
        Hold();
        ~Hold();
        Hold(const Hold&) = delete;
        Hold& operator=(const Hold&) = delete;
        // Pieces that wait.
        size_t waiting() const;
    };

   private:
    struct Piece {
        engine::Work work;
        engine::Completion completion;
    };
    // A copy of the first panels of a plane.
    struct Copy {
        uint64_t version;
        std::vector<int8_t> bytes;
        const int8_t* plane;  // in these, aligned
        size_t size;
    };
    void serve();
    std::shared_ptr<const Copy> copy_of(const int8_t* plane, const engine::PlaneVersion& version, size_t size);

    engine::Stagings stagings_;
    std::mutex copies_lock_;
    std::list<std::shared_ptr<const Copy>> copies_;  // the newest first
    std::unordered_map<uint64_t, std::list<std::shared_ptr<const Copy>>::iterator> by_version_;
    std::deque<Piece> pieces_;
    bool stop_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace sidra::chip_test

#endif
