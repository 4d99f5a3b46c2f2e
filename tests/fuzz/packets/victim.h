// SPDX-License-Identifier: MIT
// The guest that means well: products and sums over its own data, whose results are known before. It can be interrupted
// in the middle of a product, after the chip has converted the vectors and before it is through with the columns.
#ifndef SIDRA_TESTS_FUZZ_PACKETS_VICTIM_H
#define SIDRA_TESTS_FUZZ_PACKETS_VICTIM_H

#include <cstdint>
#include <vector>

#include "board.h"

namespace sidra::fuzz {

class Victim {
   public:
    static constexpr uint32_t kContext = 5, kCrossbars = 2;  // numbers 0 and 1

    // Programs its cells, and finds out what interrupts it.
    explicit Victim(Board& board);

    enum class Input : uint8_t { kS8, kF32 };
    // Submits the job, and has it begun: it is in the middle of its product then.
    void begin(Input input);
    // Until then no slice of it runs.
    void stop();
    void resume();
    // Has it ended, if it has not, and compares.
    void finish();

   private:
    void push(const sidra_cmd& cmd);
    void ring();
    void program();
    void submit(Input input);
    bool in_the_middle() const;
    sidra_queue_state& state() const;
    bool robbed() const;

    Board& board_;
    Region& memory_;
    std::vector<int32_t> products_, sums_;
    uint64_t next_ = 0;        // ring index
    uint64_t product_ = 0;     // of the MVM
    uint32_t charged_ = 4096;  // columns of work in front of it
};

}  // namespace sidra::fuzz

#endif
